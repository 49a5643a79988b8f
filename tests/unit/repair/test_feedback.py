"""Feedback: each mode tells what it should, in the paper's labels, and nothing of hidden states."""

from __future__ import annotations

import json
from typing import Any

import pytest

from takeback.language import Candidate, read_candidate
from takeback.repair.diagnosis import DefectKind, FeedbackBasis, Mode, find_defects, make_feedback
from takeback.repair.visible import select_visible
from takeback.state import Level, State
from takeback.verify import Code, VerifyOptions, prove, verify_json, verify_on, verify_sampled
from takeback.verify.suites import Suites, make_dev_states, make_suites

NOMINAL: dict[str, Any] = {
    "config": {"agent": {"timeout_sec": 30}},
    "tools": {"grep": {"id": "grep", "description": "", "parameters": {}, "implementation": "a:b"}},
    "resources": {"metrics": {"kind": "socket", "address": "tcp://127.0.0.1:9101", "lifecycle": "open"}},
}
SET = {"op_type": "set_config", "target": "agent.timeout_sec", "value": 60}
CAPTURE = {"op_type": "capture_config", "target": "agent.timeout_sec", "witness_key": "w0"}
RESTORE = {"op_type": "restore_config", "target": "agent.timeout_sec", "witness_key": "w0"}
DELETE = {"op_type": "delete_config", "target": "agent.timeout_sec"}
ALLOCATE = {"op_type": "allocate_socket", "target": "probe", "value": "tcp://127.0.0.1:9333"}


def candidate(mutation: list[Any], witness: list[Any], recovery: list[Any], *contract: str) -> Candidate:
    raw = {"mutation": mutation, "witness": witness, "recovery": recovery}
    return read_candidate({**raw, "contract": list(contract)} if contract else raw)


DELETES = candidate([SET], [], [DELETE])


def told(mode: Mode, tried: Candidate = DELETES, **options: Any) -> str:
    verdict = verify_sampled(tried, VerifyOptions(rule="split-wald", nominal=State.read(NOMINAL, "nominal")))
    return make_feedback(mode, tried.mutation, tried, verdict, **options).text


def test_mode_none_is_empty_and_generic_names_no_place() -> None:
    assert told(Mode.NONE) == ""
    assert "timeout_sec" not in told(Mode.GENERIC)
    assert "config" not in told(Mode.GENERIC)


def test_d0_has_the_papers_fields_and_no_address() -> None:
    text = told(Mode.D0)
    first = ["Verification Result: RECOVERY_EQUIVALENCE_FAILED", "Affected Subsystems: config"]
    assert text.splitlines()[:2] == first
    assert text.splitlines()[2].startswith("Defect Summary: ")
    assert "(Required: 100.0%)" in text
    assert "Hidden IID LCB: " in text
    assert "Hidden OOD LCB: " in text
    assert "(Required: >= 0.85)" in text
    assert "timeout_sec" not in text


def test_d1_is_d0_with_the_grounded_bundle_after_it() -> None:
    coarse, fine = told(Mode.D0), told(Mode.D1)
    assert fine.startswith(coarse)
    rest = fine[len(coarse) :]
    for label in (
        "Diagnostic Mode: D1_EXACT_ADDRESS",
        'Forward Effect Order: config["agent.timeout_sec"]',
        "Observed State Residuals: ",
        'config["agent.timeout_sec"]: expected 30, found absent',
        "Residual Count: ",
        "Verifier Observation: ",
    ):
        assert label in rest


def test_typed_names_the_defect_and_prescriptive_the_operations_to_use() -> None:
    assert 'MISSING_CAPTURE: config["agent.timeout_sec"]' in told(Mode.TYPED)
    text = told(Mode.PRESCRIPTIVE)
    assert "capture_config" in text
    assert "restore_config" in text


def test_raw_feedback_lists_each_dev_state_in_order() -> None:
    lines = [line for line in told(Mode.RAW).splitlines() if line.startswith("- dev[")]
    assert [line.split("]")[0] for line in lines] == [f"- dev[{n}" for n in range(10)]
    assert any("passed" in line for line in lines)
    assert any("expected 30" in line for line in lines)


def test_counterexample_shows_the_smallest_state_and_the_difference() -> None:
    text = told(Mode.COUNTEREXAMPLE)
    assert "\n{}\n" in text
    assert 'config["agent"]: expected absent, found {}' in text


def test_adaptive_starts_coarse_and_gets_finer_with_each_failure() -> None:
    assert [told(Mode.ADAPTIVE, failures=n) for n in (1, 2, 3, 4)] == [
        told(Mode.D0),
        told(Mode.D1),
        told(Mode.COUNTEREXAMPLE),
        told(Mode.COUNTEREXAMPLE),
    ]


@pytest.mark.parametrize("mode", [Mode.RAW, Mode.TYPED, Mode.PRESCRIPTIVE, Mode.D0, Mode.D1, Mode.COUNTEREXAMPLE])
def test_feedback_after_a_proof_mentions_no_dev_states(mode: Mode) -> None:
    told = make_feedback(mode, DELETES.mutation, DELETES, prove(DELETES)).text
    assert "development state" not in told
    assert "0 of 0" not in told
    assert "UNSEEN_STATES" not in told


@pytest.mark.parametrize("mode", [Mode.RAW, Mode.TYPED, Mode.D0, Mode.D1, Mode.COUNTEREXAMPLE])
def test_feedback_reports_a_verification_timeout(mode: Mode) -> None:
    verdict = verify_sampled(DELETES, VerifyOptions(rule="split-wald", max_seconds=1e-9))
    assert [reason.code for reason in verdict.reasons] == [Code.TIMEOUT]
    told = make_feedback(mode, DELETES.mutation, DELETES, verdict).text
    assert "took more than 1e-09 seconds" in told
    assert "UNSEEN_STATES" not in told


def test_the_counterexample_of_a_proof_may_be_shown() -> None:
    verdict = prove(DELETES)
    assert "config" in make_feedback(Mode.COUNTEREXAMPLE, DELETES.mutation, DELETES, verdict).text
    assert make_feedback(Mode.D0, DELETES.mutation, DELETES, verdict).text.startswith("Verification Result: ")


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode not in {Mode.NONE, Mode.GENERIC}])
def test_feedback_gives_the_reason_of_a_refusal_before_running(mode: Mode) -> None:
    verdict = verify_json({"mutation": [SET], "recovery": [{"op_type": "restore_tool"}]})
    text = make_feedback(mode, DELETES.mutation, None, verdict).text
    assert Code.MALFORMED.value in text
    assert "recovery[0].target" in text


@pytest.mark.parametrize(
    ("tried", "kind"),
    [
        (candidate([SET], [], [DELETE]), DefectKind.MISSING_CAPTURE),
        (candidate([SET], [], [RESTORE]), DefectKind.MISSING_CAPTURE),
        (candidate([SET], [CAPTURE], [DELETE]), DefectKind.WRONG_RECOVERY_OPERATION),
        (candidate([SET], [CAPTURE], []), DefectKind.MISSING_RECOVERY),
        (candidate([SET], [{**CAPTURE, "target": "other"}], [RESTORE]), DefectKind.DUMMY_CAPTURE),
        (candidate([ALLOCATE], [], []), DefectKind.RESOURCE_LEAK),
        (candidate([SET], [CAPTURE], [RESTORE], "tools"), DefectKind.OMITTED_EFFECT),
        (
            candidate([SET], [CAPTURE], [RESTORE, {"op_type": "unregister_tool", "target": "grep"}]),
            DefectKind.COLLATERAL_CHANGE,
        ),
    ],
)
def test_each_mistake_has_its_class(tried: Candidate, kind: DefectKind) -> None:
    verdict = verify_sampled(tried, VerifyOptions(rule="split-wald", nominal=State.read(NOMINAL, "nominal")))
    assert kind in {defect.kind for defect in find_defects(tried, select_visible(verdict))}


def _sockets(misleading: str) -> Candidate:
    """A recovery that fails because the key called `misleading` still holds the address it wants."""
    keys = ("metrics", misleading)
    return candidate(
        [
            {"op_type": "allocate_socket", "target": "metrics", "value": "tcp://127.0.0.1:9210"},
            {"op_type": "allocate_socket", "target": misleading, "value": "tcp://127.0.0.1:9211"},
        ],
        [{"op_type": "capture_socket", "target": key, "witness_key": key} for key in keys],
        [{"op_type": "release_socket", "target": key, "witness_key": key} for key in keys],
    )


@pytest.mark.parametrize("name", ["debug", "no capture wrote", "holds a capture of"])
def test_the_class_of_a_fault_does_not_depend_on_names_in_its_message(name: str) -> None:
    tried = _sockets(name)
    verdict = prove(tried)
    assert name in verdict.counterexample.trip.failure
    assert {defect.kind for defect in find_defects(tried, select_visible(verdict))} == {DefectKind.RECOVERY_FAULT}


def test_a_capture_of_another_surface_is_a_dummy_and_a_missing_one_is_missing() -> None:
    other = {"op_type": "capture_prompt", "target": "p", "witness_key": "w0"}
    for witness, kind in (([other], DefectKind.DUMMY_CAPTURE), ([], DefectKind.MISSING_CAPTURE)):
        tried = candidate([SET], witness, [RESTORE])
        assert {defect.kind for defect in find_defects(tried, select_visible(prove(tried)))} == {kind}


CANARY = "canary-hidden-5d1c"


def planted(hidden_only: bool) -> tuple[Candidate, Any]:
    """A verdict whose hidden states carry a canary in every content, and whose dev states pass or fail."""
    made = make_suites(State.read(NOMINAL, "nominal"), DELETES.mutation)
    poisoned = State.read(
        {
            "config": {"agent": {"timeout_sec": CANARY}, CANARY: {CANARY: CANARY}},
            "prompts": {CANARY: CANARY},
            "files": {f"{CANARY}/f": {"content": CANARY}},
        },
        "hidden",
    )
    absent = State.read({"config": {"agent": {"other": 1}}}, "dev")
    dev = tuple(absent for _ in range(10)) if hidden_only else made.dev
    verdict = verify_on(
        DELETES, Suites(dev, (poisoned,) * 20, (poisoned,) * 20), VerifyOptions(rule="split-wald", level=Level.L1)
    )
    assert any(CANARY in str(residual) for trip in verdict.splits["iid"].trips for residual in trip.residuals)
    return DELETES, verdict


@pytest.mark.parametrize("hidden_only", [True, False], ids=["dev passes", "dev fails too"])
@pytest.mark.parametrize("mode", list(Mode))
def test_no_hidden_state_reaches_the_feedback(mode: Mode, hidden_only: bool) -> None:
    tried, verdict = planted(hidden_only)
    for failures in (1, 2, 3, 4):
        text = make_feedback(mode, tried.mutation, tried, verdict, failures=failures).text
        assert CANARY not in text
        assert "iid[" not in text


@pytest.mark.parametrize("mode", list(Mode))
def test_feedback_does_not_distinguish_single_hidden_states(mode: Mode) -> None:
    """Two hidden splits with the same counts but other states failing give the same text."""
    there = State.read({"config": {"agent": {"timeout_sec": 5}}}, "there")
    absent = State.read({"config": {"agent": {"other": 1}}}, "absent")
    texts = set()
    for hidden in (((there,) * 3 + (absent,) * 17), ((absent,) * 17 + (there,) * 3)):
        verdict = verify_on(
            DELETES, Suites((absent,) * 10, hidden, hidden), VerifyOptions(rule="split-wald", level=Level.L1)
        )
        texts.add(make_feedback(mode, DELETES.mutation, DELETES, verdict).text)
    assert len(texts) == 1


def test_isolation_withholds_the_hidden_bounds_as_well() -> None:
    text = told(Mode.D1, isolated=True)
    assert "LCB" not in text
    assert "Dev Recovery Rate" in text


def refused() -> tuple[Candidate, Any]:
    """A candidate whose recovery the language does not have, and the verdict that it was never run."""
    tried = candidate([SET], [], [{"op_type": "restore_file", "target": "a", "witness_key": "w0"}])
    return tried, verify_sampled(
        tried, VerifyOptions(rule="split-wald", nominal=State.read(NOMINAL, "nominal"), level=Level.L0)
    )


def test_d1_is_grounded_after_a_refusal_too() -> None:
    tried, verdict = refused()
    ground = FeedbackBasis(State.read(NOMINAL, "nominal"))
    coarse = make_feedback(Mode.D0, tried.mutation, tried, verdict, ground=ground).text
    fine = make_feedback(Mode.D1, tried.mutation, tried, verdict, ground=ground).text
    assert fine.startswith(coarse)
    assert "restore_file" in coarse
    for label in (
        "Diagnostic Mode: D1_EXACT_ADDRESS",
        'Forward Effect Order: config["agent.timeout_sec"]',
        'Observed State Residuals: config["agent.timeout_sec"]: expected 30, found 60',
        "Residual Count: 1",
        "the attempt was not run",
    ):
        assert label in fine[len(coarse) :]


def test_d1_is_grounded_where_the_reply_was_no_candidate_at_all() -> None:
    tried, verdict = refused()
    text = make_feedback(
        Mode.D1, tried.mutation, None, verdict, ground=FeedbackBasis(State.read(NOMINAL, "nominal"))
    ).text
    assert "D1_EXACT_ADDRESS" in text


def test_d1_is_grounded_where_the_recovery_breaks_off() -> None:
    nominal = State.read(NOMINAL, "nominal")
    tried = candidate([SET], [CAPTURE], [{**RESTORE, "witness_key": "w9"}])
    verdict = verify_sampled(tried, VerifyOptions(rule="split-wald", nominal=nominal))
    fine = make_feedback(Mode.D1, tried.mutation, tried, verdict, ground=FeedbackBasis(nominal)).text
    for label in (
        'Observed State Residuals: config["agent.timeout_sec"]: expected 30, found 60',
        "Residual Count: 1",
        "no capture wrote 'w9'; the residuals are what the mutation leaves on the nominal state",
    ):
        assert label in fine
    first = make_feedback(Mode.D1, tried.mutation, tried, verdict, ground=FeedbackBasis(nominal, version="v1")).text
    assert "Residual Count: 0" in first


def test_the_first_version_reports_only_the_refusal() -> None:
    tried, verdict = refused()
    first = FeedbackBasis(State.read(NOMINAL, "nominal"), version="v1")
    told_first = {
        make_feedback(mode, tried.mutation, tried, verdict, ground=first).text for mode in (Mode.D0, Mode.D1)
    }
    assert len(told_first) == 1


def test_a_counterexample_prefers_states_where_the_overwritten_value_exists() -> None:
    nominal = State.read(NOMINAL, "nominal")
    tried = candidate([SET], [], [])
    verdict = verify_sampled(tried, VerifyOptions(rule="split-wald", nominal=nominal))
    ground = FeedbackBasis(nominal, make_dev_states(nominal, tried.mutation, "Q10"))
    shown = make_feedback(Mode.COUNTEREXAMPLE, tried.mutation, tried, verdict, ground=ground).text
    state = json.loads(shown.splitlines()[1])
    assert list(state["config"]["agent"]) == ["timeout_sec"]
    assert set(state) == {"config"} or all(not part for name, part in state.items() if name != "config")
    assert "expected" in shown
    assert "absent" not in shown
    plain = make_feedback(Mode.COUNTEREXAMPLE, tried.mutation, tried, verdict, ground=FeedbackBasis(nominal)).text
    assert "timeout_sec" not in json.dumps(json.loads(plain.splitlines()[1]))


def test_a_counterexample_may_show_an_absent_address() -> None:
    nominal = State.read(NOMINAL, "nominal")
    tool = {"id": "t", "description": "", "parameters": {}, "implementation": "a:t"}
    tried = candidate(
        [{"op_type": "register_tool", "target": "t", "value": tool}],
        [{"op_type": "capture_tool", "target": "grep", "witness_key": "w"}],
        [{"op_type": "restore_tool", "target": "t", "witness_key": "w"}],
    )
    states = [state for state in make_dev_states(nominal, tried.mutation, "Q10") if "t" not in state.part("tools")]
    verdict = verify_sampled(tried, VerifyOptions(rule="split-wald", nominal=nominal))
    shown = make_feedback(
        Mode.COUNTEREXAMPLE, tried.mutation, tried, verdict, ground=FeedbackBasis(nominal, tuple(states))
    ).text
    assert "Smallest state" in shown


def test_feedback_about_a_moved_file_names_both_paths() -> None:
    capture = {"op_type": "capture_file", "target": "a.md", "witness_key": "w0"}
    restore = {"op_type": "restore_file", "target": "a.md", "witness_key": "w0"}
    move = {"op_type": "move_file", "target": "a.md", "value": "b.md"}
    tried = candidate([move], [capture], [restore])
    verdict = prove(tried, level=Level.L2)
    (defect,) = find_defects(tried, select_visible(verdict))
    assert (defect.kind, defect.place) == (DefectKind.MISSING_RECOVERY, 'files["b.md"]')
    assert "a.md, b.md: use capture_file" in make_feedback(Mode.PRESCRIPTIVE, tried.mutation, tried, verdict).text
    assert 'files["a.md"] -> files["b.md"]' in make_feedback(Mode.D1, tried.mutation, tried, verdict).text
