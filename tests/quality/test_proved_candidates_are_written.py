"""What a harness writes is what was proved, whatever is done between the proof and the write.

The verifier of a harness is called with the candidate just before it is written, so whatever another thread could do
in between is done there.
"""

from __future__ import annotations

from copy import deepcopy

import pytest

from takeback import Applied, Refused, open_memory, read_candidate, verify
from takeback.language import Candidate
from takeback.verify import Admitted

PLAIN = {
    "mutation": [{"op_type": "set_config", "target": "a", "value": {"list": ["proved"]}}],
    "witness": [{"op_type": "capture_config", "target": "a", "witness_key": "w"}],
    "recovery": [{"op_type": "restore_config", "target": "a", "witness_key": "w"}],
    "contract": ['config["a"]'],
}
EVIL = read_candidate({"mutation": [{"op_type": "set_config", "target": "evil", "value": "evil"}]}).mutation[0]
PROVED = {"config": {"a": {"list": ["proved"]}}}


def _applied(given, between, *, evidence=None):
    """Apply a candidate to an empty harness, with something happening between its proof and its write."""
    ran = []

    def verifier(candidate):
        verdict = verify(candidate)
        between(candidate)
        ran.append(candidate)
        return verdict

    harness = open_memory(verifier=verifier)
    done = harness.apply(given, evidence=evidence)
    assert ran or evidence is not None
    return harness, done


def _assert_proved(harness, done):
    assert isinstance(done, Applied), done
    assert harness.state.write() == PROVED
    harness.undo(done.entry)
    assert harness.state.write() == {}


def test_lists_that_change_after_the_proof_change_nothing():
    read = read_candidate(PLAIN)
    lists = [list(read.mutation), list(read.witness), list(read.recovery)]

    def between(_):
        lists[0][:] = [EVIL]
        lists[1].clear()
        lists[2].clear()

    _assert_proved(*_applied(Candidate(*lists, read.contract), between))


def test_json_that_changes_after_the_proof_changes_nothing():
    plain = deepcopy(PLAIN)

    def between(_):
        plain["mutation"][0]["value"]["list"][0] = "evil"
        plain["mutation"].append({"op_type": "set_config", "target": "evil", "value": 1})
        plain["recovery"].clear()
        plain["contract"].append("files")

    _assert_proved(*_applied(plain, between))


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.raw["list"].append("evil"),
        lambda one: one.raw.update(list=["evil"]),
        lambda one: one.value.update(list=["evil"]),
        lambda one: one.to_json()["value"]["list"].append("evil"),
    ],
    ids=["a list in raw", "raw", "value", "what it prints"],
)
def test_changing_a_value_after_the_proof_does_not_change_the_write(change):
    def between(candidate):
        try:
            change(candidate.mutation[0])
        except (AttributeError, TypeError):
            return

    _assert_proved(*_applied(read_candidate(PLAIN), between))


@pytest.mark.parametrize("name", ["raw", "value", "path"])
def test_a_candidate_altered_by_force_after_the_proof_is_not_written(name):
    def between(candidate):
        object.__setattr__(candidate.mutation[0], name, ("evil",))

    harness, done = _applied(read_candidate(PLAIN), between)
    assert isinstance(done, Refused)
    assert "altered" in done.message or "another candidate" in done.message
    assert harness.state.write() == {}


def test_changing_the_source_of_an_admitted_candidate_does_not_change_the_write():
    plain = deepcopy(PLAIN)
    candidate = read_candidate(plain)
    admitted = Admitted(candidate, verify(candidate))
    plain["mutation"][0]["value"]["list"].append("evil")
    harness, done = _applied(admitted, lambda _: None, evidence=admitted.verdict)
    _assert_proved(harness, done)
