"""Verdicts as data: every rejection has its reason, nothing a candidate contains raises or hangs."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from tests.support.running import op

from takeback.errors import FaultKind, InputError, VerifierBroken
from takeback.language import read_candidate
from takeback.repair import invert_mutation
from takeback.state import KINDS, Level, State
from takeback.verify import (
    Code,
    Grade,
    VerifyOptions,
    prove,
    round_trip,
    self_check,
    verify,
    verify_json,
    verify_on,
    verify_sampled,
)
from takeback.verify import sampled as sampled_module
from takeback.verify import trip as selfcheck_module
from takeback.verify.suites import Suites
from takeback.verify.trip import PASSED, Trial, Trip

SET = op("set_config", "verbose", value=True)
GOOD = {
    "mutation": [SET],
    "witness": [op("capture_config", "verbose", witness_key="w")],
    "recovery": [op("restore_config", "verbose", witness_key="w")],
    "contract": ['config["verbose"]'],
}
DELETES = {"mutation": [SET], "recovery": [op("delete_config", "verbose")], "contract": ["config"]}
RULES = ("proof", "split-wald", "pooled-wilson", "hidden-wilson")


@pytest.mark.parametrize("rule", RULES)
def test_a_verdict_has_the_fields_a_program_needs(rule):
    for plain, admitted in ((GOOD, True), (DELETES, False)):
        verdict = json.loads(json.dumps(verify_json(plain, options=VerifyOptions(rule=rule)).to_json()))
        assert set(verdict) == {
            "admitted",
            "grade",
            "rule",
            "language",
            "splits",
            "classes",
            "reasons",
            "counterexample",
            "mutation_digest",
            "candidate_digest",
            "threshold",
            "class",
            "stays",
        }
        assert verdict["admitted"] is admitted
        assert verdict["rule"] == rule
        if rule != "proof":
            assert set(verdict["splits"]) == {"dev", "iid", "ood"}
            assert all(set(split) == {"passed", "of", "bound"} for split in verdict["splits"].values())


def test_a_counterexample_in_json_shows_state_split_residuals_and_failures():
    example = verify_json(DELETES).to_json()["counterexample"]
    assert set(example) == {"state", "split", "minimal", "residuals", "uncovered", "failure", "forward_failure"}
    assert example["minimal"] is True
    (residual,) = example["residuals"]
    assert residual["address"] == 'config["verbose"]'
    assert residual["covered"] is True
    assert residual["expected"] == example["state"]["config"]["verbose"]
    assert "found" not in residual


@pytest.mark.parametrize(
    ("rule", "good", "bad"), [("proof", "proved", "refuted"), ("split-wald", "sampled", "refuted")]
)
def test_grades_match_the_evidence(rule, good, bad):
    assert verify_json(GOOD, options=VerifyOptions(rule=rule)).grade.value == good
    assert verify_json(DELETES, options=VerifyOptions(rule=rule)).grade.value == bad
    assert verify_json({}, options=VerifyOptions(rule=rule)).grade is Grade.DECLARED


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("plain", "code"),
    [
        (None, Code.MALFORMED),
        ({"mutation": [op("fly", "x")]}, Code.MALFORMED),
        ({"mutation": [SET] * 65}, Code.LIMIT),
        ({"mutation": [op("set_config", "a", value="x" * 10_000_001)]}, Code.LIMIT),
        ({"mutation": [op("write_file", "f", value="x")]}, Code.OUT_OF_LANGUAGE),
    ],
)
def test_an_unrunnable_candidate_is_rejected_with_its_reason(plain, code, rule):
    verdict = verify_json(plain, options=VerifyOptions(rule=rule, level=Level.L0))
    assert not verdict.admitted
    assert verdict.grade is Grade.DECLARED
    assert {reason.code for reason in verdict.reasons} == {code}
    assert verdict.splits == {}


@pytest.mark.parametrize("rule", RULES)
def test_a_changed_mutation_is_rejected_before_anything_runs(rule):
    locked = read_candidate(GOOD).mutation_digest()
    changed = {**GOOD, "mutation": [{**SET, "value": 1}]}
    verdict = verify_json(changed, options=VerifyOptions(rule=rule, locked=locked))
    assert [reason.code for reason in verdict.reasons] == [Code.MUTATION_CHANGED]
    assert locked in verdict.reasons[0].message
    assert verify_json(GOOD, options=VerifyOptions(rule=rule, locked=locked)).admitted


def test_an_unknown_rule_is_an_error_not_a_verdict():
    with pytest.raises(InputError, match="found luck, expected one of split-wald"):
        verify(read_candidate(GOOD), rule="luck")


def test_a_fault_inside_an_operation_fails_the_trip_with_its_name(monkeypatch):
    candidate = read_candidate(GOOD)

    def explode(*_: object) -> None:
        raise ZeroDivisionError("boom")

    object.__setattr__(candidate.recovery[0].kind, "run", explode)
    try:
        trip = round_trip(candidate, State())
    finally:
        from takeback.state.tree_surface import restore

        object.__setattr__(candidate.recovery[0].kind, "run", restore)
    assert not trip.passed
    assert trip.failure == "fault: ZeroDivisionError: boom"
    assert (trip.fault, trip.failed_at) == (FaultKind.EXCEPTION, None)


@pytest.mark.parametrize(
    ("recovery", "witness", "kind"),
    [
        (op("restore_config", "a", witness_key="gone"), [], FaultKind.NO_CAPTURE),
        (op("restore_config", "a", witness_key="p"), [op("capture_prompt", "p", witness_key="p")], "other_surface"),
        (op("delete_file", "d"), [], FaultKind.CANNOT_RUN),
    ],
)
def test_a_failing_recovery_reports_kind_and_position(recovery, witness, kind):
    first = op("delete_config", "unrelated")
    candidate = read_candidate({"mutation": [SET], "witness": witness, "recovery": [first, recovery]})
    trip = round_trip(candidate, State.read({"files": {"d/f": {"content": "x"}}}))
    assert (trip.fault, trip.failed_at) == (kind, 1)
    assert trip.failure.startswith("recovery[1] ")


def test_an_effect_that_no_trace_names_must_be_covered_too(monkeypatch):
    """An operation that also writes where it does not say: the diff shows it, though every name is covered."""

    def both(value, one):
        return value.put(one.path, one.value).put("aside", one.value), None

    monkeypatch.setitem(KINDS["set_prompt"].__dict__, "run", both)
    plain = {
        "mutation": [op("set_prompt", "p", value="x")],
        "witness": [op("capture_prompt", key, witness_key=key) for key in ("p", "aside")],
        "recovery": [op("restore_prompt", key, witness_key=key) for key in ("p", "aside")],
        "contract": ['prompts["p"]'],
    }
    trip = round_trip(read_candidate(plain), State())
    assert (trip.residuals, trip.failure) == ((), "")
    assert list(map(str, trip.uncovered)) == ['prompts["aside"]']
    assert verify_json(plain).reasons[0].code is Code.CONTRACT_INCOMPLETE
    assert verify_json({**plain, "contract": ["prompts"]}).admitted


def test_time_that_runs_out_is_a_rejection():
    verdict = verify_sampled(read_candidate(GOOD), VerifyOptions(rule="split-wald", max_seconds=1e-9))
    assert not verdict.admitted
    assert [reason.code for reason in verdict.reasons] == [Code.TIMEOUT]


def test_a_candidate_with_no_operations_at_all_is_admitted_as_doing_nothing():
    assert verify_json({"mutation": []}).admitted
    assert verify_json({"mutation": []}, options=VerifyOptions(rule="split-wald")).admitted


def test_one_failure_of_twenty_is_admitted_by_split_wald_but_stays_refuted():
    candidate = read_candidate(DELETES)
    there = State.read({"config": {"verbose": 1}})
    absent = tuple(State.read({"config": {f"k{at}": at}}) for at in range(41))
    made = Suites(absent[:2], (*absent[2:21], there), absent[21:41])
    verdict = verify_on(candidate, made, VerifyOptions(rule="split-wald", level=Level.L0))
    assert verdict.admitted
    assert verdict.grade is Grade.REFUTED
    assert verdict.counterexample.state == there
    assert (verdict.splits["iid"].passed, verdict.splits["iid"].of) == (19, 20)
    worse = Suites(made.dev, (*absent[2:20], there, State.read({"config": {"verbose": 2}})), made.ood)
    rejected = verify_on(candidate, worse, VerifyOptions(rule="split-wald", level=Level.L0))
    assert not rejected.admitted
    assert Code.BOUND_TOO_LOW in {reason.code for reason in rejected.reasons}


def test_a_replay_on_one_state_admits_nothing():
    verdict = verify_json(GOOD, options=VerifyOptions(rule="exact", nominal=State()))
    assert not verdict.admitted
    assert verdict.reasons == ()
    assert verdict.splits["given"].passed == 1


def test_the_rules_own_numbers_of_states_are_used_unless_others_are_given():
    assert verify_json(GOOD, options=VerifyOptions(rule="hidden-wilson")).splits["iid"].of == 50
    verdict = verify_json(GOOD, options=VerifyOptions(rule="split-wald", iid=30, ood=7, dev="Q5"))
    assert [verdict.splits[name].of for name in ("dev", "iid", "ood")] == [5, 30, 7]


# the self-check ---------------------------------------------------------------------------------------------


def test_the_self_check_passes_on_the_real_verifier_and_has_the_three_plants_of_the_paper():
    self_check()
    assert {"do nothing", "wrong address", "wrong order"} <= set(selfcheck_module.PLANTS)


@pytest.mark.parametrize("lie", [Trip(), Trip(failure="always")])
def test_a_verifier_that_always_says_the_same_is_broken(lie):
    with pytest.raises(VerifierBroken, match="the planted recovery"):
        self_check(lambda *_: lie)


@pytest.mark.parametrize("plant", [name for name, (good, _) in selfcheck_module.PLANTS.items() if not good])
def test_letting_one_plant_through_aborts_the_run(plant):
    wrong = read_candidate(selfcheck_module.PLANTS[plant][1])

    def nearly(candidate: object, state: State) -> Trip:
        return PASSED if candidate.digest() == wrong.digest() else round_trip(candidate, state)

    with pytest.raises(VerifierBroken, match=plant):
        self_check(nearly)


@pytest.mark.parametrize("rule", RULES)
def test_every_verification_aborts_when_the_verifier_is_broken(rule, monkeypatch):
    monkeypatch.setattr(Trial, "_run", lambda self, state: PASSED)
    with pytest.raises(VerifierBroken):
        verify_json(GOOD, options=VerifyOptions(rule=rule))


def test_every_run_checks_itself(monkeypatch):
    calls = []
    monkeypatch.setattr(sampled_module, "self_check", lambda: calls.append("sampled"))
    monkeypatch.setattr(import_module("takeback.verify.proof"), "self_check", lambda: calls.append("proof"))
    verify_json(GOOD, options=VerifyOptions(rule="split-wald"))
    prove(read_candidate(GOOD))
    assert calls == ["sampled", "proof"]


def test_the_oracle_of_a_good_mutation_is_admitted_by_every_rule():
    candidate = invert_mutation(read_candidate(GOOD).mutation)
    assert all(verify(candidate, rule=rule).admitted for rule in RULES)


def test_a_residual_shows_expected_found_and_contract_side():
    candidate = read_candidate(
        {"mutation": [SET], "recovery": [op("delete_config", "other")], "contract": ['config["verbose"]']}
    )
    trip = round_trip(candidate, State.read({"config": {"other": "x" * 100}}))
    inside, outside = sorted(map(str, trip.residuals), key=len)
    assert inside == 'config["verbose"]: expected absent, found True'
    assert outside.startswith('config["other"]: expected \'xxx')
    assert outside.endswith("..., found absent (outside the contract)")
    assert [residual.covered for residual in trip.residuals] == [
        str(residual.address) == 'config["verbose"]' for residual in trip.residuals
    ]
