"""Opaque edits: which candidates that edit inside values, or move elements, hold on every state.

An edit looks at the text or list it changes: whether it goes through, and what it leaves, is not known from
the shape of a state. So it is treated as possibly failing, or leaving anything. What holds then holds for
every edit; what does not is refuted by a state, or left undecided and not admitted. The argument is in
docs/proof.md.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from takeback.errors import OperationFailed
from takeback.language import Candidate
from takeback.language.program import Program
from takeback.runtime import capture, recover, run_forward
from takeback.state import ABSENT, SURFACES, Operation, PMap, Stage, State
from takeback.state.file import File
from takeback.state.surface import Surface
from takeback.state.surfaces.calls import CALLS, list_unanswered
from takeback.state.text import Text
from takeback.verify.trip import Trial, Trip

_ADVICE = "capture it before the change and restore it"


def has_inner_edits(candidate: Candidate) -> bool:
    """Tell whether a mutation edits inside values."""
    return any(op.kind.inside for op in candidate.mutation)


def has_recovery_edits(candidate: Candidate) -> bool:
    """Tell whether a recovery does forward operations, such as the edit that is the other way round."""
    return any(op.kind.stage is Stage.FORWARD for op in candidate.recovery)


def with_opaque_edits(candidate: Candidate) -> Candidate:
    """Return the candidate with every edit leaving something that nobody knows, wherever there is a value at all."""
    number = count()
    mutation = tuple(_make_opaque(op, next(number)) if op.kind.inside else op for op in candidate.mutation)
    return Candidate(mutation, candidate.witness, candidate.recovery, candidate.contract)


def without_mutation(candidate: Candidate) -> Candidate:
    """Return the candidate as it runs where an edit fails: nothing was changed."""
    return Candidate((), candidate.witness, candidate.recovery, candidate.contract)


def without_unanswered(candidate: Candidate) -> Candidate:
    """Return the candidate without its calls that nothing answers, and without what it would do about them."""
    keys = list_unanswered(candidate.mutation)

    def keep(program: Program) -> Program:
        return tuple(op for op in program if op.kind.surface != CALLS or op.target not in keys)

    mutation, witness, recovery = map(keep, (candidate.mutation, candidate.witness, candidate.recovery))
    return Candidate(mutation, witness, recovery, candidate.contract)


class PlaceTrial(Trial):
    """A trial that also wants every element back at its own place, not only in the same order."""

    __slots__ = ()

    def run(self, state: State) -> Trip:
        """Run one round trip; what only looks the same fails."""
        trip = super().run(state)
        if not trip.passed:
            return trip
        candidate = self.candidate
        after = recover(
            candidate.recovery, run_forward(candidate.mutation, state)[0], capture(candidate.witness, state)
        ).parts
        for name, _ in self._touched:
            if _has_strayed(SURFACES[name], state.part(name), after[name]):
                return replace(trip, failure=f"{name}: an element stands at another place")
        return trip


def _has_strayed(surface: Surface, before: Any, after: Any) -> bool:
    """Tell whether a slot holds something else, or at another place; or, where a surface settles, means it."""
    differing = surface.differing(before, after)
    if surface.settles:
        return any(
            not surface.equivalent(surface.get_slot(before, path), surface.get_slot(after, path))
            for path in differing
        )
    return next(differing, None) is not None


def why_recovery_undecided(candidate: Candidate) -> str:
    """Return why a recovery that edits back is undecided where no state refutes it."""
    op = next(op for op in candidate.recovery if op.kind.stage is Stage.FORWARD)
    return f"{op.kind.name} in a recovery depends on what else is in {op.address}; {_ADVICE}"


def why_edits_undecided(candidate: Candidate) -> str:
    """Return why a candidate is undecided that would not hold for every edit, and that no state refutes."""
    for op in candidate.mutation:
        if op.kind.inside and not _is_restored(candidate, op):
            return f"{op.address} is edited and not restored from its own capture; {_ADVICE}"
    named = ", ".join(dict.fromkeys(str(op.address) for op in candidate.mutation))
    return f"not everything that the mutation writes ({named}) is put back from its own capture; {_ADVICE}"


def why_failure_undecided(candidate: Candidate) -> str:
    """Return why a candidate is undecided whose recovery could do harm where an edit fails."""
    op = next(op for op in candidate.mutation if op.kind.inside)
    return (
        f"where {op.kind.name} of {op.address} does not go through nothing has changed, and the recovery does not "
        f"leave everything as it is; {_ADVICE}"
    )


def _make_opaque(op: Operation, number: int) -> Operation:
    surface, kind = SURFACES[op.kind.surface], op.kind
    slot = op.path if isinstance(op.path, tuple) else (op.path,)

    def run(value: Any, _: Operation) -> tuple[Any, None]:
        there = surface.get_slot(value, slot)
        if there is ABSENT or type(there) is PMap:
            raise OperationFailed(f"there is nothing to edit at {op.address}")
        left = f"left by edit {number}"
        return surface.put_slot(
            value, slot, there.replace_parts(Text.of(left)) if isinstance(there, File) else left
        ), None

    return replace(op, kind=replace(kind, run=run), value=ABSENT, spot=None)


def _is_restored(candidate: Candidate, edit: Operation) -> bool:
    """Tell whether what an edit changes, or something above it, is restored from its own capture."""
    captured = {op.witness_key: op for op in candidate.witness}
    for op in candidate.recovery:
        source = captured.get(op.witness_key) if op.witness_key is not None else None
        if source is not None and source.kind.surface == op.kind.surface == edit.kind.surface:
            same = source.target == op.target and source.value == op.value
            if same and SURFACES[op.kind.surface].covers(op.address.key, edit.address.key):
                return True
    return False
