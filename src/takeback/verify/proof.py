"""Proof: does a candidate restore the state before it on every state of the model?

Operations never look inside values, so a round trip depends only on the shape of the slots it names. Surfaces
break those slots into components that cannot see each other; the real interpreter is run on one generic state
for every shape of every component, once with the mutation going through and once with it failing elsewhere.
The argument, its assumptions and where the code holds them: docs/proof.md. Answers proved or refuted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, count
from time import monotonic
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import ProgramTooLarge
from takeback.language import Candidate, Program
from takeback.runtime import forward
from takeback.state import SURFACES, Level, Operation, State
from takeback.state.surface import Component, Edit
from takeback.verify.evidence import issue
from takeback.verify.options import MAX_SECONDS, check_seconds, the_level
from takeback.verify.rules import PROOF
from takeback.verify.sampled import counterexample, refusals, rejected, trip_reasons
from takeback.verify.selfcheck import self_check
from takeback.verify.trip import Trial
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Verdict

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
        ops = (*candidate.mutation, *candidate.witness, *candidate.recovery)
        text = encode(candidate.to_json()) + repr([op.value for op in ops])
        self.salt = next(salt for salt in (f"prior{at or ''}" for at in count()) if salt not in text)
        self.foreign = _foreign(candidate)
        named: dict[str, list[Operation]] = {}
        for op in (*ops, *_mirrored(self.foreign, candidate.recovery)):
            named.setdefault(op.kind.surface, []).append(op)
        self.parts: list[_Part] = []
        self.empty: dict[str, Any] = {}
        for name, touching in named.items():
            surface = SURFACES[name]
            self.empty[name] = surface.bystander(surface.empty, self.salt)
            self.parts += [_Part(name, part) for part in surface.components(touching, self.salt)]
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
        op = self.candidate.mutation[failing]
        near = self._around(op)
        for at, part in enumerate(self.parts):
            if part.surface == op.kind.surface and at not in changed and (at in near or not part.component.path):
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
        return self._above(one, two) or self._above(two, one)

    def _above(self, one: int, two: int) -> bool:
        mine, theirs = self.parts[one], self.parts[two]
        return mine.surface == theirs.surface and mine.component.hides(theirs.component)

    def coupled(self, failing: list[tuple[int, int]]) -> Iterator[Choice]:
        """Yield the joint choices of components that a restore from another path's capture ties together.

        Whether such a restore can run depends on what stood at the captured path and at its own.
        """
        for group in self._groups():
            outside = next(((at, other) for at, other in failing if at not in group), None)
            for choice in self._joint(group):
                yield choice
                if outside is not None:
                    yield {**choice, outside[0]: outside[1]}

    def _joint(self, group: list[int]) -> list[Choice]:
        """Return every joint choice of a group that makes a state of its own: what is hidden is not varied."""
        choices: list[Choice] = [{}]
        for at in sorted(group, key=lambda one: len(self.parts[one].component.path)):
            every = range(len(self.parts[at].alternatives))
            choices = [
                {**choice, at: other}
                for choice in choices
                for other in (every[:1] if self._hidden(at, choice) else every)
            ]
            if len(choices) > MAX_JOINT:
                raise ProgramTooLarge(
                    f"restores from captures of other paths tie {len(group)} places together, with more than "
                    f"{MAX_JOINT} joint shapes",
                    hint="restore each path from its own capture",
                )
        return choices

    def _hidden(self, at: int, choice: Choice) -> bool:
        return any(
            other >= self.parts[above].component.shows and self._above(above, at) for above, other in choice.items()
        )

    def _groups(self) -> list[list[int]]:
        groups: list[set[int]] = []
        for source, op in self.foreign:
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


def _foreign(candidate: Candidate) -> list[tuple[Operation, Operation]]:
    """Return each restore that uses the capture of another target, with that capture before it."""
    captured = {op.witness_key: op for op in candidate.witness}
    pairs = [(captured[op.witness_key], op) for op in candidate.recovery if op.witness_key in captured]
    return [
        (source, op) for source, op in pairs if source.target != op.target and source.kind.surface == op.kind.surface
    ]


def _mirrored(foreign: list[tuple[Operation, Operation]], recovery: Program) -> Iterator[Operation]:
    """Yield what a restore from another path makes stand at the named paths below its own.

    Where `x` is restored from the capture of `d`, a restore at `x.k` looks at what stood at `d.k`.
    """
    for source, restored in foreign:
        if isinstance(restored.path, tuple):
            depth = len(restored.path)
            for op in recovery:
                if op.kind.surface == restored.kind.surface and op.path[:depth] == restored.path:
                    yield replace(source, path=(*source.path, *op.path[depth:]))


def prove(
    candidate: Candidate,
    *,
    level: Level | None = None,
    locked: str | None = None,
    max_seconds: float = MAX_SECONDS,
) -> Verdict:
    """Return the verdict: proved for every state, or refuted with a smallest concrete state.

    `level` is the widest language installed if left out, `locked` the digest the mutation must have. A candidate that
    is too large to prove, or takes too long, is rejected with that reason.
    """
    level = the_level(level)
    check_seconds(max_seconds)
    refused = refusals(candidate, level, locked)
    if refused:
        return rejected(refused, PROOF, level, candidate)
    self_check()
    try:
        looked, broken = _search(candidate, monotonic() + max_seconds)
    except ProgramTooLarge as fault:
        return rejected([Reason(Code.LIMIT, str(fault))], PROOF, level, candidate)
    except TimeoutError:
        late = Reason(Code.TIMEOUT, f"the proof took more than {max_seconds} seconds")
        return rejected([late], PROOF, level, candidate)
    if broken is None:
        return _verdict(candidate, level, Grade.PROVED, looked)
    example = counterexample(candidate, broken, "proof")
    return _verdict(candidate, level, Grade.REFUTED, looked, example)


def _verdict(
    candidate: Candidate, level: Level, grade: Grade, looked: int, example: Counterexample | None = None
) -> Verdict:
    return issue(
        Verdict(
            example is None,
            grade,
            PROOF,
            level.value,
            () if example is None else tuple(trip_reasons(example.trip)),
            classes=looked,
            counterexample=example,
            mutation_digest=candidate.mutation_digest(),
            candidate_digest=candidate.digest(),
        ),
        candidate,
    )


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
    for choice in chain(elsewhere, classes.check_work(list(classes.coupled(failing)))):
        state = classes.state(choice)
        looked += 1
        if not trial.run(state).passed:
            return looked, state
    return looked, None
