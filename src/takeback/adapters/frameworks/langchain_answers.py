"""Answers to questions that a LangGraph step asked before its rules changed.

LangGraph hands out the answers of one step by position: the first to ask gets the first. If the middleware that asked
was taken back meanwhile, the next one that asks would get an answer to a question it never put. So the first place in
a step's list is kept for the rules the step runs under. Where these have changed since it asked, the answers are
dropped, and whoever still wants to know asks again. The list is saved with the thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt

PAD: Final = "__pregel_scratchpad"
SEND: Final = "__pregel_send"
RESUME: Final = "__resume__"
"""Names that `langgraph.types.interrupt` works with."""


@contextmanager
def under(rules: str) -> Iterator[None]:
    """Run what may ask; answers count only if the rules are those the questions were asked under."""
    within: dict[str, Any] = get_config()["configurable"]
    pad = within[PAD]
    pad.interrupt_counter()
    if not pad.resume:
        pad.resume.append(rules)
    elif pad.resume[0] != rules:
        pad.resume[:] = [rules]
        pad.get_null_resume(True)
    try:
        yield
    except GraphInterrupt:
        within[SEND]([(RESUME, list(pad.resume))])
        raise
