"""The loop against a real server that misbehaves: every bad reply costs its turn, an outage costs nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.fault_server import Act, FaultServer

from takeback.errors import InputError, ServiceFault
from takeback.language import Candidate
from takeback.repair.attempt import Attempt, build_attempt
from takeback.repair.diagnosis import Mode
from takeback.repair.loop import (
    Judge,
    Repair,
    Settings,
    make_judge,
    repair_attempt,
    repair_with_oracle,
    repair_with_portfolio,
)
from takeback.repair.models import Endpoint, OpenAIModel, RecordingModel, ReplayModel
from takeback.state import Level, State
from takeback.verify import Code, Reason, Verdict, VerifyOptions, prove, verify_on, verify_sampled
from takeback.verify.suites import Suites, make_nominal_state
from takeback_lab.judges import make_recovery_judge

MUTATION = [{"op_type": "set_config", "target": "agent.timeout_sec", "value": 60}]
CAPTURE = {"op_type": "capture_config", "target": "agent.timeout_sec", "witness_key": "w0"}
RESTORE = {"op_type": "restore_config", "target": "agent.timeout_sec", "witness_key": "w0"}
GOOD = json.dumps({"witness": [CAPTURE], "recovery": [RESTORE], "contract": ["config"]})
BAD = json.dumps({"witness": [], "recovery": [], "contract": ["config"]})
MIDDLEWARE = {"op_type": "restore_middleware", "target": "auth", "witness_key": "w0"}
DEFAULT = Settings()
START = build_attempt({"mutation": MUTATION, "witness": [], "recovery": [], "contract": ["config"]})


def judge(candidate: Candidate) -> Verdict:
    return verify_sampled(candidate)


def judge_l0(candidate: Candidate) -> Verdict:
    return verify_sampled(candidate, VerifyOptions(rule="split-wald", level=Level.L0))


def run(
    script: list[Act], settings: Settings = DEFAULT, start: Attempt = START, by: Judge | None = None, **endpoint: Any
) -> tuple[Repair, FaultServer]:
    with FaultServer(script) as server:
        defaults: dict[str, Any] = {"model": "m", "timeout_s": 5, "max_retries": 0, "max_reply_chars": 5000}
        model = OpenAIModel(Endpoint(base_url=server.base_url, **{**defaults, **endpoint}), sleep=lambda _: None)
        found = repair_attempt(start, model, by or (judge_l0 if settings.level is Level.L0 else judge), settings)
    return found, server


def test_the_first_admitted_reply_ends_the_loop() -> None:
    found, server = run([Act(text=BAD), Act(text=GOOD)])
    assert found.admitted is not None
    assert [turn.outcome for turn in found.turns] == ["RECOVERY_EQUIVALENCE_FAILED", "admitted"]
    assert len(server.seen) == 2
    assert found.account.calls == 2
    assert found.account.completion_tokens == 14


def test_the_budget_bounds_the_turns() -> None:
    found, server = run([Act(text=BAD)], Settings(budget=3))
    assert found.admitted is None
    assert len(server.seen) == len(found.turns) == 3


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        (Act(text=""), "empty"),
        (Act(text=GOOD[:-30]), "malformed_json"),
        (Act(text=GOOD[:-30], finish_reason="length"), "truncated"),
        (Act(text=f"Here you go: {GOOD}"), "prose"),
        (Act(text=f"{GOOD}\nThat should do."), "prose"),
        (Act(text=json.dumps({"witness": [], "recovery": [{"op_type": "undo", "target": "a"}]})), "out_of_language"),
        (Act(text=json.dumps({"witness": [], "recovery": MUTATION})), "out_of_language"),
        (Act(text='{"witness": [], "recovery": [], "contract": ["\\ud800"]}'), "malformed_json"),
        (Act(text=json.dumps({"witness": [], "recovery": [{"op_type": "no op_type"}]})), "out_of_language"),
        (Act(text=json.dumps({"witness": [], "recovery": [{"op_type": None}]})), "wrong_shape"),
        (Act(text='["witness"]'), "wrong_shape"),
        (Act(text='{"recovery": "restore everything", "witness": []}'), "wrong_shape"),
        (Act(text='{"undo": []}'), "wrong_shape"),
        (Act(text=json.dumps({"witness": [CAPTURE], "recovery": [{**RESTORE, "extra": 1}]})), "wrong_shape"),
        (
            Act(text=json.dumps({"witness": [CAPTURE], "recovery": [RESTORE], "contract": ["everything"]})),
            "wrong_shape",
        ),
        (Act(text="z" * 20_000), "too_large"),
        (Act(text=json.dumps({**json.loads(GOOD), "mutation": [{**MUTATION[0], "value": 61}]})), "mutation_changed"),
        (Act(text=json.dumps({**json.loads(GOOD), "mutation": []})), "mutation_changed"),
        (Act(text=json.dumps({**json.loads(GOOD), "mutation": "same"})), "mutation_changed"),
    ],
)
def test_a_reply_that_is_no_candidate_uses_up_its_turn_and_is_classified(act: Act, outcome: str) -> None:
    found, server = run([act, Act(text=GOOD)])
    assert [turn.outcome for turn in found.turns] == [outcome, "admitted"]
    assert len(server.seen) == 2


def test_an_operation_outside_the_language_uses_up_its_turn_unrun() -> None:
    wrong = json.dumps({"witness": [CAPTURE], "recovery": [MIDDLEWARE], "contract": ["config"]})
    found, _ = run([Act(text=wrong), Act(text=GOOD)], Settings(level=Level.L0))
    assert [turn.outcome for turn in found.turns] == ["out_of_language", "admitted"]
    assert found.turns[0].verdict.splits == {}
    assert "restore_middleware" in found.turns[1].told.text


def test_a_reply_that_repeats_the_locked_mutation_is_accepted() -> None:
    found, _ = run([Act(text=json.dumps({**json.loads(GOOD), "mutation": MUTATION}))])
    assert found.admitted is not None


def test_the_next_prompt_explains_an_unreadable_reply() -> None:
    found, server = run([Act(text=f"Sure! {GOOD}"), Act(text=GOOD)])
    assert "prose" in found.turns[1].told.text
    assert found.turns[1].told.text in server.seen[1].body["messages"][1]["content"]


def test_regeneration_prompts_omit_earlier_attempts() -> None:
    found, server = run([Act(text=BAD), Act(text=GOOD)], Settings(mode=Mode.NONE))
    contents = [seen.body["messages"][1]["content"] for seen in server.seen]
    assert contents[0] == contents[1]
    assert [seen.body["seed"] for seen in server.seen] == [7001, 7002]
    assert all(turn.told.text == "" for turn in found.turns)


def test_the_system_prompt_is_the_same_in_every_mode_and_language() -> None:
    prompts = set()
    for mode in Mode:
        for level in (Level.L0, Level.L1):
            _, server = run([Act(text=GOOD)], Settings(mode=mode, level=level))
            prompts.add(server.seen[0].body["messages"][0]["content"])
    assert len(prompts) == 1


@pytest.mark.parametrize(
    "act", [Act(status=500), Act(status=429), Act(text=GOOD * 9, drop_after=100), Act(stall=True)]
)
def test_an_outage_stops_the_run_and_is_no_turn(act: Act) -> None:
    with pytest.raises(ServiceFault):
        run([Act(text=BAD), act], timeout_s=0.3)


def test_a_run_stopped_by_an_outage_resumes_and_ends_with_the_same_recording(tmp_path: Path) -> None:
    script = [Act(text=BAD), Act(text="oops"), Act(text=GOOD)]
    ticks = lambda: 0.0  # noqa: E731 - a clock that stands still makes recordings comparable

    def record(folder: Path, acts: list[Act]) -> Repair:
        with FaultServer(acts) as server:
            model = OpenAIModel(Endpoint(base_url=server.base_url, model="m", max_retries=0), clock=ticks)
            with RecordingModel(model, folder) as recorder:
                return repair_attempt(START, recorder, judge, Settings())

    whole = record(tmp_path / "whole", script)
    with pytest.raises(ServiceFault):
        record(tmp_path / "broken", [*script[:2], Act(status=503)])
    resumed = record(tmp_path / "broken", [script[2]])
    assert resumed.to_json() == whole.to_json()
    assert (tmp_path / "broken/recording.jsonl").read_bytes() == (tmp_path / "whole/recording.jsonl").read_bytes()
    assert repair_attempt(START, ReplayModel(tmp_path / "whole"), judge, Settings()).to_json() == whole.to_json()


def test_an_admissible_start_needs_no_request() -> None:
    good = build_attempt({"mutation": MUTATION, **json.loads(GOOD)})
    found, server = run([Act(text=BAD)], start=good)
    assert (found.source, server.seen) == ("start", [])
    assert found.admitted is not None


def test_an_inexpressible_mutation_needs_no_request() -> None:
    start = build_attempt({"mutation": [{"op_type": "add_middleware", "target": "x", "value": {"handler": "h"}}]})
    found, server = run([Act(text=GOOD)], Settings(level=Level.L0), start=start)
    assert found.admitted is None
    assert [out.op_type for out in found.unsayable] == ["add_middleware"]
    assert server.seen == []


def test_a_bound_on_recoveries_alone_allows_any_mutation() -> None:
    start = build_attempt({"mutation": [{"op_type": "add_middleware", "target": "x", "value": {"handler": "h"}}]})
    judge = make_recovery_judge("proof", Level.L0, make_nominal_state())
    found, server = run([Act(text=GOOD)], Settings(level=Level.L0, any_mutation=True), start=start, by=judge)
    assert found.admitted is None
    assert found.unsayable == ()
    assert len(server.seen) == 4


@pytest.mark.parametrize(("level", "admitted"), [(Level.L0, False), (Level.L1, True)])
def test_a_recovery_judge_rejects_a_recovery_outside_the_language(level: Level, admitted: bool) -> None:
    start = build_attempt({"mutation": [{"op_type": "write_file", "target": "a", "value": "x"}]})
    judge = make_recovery_judge("proof", level, make_nominal_state())
    found = repair_with_oracle(start, judge, Settings(level=level, any_mutation=True))
    assert (found.admitted is not None, found.verdict.language) == (admitted, level.value)
    wanted = set() if admitted else {Code.OUT_OF_LANGUAGE}
    assert {reason.code for reason in found.verdict.reasons} == wanted


def test_a_start_without_a_readable_mutation_is_an_error() -> None:
    with pytest.raises(InputError, match="no readable mutation"):
        run([Act(text=GOOD)], start=build_attempt({"mutation": "x"}))


@pytest.mark.parametrize("budget", [0, 65])
def test_a_budget_out_of_range_is_an_error(budget: int) -> None:
    with pytest.raises(InputError, match="budget"):
        Settings(budget=budget)


@pytest.mark.parametrize("mode", list(Mode))
def test_no_hidden_state_reaches_a_prompt(mode: Mode) -> None:
    canary = "canary-hidden-77aa"
    absent = State.read({"config": {"agent": {"other": 1}}}, "dev")
    hidden = State.read({"config": {"agent": {"timeout_sec": canary}, canary: canary}}, "hidden")
    made = Suites((absent,) * 10, (hidden,) * 20, (hidden,) * 20)
    delete = {"op_type": "delete_config", "target": "agent.timeout_sec"}
    deletes = {"witness": [], "recovery": [delete], "contract": ["config"]}
    with FaultServer([Act(text=json.dumps(deletes))]) as server:
        model = OpenAIModel(Endpoint(base_url=server.base_url, model="m"))
        start = build_attempt({"mutation": MUTATION, **deletes})
        found = repair_attempt(
            start,
            model,
            lambda c: verify_on(c, made, VerifyOptions(rule="split-wald", level=Level.L1)),
            Settings(mode=mode),
        )
    assert found.admitted is None
    left = [residual.to_json() for trip in found.verdict.splits["iid"].trips for residual in trip.residuals]
    assert canary in json.dumps(left)
    assert len(server.seen) == 4
    assert canary not in json.dumps([seen.body for seen in server.seen])


class Silent:
    """A model that must not be asked."""

    name = "silent"

    def complete(self, request: object) -> Any:
        raise AssertionError("asked")


def test_the_portfolio_asks_no_model_where_the_oracle_has_an_inverse() -> None:
    found = repair_with_portfolio(START, Silent(), prove, Settings())
    assert found.source == "oracle"
    assert found.admitted is not None
    assert found.verdict.grade.value == "proved"


def test_the_portfolio_asks_the_model_where_the_judge_turns_the_oracle_down() -> None:
    wanted = build_attempt({"mutation": MUTATION, **json.loads(GOOD)}).candidate

    def picky(candidate: Candidate) -> Verdict:
        verdict = prove(candidate)
        disliked = Reason(Code.RECOVERY_EQUIVALENCE_FAILED, "not this one")
        return verdict if candidate == wanted else replace(verdict, admitted=False, reasons=(disliked,))

    with FaultServer([Act(text=GOOD)]) as server:
        model = OpenAIModel(Endpoint(base_url=server.base_url, model="m"))
        found = repair_with_portfolio(START, model, picky, Settings())
    assert (found.source, found.admitted) == ("model", wanted)


def test_the_oracle_names_operations_the_language_lacks() -> None:
    start = build_attempt({"mutation": [{"op_type": "write_file", "target": "a", "value": "x"}]})
    found = repair_with_oracle(start, judge_l0, Settings(level=Level.L0))
    assert found.admitted is None
    assert [out.op_type for out in found.unsayable] == ["write_file"]


def test_a_candidate_too_large_to_prove_is_rejected_not_a_crash() -> None:
    paths = ["/".join(f"d{at}_{level}" for level in range(50)) for at in range(64)]
    ops = [{"op_type": "write_file", "target": path, "value": "x"} for path in paths]
    start = build_attempt({"mutation": ops, "witness": [], "recovery": [], "contract": ["files"]})
    found = repair_with_portfolio(start, None, make_judge("proof", Level.L1, make_nominal_state()), DEFAULT)
    assert found.admitted is None
    assert {reason.code for reason in found.verdict.reasons} == {Code.LIMIT}
