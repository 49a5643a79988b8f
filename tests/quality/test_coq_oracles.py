"""The prover against oracles extracted from the theorem in Coq: no wrong proof, no wrong refutation.

Left out with a message where Coq or OCaml is missing. `make oracle` builds the oracles by hand.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.support.oracle_draws import KINDS, Draw, build_oracles

from takeback import State, prove, read_candidate, round_trip
from takeback.verify import Grade

CASES = 20_000
SEED = 30

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def oracles() -> None:
    skipped = build_oracles()
    if skipped:
        pytest.skip(skipped)


def _grade(draw: Draw) -> Grade | None:
    """The prover's answer; None where it gives none."""
    verdict = prove(read_candidate(draw.raw))
    return verdict.grade if verdict.admitted or verdict.counterexample else None


@pytest.mark.usefixtures("oracles")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_proved_holds_by_the_theorem_and_what_is_refuted_does_not(kind):
    drawer, ask = KINDS[kind]
    rng = random.Random(f"{kind} {SEED}")
    draws = [drawer(rng) for _ in range(CASES)]
    wrong, count = [], Counter()
    for draw, answer in zip(draws, ask(draws), strict=True):
        if answer is None:
            count["too many shapes"] += 1
            continue
        assert answer.agree, f"the theorem's own procedures differ on {draw.raw}"
        grade = _grade(draw)
        count[grade, answer.holds] += 1
        if (grade is Grade.PROVED and not answer.holds) or (grade is Grade.REFUTED and answer.holds):
            wrong.append((grade, draw.raw, answer.counterexample))
        if draw.state is not None and round_trip(read_candidate(draw.raw), State.read(draw.state)).passed != answer.passes:
            wrong.append(("one trip", draw.raw, draw.state))
    print(kind, dict(count))
    assert not wrong, wrong[:3]
    assert count["too many shapes"] <= CASES // 100
    assert sum(number for what, number in count.items() if what != "too many shapes" and what[0] is None) <= CASES // 100
    assert min(count[Grade.PROVED, True], count[Grade.REFUTED, False]) >= CASES // 50, "hardly any of one answer"
