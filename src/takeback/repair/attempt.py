"""Attempts: what a model's reply is, the candidate it holds, or which way it falls short of one.

Strict on purpose: one JSON object and nothing around it, except one fence around the whole. Prose beside the
JSON is not searched for something that parses; it uses up the turn. The mutation of a repair is locked: a
reply that leaves it out means the locked one, a reply with another is rejected. Reading never runs anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from takeback.canonical import check_text, find_value_end, parse_strict
from takeback.errors import InputError, UnknownOperationError
from takeback.language import Candidate, Program, digest_program, read_candidate, read_program
from takeback.repair.models.chat import TOO_LARGE, Reply
from takeback.state import Stage
from takeback.verify import Code, Reason

Shortfall = Literal[
    "empty",
    "too_large",
    "truncated",
    "prose",
    "malformed_json",
    "wrong_shape",
    "out_of_language",
    "mutation_changed",
    "masked_value",
    "cannot_run",
]
"""Why a reply is no candidate. Each uses up the turn."""

_FENCE = re.compile(r"\A```(?:json)?\s*\n(?P<body>.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A reply that is no candidate: which shortfall, and where it was seen."""

    shortfall: Shortfall
    detail: str


def read_object(reply: Reply) -> dict[str, Any] | Rejected:
    """Return the one JSON object a reply holds, or why it holds none."""
    if reply.finish_reason == TOO_LARGE:
        return Rejected("too_large", f"the reply was cut at {len(reply.text)} characters")
    text = reply.text.strip()
    if not text:
        return Rejected("empty", f"no text came back (finish reason {reply.finish_reason!r})")
    if fenced := _FENCE.match(text):
        text = fenced["body"].strip()
    try:
        value = parse_strict(text)
        check_text(value, "reply")
    except (ValueError, RecursionError, InputError) as error:
        return _reject_non_json(reply, text, str(error))
    if not isinstance(value, dict):
        return Rejected("wrong_shape", f"expected a JSON object, found {type(value).__name__}")
    return value


def _reject_non_json(reply: Reply, text: str, what: str) -> Rejected:
    if reply.finish_reason == "length":
        return Rejected("truncated", f"the token limit ended the reply after {reply.usage.completion_tokens} tokens")
    if not text.startswith("{") or _has_object_then_more(text):
        return Rejected("prose", "text stands around the JSON object")
    return Rejected("malformed_json", what)


def _has_object_then_more(text: str) -> bool:
    end = find_value_end(text)
    return end is not None and end < len(text)


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
    """Return the attempt in a reply to a request for a whole candidate."""
    raw = read_object(reply)
    if isinstance(raw, Rejected):
        return Attempt(None, rejected=raw)
    return build_attempt(raw)


def build_attempt(raw: dict[str, Any]) -> Attempt:
    """Return the attempt in a candidate's JSON."""
    try:
        mutation = read_program(raw.get("mutation"), Stage.FORWARD, "candidate.mutation")
    except InputError as fault:
        return Attempt(raw, rejected=_classify_unreadable(fault))
    try:
        return Attempt(raw, mutation, read_candidate(raw))
    except InputError as fault:
        return Attempt(raw, mutation, rejected=_classify_unreadable(fault))


def read_repair(reply: Reply, locked: Program) -> Attempt:
    """Return the attempt in a reply to a repair request, with the mutation locked."""
    raw = read_object(reply)
    if isinstance(raw, Rejected):
        return Attempt(None, locked, rejected=raw)
    if "mutation" in raw and not _is_same_mutation(raw["mutation"], locked):
        return Attempt(raw, locked, rejected=Rejected("mutation_changed", "the reply states another mutation"))
    whole = {**raw, "mutation": [op.to_json() for op in locked]}
    missing = [name for name in ("witness", "recovery") if name not in raw]
    if missing:
        return Attempt(raw, locked, rejected=Rejected("wrong_shape", f"no {' and no '.join(missing)}"))
    try:
        return Attempt(raw, locked, read_candidate(whole))
    except InputError as fault:
        return Attempt(raw, locked, rejected=_classify_unreadable(fault))


def make_reason(rejected: Rejected) -> Reason:
    """Return the verifier's reason for a reply that is no candidate."""
    return Reason(_CODES.get(rejected.shortfall, Code.MALFORMED), f"{rejected.shortfall}: {rejected.detail}")


def _classify_unreadable(fault: InputError) -> Rejected:
    """Return `out_of_language` for an unknown operation (or stage), `wrong_shape` for any other error."""
    unknown = isinstance(fault, UnknownOperationError)
    return Rejected("out_of_language" if unknown else "wrong_shape", str(fault))


def _is_same_mutation(stated: Any, locked: Program) -> bool:
    try:
        return digest_program(read_program(stated, Stage.FORWARD, "mutation")) == digest_program(locked)
    except InputError:
        return False
