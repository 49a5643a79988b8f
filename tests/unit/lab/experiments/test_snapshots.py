"""Selective undo by method: who is right, on what terms, and that a wrong undo is counted as wrong."""

from dataclasses import replace

import pytest

from takeback.harness import Harness
from takeback.state.slots import is_same_content
from takeback_lab.experiments import snapshots
from takeback_lab.report.inputs import read_input
from takeback_lab.runner import run_experiment
from takeback_lab.snapshots import own, plain
from takeback_lab.snapshots.git import files_of, rows_from
from takeback_lab.snapshots.method import UndoAttempt, right, tidy
from takeback_lab.snapshots.rows import changed, rows_of, state_of
from takeback_lab.snapshots.situations import PROTOCOLS, inserts_middleware, situation
from takeback_lab.tasks import load

EXPERIMENT = snapshots.EXPERIMENT
PLAN = EXPERIMENT.plan({"tasks": 12})
TASKS = PLAN.tasks
SOME = load("fresh")[::5]
IDS = tuple(task.id for task in TASKS)


@pytest.fixture(scope="module")
def measured():
    return EXPERIMENT.summary(PLAN, run_experiment(EXPERIMENT, PLAN).data)


def measure(name, ids):
    return EXPERIMENT.run({"method": name, "tasks": list(ids)}, None)


def test_our_undo_is_right_every_time_and_keeps_less_than_the_scoped_snapshot(measured):
    found = measured["methods"][snapshots.OWN]
    assert [found[name] for name in PROTOCOLS] == [[12, 12]] * 3
    assert found["bytes"]["mean"] < measured["methods"][snapshots.SCOPED]["bytes"]["mean"]
    assert EXPERIMENT.holds(measured)


@pytest.mark.long
def test_every_fresh_task_is_undone_right_by_our_undo():
    found = measure(snapshots.OWN, [task.id for task in load("fresh")])
    assert [found[name] for name in PROTOCOLS] == [[300, 300]] * 3
    assert found["front_inserting"][0] == found["front_inserting"][1] == 62


def test_a_full_snapshot_loses_every_later_change_and_a_scoped_one_those_in_its_chain(measured):
    full, scoped = measured["methods"]["full snapshot"], measured["methods"][snapshots.SCOPED]
    assert [full[name][0] for name in PROTOCOLS] == [0, 0, 0]
    assert (scoped["different"][0], scoped["front"][0]) == (12, 0)
    assert 0 < scoped["same"][0] < 12


def test_index_based_peers_are_wrong_for_front_inserts(measured):
    for name in ("jsonpatch", "deepdiff", "dictdiffer"):
        assert measured["methods"][name]["different"] == [12, 12]
        assert measured["methods"][name]["front"] == [0, 12]
    assert measured["methods"]["SQLite session, fractional"]["front"] == [12, 12]


def test_every_peer_was_measured(measured):
    assert set(measured["methods"]) == set(snapshots.METHODS)
    assert measured["not_run"] == {}


def test_an_undo_that_does_nothing_is_counted_as_wrong(monkeypatch):
    monkeypatch.setattr(Harness, "undo", lambda self, name: self.apply(own.invert_mutation(())))
    found = measure(snapshots.OWN, IDS)
    assert [found[name][0] for name in PROTOCOLS] == [0, 0, 0]
    assert found["wrong"]["same"] == list(IDS)


def test_our_undo_needs_only_the_counted_bytes(monkeypatch):
    honest = own.keep
    monkeypatch.setattr(own, "keep", lambda recorded, before: honest(recorded, before)[1:])
    assert measure(snapshots.OWN, IDS)["different"][0] == 0


def test_a_result_counts_only_if_types_are_equal_too():
    trial = replace(situation(TASKS[0], "different", 0), expected={"config": {"a": 1}})
    assert right(UndoAttempt({"config": {"a": 1}, "tools": {}}, 1, 0.0), trial)
    assert not right(UndoAttempt({"config": {"a": True}}, 1, 0.0), trial)
    assert not right(UndoAttempt({"config": {"a": 1.0}}, 1, 0.0), trial)
    assert not right(UndoAttempt(None, 1, 0.0), trial)


def test_a_peer_that_is_not_installed_is_not_run_and_not_a_zero(monkeypatch):
    absent = snapshots.MethodSource("document_peers", "JsonPatch", "no_such_module", "nothing")
    monkeypatch.setitem(snapshots.METHODS, "jsonpatch", absent)
    plan = EXPERIMENT.plan({"tasks": 2, "method": ["full snapshot", "jsonpatch"]})
    data = run_experiment(EXPERIMENT, plan).data["snapshots"]
    assert [method["name"] for method in data["methods"]] == ["full snapshot"]
    assert data["not_run"] == {"jsonpatch": "no_such_module is not installed"}
    [table] = EXPERIMENT.tables(data)
    assert "Not run: jsonpatch (no_such_module is not installed)." in table.note
    assert "no_such_module" not in str(plan.parts("")["analysis"]["methods"])


def test_the_report_shows_disk_bytes_beside_the_bytes_undo_needs(measured):
    kept = measured["methods"][snapshots.OWN]["bytes"]["mean"]
    assert kept < measured["entry_bytes"] < measured["entry_disk_bytes"]
    text = "\n".join(map(str, EXPERIMENT.lines(measured)))
    assert f"{measured['entry_disk_bytes']:.0f} B on disk" in text
    assert "what undo needs to keep of the change" in text


def test_latencies_are_medians_with_their_quartiles(measured):
    spreads = {name: row["latency_us"] for name, row in measured["methods"].items()}
    assert all(found for name, found in spreads.items() if name != snapshots.MODEL)
    for spread in filter(None, spreads.values()):
        assert spread["lower"] <= spread["median"] <= spread["upper"]


def test_a_models_recovery_is_a_separate_row_over_its_tasks():
    asked = tuple(own.model_recoveries())
    found = measure(snapshots.MODEL, asked)
    assert found["different"][1] == found["same"][1] == len(asked) > 0
    assert found["front"] is None


def test_the_report_reads_the_experiments_results():
    data = run_experiment(EXPERIMENT, EXPERIMENT.plan({"tasks": 6, "method": ["full snapshot"]})).data
    assert len(read_input("snapshots", data["snapshots"], "here").methods) == 1


def test_a_later_change_elsewhere_touches_no_surface_of_the_first():
    for at, task in enumerate(SOME):
        trial = situation(task, "different", at)
        assert {op.kind.surface for op in trial.later}.isdisjoint(op.kind.surface for op in trial.change)


def test_a_later_change_beside_the_first_is_on_its_surface_and_touches_nothing_of_it():
    for at, task in enumerate(SOME):
        trial = situation(task, "same", at)
        (later,) = trial.later
        assert later.kind.surface in {op.kind.surface for op in trial.change}
        assert trial.after != trial.between
        callbacks = {op.value["id"] for op in trial.change if op.kind.surface == "listeners"}
        assert later.kind.surface == "listeners" or later.target not in {op.target for op in trial.change}
        assert later.kind.surface != "listeners" or later.value["id"] not in callbacks


def test_both_changes_insert_at_the_front():
    for at, task in enumerate(TASKS):
        trial = situation(task, "front", at)
        first = trial.between.part("middleware").ids()[0]
        assert first in {op.target for op in trial.change}
        assert trial.after.part("middleware").ids()[0] == "later_front"
        if inserts_middleware(task):
            assert len(trial.change) == len(task.reference)


@pytest.mark.parametrize("fractional", [True, False])
def test_rows_and_files_give_back_every_state(fractional):
    for task in SOME:
        state = situation(task, "same", 0).before.write()
        assert tidy(state_of(rows_of(state, fractional=fractional))) == state
        assert tidy(state_of(rows_from(files_of(state)))) == state


def test_a_fractional_insertion_touches_one_row_and_a_dense_one_many():
    task = next(task for task in TASKS if inserts_middleware(task) and len(task.state["middleware"]) > 2)
    trial = situation(task, "front", 0)
    counts = {}
    for fractional in (True, False):
        before = rows_of(trial.between.write(), fractional=fractional)
        after = rows_of(trial.after.write(), fractional=fractional, known=before, change=trial.later)
        counts[fractional] = len(list(changed(before, after)))
    assert counts[True] == 1 < counts[False]


def test_the_scoped_snapshot_takes_a_change_back_exactly_where_nothing_came_after():
    for at, task in enumerate(SOME):
        trial = situation(task, "same", at)
        alone = replace(trial, after=trial.between, expected=trial.before.write())
        for method in (plain.ScopedSnapshot(), plain.ElementInverse(), own.RecoveryProgram()):
            assert right(method.attempt(alone), alone), (task.id, type(method).__name__)


def test_kept_rows_rebuild_the_slots():
    for task in SOME:
        trial = situation(task, "front", 0)
        rows = own.keep(own.run_and_record(trial.change, trial.before), trial.before)
        slots, base = own.rebuild(rows)
        for slot in slots:
            kept, was = own.get_slot(base, slot), own.get_slot(trial.before, slot)
            assert is_same_content(slot, kept, was)
        assert base == own.rebuild(rows)[1]
