"""The contract audit: known omissions are caught, and the counts move when what they measure is broken."""

import random
import re
from collections import Counter
from importlib import import_module

import pytest

from takeback.errors import InputError, VerifierBroken
from takeback.repair import invert_mutation
from takeback.state import Contract, State
from takeback.state.chain import Chain
from takeback_lab.experiments import contract_audit, nondeterminism, truth
from takeback_lab.runner import run_experiment

EXPERIMENT = contract_audit.EXPERIMENT
PLAN = EXPERIMENT.plan({"tasks": 18})
CASES = PLAN.cases


def found():
    return EXPERIMENT.summary(PLAN, run_experiment(EXPERIMENT, PLAN).data)


def rows():
    return [row for part in run_experiment(EXPERIMENT, PLAN).done.values() for row in part]


def test_omissions_are_caught_and_nothing_else_alarms():
    counts = found()
    assert counts["incomplete"] == {"caught": 18, "of": 18, "by_trace_only": 6}
    assert counts["complete"] == {"false_alarms": 0, "of": 18}
    assert counts["nondeterminism"] == {"false_alarms": 0, "of": 18}
    assert counts["wrong"] == []
    assert EXPERIMENT.holds(counts)


def test_more_tasks_than_there_are_is_an_error():
    with pytest.raises(InputError, match="at most 600"):
        EXPERIMENT.plan({"tasks": 99999})


def test_every_family_is_audited_in_equal_parts():
    families = [case.family for case in EXPERIMENT.plan({}).cases]
    assert {family: families.count(family) for family in families} == dict.fromkeys(families, 50)


@pytest.mark.parametrize(("tasks", "each"), [(18, {1}), (300, {16, 17}), (600, {33, 34})])
def test_a_third_of_every_family_shows_its_effects_by_the_trace_alone(tasks, each):
    plan = EXPERIMENT.plan({"tasks": tasks})
    silent = Counter(case.family for case, alone in zip(plan.cases, plan.trace_only(), strict=True) if alone)
    assert len(silent) == 6
    assert set(silent.values()) == each
    assert silent.total() == tasks // 3


def test_the_verifier_notices_a_broken_audit(monkeypatch):
    monkeypatch.setattr(Contract, "covers", lambda self, address: True)
    with pytest.raises(VerifierBroken, match="omitted effect"):
        found()


@pytest.fixture
def no_self_check(monkeypatch):
    monkeypatch.setattr(import_module("takeback.verify.decision"), "self_check", lambda: None)


@pytest.mark.usefixtures("no_self_check")
def test_an_audit_that_covers_everything_catches_nothing(monkeypatch):
    monkeypatch.setattr(Contract, "covers", lambda self, address: True)
    assert found()["incomplete"]["caught"] == 0


@pytest.mark.usefixtures("no_self_check")
def test_an_audit_that_covers_nothing_alarms_on_complete_contracts(monkeypatch):
    monkeypatch.setattr(Contract, "covers", lambda self, address: False)
    assert found()["complete"]["false_alarms"] == 18


def test_without_the_trace_no_write_of_the_same_value_is_caught(monkeypatch):
    trial = import_module("takeback.verify.trip").Trial
    begin = trial.__init__

    def without_the_trace(self, candidate):
        begin(self, candidate)
        self._omitted = ()

    monkeypatch.setattr(trial, "__init__", without_the_trace)
    audited = rows()
    assert not any(row["caught"] for row in audited if row["trace_only"])
    assert any(row["caught"] for row in audited if not row["trace_only"])


@pytest.mark.parametrize("seed", range(20))
def test_an_incomplete_contract_never_covers_its_omission(seed):
    true = {("config", "a", "b"), ("config", "a"), ("files", "x", "y"), ("tools", "grep")}
    listed, omitted = contract_audit.leave_out(true, random.Random(seed))
    assert omitted
    read = Contract.read(sorted(map(truth.address, listed)), "contract")
    covered = {truth.address(place) for place in true} - omitted
    assert {str(one) for one in Contract.read(sorted(covered), "x").addresses if not read.covers(one)} == set()


def test_the_truth_names_leaves_and_targets_and_not_directories_that_stay():
    before = {"config": {"a": {}}, "files": {"d": {"directory": True}}, "middleware": [{"id": "x"}]}
    after = {"config": {"a": {"b": 1}}, "files": {"d/f": {"content": ""}}, "middleware": [{"id": "y"}, {"id": "x"}]}
    mutation = [{"op_type": "set_prompt", "target": "same"}, {"op_type": "set_config", "target": "a"}]
    assert truth.affected(before, after, mutation) == {
        ("config", "a"),
        ("config", "a", "b"),
        ("files", "d", "f"),
        ("middleware", "y"),
        ("prompts", "same"),
    }


def _alarms(again):
    found = []
    for case in CASES:
        nominal = case.nominal()
        candidate = invert_mutation(case.program(), nominal)
        found.append(nondeterminism.alarms(candidate, nominal, random.Random(case.id), again))
    return found


def _with_changed_handler(state: State, rng: random.Random) -> State:
    chain = state.part("middleware")
    links = [link._replace(record=link.record.put("priority", rng.randrange(10**6))) for link in chain]
    tools = state.part("tools")
    for key in tools:
        tools = tools.put(key, tools[key].put("description", f"drawn {rng.random()}"))
    return state.replace("middleware", Chain(tuple(links))).replace("tools", tools)


def test_a_planted_difference_that_is_not_volatile_is_caught_by_a_control():
    assert all(_alarms(_with_changed_handler))


def test_a_control_alarms_when_object_addresses_are_taken_literally(monkeypatch):
    assert not any(_alarms(nondeterminism.renew))
    monkeypatch.setattr("takeback.state.values._POINTER", re.compile("no such text"))
    assert any(_alarms(nondeterminism.renew))


def test_a_control_refuses_a_state_in_which_nothing_can_vary():
    case = CASES[0]
    with pytest.raises(Exception, match="something that can vary"):
        nondeterminism.alarms(invert_mutation(case.program()), State(), random.Random(0))
