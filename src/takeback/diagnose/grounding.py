"""What can be told of a locked mutation whatever became of an attempt, and states that show what it overwrites.

Rests on the mutation, the nominal state and development states alone: nothing hidden comes in here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from takeback.canonical import encode
from takeback.language import Candidate, Program
from takeback.language.program import infer_contract, read_operation
from takeback.runtime import capture
from takeback.state import ABSENT, SURFACES, Stage, State
from takeback.verify import Counterexample, Residual, Trial
from takeback.verify.minimal import smallest


def left_over(mutation: Program, nominal: State) -> tuple[Residual, ...]:
    """What the mutation leaves behind on the nominal state if nothing takes it back."""
    return Trial(Candidate(mutation, (), (), infer_contract(mutation))).run(nominal).residuals


def telling_example(candidate: Candidate, states: Iterable[State]) -> Counterexample | None:
    """A smallest breaking state in which what the mutation touches exists, or None if no state given breaks it so.

    Of the states that break the candidate, one in which the most touched addresses exist is made small with as many.
    """
    trial = Trial(candidate)
    probes = _probes(candidate.mutation)
    best: tuple[int, State] | None = None
    for state in states:
        there = _there(probes, state)
        if there and (best is None or there > best[0]) and not trial.run(state).passed:
            best = there, state
    if best is None:
        return None
    wanted, state = best
    small = smallest(state, lambda less: _there(probes, less) >= wanted and not trial.run(less).passed)
    return Counterexample(small, trial.run(small), "dev")


def _probes(mutation: Program) -> Sequence[Program]:
    """One capture for each slot that the mutation writes."""
    found: dict[str, Program] = {}
    for op in mutation:
        for plain, _ in SURFACES[op.kind.surface].invert(op):
            probe = read_operation({**plain, "witness_key": "w"}, Stage.CAPTURE, "probe")
            found.setdefault(encode(plain), (probe,))
    return tuple(found.values())


def _there(probes: Sequence[Program], state: State) -> int:
    return sum(capture(probe, state)["w"].content is not ABSENT for probe in probes)
