"""States on which a mutation cannot run: a verifier counts them as passed, an experiment can count them apart.

Such a state is as it was and needs no recovery, so it says nothing about one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from takeback.errors import InputError
from takeback.language import Candidate
from takeback.repair.loop import Judge
from takeback.verify import RULES, THRESHOLD, Code, Reason, Verdict
from takeback.verify.rules import DEV
from takeback_lab.experiment import Option

Counting = Literal["apart", "passed"]
APART: Final[Counting] = "apart"
PASSED: Final[Counting] = "passed"
PAIR: Final = 2
"""How long counts are without the states that were set apart."""
CANNOT_RUN: Final = Option(
    "cannot-run", "text", "How states count on which the mutation cannot run: apart (default) or passed."
)


def read_counting(text: str) -> Counting:
    """How such states count, as an option says it."""
    if text == APART:
        return APART
    if text == PASSED:
        return PASSED
    raise InputError("--cannot-run", found=text, expected="apart or passed")


def set_apart(verdict: Verdict) -> tuple[Verdict, dict[str, int]]:
    """The verdict on the states that the mutation ran on, and how many of each split it did not run on."""
    splits, idle = {}, {}
    for name, split in verdict.splits.items():
        ran = tuple(trip for trip in split.trips if not (trip.forward_failure and trip.passed))
        splits[name], idle[name] = replace(split, trips=ran), len(split.trips) - len(ran)
    rule = {**RULES, DEV.name: DEV}.get(verdict.rule)
    if rule is None or not any(idle.values()):
        return verdict, idle
    counts = {name: (split.passed, split.of) for name, split in splits.items()}
    decision = rule.decide(counts, verdict.threshold or THRESHOLD)
    splits = {name: replace(split, bound=decision.bounds.get(name)) for name, split in splits.items()}
    short = list(decision.shortfalls)
    if not splits["dev"].of:
        short.append("dev: the mutation runs on no state")
    if verdict.admitted and short:
        reasons = tuple(Reason(Code.BOUND_TOO_LOW, text) for text in short)
        return replace(verdict, admitted=False, reasons=reasons, splits=splits), idle
    return replace(verdict, splits=splits), idle


def count_states(verdict: Verdict, idle: Mapping[str, int] | None = None) -> dict[str, list[int]] | None:
    """How many states of each split passed, of how many, and how many were set apart; None where nothing ran."""
    if not verdict.splits:
        return None
    counts = {name: [split.passed, split.of] for name, split in verdict.splits.items()}
    return counts if idle is None else {name: [*both, idle.get(name, 0)] for name, both in counts.items()}


@dataclass
class CountingJudge:
    """A judge that counts as an experiment does, and remembers how many states it set apart for each candidate."""

    inner: Judge
    counting: Counting
    idle: dict[str, dict[str, int]] = field(default_factory=dict)

    def judge(self, candidate: Candidate) -> Verdict:
        """The verdict, under the way of counting."""
        verdict = self.inner(candidate)
        if self.counting == PASSED:
            return verdict
        found, idle = set_apart(verdict)
        self.idle[found.candidate_digest or ""] = idle
        return found

    def count(self, verdict: Verdict) -> dict[str, list[int]] | None:
        """The states of each split: passed, of how many, and where they are counted apart how many were."""
        idle = None if self.counting == PASSED else self.idle.get(verdict.candidate_digest or "", {})
        return count_states(verdict, idle)


def tell_apart(counts: Iterable[Mapping[str, Any] | None], how: str) -> dict[str, Any]:
    """How many states were set apart, of how many that candidates were run on, and how they count."""
    rows = [row for some in counts if some is not None for row in some.values()]
    idle = sum(row[2] for row in rows if len(row) > PAIR)
    return {"cannot_run": idle, "states": sum(row[1] for row in rows) + idle, "cannot_run_counts": how}


def apart_line(summary: Mapping[str, Any]) -> str:
    """The same in one line; where they count as passed, nobody counted them."""
    if summary["cannot_run_counts"] == PASSED:
        return "states on which the mutation cannot run count as passed"
    return f"on {summary['cannot_run']} of {summary['states']} states the mutation cannot run; they count apart"
