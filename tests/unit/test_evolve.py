"""The loop: what is proposed is made only if it can be taken back, repaired where need be."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config, mutation, tool

from takeback.adapters import open_memory
from takeback.evolve import evolve, propose_mutation
from takeback.harness import Applied, RefusalReason, Refused
from takeback.harness.records import load_candidate_json
from takeback.repair.attempt import Attempt, Rejected, build_attempt
from takeback.repair.synthesizer import make_method, parse_spec
from takeback.state import State

ORACLE = make_method(parse_spec("oracle"), None)


@pytest.fixture
def harness():
    return open_memory(State.read({"tools": {"grep": {"id": "old"}}}))


def test_a_good_proposal_is_applied_as_it_came(harness):
    proposal = build_attempt(candidate(config("a", 1)).to_json())
    done = evolve(harness, lambda _: proposal, ORACLE, note="as it came")
    assert (done.applied, done.repair) == (True, None)
    assert harness.journal.get(done.result.entry.number).payload["note"] == "as it came"


def test_a_proposal_that_cannot_be_taken_back_is_repaired_with_its_mutation_locked(harness):
    bad = {"mutation": [tool("grep")], "witness": [], "recovery": [{"op_type": "unregister_tool", "target": "grep"}]}
    done = evolve(harness, lambda _: build_attempt(bad), ORACLE)
    assert done.verdict.grade.value == "refuted"
    assert done.repair.source == "oracle"
    assert isinstance(done.result, Applied)
    recorded = load_candidate_json(harness.journal, done.result.entry)
    assert recorded["mutation"] == bad["mutation"]
    harness.undo(done.result.entry.id)
    assert harness.state.write()["tools"]["grep"]["id"] == "old"


def test_a_bare_mutation_gets_its_recovery(harness):
    done = evolve(harness, propose_mutation(mutation(config("a.b", 1))), ORACLE)
    assert done.applied
    assert done.to_json()["entry"] == done.result.entry.id


def test_the_proposer_sees_the_present_state(harness):
    seen = []

    def propose(state):
        seen.append(state)
        return build_attempt(candidate(config("a", 1)).to_json())

    evolve(harness, propose, ORACLE)
    assert seen == [State.read({"tools": {"grep": {"id": "old"}}})]


def test_a_proposal_without_a_mutation_changes_nothing(harness):
    before = harness.journal.head()
    done = evolve(harness, lambda _: Attempt(None, rejected=Rejected("prose", "a poem")), ORACLE)
    assert (done.applied, done.result, done.to_json()["shortfall"]) == (False, None, "prose")
    assert harness.journal.head() == before


def test_an_unrepairable_proposal_changes_nothing(harness):
    before = harness.journal.head()
    done = evolve(harness, propose_mutation(mutation(config("a", 1))), lambda *_: _unrepaired())
    assert (done.applied, done.result) == (False, None)
    assert harness.journal.head() == before


def test_drift_is_refused_by_the_loop_too(harness):
    harness.adapter.edit(State.read({"config": {"a": "by hand"}}))
    done = evolve(harness, propose_mutation(mutation(config("a", 1))), ORACLE)
    assert isinstance(done.result, Refused)
    assert done.result.why is RefusalReason.DRIFT
    assert done.to_json()["refused"]


def _unrepaired():
    from takeback.repair.loop import Repair
    from takeback.verify import Grade, Verdict

    return Repair(None, Verdict(admitted=False, grade=Grade.REFUTED, rule="proof", language="L1"))
