"""The prover against oracles extracted from the theorem in Coq: no wrong proof, no wrong refutation.

Left out with a message where Coq or OCaml is missing. `make oracle` builds the oracles by hand.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.support.oracle_draws import KINDS, Answer, Draw, build_oracles

from takeback import State, prove, read_candidate, round_trip
from takeback.verify import Grade, classes, proof

CASES = 20_000
FEW = 3_000
SEED = 30
"""Another seed draws other candidates; the runs that are told of in docs/proof.md had several."""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", autouse=True)
def _oracles() -> None:
    skipped = build_oracles()
    if skipped:
        pytest.skip(skipped)


def _compare(kind: str, cases: int) -> Iterator[tuple[Draw, Grade | None, Answer | None]]:
    """Yield candidates with the prover's grade (None: no answer) and the oracle's answer (None: too many shapes)."""
    drawer, ask = KINDS[kind]
    rng = random.Random(f"{kind} {SEED}")
    draws = [drawer(rng) for _ in range(cases)]
    for draw, answer in zip(draws, ask(draws), strict=True):
        verdict = prove(read_candidate(draw.raw))
        yield draw, verdict.grade if verdict.admitted or verdict.counterexample else None, answer


def _is_wrong(grade: Grade | None, answer: Answer) -> bool:
    return (grade is Grade.PROVED and not answer.holds) or (grade is Grade.REFUTED and answer.holds)


def _is_trip_wrong(draw: Draw, answer: Answer) -> bool:
    if draw.state is None:
        return False
    return round_trip(read_candidate(draw.raw), State.read(draw.state)).passed is not answer.passes


@pytest.mark.parametrize("kind", KINDS)
def test_proofs_and_refutations_agree_with_the_coq_theorem(kind):
    wrong, count = [], Counter()
    for draw, grade, answer in _compare(kind, CASES):
        count["no oracle" if answer is None else "no answer" if grade is None else grade] += 1
        if answer is not None:
            assert answer.agree, f"the theorem's own procedures differ on {draw.raw}"
            if _is_wrong(grade, answer) or _is_trip_wrong(draw, answer):
                wrong.append((grade, draw.raw, draw.state, answer))
    assert not wrong, (len(wrong), wrong[:3])
    assert count["no oracle"] + count["no answer"] <= CASES // 100
    assert min(count[Grade.PROVED], count[Grade.REFUTED]) >= CASES // 4


def test_the_draws_find_the_base_that_was_chosen_before(monkeypatch):
    monkeypatch.setattr(classes.Classes, "settle", lambda self: self.use_as_base({}))
    monkeypatch.setattr(proof._Search, "_goes_further", lambda *_: False)
    assert any(answer is not None and _is_wrong(grade, answer) for _, grade, answer in _compare("failing", FEW))
