"""The classes of states that a candidate can tell apart, one generic state of each, and slices to run on them.

Surfaces break the slots a candidate names into components; a choice of one alternative for each component
makes a state. The base is a choice on which the mutation goes furthest: through, if any state lets it. A
slice is the operations that can see or change some components: on a state that departs from the base in these
only, the other operations do what they do on the base, so a slice decides for the whole (docs/proof.md, step
2). A slice can also run as if the mutation had failed elsewhere: then recovery must leave everything as it
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from time import monotonic
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import ProgramTooLarge
from takeback.language import Candidate, Program
from takeback.runtime import run_forward
from takeback.state import ABSENT, SURFACES, Component, Operation, State
from takeback.verify.trip import Trial

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
        self.salt = salt = next(salt for salt in (f"prior{at or ''}" for at in count()) if salt not in text)
        self.foreign = _find_foreign_restores(candidate)
        named: dict[str, list[Operation]] = {}
        for op in (*ops, *_mirror_restores(self.foreign, candidate.recovery)):
            named.setdefault(op.kind.surface, []).append(op)
        self.parts: list[SurfaceComponent] = []
        self._empty: dict[str, Any] = {}
        for name, touching in named.items():
            surface = SURFACES[name]
            self._empty[name] = surface.bystander(surface.empty, salt)
            self.parts += [SurfaceComponent(name, part) for part in surface.components(touching, salt)]
        self._above = _list_ancestors(self.parts)
        self._tops = {name: _group_by_top_name(self.parts, name) for name in named}
        self._below: dict[tuple[str, str, tuple[int, ...]], Any] = {}
        self.base: ShapeChoice = dict.fromkeys(range(len(self.parts)), 0)
        self._built = {name: self._build(name, self.base) for name in named}
        self._settled: set[str] = set()
        self._blank = State()
        self.reach: int | None = 0
        """Which operation of the mutation fails on the base, once it is settled; None: it goes through."""
        self.unsure: ProgramTooLarge | None = None
        """Why the base may not be the one on which the mutation goes furthest, where that could not be told."""

    def _build(self, surface: str, choice: ShapeChoice) -> Any:
        """Return a surface's value with an alternative for each of its components.

        What stands below one top name of a tree is the same in many states, and made once.
        """
        value = self._empty[surface]
        for top, parts in self._tops[surface]:
            if top is None:
                value = self._apply(value, parts, choice)
                continue
            chosen = surface, top, tuple([choice[at] for at in parts])
            if chosen not in self._below:
                built = self._apply(self._empty[surface], parts, choice)
                self._below[chosen] = SURFACES[surface].get_slot(built, (top,))
            if self._below[chosen] is not ABSENT:
                value = SURFACES[surface].put_slot(value, (top,), self._below[chosen])
        return value

    def _apply(self, value: Any, parts: Iterable[int], choice: ShapeChoice) -> Any:
        for at in parts:
            value = self.parts[at].component.alternatives[choice[at]](value)
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
        return run_forward(self.candidate.mutation, self.state(changed))[1].failed_at

    def settle(self) -> None:
        """Climb to a base on which the mutation goes furthest: through, if any state lets it.

        How far a run goes is the smallest of how far each component lets it go. So where one fails and some state
        goes further, another choice for what the failing operation sees goes further too (docs/proof.md, step 1).
        """
        changed: ShapeChoice = {}
        failing = self.failing_at(changed)
        while failing is not None:
            further = self._go_further(changed, failing)
            if further is None:
                break
            changed, failing = further
        self.use_as_base(changed)

    def use_as_base(self, changed: ShapeChoice) -> None:
        """Take another choice as the base."""
        if changed:
            self.base.update(changed)
            self._settled |= {self.parts[at].surface for at in changed}
            self._built = {name: self._build(name, self.base) for name in self._built}
        self.reach = self.failing_at({})

    def _go_further(self, changed: ShapeChoice, failing: int) -> tuple[ShapeChoice, int | None] | None:
        """Return a choice on which the mutation goes further, and where it fails then; None: there is none.

        `unsure` says why, where there were too many choices to try them all.
        """
        op = self.candidate.mutation[failing]
        try:
            for choice in chain(self._alone(op, changed), self._together(op)):
                tried = {**changed, **choice}
                then = self.failing_at(tried)
                if then is None or then > failing:
                    return tried, then
        except ProgramTooLarge as fault:
            self.unsure = fault
        return None

    def _alone(self, op: Operation, changed: ShapeChoice) -> Iterator[ShapeChoice]:
        near = self._find_named_components(op)
        for at, part in enumerate(self.parts):
            if at in near or (part.surface == op.kind.surface and _can_see(part.component, op)):
                for other in range(len(part.component.alternatives)):
                    if other != changed.get(at, self.base[at]):
                        yield {at: other}

    def _together(self, op: Operation) -> Iterator[ShapeChoice]:
        """Yield the joint choices for what moves tie to an operation's paths: a move may want two things at once.

        Its own paths come first, then all paths that moves tie to them. Without a move one component is enough.
        """
        near = self._find_named_components(op)
        if op.also:
            yield from self.joint(near)
        mine = [operation for operation in self.candidate.mutation if operation.kind.surface == op.kind.surface]
        if any(op.also for op in mine):
            for group in _merge_sets(map(self._find_named_components, mine)):
                if near.intersection(group):
                    yield from self.joint(group)

    def variations(self) -> Iterator[tuple[int, ShapeChoice]]:
        """Yield each component with the choices in which it is not as in the base, and all others are.

        One that the base hides is varied below containers, where it can be seen. One that hides others is also varied
        with those as they were before the climb: there they need not be what the mutation goes furthest with.
        """
        for at, part in enumerate(self.parts):
            shown = dict.fromkeys(self._hiding(at), 0)
            hidden = dict.fromkeys(self._list_hidden_by(at), 0)
            for other in range(len(part.component.alternatives)):
                if other != self.base[at]:
                    yield at, {**shown, at: other}
                    if hidden:
                        yield at, {**hidden, **shown, at: other}

    def _list_hidden_by(self, at: int) -> Iterator[int]:
        """Yield what lies below a component and is hidden by it, or with it, in the base, not as it was at first."""
        if self.parts[at].component.path:
            is_hidden = any(True for _ in self._hiding(at))
            below = (other for other, above in enumerate(self._above) if at in above and self.base[other])
            yield from (other for other in below if is_hidden or self.hides(at, self.base[at], other))

    def _hiding(self, at: int) -> Iterator[int]:
        """Yield what stands above a component in the base in a way that leaves no room for it."""
        return (over for over in self._above[at] if self.hides(over, self.base[over], at))

    def hides(self, over: int, how: int, at: int) -> bool:
        """Tell whether an alternative of one component leaves no room for another, which lies below it."""
        return how >= self.parts[over].component.shows and over in self._above[at]

    def groups(self) -> list[list[int]]:
        """Return the components that restores from captures of other paths tie together."""
        foreign = (self._around(source) | self._around(op) for source, op in self.foreign)
        return _merge_sets((*foreign, *self._spanning()))

    def _spanning(self) -> Iterator[set[int]]:
        """Yield the components that one operation writes together, such as where a file was and where it goes."""
        for op in self.candidate.mutation:
            if op.also:
                yield self._find_named_components(op)

    def joint(self, group: Iterable[int]) -> list[ShapeChoice]:
        """Return every joint choice of a group that makes a state of its own: what is hidden is not varied."""
        choices: list[ShapeChoice] = [{}]
        for at in sorted(group, key=lambda group: len(self.parts[group].component.path)):
            every = range(len(self.parts[at].component.alternatives))
            choices = [
                {**choice, at: other}
                for choice in choices
                for other in (every[:1] if self._is_hidden_within(at, choice) else every)
            ]
            if len(choices) > MAX_JOINT:
                raise ProgramTooLarge(
                    f"restores from captures of other paths, or moves, tie {len(list(group))} places together, with "
                    f"more than {MAX_JOINT} joint shapes",
                    hint="restore each path from its own capture, and make moves one by one",
                )
        return choices

    def _is_hidden_within(self, at: int, choice: ShapeChoice) -> bool:
        return any(self.hides(over, how, at) for over, how in choice.items())

    def _find_named_components(self, op: Operation) -> set[int]:
        """Return the components of a tree that lie above, at or below a path that an operation writes."""
        paths = SURFACES[op.kind.surface].list_targets(op)
        return set[int]().union(*(self._around(replace(op, path=path)) for path in paths))

    def _around(self, op: Operation) -> set[int]:
        return {
            at
            for at, part in enumerate(self.parts)
            if part.component.path and part.surface == op.kind.surface and is_in_line(part.component.path, op.path)
        }


def _group_by_top_name(parts: list[SurfaceComponent], surface: str) -> list[tuple[str | None, list[int]]]:
    """Return the components of a surface by their top names in a tree; None: those that lie in none."""
    groups: dict[str | None, list[int]] = {}
    for at, part in enumerate(parts):
        if part.surface == surface:
            groups.setdefault(part.component.path[0] if part.component.path else None, []).append(at)
    return list(groups.items())


def _can_see(component: Component, op: Operation) -> bool:
    """Tell whether an operation of its surface can see a component that lies in no tree."""
    return not component.path and (component.concerns is None or component.concerns(op))


def _merge_sets(sets: Iterable[set[int]]) -> list[list[int]]:
    groups: list[set[int]] = []
    for merged in sets:
        tied = set(merged)
        for group in [known for known in groups if known & tied]:
            groups.remove(group)
            tied |= group
        groups.append(tied)
    return [sorted(group) for group in groups if group]


def is_in_line(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Tell whether one of two paths is at or above the other."""
    shared = min(len(first), len(second))
    return first[0] == second[0] and first[:shared] == second[:shared]


def _list_ancestors(parts: list[SurfaceComponent]) -> list[frozenset[int]]:
    ancestors: list[frozenset[int]] = [frozenset()] * len(parts)
    at_path: dict[tuple[str, tuple[str, ...]], int] = {}
    for at in sorted(range(len(parts)), key=lambda place: len(parts[place].component.path)):
        surface, path = parts[at].surface, parts[at].component.path
        nearest = (at_path.get((surface, path[:depth])) for depth in range(len(path) - 1, 0, -1))
        over = next((ancestor for ancestor in nearest if ancestor is not None), None)
        if over is not None:
            ancestors[at] = ancestors[over] | {over}
        at_path[surface, path] = at
    return ancestors


def _find_foreign_restores(candidate: Candidate) -> list[tuple[Operation, Operation]]:
    """Return each restore that uses the capture of another target, with that capture before it."""
    captured = {op.witness_key: op for op in candidate.witness}
    pairs = [(captured[op.witness_key], op) for op in candidate.recovery if op.witness_key in captured]
    return [
        (source, op) for source, op in pairs if source.target != op.target and source.kind.surface == op.kind.surface
    ]


def _mirror_restores(foreign: list[tuple[Operation, Operation]], recovery: Program) -> Iterator[Operation]:
    """Yield what a restore from another path makes stand at the named paths below its own.

    Where `x` is restored from the capture of `d`, a restore at `x.k` looks at what stood at `d.k`.
    """
    for source, restored in foreign:
        if isinstance(restored.path, tuple):
            depth = len(restored.path)
            for op in recovery:
                if op.kind.surface == restored.kind.surface and op.path[:depth] == restored.path:
                    yield replace(source, path=(*source.path, *op.path[depth:]))


class Slice:
    """Some operations of a candidate, ready to run. `weight` is the steps of one run, the same on every machine."""

    def __init__(self, candidate: Candidate, trial: type[Trial] = Trial) -> None:
        self._candidate = candidate
        self.trial = trial(candidate)
        ops = (*candidate.mutation, *candidate.witness, *candidate.recovery)
        self.weight = sum(len(op.path) if isinstance(op.path, tuple) else 1 for op in ops)

    @cached_property
    def idle(self) -> Trial:
        """The slice as it runs where the mutation fails elsewhere."""
        candidate = self._candidate
        return Trial(Candidate((), candidate.witness, candidate.recovery, candidate.contract))


class Slices:
    """The slices of a candidate; where `whole` is set, every slice is the whole candidate, run by `trial`."""

    def __init__(
        self, candidate: Candidate, classes: Classes, *, whole: bool = False, trial: type[Trial] = Trial
    ) -> None:
        self._candidate = candidate
        self._classes = classes
        self.whole = Slice(candidate, trial)
        self.only_whole = whole
        self._made: dict[frozenset[int], Slice] = {}
        self._numbered = (*candidate.mutation, *candidate.recovery)
        self._tied = {source.kind.surface for source, _ in classes.foreign}
        self._groups = {at: group for group in classes.groups() for at in group}
        self._touching: dict[int, frozenset[int]] = {}

    def around(self, parts: Iterable[int]) -> Slice:
        """Return the slice of all operations that can see or change some components."""
        if self.only_whole:
            return self.whole
        members = {member for at in parts for member in self._groups.get(at, (at,))}
        chosen = frozenset().union(*(self._operations(member) for member in members))
        made = self._made.get(chosen)
        if made is None:
            made = self._made[chosen] = self.whole if len(chosen) == len(self._numbered) else self._cut(chosen)
        return made

    def _operations(self, at: int) -> frozenset[int]:
        touching = self._touching.get(at)
        if touching is None:
            touches = (number for number, op in enumerate(self._numbered) if self._touches(at, op))
            touching = self._touching[at] = frozenset(touches)
        return touching

    def _touches(self, at: int, op: Operation) -> bool:
        part = self._classes.parts[at]
        component = part.component
        if op.kind.surface != part.surface:
            return False
        if component.path:
            return is_in_line(component.path, op.path)
        return component.concerns is None or part.surface in self._tied or component.concerns(op)

    def _cut(self, chosen: frozenset[int]) -> Slice:
        whole, first = self._candidate, len(self._candidate.mutation)
        recovery: Program = tuple(op for at, op in enumerate(whole.recovery) if first + at in chosen)
        keys = {op.witness_key for op in recovery}
        return Slice(
            Candidate(
                tuple(op for at, op in enumerate(whole.mutation) if at in chosen),
                tuple(op for op in whole.witness if op.witness_key in keys),
                recovery,
                whole.contract,
            )
        )
