"""Which candidates that edit inside values can be decided by looking at classes of states.

An edit looks at the text or list it changes, so what it leaves is not known for all of them. That does not matter
where the value is put back from its own capture, whatever the edit did: then only whether the mutation goes through
can differ, and both are looked at. Everything else is refuted by a state, or left undecided and not admitted.
"""

from __future__ import annotations

from takeback.language import Candidate
from takeback.state import SURFACES, Operation, Stage


def undecided(candidate: Candidate) -> str | None:
    """Return why no class of states decides about a candidate that none of them refutes; None if they do."""
    for op in candidate.recovery:
        if op.kind.stage is Stage.FORWARD:
            return f"{op.kind.name} in a recovery depends on what else is in {op.address}; {_ADVICE}"
    for op in candidate.mutation:
        if op.kind.inside and not _restored(candidate, op):
            return f"{op.address} is edited and not restored from its own capture; {_ADVICE}"
    return None


_ADVICE = "capture it before the change and restore it"


def _restored(candidate: Candidate, edit: Operation) -> bool:
    """Whether what an edit changes, or something above it, is put back from its own capture."""
    captured = {op.witness_key: op for op in candidate.witness}
    for op in candidate.recovery:
        source = captured.get(op.witness_key) if op.witness_key is not None else None
        if source is not None and source.kind.surface == op.kind.surface == edit.kind.surface:
            same = source.target == op.target and source.value == op.value
            if same and SURFACES[op.kind.surface].covers(op.address.key, edit.address.key):
                return True
    return False
