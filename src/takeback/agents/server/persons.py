"""What a person decides about an agent's request: the reasons, the question, and the command to run instead."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from takeback.canonical import compact
from takeback.harness import Harness
from takeback.harness.toggle_requests import named_entry
from takeback.present.visible import visible
from takeback.undo import Plan

LONGEST = 300
MOST = 12


@dataclass(frozen=True, slots=True)
class Question:
    """What a person must decide before a request is carried out; without reasons there is nothing to ask."""

    who: str
    what: str
    reasons: tuple[str, ...] = ()
    command: str = ""

    @property
    def text(self) -> str:
        """The question, in words that do not come from the agent except where they are quoted."""
        shown = [f"- {_short(reason)}" for reason in self.reasons[:MOST]]
        if len(self.reasons) > MOST:
            shown.append(f"- and {len(self.reasons) - MOST} more")
        return "\n".join([f"{_short(self.who)} wants to {_short(self.what)}.", *shown, "Do you want that?"])


def others_entries(harness: Harness, plan: Plan, names: Iterable[str], who: str) -> list[str]:
    """Of the entries that an undo is about, those that someone else made."""
    asked = {named_entry(harness.ledger, name).entry for name in names}
    found = []
    for number in sorted({*asked, *plan.off, *plan.on}):
        maker = harness.journal.get(number).payload.get("by", "")
        if maker != who:
            found.append(f"#{number} was made by {maker or 'someone who is not said, such as a person'}")
    return found


def apply_command(candidate: dict[str, Any], lines: Sequence[str], directory: str, *, force: bool = False) -> str:
    """The command by which a person makes a change: the one line it is, or the candidate on standard input.

    A line is quoted anew, word by word: what a shell would run in it as it was sent is only text here.
    """
    if len(lines) == 1 and not force:
        words = shlex.split(lines[0])
        return shlex.join(["takeback", *words[words[:1] == ["takeback"] :], "--dir", directory])
    flag = "--force" if force else "--repair"
    return f"printf %s {shlex.quote(compact(candidate))} | takeback apply - {flag} --dir {shlex.quote(directory)}"


def undo_command(names: Sequence[str], directory: str, *, cascade: bool) -> str:
    """The command by which a person takes entries back."""
    return command("undo", directory, *names, *(["--cascade"] if cascade else []))


def command(name: str, directory: str, *words: str) -> str:
    """A command about this harness, to be copied."""
    return shlex.join(["takeback", name, *words, "--dir", directory])


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
