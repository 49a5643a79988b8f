"""Slices of a candidate: the operations that can see or change some components, to be run without the rest.

What the other operations do on a state that departs from the base in these components only, they do on the base too,
so a slice decides for the whole (docs/proof.md, step 6). A slice can also be run as if the mutation had failed
elsewhere: then nothing was changed, and recovery must leave everything as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from takeback.language import Candidate, Program
from takeback.state import Operation
from takeback.verify.classes import Classes, in_line
from takeback.verify.trip import Trial


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
        one = self._candidate
        return Trial(Candidate((), one.witness, one.recovery, one.contract))


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
        found = self._touching.get(at)
        if found is None:
            touches = (number for number, op in enumerate(self._numbered) if self._touches(at, op))
            found = self._touching[at] = frozenset(touches)
        return found

    def _touches(self, at: int, op: Operation) -> bool:
        part = self._classes.parts[at]
        component = part.component
        if op.kind.surface != part.surface:
            return False
        if component.path:
            return in_line(component.path, op.path)
        return component.concerns is None or part.surface in self._tied or component.concerns(op)

    def _cut(self, chosen: frozenset[int]) -> Slice:
        """Return the candidate with the chosen operations, and the captures that they use."""
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
