"""Solvability and its stability: the counts move when the oracle or the states change under them."""

import json
from dataclasses import replace

import pytest

from takeback.errors import InputError
from takeback.lab.experiments import oracle, stability
from takeback.lab.lock import digest_of, make_lock, write_lock
from takeback.lab.progress import Progress
from takeback.lab.report import read_input

CASES = oracle.cohort(tasks=12)


@pytest.mark.parametrize("rule", oracle.RULES)
def test_l1_recovers_every_task_and_l0_those_of_its_surfaces(rule):
    found = oracle.summary(oracle.run(CASES, rule))
    assert (found["L1"], found["residual"], found["unrecovered"]) == (12, 0, [])
    assert found["families"]["tools"]["S0"] == 2
    assert found["families"]["middleware"] == {"tasks": 2, "L0": 0, "L1": 2, "S0": 0, "S1": 2, "residual": 0}


@pytest.mark.parametrize("rule", oracle.RULES)
def test_an_oracle_that_forgets_to_restore_recovers_nothing(rule, monkeypatch):
    honest = oracle.invert
    monkeypatch.setattr(oracle, "invert", lambda mutation, nominal: replace(honest(mutation, nominal), recovery=()))
    found = oracle.summary(oracle.run(CASES, rule))
    assert found["residual"] == 12
    assert found["unrecovered"] == [case.id for case in CASES]


def test_an_unknown_rule_is_refused():
    with pytest.raises(InputError, match="split-wald, proof"):
        oracle.run(CASES, "coin")


def test_the_default_cohort_is_all_natural_and_fresh_tasks():
    assert len(oracle.cohort()) == 900
    assert len(oracle.cohort(("controlled",))) == 120


def test_the_report_reads_what_the_experiments_deliver():
    outcomes = oracle.run(CASES, oracle.SAMPLED)
    data = read_input("oracle", oracle.report_data(outcomes, "label"), "here")
    assert {row.passes for row in data.matrix.rows} == {"1" * 50}
    assert read_input("oracle", oracle.report_data(oracle.run(CASES, oracle.PROOF), ""), "here").matrix is None
    strata = {"a": ("S0", "S1")}
    assert read_input("stability", stability.report_data(strata, (1, 2), ""), "here").seeds == (1, 2)


def test_no_task_migrates_between_two_seeds():
    found = stability.summary(stability.run(CASES, (1000, 2000)), (1000, 2000))
    assert (found["migrations"], found["jaccard"]) == (0, {"S0": 1.0, "S1": 1.0})


def test_a_stratum_that_depends_on_the_seed_is_counted_as_a_migration(monkeypatch):
    honest = oracle.audit

    def fickle(case, rule, seed):
        return replace(honest(case, rule, 0), l0=seed == 1000) if case.id == CASES[0].id else honest(case, rule, 0)

    monkeypatch.setattr(oracle, "audit", fickle)
    found = stability.summary(stability.run(CASES, (1000, 2000, 3000)), (1000, 2000, 3000))
    assert (found["migrations"], found["migrated"]) == (2, [CASES[0].id])
    assert found["jaccard"]["S0"] < 1 > found["jaccard"]["S1"]
    assert found["strata"]["1000"]["S0"] == found["strata"]["2000"]["S0"] + 1


def test_the_states_of_another_seed_are_other_states():
    case = CASES[0]
    made = [oracle.suites(case.nominal(), case.program(), seed=seed) for seed in (1000, 2000)]
    first, second = ({state.digest() for state in one.iid} for one in made)
    assert len(first & second) < len(first)


def test_worker_processes_find_the_same_as_one():
    cases = oracle.cohort(tasks=36)
    assert oracle.run(cases, oracle.PROOF, workers=2) == oracle.run(cases, oracle.PROOF)


def test_a_run_that_broke_off_goes_on_without_repeating_what_was_finished(tmp_path, monkeypatch):
    lock = make_lock("stability", {})
    seen = []

    def counted(unit):
        seen.append(unit[2])
        if len(seen) == 3:
            raise KeyboardInterrupt
        return {case.id: "S1" for case in unit[0]}

    monkeypatch.setattr(stability, "strata_chunk", counted)
    with Progress(tmp_path / "p", lock) as finished, pytest.raises(KeyboardInterrupt):
        stability.run(CASES, (1, 2, 3, 4), finished=finished)
    with Progress(tmp_path / "p", lock) as finished:
        found = stability.run(CASES, (1, 2, 3, 4), finished=finished)
    assert seen == [1, 2, 3, 3, 4]
    assert set(found.values()) == {("S1",) * 4}


def _bank(tmp_path, entries):
    lock = make_lock("natural", {})
    frozen = {"sampling": {}, "locked": ["nat_cfg_001"], "lock": lock.digest, "digest": digest_of(entries)}
    bank = {"model": "m", **frozen, "entries": entries}
    (tmp_path / "bank.json").write_text(json.dumps(bank))
    write_lock(lock, tmp_path / "lock.json")
    return tmp_path


def test_the_oracle_recovers_every_defective_candidate_of_the_shipped_bank():
    cases = oracle.cohort(("bank",))
    assert cases
    assert oracle.summary(oracle.run(cases, oracle.PROOF))["unrecovered"] == []


def test_a_frozen_bank_gives_its_defective_mutations(tmp_path):
    mutation = [{"op_type": "set_config", "target": "agent.timeout_sec", "value": 1}]
    entries = [
        {"id": "nat_cfg_001", "outcome": "defective", "candidate": {"mutation": mutation}},
        {"id": "nat_cfg_002", "outcome": "admissible", "candidate": {"mutation": mutation}},
    ]
    (case,) = oracle.cohort(bank=_bank(tmp_path, entries))
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
        oracle.cohort(bank=_bank(tmp_path, entries))
