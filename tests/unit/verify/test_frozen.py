"""What is verified is plain data that nobody can change or switch, and options are plain values too."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from enum import StrEnum

import pytest
from tests.support.running import op

from takeback.errors import EvidenceError, InputError
from takeback.language import Candidate, read_candidate, reread_candidate
from takeback.state import ABSENT, Address, Contract, Level, Operation, State
from takeback.state.file import File
from takeback.verify import (
    Admitted,
    Grade,
    Verdict,
    VerifyOptions,
    prove,
    verify,
    verify_json,
    verify_on,
    verify_sampled,
    why_not_evidence,
)
from takeback.verify import decision as decide_module
from takeback.verify.suites import Suites

PLAIN = {
    "mutation": [op("set_config", "a", value={"list": [1, {"deep": True}]})],
    "witness": [op("capture_config", "a", witness_key="w")],
    "recovery": [op("restore_config", "a", witness_key="w")],
    "contract": ['config["a"]'],
}


def good() -> Candidate:
    return read_candidate(PLAIN)


@pytest.mark.parametrize("cls", [Candidate, Operation, Contract, Verdict, Admitted])
def test_no_class_of_evidence_has_subclasses(cls):
    with pytest.raises(TypeError, match="final"):
        type("Switching", (cls,), {})


def test_lists_that_a_candidate_was_made_of_can_change_without_it():
    read = good()
    programs = [list(read.mutation), list(read.witness), list(read.recovery)]
    made = Candidate(*programs, read.contract)
    for program in programs:
        program.clear()
    assert made == read
    assert made.digest() == read.digest()
    assert why_not_evidence(prove(made), read) is None


@pytest.mark.parametrize("program", [[1], ["set_config"], [None]])
def test_a_candidate_of_anything_but_operations_is_refused(program):
    with pytest.raises(InputError, match="operations"):
        Candidate(program, (), (), Contract())


def test_a_candidate_needs_a_contract_of_the_plain_class():
    with pytest.raises(InputError, match="a Contract"):
        Candidate((), (), (), ["config"])


@pytest.mark.parametrize("name", ["mutation", "witness", "recovery", "contract"])
def test_no_part_of_a_candidate_can_be_exchanged(name):
    with pytest.raises((FrozenInstanceError, AttributeError)):
        setattr(good(), name, ())


@pytest.mark.parametrize(
    "change",
    [
        lambda one: setattr(one, "raw", 1),
        lambda one: one.raw.__setitem__("list", 1),
        lambda one: one.raw["list"].append(1),
        lambda one: one.raw["list"][1].update(deep=False),
        lambda one: one.value.__setitem__("list", 1),
        lambda one: one.to_json()["value"]["list"].clear() or one.missing,
    ],
    ids=["raw", "a key of raw", "a list in raw", "a mapping in a list in raw", "value", "what it prints"],
)
def test_no_value_of_an_operation_can_be_changed(change):
    candidate = good()
    before = candidate.digest()
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        change(candidate.mutation[0])
    assert candidate.digest() == before
    assert candidate.to_json() == PLAIN


def test_the_anchor_of_an_insert_cannot_be_changed():
    plain = {"mutation": [op("insert_config", "a", value=1, before={"k": [1]})]}
    candidate = read_candidate(plain)
    candidate.mutation[0].to_json()["before"]["k"].append(2)
    plain["mutation"][0]["before"]["k"].append(3)
    assert candidate.to_json()["mutation"][0]["before"] == {"k": [1]}


def test_a_file_that_is_to_be_written_cannot_be_changed():
    one = read_candidate({"mutation": [op("write_file", "f", value={"content": "x", "mode": "0644"})]}).mutation[0]
    for name, value in {"mode": 0o777, "_content": b"y", "_text": None}.items():
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(one.value, name, value)
    assert one.value == File(b"x", 0o644)


def test_bytes_that_can_change_are_copied_into_a_file():
    content = bytearray(b"before")
    made = File(content)
    content[:] = b"after"
    assert made.content == b"before"
    assert type(made.content) is bytes


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301
@pytest.mark.parametrize("one", [File(b"x", 0o600), Contract(["config"], [Address("files", "a")])], ids=repr)
def test_frozen_values_can_be_copied_and_pickled(again, one):
    assert again(one) == one


@pytest.mark.parametrize("name", ["surfaces", "addresses", "_known", "more"])
def test_a_contract_cannot_be_widened(name):
    contract = Contract(["config"])
    with pytest.raises(AttributeError):
        setattr(contract, name, frozenset({"files"}))
    with pytest.raises(AttributeError):
        delattr(contract, name)
    assert contract.to_json() == ["config"]


class Lying(str):
    """Text that is equal to every other."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


class Rules(StrEnum):
    """Rules as an enumeration has them."""

    PROOF = "proof"
    SPLIT = "split-wald"


class Generous(float):
    """A number that no other is below."""

    __slots__ = ()

    def __gt__(self, other: object) -> bool:
        return False


class OtherState(State):
    """A state of another class, which may answer as it likes."""


def test_a_contract_of_texts_of_another_class_is_refused():
    for made in (lambda: Contract([Lying("config")]), lambda: Contract(addresses=[Address("files", Lying("a"))])):
        with pytest.raises(InputError, match="plain text"):
            made()
    with pytest.raises(InputError):
        read_candidate({**PLAIN, "contract": [Lying("config")]})


@pytest.mark.parametrize("rule", [Lying("proof"), Lying("split-wald"), *Rules], ids=repr)
def test_a_rule_must_be_plain_text(rule):
    for ask in (
        lambda: verify(good(), rule=rule),
        lambda: verify_json(PLAIN, options=VerifyOptions(rule=rule)),
        lambda: verify_sampled(good(), VerifyOptions(rule=rule)),
        lambda: verify_on(good(), Suites((), (), ()), VerifyOptions(level=Level.L1, rule=rule)),
    ):
        with pytest.raises(InputError, match="rule"):
            ask()


@pytest.mark.parametrize("rule", [Lying("split-wald"), *Rules], ids=repr)
def test_evidence_is_not_demanded_by_a_rule_that_equals_all(rule):
    assert "not by" in (why_not_evidence(prove(good()), good(), rule=rule) or "")


def test_evidence_is_not_demanded_for_a_language_of_another_class():
    class Every:
        def includes(self, other: object) -> bool:
            return True

    assert "about the language" in (why_not_evidence(prove(good()), good(), level=Every()) or "")


@pytest.mark.parametrize(
    "options",
    [
        {"locked": Lying("0" * 64)},
        {"rule": "split-wald", "dev": Lying("Q10")},
        {"rule": "split-wald", "threshold": Generous(0.85)},
        {"rule": "split-wald", "nominal": OtherState()},
        {"rule": "split-wald", "iid": True},
        {"max_seconds": Generous(30.0)},
    ],
    ids=lambda options: next(reversed(options)),
)
def test_options_must_be_of_plain_types(options):
    with pytest.raises(InputError):
        verify(good(), **options)


class Switching(dict):
    """A mapping that says something else each time it is asked."""

    def _lie(self) -> object:
        self["value"] = {"evil": True}
        return dict.__getitem__(self, "value")

    def get(self, name, default=None):
        return self._lie() if name == "value" else dict.get(self, name, default)

    def __getitem__(self, name):
        return self._lie() if name == "value" else dict.__getitem__(self, name)

    def items(self):
        return [("op_type", "set_config"), ("target", "evil"), ("value", 1)]


def test_a_mapping_of_another_class_is_read_once():
    hostile = Switching(PLAIN["mutation"][0])
    candidate = read_candidate({**PLAIN, "mutation": [hostile]})
    assert candidate.to_json() == PLAIN
    hostile["target"] = "b"
    assert candidate.to_json() == PLAIN
    assert candidate == good()


@pytest.mark.parametrize("value", [Lying("x"), {"k": Lying("x")}, [Rules.PROOF], Generous(1.0), b"x", {1}, {1: 2}])
def test_values_of_other_classes_are_refused(value):
    with pytest.raises(InputError):
        read_candidate({"mutation": [op("set_config", "a", value=value)]})


@pytest.mark.parametrize("field", ["op_type", "target", "witness_key"])
def test_names_of_other_classes_are_refused(field):
    capture = {**PLAIN["witness"][0], field: Lying(PLAIN["witness"][0][field])}
    with pytest.raises(InputError):
        read_candidate({**PLAIN, "witness": [capture]})


def test_a_value_that_contains_itself_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(InputError, match="nesting"):
        read_candidate({"mutation": [op("set_config", "a", value=value)]})


def _lookalike(**other) -> Candidate:
    read = good()
    return replace(read, mutation=(replace(read.mutation[0], **other),))


@pytest.mark.parametrize(
    "other",
    [{"value": "evil"}, {"path": ("b",)}, {"address": Address("config", "b")}, {"also": (Address("files", "x"),)}],
    ids=lambda other: next(iter(other)),
)
def test_a_lookalike_operation_is_verified_by_its_json(other):
    lookalike = _lookalike(**other)
    assert not lookalike.as_read
    assert reread_candidate(lookalike) == good()
    admitted = Admitted(good(), verify(lookalike))
    assert admitted.candidate == good()
    assert admitted.candidate.mutation[0].value == good().mutation[0].value


def test_a_candidate_read_from_json_is_verified_as_it_is():
    read = good()
    assert read.as_read
    assert reread_candidate(read) is read
    assert Admitted(read, prove(read)).candidate is read


def test_an_operation_with_values_outside_json_is_refused():
    one = good().mutation[0]
    for raw in (object(), {"k": b"x"}, {1: 2}, Lying("x")):
        with pytest.raises(InputError):
            replace(one, raw=raw)
    with pytest.raises(InputError):
        replace(one, target=Lying("a"))


@pytest.mark.parametrize("name", ["value", "path", "raw", "target", "kind"])
def test_a_candidate_altered_in_place_loses_its_evidence(name):
    candidate, same = good(), good()
    verdict = prove(candidate)
    assert why_not_evidence(verdict, same) is None
    other = {"value": "evil", "path": ("b",), "raw": 1, "target": "b", "kind": replace(candidate.mutation[0].kind)}
    object.__setattr__(candidate.mutation[0], name, other[name])
    for asked in (candidate, same):
        assert why_not_evidence(verdict, asked) is not None
    with pytest.raises(EvidenceError):
        Admitted(same, verdict)


@pytest.mark.parametrize(("suite", "of"), [("Q2", 2), ("Q5", 5)])
def test_a_sample_with_fewer_dev_states_than_its_rule_demands_is_no_evidence(suite, of):
    verdict = verify(good(), rule="split-wald", dev=suite)
    assert verdict.admitted
    told = f"the verdict rests on {of} of the 10 dev states that the rule 'split-wald' demands"
    assert why_not_evidence(verdict, good()) == told


@pytest.mark.parametrize("suite", ["Q10", "Q20"])
def test_a_sample_with_the_dev_states_of_its_rule_is_evidence(suite):
    assert why_not_evidence(verify(good(), rule="split-wald", dev=suite), good()) is None


def test_changing_a_state_during_verification_has_no_effect(monkeypatch):
    nominal = State.read({"config": {"a": 1}})
    run = decide_module.round_trip

    def changing(candidate, state):
        nominal.parts["config"] = State().part("config")
        return run(candidate, state)

    monkeypatch.setattr(decide_module, "round_trip", changing)
    bad = read_candidate({**PLAIN, "witness": [], "recovery": []})
    verdict = verify(bad, rule="exact", nominal=nominal)
    assert verdict.grade is Grade.REFUTED
    assert verdict.counterexample is not None
    assert verdict.counterexample.state.write() == {"config": {"a": 1}}


def test_absence_stays_absence():
    assert good().witness[0].raw is ABSENT
    assert "value" not in good().witness[0].to_json()
