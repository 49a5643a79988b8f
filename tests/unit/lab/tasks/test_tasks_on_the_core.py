"""The task sets on the real core: states parse, references run, the oracle takes every one of them back.

The core is checked against `tests/support/naive.py`, which shares no code with it.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from tests.support import naive

from takeback.language import Candidate, Program, read_candidate
from takeback.repair import oracle
from takeback.runtime import run_forward
from takeback.state import Level, State
from takeback.verify import Code, Grade, Trial, VerifyOptions, verify_sampled
from takeback.verify import verify as decide
from takeback_lab.tasks import DEFECTS, SETS, Task, capability, load

CONTROLLED = load("controlled")
SYMPTOMS = {
    "missing capture": Code.RECOVERY_FAULT,
    "dummy capture": Code.RECOVERY_EQUIVALENCE_FAILED,
    "wrong recovery operation": Code.RECOVERY_EQUIVALENCE_FAILED,
    "resource leak": Code.RECOVERY_EQUIVALENCE_FAILED,
    "omitted effect": Code.CONTRACT_INCOMPLETE,
}


def nominal(task: Task) -> State:
    return State.read(task.state, task.id)


def passes_nominally(task: Task) -> bool:
    assert task.controlled is not None
    return Trial(read_candidate(task.controlled.candidate, task.id)).run(nominal(task)).passed


def mutation(task: Task) -> Program:
    return read_candidate({"mutation": list(task.reference), "witness": [], "recovery": []}, task.id).mutation


def by_oracle(task: Task) -> Candidate:
    built = oracle(mutation(task), Level.L2 if task.set_name == "l2" else Level.L1, nominal(task))
    assert isinstance(built, Candidate), task.id
    return built


@cache
def after(task_id: str, set_name: str) -> State:
    task = next(one for one in load(set_name) if one.id == task_id)
    return run_forward(mutation(task), nominal(task))[0]


@pytest.mark.parametrize("set_name", SETS)
def test_every_reference_runs_to_the_end_and_reaches_all_postconditions(set_name: str) -> None:
    for task in load(set_name):
        _, receipt = run_forward(mutation(task), nominal(task))
        assert receipt.succeeded, task.id
        assert capability(task, after(task.id, set_name).write()) == 1, task.id
        assert capability(task, nominal(task).write()) < 1, task.id


@pytest.mark.parametrize("set_name", SETS)
def test_the_core_and_the_naive_applier_agree(set_name: str) -> None:
    for task in load(set_name):
        expected = State.read(naive.apply(task.state, list(task.reference)), task.id)
        assert naive.dump(after(task.id, set_name).write()) == naive.dump(expected.write()), task.id


@pytest.mark.parametrize("set_name", SETS)
def test_the_oracle_takes_every_reference_back_on_every_state(set_name: str) -> None:
    for task in load(set_name):
        verdict = decide(by_oracle(task), nominal=nominal(task), rule="proof")
        assert verdict.admitted, (task.id, verdict.reasons)
        assert verdict.grade is Grade.PROVED, task.id


@pytest.mark.parametrize("set_name", SETS)
def test_the_oracle_is_admitted_on_sampled_states_too(set_name: str) -> None:
    for task in load(set_name)[:: len(load(set_name)) // 20]:
        assert verify_sampled(by_oracle(task), VerifyOptions(rule="split-wald", nominal=nominal(task))).admitted, (
            task.id
        )


@pytest.mark.slow
@pytest.mark.parametrize("set_name", SETS)
def test_the_oracle_is_admitted_on_sampled_states_for_every_task(set_name: str) -> None:
    for task in load(set_name):
        assert verify_sampled(by_oracle(task), VerifyOptions(rule="split-wald", nominal=nominal(task))).admitted, (
            task.id
        )


def test_each_defect_is_injected_into_the_same_number_of_candidates() -> None:
    found = Counter(task.controlled.defect for task in CONTROLLED if task.controlled)
    assert found == dict.fromkeys(DEFECTS, 24)


def test_half_of_each_class_of_defects_passes_on_the_nominal_state() -> None:
    found = Counter(task.controlled.defect for task in CONTROLLED if task.controlled and passes_nominally(task))
    assert found == dict.fromkeys(DEFECTS, 12)


def test_the_first_edition_is_kept_and_shows_every_defect_on_the_nominal_state() -> None:
    first = load("controlled", "first")
    assert [task.id for task in first] == [task.id for task in CONTROLLED]
    assert not any(passes_nominally(task) for task in first)


def test_a_defective_candidate_differs_from_the_good_one_only_where_its_class_says() -> None:
    seen = {"missing capture": {"witness"}, "omitted effect": {"contract"}}
    unseen = {"missing capture": {"witness", "recovery"}, "omitted effect": {"witness", "recovery"}}
    either = {
        "dummy capture": {"witness"},
        "wrong recovery operation": {"recovery"},
        "resource leak": {"recovery"},
    }
    for task in CONTROLLED:
        assert task.controlled is not None
        bad, good = task.controlled.candidate, task.controlled.good
        changed = {part for part in ("mutation", "witness", "recovery", "contract") if bad[part] != good[part]}
        expected = {**either, **(unseen if passes_nominally(task) else seen)}
        assert changed == expected[task.controlled.defect], task.id
        assert tuple(good["mutation"]) == task.reference, task.id


def test_a_leak_leaves_a_file_a_socket_a_listener_or_a_middleware() -> None:
    for task in CONTROLLED:
        if task.controlled is None or task.controlled.defect != "resource leak":
            continue
        kept = task.controlled.candidate["recovery"]
        left = [op["op_type"] for op in task.controlled.good["recovery"] if op not in kept]
        assert len(left) == 1, task.id
        assert left[0] in {"restore_file", "release_socket", "restore_listener", "restore_middleware"}, task.id


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_good_counterpart_is_proved_and_every_defect_breaks_a_concrete_state(defect: str) -> None:
    for task in CONTROLLED:
        if task.controlled is None or task.controlled.defect != defect:
            continue
        good = decide(read_candidate(task.controlled.good, task.id), nominal=nominal(task), rule="proof")
        assert good.admitted, (task.id, good.reasons)
        bad = verify_sampled(
            read_candidate(task.controlled.candidate, task.id),
            VerifyOptions(rule="split-wald", nominal=nominal(task)),
        )
        assert not bad.admitted, task.id
        assert bad.grade is Grade.REFUTED, task.id
        assert bad.counterexample is not None, task.id
        symptom = Code.RECOVERY_EQUIVALENCE_FAILED if passes_nominally(task) else SYMPTOMS[defect]
        assert symptom in {reason.code for reason in bad.reasons}, (task.id, bad.reasons)
