"""Joint search: several forward proposals, each with its recovery, and the best that can be taken back.

A more reversible mutation of equal capability can win. What the search would have picked without asking for
recoverability is reported beside it, so that the price of the constraint is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from takeback.errors import InputError
from takeback.language import Candidate, Program
from takeback.repair.attempt import Attempt, read_proposal
from takeback.repair.loop import Judge, Repair
from takeback.repair.models import Account, ChatModel, Request
from takeback.verify import Verdict

MAX_PROPOSALS: Final = 64
Score = Callable[[Program], Fraction]
"""How much a mutation improves the harness; nothing below or at zero is worth having."""
Mend = Callable[[Attempt], Repair]
"""Finds a recovery for a proposal that came without a good one."""
Ask = Callable[[int], Request]
"""The request for the proposal of a given number."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposal: how much it improves, whether it can be taken back as proposed, and after repair."""

    number: int
    attempt: Attempt
    gain: Fraction
    verdict: Verdict | None
    mended: Repair | None = None

    @property
    def candidate(self) -> Candidate | None:
        """The admitted candidate, as proposed or mended."""
        if self.verdict is not None and self.verdict.admitted:
            return self.attempt.candidate
        return self.mended.admitted if self.mended is not None else None

    def to_json(self) -> dict[str, Any]:
        """The proposal as JSON."""
        candidate = self.candidate
        return {
            "number": self.number,
            "gain": str(self.gain),
            "admitted": candidate is not None,
            "as_proposed": self.verdict is not None and self.verdict.admitted,
            "shortfall": self.attempt.rejected.shortfall if self.attempt.rejected is not None else None,
            "candidate": candidate.to_json() if candidate is not None else self.attempt.raw,
        }


@dataclass(frozen=True, slots=True)
class Joint:
    """The best proposal that can be taken back (`chosen`), and the best regardless (`unconstrained`)."""

    proposals: tuple[Proposal, ...]
    chosen: Proposal | None
    unconstrained: Proposal | None
    account: Account

    def to_json(self) -> dict[str, Any]:
        """The search as JSON; `price` is the capability given up for recoverability."""
        price = self.unconstrained.gain - self.chosen.gain if self.chosen and self.unconstrained else None
        return {
            "proposals": [proposal.to_json() for proposal in self.proposals],
            "chosen": self.chosen.number if self.chosen else None,
            "unconstrained": self.unconstrained.number if self.unconstrained else None,
            "price": None if price is None else str(price),
            "account": self.account.to_json(),
        }


def joint(ask: Ask, count: int, model: ChatModel, judge: Judge, score: Score, mend: Mend | None = None) -> Joint:
    """Ask for `count` proposals and choose; ties go to one admitted as proposed, then to the earlier."""
    if not 1 <= count <= MAX_PROPOSALS:
        raise InputError("--joint", found=count, expected=f"a number of proposals from 1 to {MAX_PROPOSALS}")
    account = Account()
    proposals = []
    for number in range(count):
        reply = model.complete(ask(number))
        account = account.plus(reply)
        proposals.append(_weigh(number, read_proposal(reply), judge, score, mend))
    for proposal in proposals:
        if proposal.mended is not None:
            account = account.add(proposal.mended.account)
    gainful = [proposal for proposal in proposals if proposal.gain > 0]
    admissible = [proposal for proposal in gainful if proposal.candidate is not None]
    return Joint(tuple(proposals), _best(admissible), _best(gainful), account)


def _weigh(number: int, attempt: Attempt, judge: Judge, score: Score, mend: Mend | None) -> Proposal:
    if attempt.mutation is None:
        return Proposal(number, attempt, Fraction(0), None)
    gain = score(attempt.mutation)
    verdict = judge(attempt.candidate) if attempt.candidate is not None else None
    good = verdict is not None and verdict.admitted
    mended = mend(attempt) if mend is not None and gain > 0 and not good else None
    return Proposal(number, attempt, gain, verdict, mended)


def _best(proposals: list[Proposal]) -> Proposal | None:
    def rank(proposal: Proposal) -> tuple[Fraction, bool, int]:
        return proposal.gain, proposal.mended is None, -proposal.number

    return max(proposals, key=rank, default=None)
