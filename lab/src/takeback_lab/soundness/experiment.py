"""The soundness experiment: proof against brute force, a checker of certificates and z3, on random candidates.

A disagreement is a candidate that was proved and fails on some random state, or refuted by a state on which it
passes, or whose counterexample is not minimal, or that was admitted without an answer. `undecided` counts proofs
that gave no answer, `undecided_not_admitted` those of them that were turned away, `undecided_broken` those that brute
force breaks. `never_through` counts the candidates whose mutation goes through on no joint shape that was run.
Of every proof the certificate is checked. z3 is asked about every candidate; `z3_out_of_scope` counts by reason where
it cannot tell. A proof that it does not confirm is a disagreement, also where it cannot tell.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from takeback.errors import InputError
from takeback.language import Candidate, read_candidate
from takeback.opinion.checker import check_certificate
from takeback.opinion.interpreter import RejectedError
from takeback.opinion.solver import ask_z3
from takeback.state import Level, State
from takeback.verify import Grade, Verdict, prove
from takeback_lab.soundness import brute, calls, edits, external, failing
from takeback_lab.soundness.candidates import candidate as random_candidate
from takeback_lab.soundness.shapes import joint_shapes
from takeback_lab.soundness.states import random_state
from takeback_lab.soundness.texts import edited_states

STATES_EACH: Final = 40
_POOL: Final = 4_000
_KEYED_SHARE: Final = 0.3
_FAILING_SHARE: Final = 0.25
EVERY: Final = 8
"""Of so many candidates one makes calls and one writes records of other systems."""


@dataclass
class Tally:
    """What was counted; `found` holds the first few disagreements, to look at."""

    cases: int = 0
    proved: int = 0
    refuted: int = 0
    undecided: int = 0
    undecided_not_admitted: int = 0
    undecided_broken: int = 0
    disagreements: int = 0
    z3_checked: int = 0
    z3_disagreements: int = 0
    z3_out_of_scope: dict[str, int] = field(default_factory=dict)
    certificate_checked: int = 0
    certificate_rejected: int = 0
    certificate_states: int = 0
    never_through: int = 0
    states: int = 0
    shapes: int = 0
    with_calls: int = 0
    """Candidates that make calls; the first of them is planted."""
    with_records: int = 0
    """Candidates that write records of other systems; the first of them is planted."""
    planted: int = 0
    """Candidates that compensate somebody else's call, or remove somebody else's record, beside a right recovery."""
    planted_refuted: int = 0
    found: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        return dict(vars(self))

    def note(self, kind: str, plain: dict[str, Any]) -> None:
        """Keep a disagreement to look at."""
        if len(self.found) < 5:  # noqa: PLR2004  (a few are enough to look at)
            self.found.append({"kind": kind, "candidate": plain})

    def disagree(self, kind: str, plain: dict[str, Any]) -> None:
        """Count a disagreement, and keep it."""
        self.disagreements += 1
        self.note(kind, plain)


def run_soundness(
    cases: int,
    *,
    seed: int = 0,
    states: int = STATES_EACH,
    level: Level = Level.L1,
    opinions: bool = True,
    tick: Callable[[], None] = lambda: None,
) -> Tally:
    """Run `cases` random candidates; the same seed gives the same candidates and states.

    Without `opinions` brute force decides alone: z3 is not asked, certificates are not checked.
    """
    if cases < 1:
        raise InputError("--cases", found=cases, expected="at least 1")
    rng, tally = random.Random(seed), Tally()
    calling, outside = random.Random(f"calls {seed}"), random.Random(f"external {seed}")
    pool = [random_state(rng) for _ in range(min(_POOL, max(states, cases)))]
    wide, some = level is Level.L2, pool[: max(states, _POOL // 10)]
    with calls.declared_calls(), external.registered_records():
        beside = [calls.with_calls(state, calling) for state in some]
        records = [external.with_records(state, outside) for state in beside]
        for at in range(cases):
            first, place, planted = at < EVERY, at % EVERY, False
            if place == EVERY - 1:
                tally.with_calls += 1
                plain = deepcopy(calls.PLANTED) if first else calls.candidate(calling, wide=wide)
                grade, planted = _case(plain, calling, beside, states, tally, opinions=opinions), first
            elif place == EVERY // 2:
                tally.with_records += 1
                plain = deepcopy(external.PLANTED) if first else external.candidate(outside, wide=wide)
                grade, planted = _case(plain, outside, records, states, tally, opinions=opinions), first
            else:
                grade = _case(_draw(rng, level), rng, pool, states, tally, opinions=opinions)
            tally.planted += planted
            tally.planted_refuted += planted and grade is Grade.REFUTED
            tick()
    return tally


def _draw(rng: random.Random, level: Level) -> dict[str, Any]:
    if rng.random() < _FAILING_SHARE:
        return failing.candidate(rng, wide=level is Level.L2)
    if level is Level.L2:
        return edits.candidate(rng)
    return random_candidate(rng, keyed=rng.random() < _KEYED_SHARE)


def _case(
    plain: dict[str, Any], rng: random.Random, pool: list[State], states: int, tally: Tally, *, opinions: bool
) -> Grade:
    """Decide one candidate every way there is, count what they say, and return the verdict's grade."""
    candidate = read_candidate(plain, "a random candidate")
    tally.cases += 1
    verdict = prove(candidate)
    if verdict.grade is Grade.REFUTED:
        tally.refuted += 1
        if not _fails_minimally(candidate, verdict):
            tally.disagree("refuted, but the counterexample passes or is not minimal", plain)
    else:
        drawn = list(edited_states(candidate, pool, rng, states))
        shapes = list(joint_shapes(plain, rng))
        tally.states += len(drawn)
        tally.shapes += len(shapes)
        tally.never_through += not brute.goes_through(candidate, (*shapes, *drawn))
        _unrefuted(verdict, plain, tally, broken=brute.breaks(candidate, (*shapes, *drawn)))
    if opinions:
        _compare_with_z3(verdict.grade, plain, candidate, tally)
    if opinions and verdict.grade is Grade.PROVED:
        _check_certificate(verdict, plain, tally)
    return verdict.grade


def _compare_with_z3(grade: Grade, plain: dict[str, Any], candidate: Candidate, tally: Tally) -> None:
    opinion = ask_z3(candidate.to_json())
    if opinion.answer == "unsure":
        tally.z3_out_of_scope[opinion.why] = tally.z3_out_of_scope.get(opinion.why, 0) + 1
    else:
        tally.z3_checked += 1
    wanted = {Grade.PROVED: ("holds",), Grade.REFUTED: ("breaks", "unsure")}.get(grade)
    if wanted is not None and opinion.answer not in wanted:
        tally.z3_disagreements += 1
        tally.note(f"z3 says it {opinion.answer}, proof says {grade}", plain)


def _check_certificate(verdict: Verdict, plain: dict[str, Any], tally: Tally) -> None:
    tally.certificate_checked += 1
    certificate = None if verdict.certificate is None else verdict.certificate.to_json()
    try:
        report = check_certificate(certificate, verdict.candidate_digest)
        tally.certificate_states += report.classes + report.beside
    except RejectedError as fault:
        tally.certificate_rejected += 1
        tally.note(f"certificate: {fault}", plain)


def _unrefuted(verdict: Verdict, plain: dict[str, Any], tally: Tally, *, broken: bool) -> None:
    """Count what brute force says about a candidate that was proved or left undecided."""
    if verdict.grade is Grade.PROVED:
        tally.proved += 1
        if broken:
            tally.disagree("proved, but a state fails", plain)
        return
    tally.undecided += 1
    tally.undecided_broken += broken
    tally.undecided_not_admitted += not verdict.admitted
    if verdict.admitted:
        tally.disagree("admitted without an answer", plain)


def _fails_minimally(candidate: Candidate, verdict: Verdict) -> bool:
    """Replay the counterexample from its JSON, and see that nothing can be taken from it."""
    example = verdict.counterexample
    return example is not None and brute.is_smallest(candidate, example.state.write(), through=example.through)
