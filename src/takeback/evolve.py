"""The loop: propose → verify → diagnose → repair → admit → record → apply.

An agent proposes a change of its own harness. Where the proposal comes with a recovery that is admitted, that
is used; otherwise the synthesizer diagnoses and repairs, with the mutation locked. Only what is admitted is
recorded in the journal, ahead of the change, and made. Nothing here is forced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from takeback.harness import Applied, Harness, Refused
from takeback.language import Program
from takeback.state import State
from takeback.synthesize.attempt import Attempt
from takeback.synthesize.loop import Judge, Repair, Settings
from takeback.synthesize.method import Method
from takeback.verify import Verdict, verify

Propose = Callable[[State], Attempt]
"""Proposes a change for a harness in this state, with or without a recovery."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """How one turn of the loop went, step by step; what was not reached is None."""

    proposal: Attempt
    verdict: Verdict | None
    """On the proposal as it came."""
    repair: Repair | None
    """How the recovery was found, where the proposal had none that is admitted."""
    result: Applied | Refused | None
    """What the harness did with the admitted candidate."""

    @property
    def applied(self) -> bool:
        """Whether the harness has changed."""
        return isinstance(self.result, Applied)

    def to_json(self) -> dict[str, Any]:
        """The turn as JSON."""
        return {
            "applied": self.applied,
            "proposal": self.proposal.raw,
            "shortfall": self.proposal.rejected.shortfall if self.proposal.rejected else None,
            "verdict": self.verdict.to_json() if self.verdict else None,
            "repair": self.repair.to_json() if self.repair else None,
            "entry": self.result.entry.id if isinstance(self.result, Applied) else None,
            "refused": self.result.message if isinstance(self.result, Refused) else None,
        }


def evolve(
    harness: Harness,
    propose: Propose,
    method: Method,
    *,
    judge: Judge = verify,
    settings: Settings | None = None,
    note: str = "",
) -> Evolution:
    """Let an agent change its harness once, if the change can be taken back."""
    state = harness.state
    proposal = propose(state)
    verdict = judge(proposal.candidate) if proposal.candidate is not None else None
    if verdict is not None and verdict.admitted and proposal.candidate is not None:
        return Evolution(proposal, verdict, None, harness.apply(proposal.candidate, evidence=verdict, note=note))
    if proposal.mutation is None:
        return Evolution(proposal, verdict, None, None)
    repair = method(proposal, judge, settings or Settings(), state)
    if repair.admitted is None:
        return Evolution(proposal, verdict, repair, None)
    result = harness.apply(repair.admitted, evidence=repair.verdict, note=note)
    return Evolution(proposal, verdict, repair, result)


def propose_mutation(mutation: Program) -> Propose:
    """A proposer that always proposes this change, without a recovery."""
    raw = {"mutation": [op.to_json() for op in mutation]}
    return lambda _: Attempt(raw, mutation)
