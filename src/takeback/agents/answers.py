"""What a hook answers, in each client's own protocol.

Claude Code takes JSON, with which it can also ask a person; the others are told by exit code 2 and standard error.
Where nothing speaks against an edit, nothing is said, so that the client's own permissions decide as always.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from takeback.adapters.roots import above
from takeback.adapters.trust_record import is_trusted
from takeback.agents import under_way
from takeback.agents.declared import may_be_ours
from takeback.agents.edits import edits_of, named_paths
from takeback.agents.events import Event
from takeback.agents.judging import Answer, rule
from takeback.canonical import compact
from takeback.errors import TakebackError

BLOCK: Final = 2
ASKS: Final = "claude-code"
TELLS: Final = "claude-code"
"""The client that tells of changed files, also while the tool that changes them runs."""
NOBODY_TO_ASK: Final = " This client cannot ask from here: the edit is not made; a person can make it by hand."


class HookReply(NamedTuple):
    """What a hook prints, and its exit code."""

    out: str = ""
    err: str = ""
    code: int = 0


def answer_before(event: Event) -> HookReply:
    """The guard's answer about a tool call."""
    try:
        ruling = rule(edits_of(event), event.cwd)
    except TakebackError as fault:
        if any(is_trusted(root) for root in _roots(event)):
            raise
        return HookReply(err=f"takeback: this harness is not trusted, and cannot be read: {fault.message}\n")
    if ruling.answer is not Answer.DENY and event.client == TELLS:
        _note(event)
    if ruling.answer is Answer.PASS:
        return HookReply()
    if event.client == ASKS:
        said: dict[str, Any] = {
            "hookEventName": event.name,
            "permissionDecision": str(ruling.answer),
            "permissionDecisionReason": ruling.told(),
        }
        return HookReply(out=compact({"hookSpecificOutput": said}) + "\n")
    return HookReply(err=ruling.told() + (NOBODY_TO_ASK if ruling.answer is Answer.ASK else "") + "\n", code=BLOCK)


def _note(event: Event) -> None:
    """Note that a tool is about to run, in every harness that it may change."""
    named = named_paths(event)
    if event.edits and not any(may_be_ours(path) for path in named):
        return
    for root in _roots(event):
        if is_trusted(root):
            under_way.begin(root, event.session, event.call, named)


def _roots(event: Event) -> tuple[str, ...]:
    """The harnesses that a tool may change."""
    places = (above(path) for path in (event.cwd, *named_paths(event)))
    return tuple(dict.fromkeys(place for place in places if place is not None))
