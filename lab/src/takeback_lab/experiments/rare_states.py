"""Suites with one rare state in twenty: what a mutation touches is there, or missing, unlike in the nominal one.

A recovery that fails rare states alone fails a development state, and still passes 95 of 100 hidden ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from takeback.language import Candidate, Program
from takeback.repair.loop import Judge
from takeback.repair.oracle import invert_mutation
from takeback.runtime import capture
from takeback.state import ABSENT, Level, State
from takeback.verify import Code, Reason, Verdict, VerifyOptions, verify_on
from takeback.verify.rules import DEV
from takeback.verify.sampled import list_refusals, reject_candidate
from takeback.verify.suites import NARROW, SUITES, Suites
from takeback_lab.experiments.draws import place_in_draw
from takeback_lab.hidden_states import make_hidden_states
from takeback_lab.tasks import Task

HIDDEN: Final = 100
EVERY: Final = 20
"""One state in so many is rare."""
POOL: Final = 300


@dataclass(frozen=True, slots=True)
class RareStates:
    """Development states with a rare one among them, usual ones only, and hidden ones, five in a hundred rare."""

    dev: tuple[State, ...]
    usual: tuple[State, ...]
    hidden: tuple[State, ...]

    def suite(self, name: str) -> tuple[State, ...]:
        """The states of a development suite; the narrow one has no rare state."""
        return (self.usual if name == NARROW else self.dev)[: SUITES[name]]


def make_rare_states(task: Task, mutation: Program, nominal: State) -> RareStates | None:
    """The suites of a task; None where too few of its states are rare, or too few usual."""
    pool = make_hidden_states(nominal, mutation, "fresh", POOL, dev=NARROW)
    rare, usual = sort_by_rarity(mutation, nominal, pool)
    if not rare or len(usual) < EVERY:
        return None
    at = int(place_in_draw()(task), 16) % EVERY
    dev = [*usual[: EVERY - 1]]
    dev.insert(at, rare[0])
    few = HIDDEN // EVERY
    later = [usual[one % len(usual)] for one in range(EVERY - 1, EVERY - 1 + HIDDEN - few)]
    mixed = (*later, *(rare[one % len(rare)] for one in range(1, few + 1)))
    return RareStates(tuple(dev), tuple(usual), mixed)


def sort_by_rarity(mutation: Program, nominal: State, states: Sequence[State]) -> tuple[list[State], list[State]]:
    """The states in which what the mutation touches exists unlike in the nominal one, and the others."""
    witness = invert_mutation(mutation, nominal).witness

    def existing(state: State) -> list[bool]:
        return [one.content is not ABSENT for one in capture(witness, state).values()]

    usual = existing(nominal)
    found: tuple[list[State], list[State]] = ([], [])
    for state in states:
        found[existing(state) == usual].append(state)
    return found


def make_states_judge(states: tuple[State, ...], level: Level) -> Judge:
    """A judge that sees these development states and nothing hidden: every one of them must pass."""
    made = Suites(states, (), ())

    def judge(candidate: Candidate) -> Verdict:
        refused = list_refusals(candidate, level, None)
        if refused:
            return reject_candidate(refused, DEV.name, level, candidate)
        verdict = verify_on(candidate, made, VerifyOptions(rule="split-wald", level=level))
        split = verdict.splits.get("dev")
        if split is None:
            return replace(verdict, rule=DEV.name)
        reasons = tuple(reason for reason in verdict.reasons if reason.code is not Code.BOUND_TOO_LOW)
        if split.passed == split.of:
            return replace(verdict, admitted=True, rule=DEV.name, reasons=())
        short = Reason(Code.BOUND_TOO_LOW, f"dev: {split.passed} of {split.of} states pass, all must")
        return replace(verdict, admitted=False, rule=DEV.name, reasons=(*reasons, short))

    return judge
