"""Proof: does a candidate restore the state before it on every state of the model?

Operations never look inside values, so a round trip depends only on the shape of the slots it names. Surfaces
break those slots into components that cannot see each other; the real interpreter is run on one generic state
for every shape of every component, once with the mutation going through and once with it failing elsewhere.
The argument, its assumptions and where the code holds them: docs/proof.md. Answers proved or refuted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, product
from math import prod
from time import monotonic
from typing import Any, Final

from takeback.errors import ProgramTooLarge
from takeback.language import Candidate
from takeback.runtime import forward
from takeback.state import SURFACES, Level, Operation, State
from takeback.state.surface import Component, Edit
from takeback.state.values import encode
from takeback.verify.sampled import MAX_SECONDS, counterexample, refusals, rejected, trip_reasons
from takeback.verify.selfcheck import self_check
from takeback.verify.trip import Trial
from takeback.verify.verdict import Code, Grade, Reason, Verdict

RULE: Final = "proof"
MAX_JOINT: Final = 50_000
MAX_WORK: Final = 5_000_000
"""Classes of states times the steps of the operations each of them goes through: some ten seconds."""
Choice = dict[int, int]


@dataclass(frozen=True, slots=True)
class _Part:
    """One component in its surface."""

    surface: str
    component: Component

    @property
    def alternatives(self) -> tuple[Edit, ...]:
        return self.component.alternatives


class _Classes:
    """The generic states of a candidate: a choice of one alternative for each component makes a state."""

    def __init__(self, candidate: Candidate, deadline: float) -> None:
        self.candidate = candidate
        self.deadline = deadline
        text = encode(candidate.to_json())
        self.salt = next(salt for salt in (f"prior{at or ''}" for at in count()) if salt not in text)
        named: dict[str, list[Operation]] = {}
        for op in (*candidate.mutation, *candidate.witness, *candidate.recovery):
            named.setdefault(op.kind.surface, []).append(op)
        self.parts: list[_Part] = []
        self.empty: dict[str, Any] = {}
        for name, ops in named.items():
            surface = SURFACES[name]
            self.empty[name] = surface.bystander(surface.empty, self.salt)
            self.parts += [_Part(name, part) for part in surface.components(ops, self.salt)]
        self.base: Choice = dict.fromkeys(range(len(self.parts)), 0)
        self.built = {name: self._build(name, self.base) for name in named}
        self.settled: set[str] = set()
        self.blank = State()

    def _build(self, surface: str, choice: Choice) -> Any:
        value = self.empty[surface]
        for at, part in enumerate(self.parts):
            if part.surface == surface:
                value = part.alternatives[choice[at]](value)
        return value

    def state(self, changed: Choice) -> State:
        """Return the base state with other alternatives for the components in `changed`."""
        if monotonic() > self.deadline:
            raise TimeoutError
        parts = {**self.blank.parts, **self.built}
        for at in sorted(changed):
            part = self.parts[at]
            if part.surface in self.settled:
                parts[part.surface] = self._build(part.surface, {**self.base, **changed})
            else:
                parts[part.surface] = part.alternatives[changed[at]](parts[part.surface])
        return State.of(parts)

    def failing_at(self, changed: Choice) -> int | None:
        """Return which operation of the mutation fails on a state; None: it goes through."""
        return forward(self.candidate.mutation, self.state(changed))[1].failed_at

    def settle(self) -> None:
        """Choose a base on which the mutation goes through, if there is one."""
        changed: Choice = {}
        failing = self.failing_at(changed)
        while failing is not None:
            better = self._better(changed, failing)
            if better is None:
                return
            changed, failing = better
        self.base.update(changed)
        self.settled = {self.parts[at].surface for at in changed}
        self.built = {name: self._build(name, self.base) for name in self.built}

    def _better(self, changed: Choice, failing: int) -> tuple[Choice, int | None] | None:
        surface = self.candidate.mutation[failing].kind.surface
        for at, part in enumerate(self.parts):
            if part.surface == surface and at not in changed:
                for other in range(1, len(part.alternatives)):
                    tried = {**changed, at: other}
                    then = self.failing_at(tried)
                    if then is None or then > failing:
                        return tried, then
        return None

    def check_work(self, choices: list[Choice]) -> list[Choice]:
        """Return the choices, or refuse a candidate for which they are too many, on any machine alike."""
        candidate = self.candidate
        built = sum(len(part.component.path) or 1 for part in self.parts if part.surface in self.settled)
        ops = (*candidate.mutation, *candidate.witness, *candidate.recovery)
        each = built + sum(len(op.path) if isinstance(op.path, tuple) else 1 for op in ops)
        work = len(choices) * each
        if work > MAX_WORK:
            raise ProgramTooLarge(
                f"a proof would go through {len(choices)} classes of states, {work} steps, more than {MAX_WORK}",
                hint="make several smaller changes, or decide on a sample",
            )
        return choices

    def variations(self) -> Iterator[Choice]:
        """Yield every choice that departs from the base in one component."""
        for at, part in enumerate(self.parts):
            for other in range(len(part.alternatives)):
                if other != self.base[at]:
                    yield {at: other}

    def failures_elsewhere(self, failing: list[tuple[int, int]]) -> Iterator[Choice]:
        """Yield choices in which one component makes the mutation fail and another departs from the base.

        How it fails cannot matter to another component, so one way is enough, unless one of the two lies
        above the other in a tree and may hide it: there every way is tried.
        """
        for choice in self.variations():
            (varied,) = choice
            others = [pair for pair in failing if pair[0] != varied]
            apart = [pair for pair in others if not self._related(pair[0], varied)]
            for at, other in (*apart[:1], *(pair for pair in others if pair not in apart)):
                yield {at: other, **choice}

    def _related(self, one: int, two: int) -> bool:
        mine, theirs = self.parts[one], self.parts[two]
        if mine.surface != theirs.surface:
            return False
        return mine.component.hides(theirs.component) or theirs.component.hides(mine.component)

    def coupled(self, failing: list[tuple[int, int]]) -> Iterator[Choice]:
        """Yield the joint choices of components that a restore from another path's capture ties together.

        Whether such a restore can run depends on what stood at the captured path and at its own.
        """
        for group in self._groups():
            joint = [range(len(self.parts[at].alternatives)) for at in group]
            size = prod(map(len, joint))
            if size > MAX_JOINT:
                raise ProgramTooLarge(
                    f"restores from captures of other paths tie {len(group)} places together, with {size} joint "
                    f"shapes, more than {MAX_JOINT}",
                    hint="restore each path from its own capture",
                )
            outside = next(((at, other) for at, other in failing if at not in group), None)
            for chosen in product(*joint):
                choice = dict(zip(group, chosen, strict=True))
                yield choice
                if outside is not None:
                    yield {**choice, outside[0]: outside[1]}

    def _groups(self) -> list[list[int]]:
        captured = {op.witness_key: op for op in self.candidate.witness}
        groups: list[set[int]] = []
        for op in self.candidate.recovery:
            source = captured.get(op.witness_key)
            if op.witness_key is None or source is None or source.target == op.target:
                continue
            tied = self._around(source) | self._around(op)
            for group in [one for one in groups if one & tied]:
                groups.remove(group)
                tied |= group
            groups.append(tied)
        return [sorted(group) for group in groups if len(group) > 1]

    def _around(self, op: Operation) -> set[int]:
        """Return the components of a tree that lie above, at or below an operation's path."""
        found = set()
        for at, part in enumerate(self.parts):
            path = part.component.path
            if path and part.surface == op.kind.surface:
                shared = min(len(path), len(op.path))
                if path[:shared] == op.path[:shared]:
                    found.add(at)
        return found


def prove(candidate: Candidate, *, level: Level = Level.L1, locked: str | None = None,
          max_seconds: float = MAX_SECONDS) -> Verdict:  # fmt: skip
    """Return the verdict: proved for every state, or refuted with a smallest concrete state.

    A candidate that is too large to prove, or takes too long, is rejected with that reason.
    """
    refused = refusals(candidate, level, locked)
    if refused:
        return rejected(refused, RULE, level, candidate)
    self_check()
    try:
        looked, broken = _search(candidate, monotonic() + max_seconds)
    except ProgramTooLarge as fault:
        return rejected([Reason(Code.LIMIT, str(fault))], RULE, level, candidate)
    except TimeoutError:
        late = Reason(Code.TIMEOUT, f"the proof took more than {max_seconds} seconds")
        return rejected([late], RULE, level, candidate)
    if broken is None:
        return Verdict(True, Grade.PROVED, RULE, level.value, classes=looked,
                       mutation_digest=candidate.mutation_digest())  # fmt: skip
    example = counterexample(candidate, broken, "proof")
    return Verdict(False, Grade.REFUTED, RULE, level.value, tuple(trip_reasons(example.trip)), classes=looked,
                   counterexample=example, mutation_digest=candidate.mutation_digest())  # fmt: skip


def _search(candidate: Candidate, deadline: float) -> tuple[int, State | None]:
    """Return how many classes were looked at, and a state that breaks the candidate if one does."""
    classes, trial = _Classes(candidate, deadline), Trial(candidate)
    classes.settle()
    base = classes.state({})
    trip = trial.run(base)
    if not trip.passed:
        return 1, base
    looked, goes_through = 1, not trip.forward_failure
    failing: list[tuple[int, int]] = []
    for choice in classes.check_work(list(classes.variations())):
        state = classes.state(choice)
        trip = trial.run(state)
        looked += 1
        if not trip.passed:
            return looked, state
        if goes_through and trip.forward_failure:
            failing += choice.items()
    elsewhere = classes.check_work(list(classes.failures_elsewhere(failing)))
    for choice in chain(elsewhere, classes.coupled(failing)):
        state = classes.state(choice)
        looked += 1
        if not trial.run(state).passed:
            return looked, state
    return looked, None
