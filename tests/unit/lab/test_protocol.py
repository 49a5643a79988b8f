"""Locks before runs: what was frozen holds, and a run under anything else refuses."""

import pytest

from takeback.errors import InputError, LockChanged
from takeback.lab.experiments import oracle
from takeback.lab.lock import make_lock, read_lock
from takeback.lab.protocol import freeze, frozen_path, open_run, parts_of, protocol_parts, sources
from takeback.lab.results import read_results, verify_results

PARTS = parts_of(tasks=["a", "b"], seeds=[1])
LOCK = make_lock("oracle", PARTS)
OTHER = make_lock("oracle", {**PARTS, "tasks": []})


def test_every_part_is_locked_and_one_that_does_not_apply_is_null():
    assert set(PARTS) == {"tasks", "seeds", "suites", "prompts", "model", "analysis"}
    assert PARTS["prompts"] is None
    with pytest.raises(InputError, match="sedes"):
        parts_of(sedes=[1])


def test_a_run_under_the_frozen_lock_goes_ahead(tmp_path):
    lock = freeze(tmp_path, LOCK)
    with open_run(tmp_path, "oracle", PARTS) as run:
        assert run.lock == lock == read_lock(frozen_path(tmp_path, "oracle"))
        run.record("oracle-proof", "oracle", {"tasks": []})
    assert read_results(tmp_path / "oracle-proof").lock == lock.digest
    assert verify_results(tmp_path) == []


def test_a_run_under_a_changed_part_refuses_and_names_it(tmp_path):
    freeze(tmp_path, LOCK)
    with pytest.raises(LockChanged, match="seeds"), open_run(tmp_path, "oracle", {**PARTS, "seeds": [2]}):
        pytest.fail("it ran")


def test_another_lock_is_not_written_over_but_may_be_replaced_and_is_kept(tmp_path):
    first = freeze(tmp_path, LOCK)
    with pytest.raises(LockChanged, match="tasks"):
        freeze(tmp_path, OTHER)
    second = freeze(tmp_path, OTHER, replace=True)
    assert read_lock(frozen_path(tmp_path, "oracle")) == second
    assert read_lock(tmp_path / "locks" / f"oracle-{first.digest[:16]}.json") == first


def test_what_was_finished_stays_when_a_run_breaks_off_and_goes_when_it_ends(tmp_path):
    def broken_off():
        with open_run(tmp_path, "oracle", PARTS) as run:
            run.finished.record("unit", 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    with open_run(tmp_path, "oracle", PARTS) as run:
        assert run.finished["unit"] == 1
    assert list((tmp_path / "progress").iterdir()) == []


def test_without_a_results_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_run(None, "oracle", PARTS) as run:
        run.record("oracle", "oracle", {})
    assert list(tmp_path.iterdir()) == []


def test_a_lock_holds_the_code_that_decides(tmp_path, monkeypatch):
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


@pytest.mark.parametrize("name", ["contract-audit", "oracle", "stability", "snapshots"])
def test_every_experiment_has_a_protocol_that_its_options_change(name):
    few, more = protocol_parts(name, {"tasks": 6}), protocol_parts(name, {"tasks": 12})
    assert few["analysis"] == more["analysis"]
    assert few["tasks"] != more["tasks"]


def test_only_experiments_can_be_locked():
    with pytest.raises(InputError, match="the name of an experiment"):
        protocol_parts("no-such", {})
    with pytest.raises(InputError, match="a protocol to lock"):
        protocol_parts("truth", {})
    with pytest.raises(InputError, match="found sets, expected some of tasks"):
        protocol_parts("snapshots", {"sets": ["natural"]})
    with pytest.raises(InputError, match="no model, expected one, given with --model"):
        protocol_parts("natural", {})


def test_another_cohort_changes_the_lock_of_the_oracle():
    assert oracle.protocol(sets=("natural",), tasks=6)["tasks"] != oracle.protocol(sets=("fresh",), tasks=6)["tasks"]
