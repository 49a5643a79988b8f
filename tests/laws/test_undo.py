"""The algebra of undo on random histories, against a replay that shares no code with the engine."""

from __future__ import annotations

import pytest

from takeback.lab.undo_laws import check_undo_laws
from takeback.state import ABSENT
from takeback.undo.history import History


def test_random_histories_undo_to_the_history_without_the_entries():
    found = check_undo_laws(80, seed=1)
    assert (found.violations, found.blocked_not_minimal, found.examples) == (0, 0, [])
    assert found.undos > 400
    assert found.blocked > 30


@pytest.mark.parametrize("mistake", ["forgets the base", "ignores what is above", "undoes only the newest"])
def test_a_broken_engine_is_caught(monkeypatch, mistake):
    if mistake == "forgets the base":
        monkeypatch.setattr(History, "base_content", lambda self, slot: ABSENT)
    elif mistake == "ignores what is above":
        monkeypatch.setattr(History, "_leaf_above", lambda self, slot, view, until: None)
    else:
        last = History.last
        monkeypatch.setattr(History, "last", lambda self, slot, view, until=(2**62, 0): last(self, slot, view, until)
                            if slot[0] != "middleware" else None)  # fmt: skip
    try:
        found = check_undo_laws(60, seed=2)
    except Exception:
        return
    assert found.violations + found.blocked_not_minimal > 0


@pytest.mark.slow
def test_two_thousand_random_histories():
    found = check_undo_laws(2000)
    assert (found.violations, found.blocked_not_minimal) == (0, 0)
