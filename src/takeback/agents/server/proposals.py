"""Proposals: what an agent sent, read, judged and repaired where it falls short. Nothing is changed here.

A proposal is given as one-line forms, or as operations with or without a recovery. Where none is sent one is written
for it; where the one sent is refuted, the synthesizer looks for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from takeback.errors import InputError
from takeback.language import Candidate, NoInverse, Program, widest_level
from takeback.language.oneline import read_line
from takeback.language.oneline_program import program_of
from takeback.language.program import read_program
from takeback.present.secrets import placeholder_in
from takeback.state import Stage, State
from takeback.synthesize.attempt import attempt_from
from takeback.synthesize.judging import judge_for
from takeback.synthesize.loop import Settings, assess
from takeback.synthesize.method import Method
from takeback.synthesize.oracle import oracle
from takeback.undo.recording import run_recorded
from takeback.verify import Admitted, Verdict

MOST_LINES = 64


@dataclass(frozen=True, slots=True)
class Sent:
    """A change as an agent sent it."""

    lines: Sequence[str] = ()
    mutation: Sequence[dict[str, Any]] = ()
    witness: Sequence[dict[str, Any]] | None = None
    recovery: Sequence[dict[str, Any]] | None = None
    contract: dict[str, Any] | None = None
    note: str = ""

    def demand_sense(self) -> None:
        """Refuse what is empty, says two things at once, or gives back what was masked."""
        if bool(self.lines) == bool(self.mutation):
            found = "both" if self.lines else "neither"
            raise InputError("change", found=found, expected="lines (one-line forms) or mutation (operations)")
        if self.lines and (self.witness or self.recovery):
            raise InputError(
                "change", found="lines and a recovery", expected="lines alone: their recovery is written"
            )
        if len(self.lines) > MOST_LINES:
            raise InputError("lines", found=f"{len(self.lines)} lines", expected=f"at most {MOST_LINES}")
        found_blank = placeholder_in([self.mutation, self.witness, self.recovery, self.contract])
        found_blank = found_blank or next((blank for line in self.lines if (blank := _blank_in(line))), None)
        if found_blank is not None:
            raise InputError(
                "change",
                found=f"{found_blank}, which stands for a value that was not shown",
                expected="a value",
                hint="leave what is masked as it is: change other fields, or other lines around it",
            )

    def to_json(self, mutation: Program) -> dict[str, Any]:
        """The candidate as it was sent, for a person to look at or to force."""
        parts = {"witness": self.witness, "recovery": self.recovery, "contract": self.contract}
        plain: dict[str, Any] = {"mutation": [op.to_json() for op in mutation]}
        return {**plain, **{name: part for name, part in parts.items() if part is not None}}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found out about a proposal: the verdict as it was sent, and what may be applied, if anything."""

    mutation: Program
    verdict: Verdict | None
    """About the candidate as it was sent, or with the recovery that was written; None where none can be written."""
    admitted: Admitted | None
    repaired: bool = False
    lacking: str = ""
    """Why no recovery can be written."""
    sent: dict[str, Any] = field(default_factory=dict)


def judge(sent: Sent, state: State, method: Method) -> Judgement:
    """Decide about a proposal, and repair it where that is possible."""
    sent.demand_sense()
    mutation = _mutation(sent, state)
    plain = sent.to_json(mutation)
    settings = Settings()
    decide = judge_for("proof", widest_level(), state)
    if sent.recovery is None and sent.witness is None:
        written: Candidate | NoInverse = oracle(mutation, nominal=state)
        if isinstance(written, NoInverse):
            return Judgement(mutation, None, None, lacking=str(written), sent=plain)
        verdict = decide(written)
        return Judgement(mutation, verdict, _admitted(written, verdict), sent=plain)
    start = attempt_from({"witness": [], "recovery": [], **plain})
    verdict = assess(start, decide, settings.level)
    if verdict.admitted and start.candidate is not None:
        return Judgement(mutation, verdict, _admitted(start.candidate, verdict), sent=plain)
    done = method(start, decide, settings, state)
    found = None if done.admitted is None else _admitted(done.admitted, done.verdict)
    return Judgement(mutation, verdict, found, repaired=found is not None, sent=plain)


def _admitted(candidate: Candidate, verdict: Verdict) -> Admitted | None:
    return Admitted(candidate, verdict) if verdict.admitted else None


def _mutation(sent: Sent, state: State) -> Program:
    if sent.mutation:
        return read_program(list(sent.mutation), Stage.FORWARD, "mutation")
    program: Program = ()
    for line in sent.lines:
        part = program_of(read_line(line), state)
        program = (*program, *part)
        done = run_recorded(part, state)
        if not done.receipt.succeeded:
            raise InputError("lines", found=f"{line}: {done.receipt.reason}", expected="a change that can be made")
        state = done.state
    return program


def _blank_in(line: str) -> str | None:
    """A placeholder among the values of a one-line form."""
    fields = read_line(line)
    values = (fields.value, fields.old, fields.new, fields.append, fields.before, fields.after)
    return placeholder_in([tuple(value) if isinstance(value, tuple) else value for value in values])
