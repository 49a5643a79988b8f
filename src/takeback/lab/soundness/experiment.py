"""The soundness experiment: proof against brute force and against z3, on random candidates.

A disagreement is a candidate that was proved and fails on some random state, or refuted by a state on which it
passes, or whose counterexample is not minimal. `undecided` counts proofs that gave no answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from takeback.errors import InputError
from takeback.lab.soundness import keyed_z3
from takeback.lab.soundness.candidates import candidate as random_candidate
from takeback.lab.soundness.states import random_state
from takeback.language import Candidate, read_candidate
from takeback.state import State
from takeback.verify import Grade, Trial, Verdict, prove
from takeback.verify.minimal import one_less

STATES_EACH: Final = 40
_POOL: Final = 4_000
_KEYED_SHARE: Final = 0.3


@dataclass
class Tally:
    """What was counted; `found` holds the first few disagreements, to look at."""

    cases: int = 0
    proved: int = 0
    refuted: int = 0
    undecided: int = 0
    disagreements: int = 0
    z3_checked: int = 0
    z3_disagreements: int = 0
    states: int = 0
    found: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        return dict(vars(self))

    def note(self, kind: str, plain: dict[str, Any]) -> None:
        """Keep a disagreement to look at."""
        if len(self.found) < 5:  # noqa: PLR2004  (a few are enough to look at)
            self.found.append({"kind": kind, "candidate": plain})


def run_soundness(
    cases: int, *, seed: int = 0, states: int = STATES_EACH, tick: Callable[[], None] = lambda: None
) -> Tally:
    """Run `cases` random candidates; the same seed gives the same candidates and states."""
    if cases < 1:
        raise InputError("--cases", found=cases, expected="at least 1")
    rng, tally = random.Random(seed), Tally()
    pool = [random_state(rng) for _ in range(min(_POOL, max(states, cases)))]
    for _ in range(cases):
        _case(rng, pool, states, tally)
        tick()
    return tally


def _case(rng: random.Random, pool: list[State], states: int, tally: Tally) -> None:
    plain = random_candidate(rng, keyed=rng.random() < _KEYED_SHARE)
    candidate = read_candidate(plain, "a random candidate")
    tally.cases += 1
    verdict = prove(candidate)
    if verdict.grade is Grade.DECLARED:
        tally.undecided += 1
        tally.note(f"undecided: {verdict.reasons[0].message}", plain)
        return
    if verdict.grade is Grade.PROVED:
        tally.proved += 1
        trial = Trial(candidate)
        tally.states += states
        if not all(trial.run(state).passed for state in rng.choices(pool, k=states)):
            tally.disagreements += 1
            tally.note("proved, but a state fails", plain)
    else:
        tally.refuted += 1
        if not _fails_minimally(candidate, verdict):
            tally.disagreements += 1
            tally.note("refuted, but the counterexample passes or is not minimal", plain)
    if keyed_z3.fits(plain):
        tally.z3_checked += 1
        if keyed_z3.holds(plain) is not (verdict.grade is Grade.PROVED):
            tally.z3_disagreements += 1
            tally.note(f"z3 says {keyed_z3.holds(plain)}, proof says {verdict.grade}", plain)


def _fails_minimally(candidate: Candidate, verdict: Verdict) -> bool:
    """Replay the counterexample from its JSON, and see that every single removal ends the failure."""
    example = verdict.counterexample
    if example is None:
        return False
    trial = Trial(candidate)
    state = State.read(example.state.write(), "counterexample")
    return not trial.run(state).passed and all(trial.run(less).passed for less in one_less(state))
