"""Nothing a candidate contains can hang the verifier: a bound that is hit is a rejection with its reason.

What docs/proof.md says is provable is proved, and what is one step beyond the limit is refused before anything runs.
"""

from __future__ import annotations

from importlib import import_module

import pytest
from tests.support.running import op

from takeback.errors import ProgramTooLarge
from takeback.language import Candidate, read_candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback.verify import Code, Grade, Trial, VerifyOptions, prove, verify, verify_sampled
from takeback.verify.classes import Classes, Slice

proof_module = import_module("takeback.verify.proof")
classes_module = import_module("takeback.verify.classes")


def _configs(levels: int, shared: int = 0) -> list[dict]:
    above = [f"s{level}" for level in range(shared)]
    return [
        op("set_config", ".".join([*above, *(f"k{at}_{level}" for level in range(levels - shared))]), value=1)
        for at in range(64)
    ]


def _files(count: int, levels: int) -> list[dict]:
    return [op("write_file", "/".join(f"d{at}_{level}" for level in range(levels)), value="x") for at in range(count)]


def _sockets(keys: int, addresses: int) -> list[dict]:
    return [
        op("allocate_socket", f"s{at % keys}", value=f"tcp://127.0.0.1:{9000 + at % addresses}")
        for at in range(max(keys, addresses))
    ]


def _inverted(mutation: list[dict]) -> Candidate:
    return invert_mutation(read_program(mutation, Stage.FORWARD, "mutation"))


def _mixed() -> list[dict]:
    return [_MIXED[at % len(_MIXED)](9000 + at) for at in range(64)]


_MIXED = [
    lambda at: op("set_config", f"agent.limits.key_{at}", value=1),
    lambda at: op("write_file", f"notes/{at}.md", value="x"),
    lambda at: op("add_middleware", f"mw_{at}", value={"handler": "h"}, after="auth"),
    lambda at: op("add_listener", f"on_{at}", value="x"),
    lambda at: op("set_prompt", f"p{at}", value="x"),
    lambda at: op("allocate_socket", f"s{at}", value=f"tcp://127.0.0.1:{at}"),
]
PROVABLE = {
    "five levels of config": _configs(5),
    "eight levels of config": _configs(8),
    "eight levels of config, four of them shared": _configs(8, shared=4),
    "sixteen levels of config, all but one shared": _configs(16, shared=15),
    "files at four levels": _files(64, 4),
    "files at eight levels": _files(64, 8),
    "eight sockets over nine addresses": _sockets(8, 9),
    "nine sockets over eight addresses": _sockets(9, 8),
    "thirty-two sockets": _sockets(32, 32),
    "the same path again and again": [op("set_config", "a.b.c.d.e", value=at) for at in range(64)],
    "some of everything": _mixed(),
}


@pytest.mark.parametrize("name", PROVABLE)
def test_the_oracles_candidate_for_a_large_mutation_is_proved(name):
    assert prove(_inverted(PROVABLE[name])).grade is Grade.PROVED


@pytest.mark.parametrize("name", ["eight levels of config", "files at eight levels", "thirty-two sockets"])
@pytest.mark.parametrize("at", [0, 31, -1])
def test_a_large_candidate_without_one_restore_is_refuted(name, at):
    good = _inverted(PROVABLE[name])
    at %= len(good.recovery)
    bad = Candidate(good.mutation, good.witness, good.recovery[:at] + good.recovery[at + 1 :], good.contract)
    verdict = prove(bad)
    assert verdict.grade is (Grade.PROVED if good.recovery[at].witness_key is None else Grade.REFUTED)


def _steps(count: int, levels: int) -> int:
    """The steps of a proof of so many files, each in directories of its own: see docs/proof.md."""
    classes = 6 * (levels - 1) + 3
    return 2 * count * classes * 3 * levels


def test_the_documented_limit_of_files_is_that_of_the_steps():
    assert _steps(64, 46) <= proof_module.MAX_WORK < _steps(64, 47)


def test_a_candidate_too_large_to_prove_is_rejected_before_anything_runs(monkeypatch):
    candidate, ran = _inverted(_files(64, 47)), []
    real = Trial.run
    monkeypatch.setattr(Trial, "run", lambda self, state: ran.append(1) or real(self, state))
    verdict = verify(candidate)
    assert [reason.code for reason in verdict.reasons] == [Code.LIMIT]
    assert "17856 classes of states, 5035392 steps, more than 5000000" in verdict.reasons[0].message
    assert "make several smaller changes" in verdict.reasons[0].message
    assert verdict.grade is Grade.DECLARED
    assert not verdict.admitted
    assert len(ran) < 20


@pytest.mark.parametrize(("limit", "grade"), [(_steps(3, 4), Grade.PROVED), (_steps(3, 4) - 1, Grade.DECLARED)])
def test_the_limit_of_steps_is_exact(limit, grade, monkeypatch):
    monkeypatch.setattr(proof_module, "MAX_WORK", limit)
    assert prove(_inverted(_files(3, 4))).grade is grade


@pytest.mark.parametrize(("places", "grade"), [(4, Grade.PROVED), (10, Grade.DECLARED)])
def test_restores_that_couple_too_many_places_are_rejected(places, grade):
    keys = [f"k{at}" for at in range(places)]
    candidate = read_candidate(
        {
            "mutation": [op("set_config", key, value=1) for key in keys],
            "witness": [op("capture_config", key, witness_key=key) for key in keys],
            "recovery": [
                *(op("restore_config", key, witness_key=keys[at - 1]) for at, key in enumerate(keys)),
                *(op("restore_config", key, witness_key=key) for key in keys),
            ],
        }
    )
    verdict = prove(candidate)
    assert verdict.grade is grade
    for reason in verdict.reasons:
        assert reason.code is Code.LIMIT
        assert "tie 10 places together, with more than 50000 joint shapes" in reason.message
        assert "restore each path from its own capture" in reason.message


def _move(number: int, here: str, there: str) -> dict[str, object]:
    return op("move_file", f"{here}{number}", value=f"{there}{number}")


def _unrelated(levels: int) -> list[dict[str, object]]:
    here, there = ("/".join(f"{name}{at}" for at in range(levels)) for name in "ab")
    return [_move(0, here, there)]


@pytest.mark.parametrize(
    ("ops", "grade"),
    [
        ([_move(number, "a", "b") for number in range(16)], Grade.PROVED),
        ([_move(number, "d/a", "d/b") for number in range(3)], Grade.PROVED),
        ([_move(number, "d/a", "d/b") for number in range(4)], Grade.DECLARED),
        (_unrelated(3), Grade.PROVED),
        (_unrelated(6), Grade.DECLARED),
    ],
    ids=["at the top", "three in a directory", "four in a directory", "unrelated", "unrelated and deep"],
)
def test_the_documented_limits_of_moves_are_those_of_the_joint_shapes(ops, grade):
    verdict = prove(_inverted(ops))
    assert verdict.grade is grade
    assert all(reason.code is Code.LIMIT and "moves one by one" in reason.message for reason in verdict.reasons)


def test_a_proof_that_runs_out_of_time_is_rejected():
    verdict = prove(_inverted(_configs(16)[:2]), max_seconds=1e-9)
    assert [reason.code for reason in verdict.reasons] == [Code.TIMEOUT]
    assert verdict.grade is Grade.DECLARED
    assert not verdict.admitted


def test_a_failing_slice_is_checked_against_the_whole(monkeypatch):
    """Were a slice ever cut too small, the whole candidate would decide, class by class."""
    slices_module = import_module("takeback.verify.classes")
    monkeypatch.setattr(slices_module.Slices, "_touches", lambda self, at, op: op.kind.stage is Stage.FORWARD)
    candidate = _inverted(_mixed()[:6])
    assert prove(candidate).grade is Grade.PROVED
    bad = Candidate(candidate.mutation, candidate.witness, candidate.recovery[1:], candidate.contract)
    assert prove(bad).grade is Grade.REFUTED


def test_a_better_base_is_found_by_the_classes_themselves(monkeypatch):
    """One file written where a directory is in every generic state: the classes themselves show a better base."""
    monkeypatch.setattr(Classes, "settle", lambda self: None)
    candidate = read_candidate(
        {
            "mutation": [op("write_file", "d", value="x")],
            "witness": [op("capture_file", "d/x", witness_key="w")],
            "recovery": [op("restore_file", "d/x", witness_key="w")],
        }
    )
    assert prove(candidate).grade is Grade.REFUTED


def test_a_sample_that_takes_too_long_to_draw_is_rejected():
    candidate = _inverted([op("add_middleware", "m", value={"handler": "h"})])
    nominal = State.read({"middleware": [{"id": f"m{at}", "handler": "h"} for at in range(5000)]})
    verdict = verify_sampled(candidate, VerifyOptions(rule="split-wald", nominal=nominal, max_seconds=1e-3))
    assert [reason.code for reason in verdict.reasons] == [Code.TIMEOUT]


def test_the_bound_on_joint_shapes_is_exact(monkeypatch):
    tied = read_candidate(
        {
            "mutation": [op("set_config", "a", value=1)],
            "witness": [op("capture_config", "b", witness_key="w")],
            "recovery": [op("restore_config", "a", witness_key="w")],
        }
    )
    classes = Classes(tied, float("inf"))
    (group,) = classes.groups()
    shapes = len(classes.joint(group))
    monkeypatch.setattr(classes_module, "MAX_JOINT", shapes)
    assert len(classes.joint(group)) == shapes
    monkeypatch.setattr(classes_module, "MAX_JOINT", shapes - 1)
    with pytest.raises(ProgramTooLarge, match=f"more than {shapes - 1} joint shapes"):
        classes.joint(group)


def test_the_weight_of_a_run_counts_the_names_on_its_paths():
    mutation = [op("set_config", "a.b.c", value=1), op("set_prompt", "p", value="x")]
    witness = [op("capture_config", "a.b.c", witness_key="w")]
    recovery = [op("restore_config", "a.b.c", witness_key="w")]
    candidate = read_candidate({"mutation": mutation, "witness": witness, "recovery": recovery})
    assert Slice(candidate).weight == 3 + 1 + 3 + 3
