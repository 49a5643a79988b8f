"""States on which a mutation cannot run are counted apart, or as passed, as an experiment is told."""

import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

import takeback
from takeback.errors import InputError
from takeback.language import read_program
from takeback.repair.oracle import invert_mutation
from takeback.state import Level, Stage, State
from takeback.verify import Grade, Split, Trial, Trip, Verdict
from takeback_lab import protocol
from takeback_lab.experiments.apart import CountingJudge, apart_line, read_counting, set_apart, tell_apart
from takeback_lab.experiments.bank import cohort, load_bank
from takeback_lab.experiments.fresh import EXPERIMENT as FRESH
from takeback_lab.experiments.rare_states import make_rare_states, make_states_judge
from takeback_lab.experiments.recorded import shipped_recording
from takeback_lab.judges import make_recovery_judge
from takeback_lab.report.counting import bound_of, hidden_share
from takeback_lab.report.inputs import FreshTask
from takeback_lab.rescore import rescored
from takeback_lab.tasks import load

STUCK = Trip(forward_failure="there is a file in the way")


def oracle(task):
    nominal = State.read(task.state, task.id)
    return nominal, invert_mutation(read_program(list(task.reference), Stage.FORWARD, task.id), nominal)


def test_unrunnable_states_are_counted_apart():
    for task in load("natural"):
        nominal, candidate = oracle(task)
        judge = make_recovery_judge("split-wald", Level.L1, nominal)
        apart = CountingJudge(judge, "apart")
        verdict = apart.judge(candidate)
        counts = apart.count(verdict)
        if any(idle for *_, idle in counts.values()):
            break
    together = CountingJudge(judge, "passed")
    plain = together.count(together.judge(candidate))
    assert {name: [passed + idle, of + idle] for name, (passed, of, idle) in counts.items()} == plain
    assert verdict.admitted
    assert [plain[name][1] for name in ("dev", "iid", "ood")] == [10, 20, 20]


def test_a_candidate_that_runs_on_no_state_is_not_admitted():
    splits = {name: Split(name, (STUCK,) * 20, 1.0) for name in ("dev", "iid", "ood")}
    verdict = Verdict(True, Grade.SAMPLED, "split-wald", "L1", (), splits=splits)
    found, idle = set_apart(verdict)
    assert idle == {"dev": 20, "iid": 20, "ood": 20}
    assert not found.admitted
    assert "runs on no state" in " ".join(reason.message for reason in found.reasons)
    assert CountingJudge(lambda _: verdict, "passed").judge(None).admitted


def test_a_bound_rests_on_the_states_that_ran():
    trips = (STUCK, STUCK, STUCK, Trip(failure="no"), *(Trip(),) * 16)
    splits = {"dev": Split("dev", (Trip(),) * 10), "iid": Split("iid", trips), "ood": Split("ood", (Trip(),) * 20)}
    found, _ = set_apart(Verdict(True, Grade.SAMPLED, "split-wald", "L1", (), splits=splits, threshold=0.85))
    assert not found.admitted
    assert (found.splits["iid"].passed, found.splits["iid"].of) == (16, 17)
    assert found.splits["iid"].bound < 0.85


def test_recorded_counts_are_decided_either_way():
    row = {"id": "a", "outcome": "defective", "counts": {"dev": [10, 10, 0], "iid": [16, 17, 3], "ood": [20, 20, 0]}}
    data = {"tasks": [row]}
    assert rescored("natural", data, "split-wald")["changed"] == []
    [changed] = rescored("natural", data, "split-wald", together=True)["changed"]
    assert changed["counts"]["iid"] == (19, 20)


def test_the_output_states_counts_of_runnable_states():
    counts = [{"dev": [9, 9, 1], "iid": [20, 20, 0]}, None]
    assert apart_line(tell_apart(counts, "apart")) == "on 1 of 30 states the mutation cannot run; they count apart"
    with pytest.raises(InputError, match="apart or passed"):
        read_counting("both")


def test_unrunnable_hidden_states_do_not_count_as_passed():
    task = FreshTask(id="a", family="config", dev=True, hidden="1" * 90 + "-" * 10, calls=1)
    assert hidden_share(task) == (90, 90)
    assert bound_of(task) > bound_of(task.model_copy(update={"hidden": "1" * 90 + "0" * 10}))
    assert bound_of(task.model_copy(update={"hidden": "-" * 100})) == 0


def test_a_lock_rests_on_the_modules_of_the_state_that_candidates_run_through():
    root = Path(takeback.__file__).parent
    ran = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            ran.add(frame.f_code.co_filename)

    cases = cohort(load_bank(shipped_recording("natural")).entries)
    chosen = {(case.family, case.stratum): case for case in cases}.values()
    tasks = {task.family: task for task in load("fresh")}.values()
    judged = [oracle(task) for task in tasks]
    for case in chosen:
        nominal = State.read(case.task.state, case.id)
        mutation = read_program(case.candidate["mutation"], Stage.FORWARD, case.id)
        judged.append((nominal, invert_mutation(mutation, nominal)))
    sys.setprofile(note)
    try:
        for nominal, candidate in judged:
            make_recovery_judge("split-wald", Level.L1, nominal)(candidate)
    finally:
        sys.setprofile(None)
    files = {Path(name).relative_to(root).with_suffix("").as_posix() for name in ran if name.startswith(str(root))}
    state = {name for name in files if name.startswith("state/") and "/surfaces/" not in name}
    locked = {f"state/{name}" for name in protocol.STATE}
    assert state
    assert state <= locked
    held = {
        name.split(".")[1] for names in protocol.RESTS_ON.values() for name in names if name.startswith("takeback.")
    }
    assert {name.partition("/")[0] for name in files - state} <= held | {"canonical", "errors"}


def test_rare_states_break_a_recovery_only_in_development():
    for task in load("fresh"):
        [first, *more] = task.reference
        if more or first["op_type"] != "register_tool" or first["target"] in task.state["tools"]:
            continue
        nominal, right = oracle(task)
        if (rare := make_rare_states(task, right.mutation, nominal)) is not None:
            break
    plain = {"op_type": "unregister_tool", "target": first["target"]}
    wrong = replace(right, witness=(), recovery=read_program([plain], Stage.RECOVERY, task.id))
    trial = Trial(wrong)
    assert sum(trial.run(state).passed for state in rare.suite("Q20")) == 19
    assert sum(trial.run(state).passed for state in rare.hidden) >= 92
    judge = make_states_judge(rare.suite("Q20"), Level.L1)
    assert not judge(wrong).admitted
    assert judge(right).admitted
    sizes = {name: len(rare.suite(name)) for name in ("Q2", "Q5", "Q10", "Q20", "Q10-narrow")}
    assert sizes == {"Q2": 2, "Q5": 5, "Q10": 10, "Q20": 20, "Q10-narrow": 10}


def test_the_states_of_a_fresh_holdout_are_part_of_its_lock():
    assert FRESH.plan({"tasks": 6, "states": "rare"}).parts("m")["suites"]["states"] == "rare"
    assert "states" not in FRESH.plan({"tasks": 6}).parts("m")["suites"]
    with pytest.raises(InputError, match="diverse or rare"):
        FRESH.plan({"states": "odd"})
