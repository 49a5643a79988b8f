"""Which calls a harness may make, and on whose word: what its manifest declares, and never an agent.

The class of a change is the worst of its calls. A compensable one is admitted by proof and by the manifest's rule; an
irreversible one is never proved, at most one is in a change, and each needs an approval that names the candidate's
digest, who, when, and what stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from takeback.errors import InputError
from takeback.harness.outcomes import RefusalReason, Refused
from takeback.state.surfaces.calls import CallFacts, EffectClass, classify_named, describe_stays

if TYPE_CHECKING:
    from takeback.language import Candidate
    from takeback.verify import Verdict

AdmitRule = Literal["ask", "yes", "no"]
TIMEOUT: Final = 30.0
SHORTEST_DIGEST: Final = 8
"""How much of a digest an approval must name at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCall:
    """One `[calls.NAME]`: argument vectors, started without a shell, with the arguments as JSON on standard input."""

    run: tuple[str, ...]
    compensate: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    repeats: bool = False
    """Whether the service keeps keys, so that the same call under the same key is made once."""
    says: str = ""
    """What compensating it does, in words."""
    stays: str = "made"
    """What it stays, whatever is done, such as `sent`."""
    env: tuple[str, ...] = ()
    """The only variables of the environment that it is given beside the usual ones."""
    timeout: float = TIMEOUT
    irreversible: bool = False
    """Whether it counts as irreversible although it can be answered; a hint can raise a class, and never lower it."""

    @property
    def facts(self) -> CallFacts:
        """What the verifier knows of it."""
        answered = bool(self.compensate) and not self.irreversible
        return CallFacts(answered, self.says or "another call already answers it", self.stays)


@dataclass(frozen=True, slots=True)
class CallRules:
    """What a trusted manifest says of calls: which there are, when they are admitted, and whom to tell."""

    root: Path
    declared: Mapping[str, DeclaredCall] = field(default_factory=dict)
    compensable: AdmitRule = "ask"
    tell: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, CallFacts]:
        """What is known of each call, beside how it is made."""
        return {name: call.facts for name, call in self.declared.items()}

    def is_irreversible(self, name: str) -> bool:
        """Tell whether nothing answers a call."""
        return not self.facts.get(name, CallFacts(compensable=False)).compensable


@dataclass(frozen=True, slots=True)
class CallApproval:
    """A person's word that a change may be made although something of it stays."""

    digest: str
    """The candidate's digest, or its beginning."""
    by: str


def raise_class(call: DeclaredCall, hints: Mapping[str, Any]) -> DeclaredCall:
    """Return a call with what an MCP tool's hints say of it: they can raise its class, and never lower it.

    A tool that says it only reads, or destroys nothing, is believed in nothing.
    """
    from dataclasses import replace  # noqa: PLC0415 - hardly ever

    destructive = hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True
    return replace(call, irreversible=call.irreversible or destructive)


def name_calls(candidate: Candidate) -> list[str]:
    """Return the calls that a candidate makes, by name, in order."""
    return [op.value["call"] for op in candidate.mutation if op.kind.name == "make_call"]


def why_approval_unfit(approval: CallApproval | None, candidate: Candidate) -> str:
    """Return why an approval does not admit a candidate; empty if it does."""
    digest = candidate.digest()
    if approval is None:
        return f"it needs an approval: --approve {digest[:12]}"
    if len(approval.digest) < SHORTEST_DIGEST or not digest.startswith(approval.digest):
        return f"the approval is of {approval.digest[:12]!r}, and this candidate is {digest[:12]}"
    return "" if approval.by else "the approval names nobody: --by WHO"


def refuse_calls(
    rules: CallRules | None, candidate: Candidate, verdict: Verdict, approval: CallApproval | None
) -> Refused | None:
    """Return why a change with calls may not be made; None if it may be, or makes none."""
    names = name_calls(candidate)
    if not names:
        return None
    if rules is None:
        return Refused(RefusalReason.UNSTORED, "the manifest of this harness declares no calls", verdict)
    unknown = sorted({name for name in names if name not in rules.declared})
    if unknown:
        known = ", ".join(sorted(rules.declared))
        return Refused(
            RefusalReason.UNSTORED, f"the manifest declares no call {', '.join(unknown)}, only {known}", verdict
        )
    kind, stays = classify_named(names, rules.facts)
    if sum(map(rules.is_irreversible, names)) > 1:
        return Refused(
            RefusalReason.CALLS,
            "it makes more than one irreversible call; make them one by one, each as its own change",
            verdict,
        )
    if kind is EffectClass.IRREVERSIBLE or rules.compensable == "ask":
        why = why_approval_unfit(approval, candidate)
        reason = describe_stays(kind, stays)
        return Refused(RefusalReason.CALLS, f"{reason}; {why}", verdict) if why else None
    if rules.compensable == "no":
        return Refused(
            RefusalReason.CALLS, 'the manifest admits no compensable change ([admit] compensable = "no")', verdict
        )
    return None


def is_approved_irreversible(rules: CallRules | None, candidate: Candidate, approval: CallApproval | None) -> bool:
    """Tell whether a change that cannot be proved, because nothing answers one of its calls, was approved."""
    if rules is None or approval is None or not any(map(rules.is_irreversible, name_calls(candidate))):
        return False
    return not why_approval_unfit(approval, candidate)


def write_approval(
    rules: CallRules | None, candidate: Candidate, approval: CallApproval | None
) -> dict[str, dict[str, Any]]:
    """Return what an entry says of its approval: digest, who, when, and what stays."""
    names = name_calls(candidate)
    if approval is None or rules is None or not names:
        return {}
    _, stays = classify_named(names, rules.facts)
    return {"approval": build_approval(candidate, approval, stays)}


def build_approval(candidate: Candidate, approval: CallApproval, stays: Iterable[Any]) -> dict[str, Any]:
    """Return what an entry says of an approval: digest, who, when, and what stays."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return {"digest": candidate.digest(), "by": approval.by, "at": at, "stays": list(stays)}


def read_approval(digest: str, by: str) -> CallApproval | None:
    """Return the approval that a command line gives; None if it gives none."""
    if not digest:
        return None
    if len(digest) < SHORTEST_DIGEST:
        raise InputError("--approve", found=digest, expected=f"at least {SHORTEST_DIGEST} digits of the digest")
    return CallApproval(digest, by)
