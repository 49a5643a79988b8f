"""From a reply to an attempt: the candidate it holds, or which way it falls short of one.

The mutation of a repair is locked: a reply that leaves it out means the locked one, a reply that states
another is turned away. Reading never runs anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from takeback.errors import InputError, UnknownOperationError
from takeback.language import Candidate, Program, program_digest, read_candidate, read_program
from takeback.state import Stage
from takeback.synthesize.models import Reply
from takeback.synthesize.reply import Rejected, read_object
from takeback.verify import Code, Reason

PARTS = ("witness", "recovery", "contract")
_CODES = {"out_of_language": Code.OUT_OF_LANGUAGE, "mutation_changed": Code.MUTATION_CHANGED, "too_large": Code.LIMIT}


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a reply holds.

    `raw` is its JSON object (None if it is none), `mutation` its mutation where that can be read, `candidate` the
    whole where that can be read, `rejected` why not.
    """

    raw: dict[str, Any] | None
    mutation: Program | None = None
    candidate: Candidate | None = None
    rejected: Rejected | None = None

    @property
    def recovery(self) -> dict[str, Any]:
        """Its witness, recovery and contract as they were written."""
        return {name: self.raw[name] for name in PARTS if name in self.raw} if self.raw is not None else {}

    def __repr__(self) -> str:
        if self.rejected is not None:
            return f"Attempt({self.rejected.shortfall})"
        return f"Attempt({'a mutation alone' if self.candidate is None else self.candidate!r})"


def read_proposal(reply: Reply) -> Attempt:
    """The attempt in a reply that was asked for a whole candidate."""
    raw = read_object(reply)
    if isinstance(raw, Rejected):
        return Attempt(None, rejected=raw)
    return attempt_from(raw)


def attempt_from(raw: dict[str, Any]) -> Attempt:
    """The attempt in a candidate's JSON."""
    try:
        mutation = read_program(raw.get("mutation"), Stage.FORWARD, "candidate.mutation")
    except InputError as fault:
        return Attempt(raw, rejected=_unreadable(fault))
    try:
        return Attempt(raw, mutation, read_candidate(raw))
    except InputError as fault:
        return Attempt(raw, mutation, rejected=_unreadable(fault))


def read_repair(reply: Reply, locked: Program) -> Attempt:
    """The attempt in a reply that was asked to repair, with the mutation locked."""
    raw = read_object(reply)
    if isinstance(raw, Rejected):
        return Attempt(None, locked, rejected=raw)
    if "mutation" in raw and not _same_mutation(raw["mutation"], locked):
        return Attempt(raw, locked, rejected=Rejected("mutation_changed", "the reply states another mutation"))
    whole = {**raw, "mutation": [op.to_json() for op in locked]}
    missing = [name for name in ("witness", "recovery") if name not in raw]
    if missing:
        return Attempt(raw, locked, rejected=Rejected("wrong_shape", f"no {' and no '.join(missing)}"))
    try:
        return Attempt(raw, locked, read_candidate(whole))
    except InputError as fault:
        return Attempt(raw, locked, rejected=_unreadable(fault))


def reason_of(rejected: Rejected) -> Reason:
    """The verifier's word for a reply that is no candidate."""
    return Reason(_CODES.get(rejected.shortfall, Code.MALFORMED), f"{rejected.shortfall}: {rejected.detail}")


def _unreadable(fault: InputError) -> Rejected:
    """An operation that no language has, or not at that stage, is out of the language; all else is another shape."""
    unknown = isinstance(fault, UnknownOperationError)
    return Rejected("out_of_language" if unknown else "wrong_shape", str(fault))


def _same_mutation(stated: Any, locked: Program) -> bool:
    try:
        return program_digest(read_program(stated, Stage.FORWARD, "mutation")) == program_digest(locked)
    except InputError:
        return False
