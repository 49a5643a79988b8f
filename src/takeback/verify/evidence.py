"""Which verdicts are evidence: those that a verifier of this process issued, unaltered, about this very candidate.

Anybody can construct a `Verdict`, change a copy of one, or read one back from JSON. Verifiers enter what they
decide in a register that knows each verdict by identity and remembers its content and its candidate;
`why_not_evidence` asks that register. Classes are final and their data plain, so that nothing verified is
another thing when it is written; what a candidate is made of is compared by identity all the same. An
`Admitted` is a candidate with its evidence: it cannot be made from a pair for which `why_not_evidence` gives
a reason, and it holds the very object that was verified, not one that only prints alike.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, fields
from operator import attrgetter, is_
from typing import NamedTuple, final

from takeback.errors import EvidenceError
from takeback.language import Candidate
from takeback.state import Level, Operation
from takeback.verify.rules import RULE_NAMES, RULES, THRESHOLD
from takeback.verify.verdict import Verdict

_Said = tuple[object, ...]
_FIELDS = attrgetter(*(field.name for field in fields(Verdict)))
_OPERATION = attrgetter(*(field.name for field in fields(Operation)))


class _Issued(NamedTuple):
    """What the register holds of a verdict, as long as anybody holds the verdict."""

    verdict: weakref.ref[Verdict]
    said: _Said
    candidate: Candidate
    held: _Said
    """What the candidate is made of, by identity: none of it may be another object later."""


_issued: dict[int, _Issued] = {}


def register_verdict(verdict: Verdict, candidate: Candidate) -> Verdict:
    """Enter a verdict in the register; only verifiers call this, on what they have just decided."""
    number = id(verdict)
    held = weakref.ref(verdict, lambda _: _issued.pop(number, None))
    _issued[number] = _Issued(held, _list_statements(verdict), candidate, _list_contents(candidate))
    return verdict


def _list_statements(verdict: Verdict) -> _Said:
    """Return everything a verdict states; its splits one by one, because the mapping that holds them can change."""
    return (*_FIELDS(verdict), *verdict.splits.items())


def _list_contents(candidate: Candidate) -> _Said:
    programs = (candidate.mutation, candidate.witness, candidate.recovery)
    contract = candidate.contract
    inside = (part for program in programs for op in program for part in (op, *_OPERATION(op)))
    return (*programs, contract, contract.surfaces, contract.addresses, *inside)


def _is_altered(held: _Issued) -> bool:
    """Tell whether a verified candidate no longer holds the very objects that it held."""
    now = _list_contents(held.candidate)
    return len(now) != len(held.held) or not all(map(is_, now, held.held))


def why_unbound(verdict: object, candidate: Candidate) -> str | None:
    """Return why a verdict says nothing that can be relied on about `candidate`, for or against it; None: it does."""
    if type(verdict) is not Verdict:
        return f"a {type(verdict).__name__} is no verdict: what was read from JSON is a report, not evidence"
    held = _issued.get(id(verdict))
    if held is None or held.verdict() is not verdict:
        return "the verdict was not issued by a verifier of this process (made by hand, copied, or changed)"
    if held.said != _list_statements(verdict):
        return "the verdict was altered after it was issued"
    if type(candidate) is not Candidate or verdict.candidate_digest != candidate.digest():
        return f"the verdict is about another candidate ({(verdict.candidate_digest or 'an unreadable one')[:12]})"
    if _is_altered(held):
        return "the candidate was altered after it was verified"
    return None


def why_not_evidence(
    verdict: object, candidate: Candidate, *, rule: str | None = None, level: Level | None = None
) -> str | None:
    """Return why a verdict is no evidence that `candidate` may be admitted; None: it is.

    A sample counts for its rule only if it was held to all that the rule demands. With `rule` it must have been
    decided by that rule, with `level` in that language or a smaller one.
    """
    why = why_unbound(verdict, candidate)
    if why is not None or type(verdict) is not Verdict:
        return why
    return why_not_admitting(verdict, rule=rule, level=level)


def why_not_admitting(verdict: Verdict, *, rule: str | None = None, level: Level | None = None) -> str | None:
    """Return why a verdict that is about the candidate does not admit it; None: it does."""
    if not verdict.admitted:
        return "the verdict does not admit the candidate"
    if verdict.rule not in RULE_NAMES:
        return f"the rule {verdict.rule!r} admits nothing into a harness"
    if rule is not None and (type(rule) is not str or verdict.rule != rule):
        return f"the verdict was decided by {verdict.rule!r}, not by {rule!r}"
    less = _why_less_than_rule(verdict)
    if less is not None:
        return less
    if level is not None and not (type(level) is Level and level.includes(Level(verdict.language))):
        return f"the verdict is about the language {verdict.language}, not {level}"
    return None


def _why_less_than_rule(verdict: Verdict) -> str | None:
    """Return why a sample was smaller, or held to less, than its rule demands; None: it was not."""
    rule = RULES.get(verdict.rule)
    if rule is None:
        return None
    if verdict.threshold is None or verdict.threshold < THRESHOLD:
        return f"the verdict was held to {verdict.threshold}, and the rule {rule.name!r} demands {THRESHOLD}"
    for name, wanted in (("dev", rule.dev), ("iid", rule.iid), ("ood", rule.ood)):
        of = verdict.splits[name].of
        if of < wanted:
            return f"the verdict rests on {of} of the {wanted} {name} states that the rule {rule.name!r} demands"
    return None


def get_verified_candidate(verdict: Verdict) -> Candidate:
    """Return the candidate that an issued verdict is about: the very object the verifier ran."""
    return _issued[id(verdict)].candidate


@final
@dataclass(frozen=True, slots=True)
class Admitted:
    """A candidate and the verdict that admits it.

    Making one from a pair that does not match raises `EvidenceError`. `candidate` is the object the verifier ran.
    """

    candidate: Candidate
    verdict: Verdict

    def __init_subclass__(cls) -> None:
        raise TypeError("Admitted is final: what was verified must be what is applied")

    def __post_init__(self) -> None:
        why = why_not_evidence(self.verdict, self.candidate)
        if why is not None:
            raise EvidenceError(f"this is no admitted candidate: {why}", hint="verify the candidate itself")
        object.__setattr__(self, "candidate", get_verified_candidate(self.verdict))
