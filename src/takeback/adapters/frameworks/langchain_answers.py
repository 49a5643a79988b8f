"""Answers to questions that a LangGraph step asked before its rules changed.

LangGraph hands out the answers of one step by position: the first to ask gets the first. If the middleware that asked
was taken back meanwhile, the next one that asks would get an answer to a question it never put; or nobody asks, and a
call that a person has just rejected is made. So the first place in a step's list is kept for the rules the step runs
under. Where these have changed, answers are dropped, the thread stops once more to say so, and then goes on; whoever
still wants to know asks again. The list is saved with the thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

PAD: Final = "__pregel_scratchpad"
SEND: Final = "__pregel_send"
RESUME: Final = "__resume__"
"""Names that `langgraph.types.interrupt` works with."""
TOLD: Final = "told:"
UNUSED: Final = (
    "the answer was not used: tools or middleware have changed since the question was asked; "
    "resume with anything to go on as things are now"
)


@contextmanager
def under(rules: str) -> Iterator[None]:
    """Run what may ask; answers count only if the rules are those the questions were asked under."""
    within: dict[str, Any] = get_config()["configurable"]
    pad = within[PAD]
    pad.interrupt_counter()
    if not pad.resume:
        pad.resume.append(rules)
    elif pad.resume[0] not in (rules, TOLD + rules):
        answers = [*pad.resume[1:], pad.get_null_resume(True)]
        pad.resume[:] = [rules if answers == [None] else TOLD + rules]
    try:
        if pad.resume[0] == TOLD + rules:
            interrupt(UNUSED)
        yield
    except GraphInterrupt:
        within[SEND]([(RESUME, list(pad.resume))])
        raise
