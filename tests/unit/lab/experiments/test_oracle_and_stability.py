"""Solvability and its stability: the counts move when the oracle or the states change under them."""

from dataclasses import replace

import pytest

from takeback.errors import InputError
from takeback_lab.engines import Processes
from takeback_lab.experiments import oracle, stability
from takeback_lab.experiments.recorded import write_frozen
from takeback_lab.lock import make_lock, write_lock
from takeback_lab.report.inputs import read_input
from takeback_lab.runner import run_experiment

ORACLE, STABILITY = oracle.EXPERIMENT, stability.EXPERIMENT
CASES = ORACLE.plan({"tasks": 12}).cases


def audited(given, engine=None):
    plan = ORACLE.plan(given)
    return ORACLE.summary(plan, run_experiment(ORACLE, plan, engine=engine).data)


def stratified(seeds):
    plan = STABILITY.plan({"tasks": 12, "seeds": seeds})
    return STABILITY.summary(plan, run_experiment(STABILITY, plan).data)


@pytest.mark.parametrize("rule", oracle.RULES)
def test_l1_recovers_every_task_and_l0_only_tasks_of_its_surfaces(rule):
    found = audited({"tasks": 12, "rule": [rule]})
    counts = found["rules"][rule]
    assert (counts["L1"], counts["residual"], counts["unrecovered"]) == (12, 0, [])
    assert counts["families"]["tools"]["S0"] == 2
    assert counts["families"]["middleware"] == {"tasks": 2, "L0": 0, "L1": 2, "S0": 0, "S1": 2, "residual": 0}
    assert ORACLE.holds(found)


@pytest.mark.parametrize("rule", oracle.RULES)
def test_an_oracle_that_forgets_to_restore_recovers_nothing(rule, monkeypatch):
    honest = oracle.invert_mutation
    monkeypatch.setattr(
        oracle, "invert_mutation", lambda mutation, nominal: replace(honest(mutation, nominal), recovery=())
    )
    found = audited({"tasks": 12, "rule": [rule]})
    assert found["rules"][rule]["residual"] == 12
    assert found["rules"][rule]["unrecovered"] == [case.id for case in CASES]
    assert not ORACLE.holds(found)


def test_an_unknown_rule_is_refused():
    with pytest.raises(InputError, match="split-wald, proof"):
        ORACLE.plan({"rule": ["coin"]})


def test_the_default_cohort_is_all_natural_and_fresh_tasks():
    assert len(ORACLE.plan({}).cases) == 900
    assert len(ORACLE.plan({"set": ["controlled"]}).cases) == 120


def test_the_report_reads_the_experiments_results():
    data = run_experiment(ORACLE, ORACLE.plan({"tasks": 12})).data
    assert list(data) == ["oracle-split-wald", "oracle-proof"]
    sampled, proved = (read_input("oracle", one, "here") for one in data.values())
    assert {row.passes for row in sampled.matrix.rows} == {"1" * 50}
    assert proved.matrix is None


def test_no_task_migrates_between_two_seeds():
    found = stratified(2)
    assert (found["migrations"], found["jaccard"]) == (0, {"S0": 1.0, "S1": 1.0})


def test_a_stratum_that_depends_on_the_seed_is_counted_as_a_migration(monkeypatch):
    honest = oracle.audit

    def fickle(case, rule, seed, level):
        return replace(honest(case, rule, 0), l0=seed == 1000) if case.id == CASES[0].id else honest(case, rule, 0)

    monkeypatch.setattr(oracle, "audit", fickle)
    found = stratified(3)
    assert (found["migrations"], found["migrated"]) == (2, [CASES[0].id])
    assert found["jaccard"]["S0"] < 1 > found["jaccard"]["S1"]
    assert found["strata"]["1000"]["S0"] == found["strata"]["2000"]["S0"] + 1


def test_the_states_of_another_seed_are_other_states():
    case = CASES[0]
    made = [oracle.make_suites(case.nominal(), case.program(), seed=seed) for seed in (1000, 2000)]
    first, second = ({state.digest() for state in one.iid} for one in made)
    assert len(first & second) < len(first)


def test_several_worker_processes_find_the_same_as_one():
    given = {"tasks": 60, "rule": ["proof"]}
    assert audited(given, Processes(2)) == audited(given)


def _bank(tmp_path, entries):
    lock = make_lock("natural", {})
    bank = {"model": "m", "sampling": {}, "locked": ["nat_cfg_001"], "lock": lock.digest, "entries": entries}
    write_frozen(tmp_path / "bank.json", bank)
    write_lock(lock, tmp_path / "lock.json")
    return tmp_path


def test_the_oracle_recovers_every_defective_candidate_of_the_shipped_bank():
    found = audited({"set": ["bank"], "rule": ["proof"]})
    assert found["tasks"]
    assert found["rules"]["proof"]["unrecovered"] == []


def test_a_frozen_bank_gives_its_defective_mutations(tmp_path):
    mutation = [{"op_type": "set_config", "target": "agent.timeout_sec", "value": 1}]
    entries = [
        {"id": "nat_cfg_001", "outcome": "defective", "candidate": {"mutation": mutation}},
        {"id": "nat_cfg_002", "outcome": "admissible", "candidate": {"mutation": mutation}},
    ]
    (case,) = ORACLE.plan({"bank": _bank(tmp_path, entries)}).cases
    assert (case.id, list(case.mutation)) == ("nat_cfg_001", mutation)
    assert oracle.audit(case, oracle.PROOF).stratum == "S0"


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ([{"id": "nat_cfg_001"}], r"entries\[0\]"),
        ([{"id": "nat_cfg_001", "outcome": "defective", "candidate": {}}], r"entries\[0\].candidate.mutation"),
        ([], "at least one"),
    ],
)
def test_a_bank_that_cannot_be_read_names_the_place(tmp_path, entries, place):
    with pytest.raises(InputError, match=place):
        ORACLE.plan({"bank": _bank(tmp_path, entries)})


def test_l2_recovers_every_task_of_its_set_by_proof_and_l1_none():
    found = audited({"set": ["l2"], "language": "L2", "rule": ["proof"]})
    counts = found["rules"]["proof"]
    assert (counts["tasks"], counts["L2"], counts["S2"], counts["L1"], counts["unrecovered"]) == (
        120,
        120,
        120,
        0,
        [],
    )
    assert {row["L2"] for row in counts["families"].values()} == {20}
    assert ORACLE.holds(found)
    assert "recovered in L2 under proof: 120/120" in list(ORACLE.lines(found))
    narrow = audited({"set": ["l2"], "rule": ["proof"], "tasks": 6})
    assert narrow["rules"]["proof"]["residual"] == 6
    assert not ORACLE.holds(narrow)


def test_l2_strata_are_reported_and_another_language_is_refused():
    data = run_experiment(ORACLE, ORACLE.plan({"set": ["l2"], "language": "L2", "rule": ["proof"], "tasks": 6})).data
    (table,) = ORACLE.tables(data["oracle-proof"])
    assert table.columns == ("Family", "Recovered under L0", "Recovered under L1", "Recovered under L2")
    with pytest.raises(InputError, match="L1 or L2"):
        ORACLE.plan({"language": "L3"})
