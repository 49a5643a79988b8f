"""The loop: propose → verify → diagnose → repair → check → admit → record → apply.

An agent proposes a change of its own harness. Where the proposal comes with a recovery that is admitted, that
is used; otherwise the synthesizer diagnoses and repairs, with the mutation locked. A check, where there is one, says
whether the change is good. Only what is admitted is recorded in the journal, ahead of the change, and made, with both
answers. Nothing here is forced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from takeback.errors import WrongTypeError
from takeback.harness import Applied, Harness, RefusalReason, Refused
from takeback.harness.apply import is_idle
from takeback.language import Candidate, Program, read_candidate
from takeback.language.program import PROGRAMS, MutationLike, read_mutation
from takeback.present.entries import describe_check
from takeback.repair.attempt import Attempt
from takeback.repair.loop import Judge, Repair, Settings, repair_with_oracle
from takeback.repair.synthesizer import Method
from takeback.state import State
from takeback.verify import Verdict, verify

Propose = Callable[[State], Attempt]
"""Proposes a change for a harness in this state, with or without a recovery."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check of a change that is not made yet."""

    passed: bool
    command: str
    """What was run."""
    code: int | None = None
    """Its exit code; None if there is none."""
    seconds: float = 0.0
    why: str = ""
    """Why there is no exit code."""
    output: str = ""
    """The end of what it printed; not recorded."""

    @property
    def words(self) -> str:
        """The answer on one line."""
        return describe_check(self.to_entry_payload())

    def to_entry_payload(self) -> dict[str, Any]:
        """Return the answer as an entry carries it."""
        payload = {"passed": self.passed, "command": self.command, "exit": self.code, "seconds": self.seconds}
        return payload | ({"why": self.why} if self.why else {})

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON, with what was printed."""
        return {**self.to_entry_payload(), "output": self.output}

    def __repr__(self) -> str:
        return f"Checked({'passed' if self.passed else 'failed'}, exit {self.code})"


class Recoverable(NamedTuple):
    """A change with a recovery that is admitted, and the verdict."""

    candidate: Candidate
    verdict: Verdict


ChangeCheck = Callable[[Recoverable], Checked]
"""Decides whether a change that can be taken back is good, without making it."""


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
    check: Checked | None = None
    """Whether it is good, where a check was asked for."""
    unchanged: bool = False
    """Whether everything is so already: nothing was done then, and no entry was made."""

    @property
    def applied(self) -> bool:
        """Whether the harness has changed."""
        return isinstance(self.result, Applied)

    def __bool__(self) -> bool:
        return self.applied

    @property
    def recoverable(self) -> Recoverable | None:
        """The change with a recovery that is admitted, as proposed or repaired; None if there is none."""
        if self.repair is not None and self.repair.admitted is not None:
            return Recoverable(self.repair.admitted, self.repair.verdict)
        if self.verdict is not None and self.verdict.admitted and self.proposal.candidate is not None:
            return Recoverable(self.proposal.candidate, self.verdict)
        return None

    @property
    def good(self) -> Recoverable | None:
        """The change that may be made: it can be taken back, and no check is against it."""
        return self.recoverable if self.check is None or self.check.passed else None

    def to_json(self) -> dict[str, Any]:
        """Return the turn as JSON."""
        recoverable, rejected = self.recoverable, self.proposal.rejected
        return {
            "applied": self.applied,
            "unchanged": self.unchanged,
            "proposal": self.proposal.raw,
            "shortfall": rejected.shortfall if rejected else None,
            "detail": rejected.detail if rejected else None,
            "verdict": self.verdict.to_json() if self.verdict else None,
            "repair": self.repair.to_json() if self.repair else None,
            "candidate": recoverable.candidate.to_json() if recoverable else None,
            "check": self.check.to_json() if self.check else None,
            "entry": self.result.entry.id if isinstance(self.result, Applied) else None,
            "refused": self.result.message if isinstance(self.result, Refused) else None,
        }

    def __repr__(self) -> str:
        return f"Evolution({self.proposal!r}, {'nothing made' if self.result is None else self.result!r})"


def consider_change(
    harness: Harness,
    propose: Propose,
    method: Method = repair_with_oracle,
    *,
    judge: Judge = verify,
    settings: Settings | None = None,
    check: ChangeCheck | None = None,
) -> Evolution:
    """Have a change proposed, judged, repaired and checked. Nothing is changed."""
    state = harness.state
    proposal = propose(state)
    verdict = judge(proposal.candidate) if proposal.candidate is not None else None
    evolution = Evolution(proposal, verdict, None, None)
    if evolution.recoverable is None and proposal.mutation is not None:
        evolution = replace(evolution, repair=method(proposal, judge, settings or Settings(), state))
    admitted = evolution.recoverable
    return evolution if check is None or admitted is None else replace(evolution, check=check(admitted))


def evolve(
    harness: Harness,
    propose: Propose | MutationLike,
    method: Method = repair_with_oracle,
    *,
    judge: Judge = verify,
    settings: Settings | None = None,
    check: ChangeCheck | None = None,
    note: str = "",
    by: str = "",
) -> Evolution:
    """Let an agent change its harness once, if the change can be taken back and no `check` is against it.

    `propose` may be a change (a list of operations, a candidate or its JSON object), a function that makes one for a
    state, or `propose_text(harness, text, model)` for a wish in plain words; `check` may be
    `check_on_copy(directory, command)`.
    """
    if not isinstance(harness, Harness):
        raise WrongTypeError("harness", harness, expected="a Harness", hint="open_workspace(path) opens one")
    head = harness.ledger.head
    propose = propose if callable(propose) else propose_change(propose)
    evolution = consider_change(harness, propose, method, judge=judge, settings=settings, check=check)
    return carry_out(harness, evolution, head=head, note=note, by=by)


def carry_out(harness: Harness, evolution: Evolution, *, head: str, note: str = "", by: str = "") -> Evolution:
    """Make a change that was considered, if it may be made; `head` is the journal's head from before."""
    admitted = evolution.good
    if admitted is None:
        return evolution
    if is_idle(admitted.candidate.mutation, harness.state):
        preview = harness.preview(admitted.candidate, evidence=admitted.verdict)
        return (
            replace(evolution, result=preview) if isinstance(preview, Refused) else replace(evolution, unchanged=True)
        )
    if evolution.check is None:
        made = harness.apply(admitted.candidate, evidence=admitted.verdict, note=note, by=by)
        return replace(evolution, result=made)
    with harness.held() as state:
        if isinstance(state, Refused):
            return replace(evolution, result=state)
        if harness.ledger.head != head:
            message = "the harness changed while the change was checked; nothing was changed, ask again"
            return replace(evolution, result=Refused(RefusalReason.STATE, message, admitted.verdict))
        checked = evolution.check.to_entry_payload()
        made = harness.apply(admitted.candidate, evidence=admitted.verdict, note=note, by=by, check=checked)
        return replace(evolution, result=made)


def propose_change(change: MutationLike) -> Propose:
    """Return a proposer that always proposes this change, with the recovery it comes with."""
    if isinstance(change, str):
        hint = "propose_text(harness, text, model) proposes a wish in plain words"
        raise WrongTypeError("propose", change, expected="a change, or a function that proposes one", hint=hint)
    if isinstance(change, Candidate):
        attempt = Attempt(change.to_json(), change.mutation, change)
        return lambda _: attempt
    if isinstance(change, Mapping) and not PROGRAMS.keys().isdisjoint(change.keys() - {"mutation"}):
        candidate = read_candidate(dict(change), "propose")
        return propose_change(candidate)
    return propose_mutation(read_mutation(change, "propose"))


def propose_mutation(mutation: Program) -> Propose:
    """Return a proposer that always proposes this change, without a recovery."""
    raw = {"mutation": [op.to_json() for op in mutation]}
    return lambda _: Attempt(raw, mutation)
