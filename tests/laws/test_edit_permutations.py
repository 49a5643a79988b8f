"""Every order of undoing and redoing five edits of one text, against a record of places and versions kept here.

The edits collide: one line is written twice, lines come and go beside each other, a line that one edit added another
writes again, and the last line has no end. Orders are walked as a tree, so that no beginning is walked twice: a step
down undoes, the step back up redoes, and the text is compared after each.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from tests.support.changes import candidate

from takeback import open_memory
from takeback.harness import Applied, Harness, Undone
from takeback.state import State

LINES = [f"line {at}\n" for at in range(11)] + ["line 11"]
EDITS = [
    ("line 3\n", "line 3 first\n"),
    ("3 first\nline 4\n", "3 second\nline 4\n"),
    ("line 6\n", "line 6\nadded one\nadded two\n"),
    ("added two\nline 7\nline 8\n", "added two, again\nline 8\n"),
    ("line 10\nline 11", "line 10 at last\nline 11\n"),
]
VERSIONS: list[dict[float, str | None]] = [
    {3: "line 3 first\n"},
    {3: "line 3 second\n"},
    {6.1: "added one\n", 6.2: "added two\n"},
    {6.2: "added two, again\n", 7: None},
    {10: "line 10 at last\n", 11: "line 11\n"},
]
"""What each edit makes of which place: a line, or nothing. Lines from the start stand at their number."""


def text_of(live: frozenset[int]) -> str:
    """The text with some edits live: each place holds its last live version, or what was there from the start."""
    records: dict[float, str | None] = dict(enumerate(LINES))
    for at, versions in enumerate(VERSIONS):
        if at in live:
            records.update(versions)
    return "".join(line for _, line in sorted(records.items()) if line is not None)


class Walk:
    """A harness with the edits applied, and which pairs of orders were walked to their end."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.entries = [self._apply(old, new) for old, new in EDITS]
        self.live = frozenset(range(len(EDITS)))
        self.seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()

    def _apply(self, old: str, new: str) -> str:
        op = {"op_type": "edit_prompt", "target": "system", "value": {"old": old, "new": new}}
        done = self.harness.apply(candidate(op))
        assert isinstance(done, Applied), done
        return str(done.entry.id)

    def turn(self, at: int) -> None:
        """Undo an edit that is live, redo one that is not, and compare the text."""
        ask = self.harness.undo if at in self.live else self.harness.redo
        done = ask(self.entries[at])
        assert isinstance(done, Undone), done
        before, self.live = self.live, self.live ^ {at}
        assert self.text() == text_of(self.live), (sorted(before), at)
        assert done.plan.visible is (text_of(before) != text_of(self.live))

    def text(self) -> str:
        return str(self.harness.state.write()["prompts"]["system"])

    def undone(self, left: frozenset[int], walked: tuple[int, ...]) -> None:
        """Undo what is left in every order; with nothing left, redo all in every order; turn it all back."""
        if not left:
            self.redone(ALL, walked, ())
        for at in sorted(left):
            self.turn(at)
            self.undone(left - {at}, (*walked, at))
            self.turn(at)

    def redone(self, left: frozenset[int], order: tuple[int, ...], walked: tuple[int, ...]) -> None:
        """Redo what is left in every order, and undo it again."""
        if not left:
            self.seen.add((order, walked))
        for at in sorted(left):
            self.turn(at)
            self.redone(left - {at}, order, (*walked, at))
            self.turn(at)


def opened() -> Harness:
    return open_memory(State.read({"prompts": {"system": "".join(LINES)}}))


ALL = frozenset(range(len(EDITS)))


def test_the_expected_texts_match_the_harness_and_mostly_differ():
    with opened() as harness:
        walk = Walk(harness)
        assert walk.text() == text_of(ALL)
    assert len({text_of(frozenset(at for at in range(5) if chosen >> at & 1)) for chosen in range(32)}) == 24


@pytest.mark.parametrize("first", [0, *(pytest.param(at, marks=pytest.mark.slow) for at in sorted(ALL - {0}))])
def test_five_edits_are_undone_in_every_order_and_from_there_redone_in_every_order(first):
    with opened() as harness:
        walk = Walk(harness)
        walk.turn(first)
        walk.undone(ALL - {first}, (first,))
        walk.turn(first)
        orders = list(permutations(sorted(ALL)))
        assert walk.seen == {(one, two) for one in orders if one[0] == first for two in orders}
        assert walk.text() == text_of(ALL)
