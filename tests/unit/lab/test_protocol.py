"""Locks before runs: what was frozen holds, and a run under anything else refuses."""

import pytest

from takeback.errors import InputError
from takeback_lab.engines import Here
from takeback_lab.errors import LockChanged
from takeback_lab.lock import make_lock, read_lock, write_lock
from takeback_lab.protocol import freeze_lock, frozen_path, parts_of, sources, verify_locks
from takeback_lab.registry import experiment_named
from takeback_lab.results import read_results, verify_results
from takeback_lab.runner import run_experiment

AUDIT = experiment_named("contract-audit")
PLAN = AUDIT.plan({"tasks": 6})
LOCK = make_lock("contract-audit", PLAN.parts(""))
OTHER = make_lock("contract-audit", AUDIT.plan({"tasks": 12}).parts(""))


def test_every_part_is_locked_and_inapplicable_parts_are_null():
    parts = parts_of(tasks=["a", "b"], seeds=[1])
    assert set(parts) == {"tasks", "seeds", "suites", "prompts", "model", "analysis"}
    assert parts["prompts"] is None
    with pytest.raises(InputError, match="sedes"):
        parts_of(sedes=[1])


def test_a_run_under_the_frozen_lock_is_allowed(tmp_path):
    lock = freeze_lock(tmp_path, LOCK)
    ran = run_experiment(AUDIT, PLAN, results=tmp_path)
    assert ran.lock == lock == read_lock(frozen_path(tmp_path, "contract-audit"))
    assert read_results(tmp_path / "contract-audit").lock == lock.digest
    assert verify_results(tmp_path) == []


def test_a_run_with_a_changed_part_is_refused_before_it_starts(tmp_path):
    class Never(Here):
        def each(self, work, units):
            pytest.fail("it ran")

    freeze_lock(tmp_path, OTHER)
    with pytest.raises(LockChanged, match="tasks"):
        run_experiment(AUDIT, PLAN, results=tmp_path, engine=Never())


def test_another_lock_is_only_replaced_on_request_and_kept(tmp_path):
    first = freeze_lock(tmp_path, LOCK)
    with pytest.raises(LockChanged, match="tasks"):
        freeze_lock(tmp_path, OTHER)
    second = freeze_lock(tmp_path, OTHER, replace=True)
    assert read_lock(frozen_path(tmp_path, "contract-audit")) == second
    assert read_lock(tmp_path / "locks" / f"contract-audit-{first.digest[:16]}.json") == first


def test_altered_and_mismatched_frozen_locks_are_detected(tmp_path):
    lock = freeze_lock(tmp_path, LOCK)
    run_experiment(AUDIT, PLAN, results=tmp_path)
    assert verify_locks(tmp_path) == []
    path = frozen_path(tmp_path, "contract-audit")
    path.write_text(path.read_text().replace(lock.parts["tasks"], "0" * 64))
    assert [one.kind for one in verify_locks(tmp_path)] == ["lock"]
    write_lock(OTHER, path)
    [problem] = verify_locks(tmp_path)
    assert lock.digest in problem.detail
    write_lock(lock, path)
    freeze_lock(tmp_path, OTHER, replace=True)
    assert verify_locks(tmp_path) == []


def test_progress_is_kept_after_an_interruption_and_removed_at_the_end(tmp_path):
    plan = experiment_named("oracle").plan({"tasks": 60, "rule": ["proof"]})
    oracle = experiment_named("oracle")
    seen = []

    class BreaksOff(Here):
        def each(self, work, units):
            for key, result in super().each(work, units):
                if seen:
                    raise KeyboardInterrupt
                seen.append(key)
                yield key, result

    class Counted(Here):
        def each(self, work, units):
            seen.extend(units)
            return super().each(work, units)

    with pytest.raises(KeyboardInterrupt):
        run_experiment(oracle, plan, results=tmp_path, engine=BreaksOff())
    ran = run_experiment(oracle, plan, results=tmp_path, engine=Counted())
    assert seen == list(plan.units())
    assert ran.data == run_experiment(oracle, plan).data
    assert list((tmp_path / "progress").iterdir()) == []


def test_without_a_results_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_experiment(AUDIT, PLAN)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_holds_digests_of_the_deciding_code(tmp_path, monkeypatch):
    (tmp_path / "deciding").mkdir()
    file = tmp_path / "deciding" / "__init__.py"
    file.write_text("RULE = 1\n")
    (tmp_path / "deciding" / "inner.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    first = sources("deciding")
    file.write_text("RULE = 2\n")
    second = sources("deciding")
    assert first.keys() == second.keys() == {"python", "deciding/__init__", "deciding/inner"}
    assert first["deciding/__init__"] != second["deciding/__init__"]
    with pytest.raises(InputError, match="no_such_module"):
        sources("no_such_module")


@pytest.mark.parametrize("name", ["contract-audit", "oracle", "stability", "snapshots", "fresh"])
def test_the_lock_of_an_experiment_changes_with_its_tasks_alone(name):
    experiment = experiment_named(name)
    few, more = (experiment.plan({"tasks": count}).parts("m") for count in (6, 12))
    assert few["analysis"] == more["analysis"]
    assert few["tasks"] != more["tasks"]


def test_another_cohort_changes_the_lock_of_the_oracle():
    oracle = experiment_named("oracle")
    one, two = (oracle.plan({"set": [name], "tasks": 6}).parts("")["tasks"] for name in ("natural", "fresh"))
    assert one != two
