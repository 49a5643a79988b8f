"""The soundness experiment finds a proof that is wrong, and finds none in ours."""

import random
from importlib import import_module
from pathlib import Path

import pytest

from takeback.canonical import encode
from takeback.language import read_candidate
from takeback.state import Level, State
from takeback.verify import Code, Grade, Reason, Verdict, prove
from takeback.verify.classes import Classes
from takeback_lab.soundness import brute, calls, experiment, external, failing, run_soundness, shapes

GOOD = {
    "mutation": [{"op_type": "set_prompt", "target": "p", "value": "x"}],
    "witness": [{"op_type": "capture_prompt", "target": "p", "witness_key": "w"}],
    "recovery": [{"op_type": "restore_prompt", "target": "p", "witness_key": "w"}],
    "contract": ['prompts["p"]'],
}


def test_proofs_of_random_candidates_agree_with_brute_force_and_z3():
    tally = run_soundness(200, seed=5)
    assert (tally.undecided, tally.disagreements, tally.z3_disagreements) == (0, 0, 0), tally.found
    assert tally.proved > 50
    assert tally.refuted > 50
    assert (tally.z3_checked, tally.z3_out_of_scope) == (200, {})
    assert (tally.certificate_checked, tally.certificate_rejected) == (tally.proved, 0)
    assert tally.certificate_states > tally.proved


def test_the_same_seed_gives_the_same_tally():
    assert run_soundness(60, seed=3, opinions=False).to_json() == run_soundness(60, seed=3, opinions=False).to_json()


def test_a_prover_that_proves_everything_is_detected(monkeypatch):
    monkeypatch.setattr(experiment, "prove", lambda candidate: Verdict(True, Grade.PROVED, "proof", "L1"))
    tally = run_soundness(150, seed=5)
    assert tally.disagreements > 20
    assert tally.z3_disagreements >= tally.disagreements
    assert tally.certificate_rejected == tally.proved == 150


@pytest.mark.long
def test_a_prover_without_the_search_for_a_base_is_detected(monkeypatch):
    assert run_soundness(150, seed=6, opinions=False).disagreements == 0
    monkeypatch.setattr(Classes, "settle", lambda self: None)
    assert run_soundness(150, seed=6, opinions=False).disagreements == 0, (
        "the search notices a class that goes further than the base"
    )
    search = import_module("takeback.verify.proof")._Search
    monkeypatch.setattr(search, "_goes_further", lambda self, trip: False)
    tally = run_soundness(150, seed=6)
    assert min(tally.disagreements, tally.z3_disagreements, tally.certificate_rejected) > 0, tally


@pytest.mark.parametrize(("level", "cases", "seed"), [(Level.L1, 100, 8), (Level.L2, 120, 13)])
def test_a_prover_that_keeps_only_succeeding_bases_is_detected(level, cases, seed, monkeypatch):
    assert run_soundness(cases, seed=seed, level=level, opinions=False).disagreements == 0
    settle = Classes.settle

    def only_through(self):
        first = dict(self.base)
        settle(self)
        if self.reach is not None:
            self.use_as_base(first)

    monkeypatch.setattr(Classes, "settle", only_through)
    search = import_module("takeback.verify.proof")._Search
    monkeypatch.setattr(search, "_goes_further", lambda self, trip: trip.stopped_at is None)
    tally = run_soundness(cases, seed=seed, level=level)
    assert min(tally.disagreements, tally.z3_disagreements, tally.certificate_rejected) > 0, tally


@pytest.mark.parametrize("level", [Level.L1, Level.L2])
def test_mutations_that_always_fail_are_drawn(level):
    tally = run_soundness(80, seed=2, level=level, opinions=False)
    assert tally.never_through > 5
    assert tally.shapes > tally.proved


@pytest.mark.parametrize("wide", [False, True], ids=["L1", "L2"])
def test_drawn_failing_candidates_have_incomplete_contracts_and_deep_writes(wide):
    rng = random.Random(1)
    drawn = [failing.candidate(rng, wide=wide) for _ in range(300)]
    candidates = [read_candidate(plain) for plain in drawn]
    missed = [one for one in candidates if any(not one.contract.covers(op.address) for op in one.mutation)]
    below = [
        plain
        for plain in drawn
        for op in plain["mutation"]
        if op["op_type"] == "write_file" and f"{op['target']}/x" in {other["target"] for other in plain["mutation"]}
    ]
    moves = [plain for plain in drawn if any(op["op_type"] == "move_file" for op in plain["mutation"])]
    assert len(missed) > 100
    assert len(below) > 50
    assert (len(moves) > 50) is wide


def test_joint_shapes_are_enumerated_or_sampled():
    files = {"witness": [], "recovery": [], "contract": ["files"]}
    two = {**files, "mutation": [{"op_type": "write_file", "target": path, "value": "x"} for path in ("a", "b")]}
    below = {**files, "mutation": [{"op_type": "write_file", "target": path, "value": "x"} for path in ("a", "a/x")]}
    rng = random.Random(0)
    absent_file_empty_full = 4
    assert len(_texts_of(two, rng)) == absent_file_empty_full**2
    assert len(_texts_of(below, rng)) == 2 + 2 * absent_file_empty_full
    many = {**files, "mutation": [{"op_type": "write_file", "target": path, "value": "x"} for path in "abcdefgh"]}
    assert sum(1 for _ in shapes.joint_shapes(many, rng)) == shapes.DRAWN


def _texts_of(plain, rng):
    return {encode(state.write()) for state in shapes.joint_shapes(plain, rng)}


@pytest.mark.long
def test_a_prover_that_varies_coupled_places_separately_is_detected(monkeypatch):
    assert run_soundness(500, seed=1, opinions=False).disagreements == 0
    search = import_module("takeback.verify.proof")._Search
    monkeypatch.setattr(search, "_yield_coupled", lambda self: iter(()))
    tally = run_soundness(500, seed=1)
    assert min(tally.disagreements, tally.z3_disagreements, tally.certificate_rejected) > 0, tally


def test_a_prover_without_an_answer_is_counted(monkeypatch):
    late = Reason(Code.TIMEOUT, "too slow")
    given = Verdict(False, Grade.DECLARED, "proof", "L1", (late,))
    monkeypatch.setattr(experiment, "prove", lambda candidate: given)
    assert run_soundness(20, seed=5, opinions=False).undecided == 20


def test_a_refutation_without_a_state_is_detected(monkeypatch):
    monkeypatch.setattr(experiment, "prove", lambda candidate: Verdict(False, Grade.REFUTED, "proof", "L1"))
    assert run_soundness(20, seed=5, opinions=False).disagreements == 20


def test_proofs_of_random_edits_and_moves_agree_with_brute_force():
    tally = run_soundness(200, seed=7, level=Level.L2)
    assert (tally.disagreements, tally.z3_disagreements) == (0, 0), tally.found
    assert tally.proved > 50
    assert tally.refuted > 50
    assert tally.undecided == tally.undecided_not_admitted > 0
    assert tally.z3_checked + sum(tally.z3_out_of_scope.values()) == 200
    assert sum(tally.z3_out_of_scope.values()) <= tally.undecided
    assert (tally.certificate_checked, tally.certificate_rejected) == (tally.proved, 0)


def test_a_prover_that_generalizes_from_tried_texts_is_detected(monkeypatch):
    proof = import_module("takeback.verify.proof")
    monkeypatch.setattr(
        proof, "_decide", lambda candidate, deadline, _: (*proof._search_classes(candidate, deadline), "")
    )
    assert run_soundness(250, seed=2, level=Level.L2, opinions=False).disagreements > 0


def test_a_prover_that_trusts_editing_back_is_detected(monkeypatch):
    def trusting(candidate):
        back = any(op.kind.inside for op in candidate.recovery)
        return Verdict(True, Grade.PROVED, "proof", "L2") if back else prove(candidate)

    monkeypatch.setattr(experiment, "prove", trusting)
    assert run_soundness(120, seed=7, level=Level.L2, opinions=False).disagreements > 5


def test_an_admitted_undecided_candidate_is_detected(monkeypatch):
    unsure = Verdict(True, Grade.DECLARED, "proof", "L2", (Reason(Code.UNDECIDED, "who knows"),))
    monkeypatch.setattr(experiment, "prove", lambda candidate: unsure)
    tally = run_soundness(10, seed=7, level=Level.L2, opinions=False)
    assert (tally.undecided, tally.undecided_not_admitted, tally.disagreements) == (10, 0, 10)


EDIT_BACK = {
    "mutation": [{"op_type": "edit_prompt", "target": "p", "value": {"old": "a", "new": "b"}}],
    "witness": [],
    "recovery": [{"op_type": "edit_prompt", "target": "p", "value": {"old": "b", "new": "a"}}],
    "contract": ["prompts"],
}


@pytest.mark.parametrize(
    ("text", "smallest"), [("ab", True), ("abb", False), ("a\nb", False), ("b", False), ("a", False)]
)
def test_brute_force_recognizes_the_smallest_breaking_text(text, smallest):
    candidate = read_candidate(EDIT_BACK)
    assert brute.is_smallest(candidate, {"prompts": {"p": text}}, through=True) is smallest


def test_brute_force_sees_residuals_and_contract_omissions():
    state = State.read({"prompts": {"p": "before"}})
    assert brute.fate(read_candidate(GOOD), state) == (True, True)
    assert brute.fate(read_candidate({**GOOD, "recovery": []}), state) == (False, True)
    assert brute.fate(read_candidate({**GOOD, "contract": ["config"]}), state) == (False, True)
    assert brute.fate(read_candidate(EDIT_BACK), State()) == (False, False)


@pytest.mark.parametrize("level", [Level.L1, Level.L2])
def test_candidates_with_calls_and_records_are_drawn_and_planted_faults_refuted(level):
    tally = run_soundness(48, seed=4, level=level)
    assert (tally.with_calls, tally.with_records) == (6, 6)
    assert (tally.planted, tally.planted_refuted) == (2, 2)
    assert (tally.disagreements, tally.z3_disagreements, tally.certificate_rejected) == (0, 0, 0), tally.found


@pytest.mark.parametrize("surface", ["calls", "external"])
def test_a_prover_blind_to_external_effects_is_detected(surface, monkeypatch):
    def careless(candidate):
        touched = {op.kind.surface for op in candidate.mutation}
        return Verdict(True, Grade.PROVED, "proof", "L1") if surface in touched else prove(candidate)

    monkeypatch.setattr(experiment, "prove", careless)
    tally = run_soundness(40, seed=4, opinions=False)
    assert tally.planted_refuted < tally.planted
    assert tally.disagreements > 0


def test_drawn_candidates_with_records_are_both_right_and_broken():
    rng = random.Random(2)
    with external.registered_records(), calls.declared_calls():
        drawn = [external.candidate(rng, wide=True) for _ in range(200)]
        grades = [prove(read_candidate(plain)).grade for plain in drawn]
    kinds = {op["op_type"] for plain in drawn for op in (*plain["mutation"], *plain["recovery"])}
    assert kinds >= {"set_external", "edit_external", "unset_external", "restore_external", "delete_external"}
    assert grades.count(Grade.PROVED) > 40
    assert grades.count(Grade.REFUTED) > 40
    assert any({op["op_type"] for op in plain["mutation"]} >= {"make_call"} for plain in drawn)


def test_brute_force_shares_no_code_with_the_verifier():
    for module in ("brute", "texts", "edits", "candidates", "failing", "shapes", "states", "calls", "external"):
        source = (Path(experiment.__file__).parent / f"{module}.py").read_text()
        assert "takeback.verify" not in source, module
        assert "components(" not in source, module
