"""A wrong option of a verification is an error, never ignored."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields
from importlib import import_module
from types import SimpleNamespace

import pytest
from tests.support.running import op

from takeback.errors import InputError
from takeback.language import find_widest_level, read_candidate
from takeback.state import KINDS, Level, State
from takeback.verify import VerifyOptions, prove, verify, verify_json, verify_on, verify_sampled, verify_with
from takeback.verify.proof import prove_with
from takeback.verify.suites import Suites, make_nominal_state

PLAIN = {
    "mutation": [op("set_config", "verbose", value=True)],
    "witness": [op("capture_config", "verbose", witness_key="w")],
    "recovery": [op("restore_config", "verbose", witness_key="w")],
}
GOOD = read_candidate(PLAIN)
PUBLIC = (verify, verify_with, verify_json, verify_sampled, verify_on, prove)
RULES = ("split-wald", "exact")


def test_no_public_call_accepts_arbitrary_keywords():
    for function in PUBLIC:
        kinds = {one.kind for one in inspect.signature(function).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}, function


@pytest.mark.parametrize("rule", ["proof", "split-wald", "exact"])
def test_a_misspelt_option_is_an_error(rule):
    with pytest.raises(TypeError, match="sede"):
        verify(GOOD, rule=rule, sede=3)
    with pytest.raises(TypeError, match="sede"):
        verify_json(PLAIN, options=VerifyOptions(rule=rule, sede=3))


WRONG = {
    "max_seconds": [-1, 0, 0.0, True, "1", float("nan"), float("inf"), None],
    "seed": ["x", 1.5, True],
    "dev": ["Q3", "", 10, ["Q10"]],
    "iid": [-1, 10_001, 2.5, True, "20"],
    "ood": [-1, 10_001, 2.5, True, "20"],
    "threshold": [0, 0.0, -0.1, 1.01, True, "0.85", float("nan")],
    "level": ["L1", 1, "wide"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_value_is_an_error(name, value):
    with pytest.raises(InputError):
        verify(GOOD, rule="split-wald", **{name: value})
    with pytest.raises(InputError):
        verify_json(PLAIN, options=VerifyOptions(rule="split-wald", **{name: value}))
    with pytest.raises(InputError):
        verify_sampled(GOOD, VerifyOptions(rule="split-wald", **{name: value}))


@pytest.mark.parametrize(("name", "value"), [("max_seconds", -1), ("max_seconds", 0), ("level", "L1")])
def test_a_wrong_value_is_an_error_of_a_proof_too(name, value):
    for call in (lambda **given: verify(GOOD, **given), lambda **given: prove(GOOD, **given)):
        with pytest.raises(InputError, match=name):
            call(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("seed", 0), ("dev", "Q10"), ("iid", 20), ("ood", 20), ("threshold", 0.85)]
)
@pytest.mark.parametrize("rule", ["proof", "exact"])
def test_sampling_options_are_refused_without_a_sample(rule, name, value):
    with pytest.raises(InputError, match=f"^{name}: found it with the rule {rule}, expected one of split-wald"):
        verify(GOOD, rule=rule, nominal=State(), **{name: value})
    with pytest.raises(InputError):
        verify_json({"mutation": None}, options=VerifyOptions(rule=rule, nominal=State(), **{name: value}))


def test_a_replay_needs_a_state():
    with pytest.raises(InputError, match="the state to run on"):
        verify(GOOD, rule="exact")


@pytest.mark.parametrize("rule", ["luck", None, 3, ["proof"]])
def test_an_unknown_rule_is_an_error_even_of_a_candidate_that_cannot_be_read(rule):
    for call in (lambda: verify(GOOD, rule=rule), lambda: verify_json({}, options=VerifyOptions(rule=rule))):
        with pytest.raises(InputError, match="expected one of split-wald"):
            call()


def test_every_rule_takes_a_nominal_state():
    for rule in ("proof", "split-wald", "exact"):
        assert verify(GOOD, rule=rule, nominal=make_nominal_state()).reasons == ()


def test_the_widest_installed_language_is_the_default(monkeypatch):
    module = import_module("takeback.language.gate")
    assert find_widest_level() is max(kind.level for kind in KINDS.values())
    for call in (verify, prove, verify_sampled):
        assert call(GOOD).language == find_widest_level().value
    assert verify_json({}).language == find_widest_level().value
    monkeypatch.setattr(module, "KINDS", {n: k for n, k in KINDS.items() if k.level is Level.L0})
    assert verify(GOOD).language == "L0"


@pytest.mark.parametrize(
    "call",
    [
        verify,
        prove,
        *(lambda one, rule=rule, **more: verify(one, rule=rule, nominal=State(), **more) for rule in RULES),
    ],
)
def test_a_wrong_candidate_or_digest_is_an_error(call):
    for given in (None, "{}", GOOD.mutation):
        with pytest.raises(InputError, match=r"^candidate: found .*, expected a Candidate, or its JSON object"):
            call(given)
    with pytest.raises(InputError, match=r"^locked: found 3, expected the digest of a mutation"):
        call(GOOD, locked=3)


@pytest.mark.parametrize("rule", ["proof", "split-wald", "exact"])
def test_a_wrong_nominal_state_is_an_error_even_for_a_proof(rule):
    for given in ({}, {"config": {}}, 0, "{}"):
        with pytest.raises(InputError, match=r"^nominal: found .*, expected a State"):
            verify(GOOD, rule=rule, nominal=given)


def test_options_are_checked_once_and_cannot_be_changed():
    options = VerifyOptions(rule="split-wald", seed=3)
    assert options.language is find_widest_level()
    with pytest.raises(FrozenInstanceError):
        options.rule = "proof"
    with pytest.raises(TypeError, match="final"):
        type("Other", (VerifyOptions,), {})


def test_options_keep_a_state_that_its_owner_cannot_change():
    state = State.read({"prompts": {"p": "x"}})
    options = VerifyOptions(nominal=state)
    assert options.nominal == state
    assert options.nominal is not state
    assert options.nominal.parts is not state.parts


@pytest.mark.parametrize("given", [{"rule": "split-wald"}, "split-wald", SimpleNamespace(rule="split-wald")], ids=str)
def test_options_of_another_class_are_an_error(given):
    for call in (
        lambda: verify_with(GOOD, given),
        lambda: verify_json(PLAIN, options=given),
        lambda: verify_json({}, options=given),
        lambda: verify_sampled(GOOD, given),
        lambda: verify_on(GOOD, Suites((), (), ()), given),
    ):
        with pytest.raises(InputError, match=r"^options: found .*, expected VerifyOptions"):
            call()


def test_a_rule_without_sampling_draws_no_sample():
    with pytest.raises(InputError, match=r"^rule: found proof, expected one of split-wald"):
        verify_sampled(GOOD, VerifyOptions())
    with pytest.raises(InputError, match=r"^rule: found split-wald, expected one of proof"):
        prove_with(GOOD, VerifyOptions(rule="split-wald"))


def test_the_keywords_of_verify_are_the_options():
    asked = {name: one.default for name, one in inspect.signature(verify).parameters.items() if name != "candidate"}
    assert asked == {one.name: one.default for one in fields(VerifyOptions) if one.init}
