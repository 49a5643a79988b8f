"""The base of a proof is a state on which the mutation goes furthest, also where it goes through on none.

A run that fails changes nothing, but what it wrote before it failed must be in the contract. How far it gets depends
on several places at once.
"""

from __future__ import annotations

import random

import pytest
from tests.support.running import op

from takeback.language import Candidate, read_candidate
from takeback.runtime import run_forward
from takeback.state import KINDS
from takeback.verify import Code, Grade, prove
from takeback.verify.classes import Classes
from takeback_lab.soundness import brute, failing
from takeback_lab.soundness.shapes import joint_shapes


def _write(path: str) -> dict:
    return op("write_file", path, value="x")


def _move(source: str, goal: str) -> dict:
    return op("move_file", source, value=goal)


def _candidate(mutation: list[dict], contract: list[str]) -> Candidate:
    return read_candidate({"mutation": mutation, "witness": [], "recovery": [], "contract": contract})


def _files(*paths: str) -> list[str]:
    return [f'files["{path}"]' for path in paths]


NEVER = [op("remove_file", "e"), op("edit_file", "e", value={"old": "q", "new": "r"})]
HOLES = {
    "two files, and paths below both": ([_write("a"), _write("b"), _write("a/x"), _write("b/x")], _files("a")),
    "three files": (
        [_write(path) for path in ("a", "b", "c", "a/x", "b/x", "c/x")],
        _files("a", "b", "a/x", "b/x", "c/x"),
    ),
    "one file moved to two places": ([_move("a", "b"), _move("c", "d"), _move("a", "e")], _files("a", "b")),
    "two moves and an edit of nothing": ([_move("a", "b"), _move("c", "d"), *NEVER], _files("a", "b")),
    "a move to where one went before": ([_move("a", "b"), _move("c", "d"), _move("b", "d")], _files("a", "b")),
    "two moves that want two things each": (
        [_move("a", "c"), _move("b", "d"), _write("a/x"), _write("b/x"), *NEVER],
        _files("a", "c"),
    ),
    "two moves of what has paths below, to what has": (
        [_move("a", "c"), _move("b", "d"), *(_write(f"{top}/x") for top in "abcd")],
        _files("a", "c", "a/x", "b/x", "c/x", "d/x"),
    ),
    "removals at names with paths below": (
        [op("remove_file", "a"), op("remove_file", "b"), _write("a/x"), _write("b/x"), _write("a"), _write("b")],
        _files("a", "a/x", "b/x"),
    ),
    "a value below a value": (
        [op("set_config", "a", value=1), _write("b"), op("set_config", "a.x", value=1), _write("b/x")],
        ["config"],
    ),
}


@pytest.mark.parametrize(("mutation", "contract"), HOLES.values(), ids=HOLES)
def test_writes_of_a_failing_mutation_outside_its_contract_refute_it(mutation, contract):
    candidate = _candidate(mutation, contract)
    verdict = prove(candidate)
    assert (verdict.grade, verdict.admitted) == (Grade.REFUTED, False)
    assert [reason.code for reason in verdict.reasons] == [Code.CONTRACT_INCOMPLETE]
    example = verdict.counterexample
    assert example is not None
    assert example.minimal
    assert brute.is_smallest(candidate, example.state.write(), through=False)


@pytest.mark.parametrize(("mutation", "contract"), HOLES.values(), ids=HOLES)
def test_a_failing_mutation_with_a_complete_contract_is_proved(mutation, contract):
    assert prove(_candidate(mutation, [*contract, "files"])).grade is Grade.PROVED


def _furthest(candidate: Candidate, states) -> int:
    """How far a mutation gets on the best of some states, by running it on all of them."""
    runs = (run_forward(candidate.mutation, state)[1].failed_at for state in states)
    return max(len(candidate.mutation) if at is None else at for at in runs)


@pytest.mark.parametrize("wide", [False, True], ids=["L1", "L2"])
def test_no_joint_shape_lets_a_mutation_go_further_than_the_base(wide):
    rng, compared, never = random.Random(24), 0, 0
    while compared < 150:
        plain = failing.candidate(rng, wide=wide)
        if any(KINDS[one["op_type"]].inside for one in plain["mutation"]):
            continue
        candidate = read_candidate(plain)
        classes = Classes(candidate, float("inf"))
        classes.settle()
        far = _furthest(candidate, joint_shapes(plain, rng))
        assert far <= (len(candidate.mutation) if classes.reach is None else classes.reach), plain
        assert classes.failing_at({}) == classes.reach
        assert classes.unsure is None
        compared += 1
        never += far < len(candidate.mutation)
    assert never > 30


def _crowded(count: int) -> list[dict]:
    """Moves in one directory that are not all possible, with more joint shapes than anybody tries."""
    writes = [_write(f"d/{at}") for at in range(count)]
    return [*writes, _move("d/a", "d/b"), _move("d/a", "d/c")]


def test_an_unknown_furthest_base_is_rejected_as_a_limit():
    verdict = prove(_candidate(_crowded(12), ["files"]))
    assert (verdict.admitted, [reason.code for reason in verdict.reasons]) == (False, [Code.LIMIT])
    assert "joint shapes" in verdict.reasons[0].message


def test_a_breaking_state_is_shown_despite_an_unknown_furthest_base():
    verdict = prove(_candidate(_crowded(12), _files("d/1")))
    assert verdict.grade is Grade.REFUTED
    assert verdict.counterexample is not None


@pytest.mark.parametrize(
    "ops",
    [
        lambda at: [_write(f"f{at}"), _write(f"f{at}/x")],
        lambda at: [op("remove_file", f"f{at}"), _write(f"f{at}/x"), _write(f"f{at}")],
    ],
    ids=["files", "removals"],
)
def test_runs_to_find_the_furthest_base_grow_linearly(ops, monkeypatch):
    runs = []
    failing_at = Classes.failing_at
    monkeypatch.setattr(Classes, "failing_at", lambda self, changed: runs.append(1) or failing_at(self, changed))

    def count(names: int) -> int:
        runs.clear()
        firsts, *rest = zip(*(ops(at) for at in range(names)), strict=True)
        mutation = [*firsts, *(one for later in rest for one in later)]
        assert prove(_candidate(mutation, ["files"])).grade is Grade.PROVED
        return len(runs)

    assert count(16) <= 2.2 * count(8)
