"""The classes of states that a candidate can tell apart, and one generic state of each.

Surfaces break the slots a candidate names into components; a choice of one alternative for each component makes a
state. The base is a choice on which the mutation goes through, if there is one. Which classes must be looked at is
argued in docs/proof.md; `takeback.verify.proof` looks at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from time import monotonic
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import ProgramTooLarge
from takeback.language import Candidate, Program
from takeback.runtime import forward
from takeback.state import SURFACES, Component, Level, Operation, State

MAX_JOINT: Final = 50_000
ShapeChoice = dict[int, int]
"""Which alternative some components have, by number; all others have that of the base."""


@dataclass(frozen=True, slots=True)
class SurfaceComponent:
    """One component in its surface."""

    surface: str
    component: Component


class Classes:
    """The generic states of a candidate; raises `TimeoutError` where one is wanted after the deadline."""

    def __init__(self, candidate: Candidate, deadline: float) -> None:
        self.candidate = candidate
        self.deadline = deadline
        ops = (*candidate.mutation, *candidate.witness, *candidate.recovery)
        text = encode(candidate.to_json()) + repr([op.value for op in ops])
        salt = next(salt for salt in (f"prior{at or ''}" for at in count()) if salt not in text)
        self.foreign = _foreign(candidate)
        named: dict[str, list[Operation]] = {}
        for op in (*ops, *_mirrored(self.foreign, candidate.recovery)):
            named.setdefault(op.kind.surface, []).append(op)
        self.parts: list[SurfaceComponent] = []
        self._empty: dict[str, Any] = {}
        for name, touching in named.items():
            surface = SURFACES[name]
            self._empty[name] = surface.bystander(surface.empty, salt)
            self.parts += [SurfaceComponent(name, part) for part in surface.components(touching, salt)]
        self._above = _lines(self.parts)
        self.base: ShapeChoice = dict.fromkeys(range(len(self.parts)), 0)
        self._built = {name: self._build(name, self.base) for name in named}
        self._settled: set[str] = set()
        self._blank = State()

    def _build(self, surface: str, choice: ShapeChoice) -> Any:
        value = self._empty[surface]
        for at, part in enumerate(self.parts):
            if part.surface == surface:
                value = part.component.alternatives[choice[at]](value)
        return value

    def state(self, changed: ShapeChoice) -> State:
        """Return the base state with other alternatives for the components in `changed`."""
        if monotonic() > self.deadline:
            raise TimeoutError
        parts = {**self._blank.parts, **self._built}
        for at in sorted(changed):
            part = self.parts[at]
            if part.surface in self._settled:
                parts[part.surface] = self._build(part.surface, {**self.base, **changed})
            else:
                parts[part.surface] = part.component.alternatives[changed[at]](parts[part.surface])
        return State.of(parts)

    def failing_at(self, changed: ShapeChoice) -> int | None:
        """Return which operation of the mutation fails on a state; None: it goes through."""
        return forward(self.candidate.mutation, self.state(changed))[1].failed_at

    def settle(self) -> None:
        """Choose a base on which the mutation goes through, if there is one."""
        changed: ShapeChoice | None = {}
        failing = self.failing_at({})
        while changed is not None and failing is not None:
            changed, failing = self._better(changed, failing) or (None, failing)
        if changed is None and any(op.kind.level is Level.L2 for op in self.candidate.mutation):
            changed = self._tried_jointly()
        if changed is not None:
            self.settle_on(changed)

    def _tried_jointly(self) -> ShapeChoice | None:
        """Return a choice on which the mutation goes through, looked for among all joint ones, or None.

        One step at a time may end where an operation wants two things at once. Surfaces do not see each other.
        """
        found: ShapeChoice = {}
        for name in dict.fromkeys(op.kind.surface for op in self.candidate.mutation):
            ops = tuple(op for op in self.candidate.mutation if op.kind.surface == name)
            near = set[int]().union(*map(self._named, ops)) | {
                at for at, part in enumerate(self.parts) if part.surface == name and not part.component.path
            }
            through = (choice for choice in self.joint(near) if forward(ops, self.state(choice))[1].succeeded)
            chosen = next(through, None)
            if chosen is None:
                return None
            found.update(chosen)
        return found

    def settle_on(self, changed: ShapeChoice) -> None:
        """Take another choice as the base."""
        if changed:
            self.base.update(changed)
            self._settled |= {self.parts[at].surface for at in changed}
            self._built = {name: self._build(name, self.base) for name in self._built}

    def _better(self, changed: ShapeChoice, failing: int) -> tuple[ShapeChoice, int | None] | None:
        op = self.candidate.mutation[failing]
        near = self._named(op)
        for at, part in enumerate(self.parts):
            if part.surface == op.kind.surface and at not in changed and (at in near or not part.component.path):
                for other in range(1, len(part.component.alternatives)):
                    tried = {**changed, at: other}
                    then = self.failing_at(tried)
                    if then is None or then > failing:
                        return tried, then
        return None

    def variations(self) -> Iterator[tuple[int, ShapeChoice]]:
        """Yield each component with the choices in which it is not as in the base, and all others are.

        One that the base hides is varied below containers, where it can be seen.
        """
        for at, part in enumerate(self.parts):
            shown = dict.fromkeys(self._hiding(at), 0)
            for other in range(len(part.component.alternatives)):
                if other != self.base[at]:
                    yield at, {**shown, at: other}

    def _hiding(self, at: int) -> Iterator[int]:
        """Yield what stands above a component in the base in a way that leaves no room for it."""
        return (over for over in self._above[at] if self.hides(over, self.base[over], at))

    def hides(self, over: int, how: int, at: int) -> bool:
        """Tell whether an alternative of one component leaves no room for another, which lies below it."""
        return how >= self.parts[over].component.shows and over in self._above[at]

    def groups(self) -> list[list[int]]:
        """Return the components that restores from captures of other paths tie together."""
        groups: list[set[int]] = []
        foreign = [self._around(source) | self._around(op) for source, op in self.foreign]
        for together in (*foreign, *self._spanning()):
            tied = set(together)
            for group in [one for one in groups if one & tied]:
                groups.remove(group)
                tied |= group
            groups.append(tied)
        return [sorted(group) for group in groups if group]

    def _spanning(self) -> Iterator[set[int]]:
        """Yield the components that one operation writes together, such as where a file was and where it goes."""
        for op in self.candidate.mutation:
            if op.also:
                yield self._named(op)

    def joint(self, group: Iterable[int]) -> list[ShapeChoice]:
        """Return every joint choice of a group that makes a state of its own: what is hidden is not varied."""
        choices: list[ShapeChoice] = [{}]
        for at in sorted(group, key=lambda one: len(self.parts[one].component.path)):
            every = range(len(self.parts[at].component.alternatives))
            choices = [
                {**choice, at: other}
                for choice in choices
                for other in (every[:1] if self._hidden_within(at, choice) else every)
            ]
            if len(choices) > MAX_JOINT:
                raise ProgramTooLarge(
                    f"restores from captures of other paths, or moves, tie {len(list(group))} places together, with "
                    f"more than {MAX_JOINT} joint shapes",
                    hint="restore each path from its own capture, and make moves one by one",
                )
        return choices

    def _hidden_within(self, at: int, choice: ShapeChoice) -> bool:
        return any(self.hides(over, how, at) for over, how in choice.items())

    def _named(self, op: Operation) -> set[int]:
        """Return the components of a tree that lie above, at or below a path that an operation writes."""
        paths = SURFACES[op.kind.surface].named(op)
        return set[int]().union(*(self._around(replace(op, path=path)) for path in paths))

    def _around(self, op: Operation) -> set[int]:
        """Return the components of a tree that lie above, at or below an operation's path."""
        return {
            at
            for at, part in enumerate(self.parts)
            if part.component.path and part.surface == op.kind.surface and in_line(part.component.path, op.path)
        }


def in_line(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """Tell whether one of two paths is at or above the other."""
    shared = min(len(one), len(two))
    return one[0] == two[0] and one[:shared] == two[:shared]


def _lines(parts: list[SurfaceComponent]) -> list[frozenset[int]]:
    """Return, for each component, the numbers of those above it in its tree."""
    found: list[frozenset[int]] = [frozenset()] * len(parts)
    at_path: dict[tuple[str, tuple[str, ...]], int] = {}
    for at in sorted(range(len(parts)), key=lambda one: len(parts[one].component.path)):
        surface, path = parts[at].surface, parts[at].component.path
        nearest = (at_path.get((surface, path[:depth])) for depth in range(len(path) - 1, 0, -1))
        over = next((one for one in nearest if one is not None), None)
        if over is not None:
            found[at] = found[over] | {over}
        at_path[surface, path] = at
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
