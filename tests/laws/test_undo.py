"""The algebra of undo on random histories, against a replay that shares no code with the engine."""

from __future__ import annotations

import random

import pytest

from takeback.errors import HarnessError, JournalCorruptError, OperationFailed
from takeback.harness.ledger import StoredIndex
from takeback.harness.records import draft_change
from takeback.journal import open_journal
from takeback.language import read_program
from takeback.state import ABSENT, KINDS, Stage
from takeback.undo import Blocked, History, Index, consequences, find_dependencies, plan, plan_undo
from takeback.undo.record import run_and_record
from takeback_lab import undo_laws
from takeback_lab.random_changes import EVERY, FOLDERS, random_base, random_op
from takeback_lab.undo_laws import check_undo_laws


def test_a_directory_that_an_operation_removed_comes_back_in_any_history(monkeypatch):
    monkeypatch.setattr(undo_laws, "FOCI", (FOLDERS,))
    found = check_undo_laws(80, seed=1)
    assert (found.violations, found.blocked_not_minimal, found.examples) == (0, 0, [])
    assert (found.undos > 200, found.blocked > 10) == (True, True)


def test_random_histories_undo_to_the_history_without_the_entries():
    found = check_undo_laws(100, seed=1)
    assert (found.violations, found.blocked_not_minimal, found.examples) == (0, 0, [])
    assert found.invisible_said == found.invisible > 0
    assert found.stored_histories == 25
    assert found.undos > 300
    assert found.blocked > 20
    assert (found.forgets > 50, found.gone > 10) == (True, True)
    forward = {kind.name for kind in KINDS.values() if kind.stage is Stage.FORWARD}
    assert set(found.kinds) == forward - {"remove_directory"}


MISTAKES = [
    "forgets the base",
    "ignores what is above",
    "undoes only the newest",
    "nothing is needed",
    "the first item owns its list",
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_broken_engine_is_caught(monkeypatch, mistake):
    if mistake == "nothing is needed":
        monkeypatch.setattr(consequences, "_why_missing", lambda history, version, view: None)
    elif mistake == "the first item owns its list":
        monkeypatch.setattr(Index, "list_shared_parts", lambda self, slot: [])
    elif mistake == "forgets the base":
        monkeypatch.setattr(History, "base_content", lambda self, slot: ABSENT)
    elif mistake == "ignores what is above":
        monkeypatch.setattr(History, "leaf_above", lambda self, slot, view, until=None: None)
    else:
        last = History.last
        monkeypatch.setattr(
            History,
            "last",
            lambda self, slot, view, until=(2**62, 0): (
                last(self, slot, view, until) if slot[0] != "middleware" else None
            ),
        )
    try:
        found = check_undo_laws(120, seed=2)
    except (HarnessError, OperationFailed, JournalCorruptError, AttributeError):
        return  # the engine contradicts itself, which is caught as well
    assert found.violations + found.blocked_not_minimal > 0


def test_an_index_loaded_from_the_journal_plans_like_one_in_memory():
    blocked, seen = 0, set()
    for seed in range(45):
        rng = random.Random(seed)
        state = base = random_base(rng)
        kinds = (*EVERY, "remove_directory") if seed % 3 else ("set_config", "allocate_socket", "write_file")
        store = open_journal(":memory:")
        held = History(lambda base=base: base)
        for number in range(1, 20):
            recorded = None
            while recorded is None or not recorded.receipt.succeeded:
                raw = [random_op(rng, state, kinds)]
                recorded = run_and_record(read_program(raw, Stage.FORWARD, "m"), state)
            seen.add(raw[0]["op_type"])
            writes = held.with_parents(recorded.writes)
            fresh = History(lambda base=base: base, Index(StoredIndex(store)), held.undone)
            assert find_dependencies(held, writes) == find_dependencies(fresh, writes)
            store.append([draft_change("apply", writes, {})])
            held.add(number, writes)
            state = recorded.state
            fresh = History(lambda base=base: base, Index(StoredIndex(store)), held.undone)
            wanted = {rng.randint(1, number)} - held.undone
            one, two = plan_undo(held, state, wanted), plan_undo(fresh, state, wanted)
            assert type(one) is type(two)
            if isinstance(one, Blocked):
                blocked += 1
                assert (one.off, one.reasons, one.together.token) == (two.off, two.reasons, two.together.token)
            else:
                assert one.token == two.token
                assert one.state == two.state
                held.toggle(one.off, one.on)
                state = one.state
    assert blocked > 5
    assert seen == {kind.name for kind in KINDS.values() if kind.stage is Stage.FORWARD}


def test_the_fast_path_of_undo_agrees_with_the_general_plan(monkeypatch):
    compared = []
    short = plan._plan_independent

    def both(history, state, entry):
        found = short(history, state, entry)
        if found is not None:
            general = plan._plan_request(history, state, frozenset({entry}), frozenset())
            assert (found.token, sorted(found.kept)) == (general.token, sorted(general.kept))
            assert found.state == general.state
            compared.append(entry)
        return found

    monkeypatch.setattr(plan, "_plan_independent", both)
    assert check_undo_laws(60, seed=3).violations == 0
    assert len(compared) > 50


@pytest.mark.slow
def test_undo_obeys_its_laws_on_two_thousand_random_histories():
    found = check_undo_laws(2000)
    assert (found.violations, found.blocked_not_minimal) == (0, 0)
    assert found.invisible_said == found.invisible
