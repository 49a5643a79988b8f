"""Two harnesses alive on one journal: whoever acts, both know the same, and the naive replay agrees.

Random histories of changes, edits by hand, undo, redo and restore, each step by one of two harnesses that stay open.
The one that acts looks first, as a person would; the other is left with what it knew.
"""

from __future__ import annotations

import random

import pytest

from takeback.state import KINDS, Stage
from takeback.undo import Blocked, Gone, Plan
from takeback_lab import undo_laws
from takeback_lab.law_world import World
from takeback_lab.random_changes import EVERY, FOCI
from takeback_lab.undo_laws import LawFindings

HISTORIES = 30
CHANGES = 12


class TwoHarnesses(World):
    """A world in which every step is taken by one of two harnesses, the other left as it was."""

    def __init__(self, rng, focus, stored):
        super().__init__(rng, focus, stored)
        self.both = (self.harness, self._open(None))
        self.turns = [0, 0]

    def maybe_reopen(self):
        which = self.rng.randrange(2)
        self.turns[which] += 1
        self.harness = self.both[which]
        self.harness.status()

    def close(self):
        for harness in self.both:
            harness.close()

    def agree(self):
        """Both harnesses, and one that is opened now, say the same of the state and of every undo and redo."""
        fresh = self._open(None)
        known = [_known(harness, self._names) for harness in (*self.both, fresh)]
        fresh.close()
        assert known[0] == known[1] == known[2]


def _known(harness, names):
    status = harness.status()
    undone = harness.ledger.history.undone
    plans = [
        _told(harness.plan_undo(name)) if number not in undone else (number, "undone")
        for number, name in sorted(names.items())
    ]
    return status.head, status.clean, harness.state.digest(), sorted(undone), plans


def _told(outcome):
    if isinstance(outcome, Plan):
        return outcome.token
    if isinstance(outcome, Gone):
        return outcome.slots, [change.slot for change in outcome.left]
    assert isinstance(outcome, Blocked)
    return outcome.off, outcome.on, outcome.reasons


def test_two_harnesses_on_one_journal_know_the_same_history(tmp_path):
    found, kinds, turns = LawFindings(), set(), [0, 0]
    for number in range(HISTORIES):
        rng = random.Random(f"two/{number}")
        world = TwoHarnesses(rng, EVERY if number % 3 else rng.choice(FOCI), tmp_path / f"{number}.db")
        try:
            undo_laws._run(world, found, CHANGES)
            world.agree()
            turns = [one + two for one, two in zip(turns, world.turns, strict=True)]
        finally:
            world.close()
        kinds |= set(found.kinds)
    assert (found.violations, found.blocked_not_minimal, found.examples) == (0, 0, [])
    assert min(turns) > 50
    assert found.undos > 50
    assert found.redos > 20
    assert found.restores > 10
    assert found.adoptions > 10
    assert kinds == {kind.name for kind in KINDS.values() if kind.stage is Stage.FORWARD} - {"remove_directory"}


@pytest.mark.parametrize("first", ["undo", "redo", "restore"])
@pytest.mark.parametrize("second", ["undo", "redo", "restore"])
def test_every_order_of_undo_redo_and_restore_by_two_harnesses(tmp_path, first, second):
    found = LawFindings()
    for number in range(4):
        rng = random.Random(f"{first}/{second}/{number}")
        world = TwoHarnesses(rng, EVERY, tmp_path / f"{number}.db")
        try:
            for at in range(6):
                world.harness = world.both[at % 2]
                world.harness.status()
                undo_laws._change(world, found)
            undo_laws._undo(world, found, frozenset({rng.choice([entry.number for entry in world.live()])}))
            for at, act in enumerate((first, second, first)):
                world.harness = world.both[at % 2]
                _one(world, found, act)
            world.agree()
        finally:
            world.close()
    assert (found.violations, found.blocked_not_minimal, found.examples) == (0, 0, [])


def _one(world, found, act):
    undone, live = sorted(world.undone), [entry.number for entry in world.live()]
    if act == "undo" and live:
        undo_laws._undo(world, found, frozenset({world.rng.choice(live)}))
    elif act == "redo" and undone:
        undo_laws._redo(world, found, frozenset({world.rng.choice(undone)}))
    elif act == "restore":
        undo_laws._restore(world, found)
