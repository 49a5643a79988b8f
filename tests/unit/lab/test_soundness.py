"""The soundness experiment finds a proof that is wrong, and finds none in ours."""

from importlib import import_module

import pytest

from takeback.lab.soundness import experiment, keyed_z3, run_soundness
from takeback.language import read_candidate
from takeback.verify import Code, Grade, Reason, Verdict
from takeback.verify.classes import Classes

GOOD = {
    "mutation": [{"op_type": "set_prompt", "target": "p", "value": "x"}],
    "witness": [{"op_type": "capture_prompt", "target": "p", "witness_key": "w"}],
    "recovery": [{"op_type": "restore_prompt", "target": "p", "witness_key": "w"}],
    "contract": ['prompts["p"]'],
}


def test_random_candidates_are_decided_as_brute_force_and_z3_decide_them():
    tally = run_soundness(300, seed=5)
    assert (tally.undecided, tally.disagreements, tally.z3_disagreements) == (0, 0, 0), tally.found
    assert tally.proved > 50
    assert tally.refuted > 50
    assert tally.z3_checked > 50


def test_the_same_seed_gives_the_same_tally():
    assert run_soundness(60, seed=3).to_json() == run_soundness(60, seed=3).to_json()


def test_a_proof_that_proves_everything_is_found_out(monkeypatch):
    monkeypatch.setattr(experiment, "prove", lambda candidate: Verdict(True, Grade.PROVED, "proof", "L1"))
    tally = run_soundness(150, seed=5)
    assert tally.disagreements > 20
    assert tally.z3_disagreements > 5


def test_a_proof_that_does_not_look_for_a_base_where_the_mutation_goes_through_is_found_out(monkeypatch):
    assert run_soundness(250, seed=6).disagreements == 0
    monkeypatch.setattr(Classes, "settle", lambda self: None)
    assert run_soundness(250, seed=6).disagreements > 0


def test_a_proof_that_does_not_vary_tied_places_jointly_is_found_out(monkeypatch):
    assert run_soundness(500, seed=1).disagreements == 0
    search = import_module("takeback.verify.proof")._Search
    monkeypatch.setattr(search, "_coupled", lambda self: iter(()))
    assert run_soundness(500, seed=1).disagreements > 0


def test_a_proof_that_gives_no_answer_is_counted(monkeypatch):
    late = Reason(Code.TIMEOUT, "too slow")
    given = Verdict(False, Grade.DECLARED, "proof", "L1", (late,))
    monkeypatch.setattr(experiment, "prove", lambda candidate: given)
    assert run_soundness(20, seed=5).undecided == 20


def test_a_proof_that_refutes_without_a_state_is_found_out(monkeypatch):
    monkeypatch.setattr(experiment, "prove", lambda candidate: Verdict(False, Grade.REFUTED, "proof", "L1"))
    assert run_soundness(20, seed=5).disagreements == 20


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"recovery": []}, False),
        ({"contract": ["config"]}, False),
        ({"contract": ["prompts"]}, True),
        ({"witness": [{**GOOD["witness"][0], "target": "q"}]}, False),
        ({"witness": []}, False),
        ({"recovery": [{**GOOD["recovery"][0], "target": "q"}]}, False),
    ],
)
def test_z3_tells_good_from_bad(change, holds):
    candidate = {**GOOD, **change}
    read_candidate(candidate)
    assert keyed_z3.fits(candidate)
    assert keyed_z3.holds(candidate) is holds


def test_z3_is_not_asked_about_paths_or_chains():
    nested = [{"op_type": "set_config", "target": "a.b", "value": 1}]
    chain = [{"op_type": "add_middleware", "target": "m", "value": {"handler": "h"}}]
    assert not keyed_z3.fits({**GOOD, "mutation": nested})
    assert not keyed_z3.fits({**GOOD, "mutation": chain})
