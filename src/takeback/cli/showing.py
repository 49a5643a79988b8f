"""Verdicts, states and trips as people read them."""

from __future__ import annotations

import json

from rich.table import Table
from rich.text import Text

from takeback.cli.output import out
from takeback.state import State
from takeback.verify import Code, Counterexample, Grade, Verdict

_COLOURS = {Grade.PROVED: "green", Grade.SAMPLED: "yellow", Grade.REFUTED: "red", Grade.DECLARED: "red"}
_NEXT = {
    Code.MALFORMED: "Correct the file; `takeback schema` prints what a candidate looks like.",
    Code.LIMIT: "Make the candidate smaller; docs/formats.md lists the limits.",
    Code.OUT_OF_LANGUAGE: "Use `--language L1`, or a recovery without these operations.",
    Code.MUTATION_CHANGED: "Repair witness, recovery and contract only; the mutation is locked.",
    Code.RECOVERY_EQUIVALENCE_FAILED: "Capture these addresses before the change and restore them; "
    "`takeback oracle FILE` writes a recovery that does.",
    Code.RECOVERY_FAULT: "Every restore needs a capture under its witness key; restore last in, first out.",
    Code.CONTRACT_INCOMPLETE: "Add the omitted addresses to the contract, or leave the contract out.",
    Code.BOUND_TOO_LOW: "Look at the failing state above, or decide by proof: `--rule proof`.",
    Code.TIMEOUT: "Verify on fewer states, or decide by proof: `--rule proof`.",
}


def show_verdict(verdict: Verdict, name: str) -> None:
    """Print a short verdict, the split table, the failing state, what differs, and what to do next."""
    word = "admitted" if verdict.admitted else "not admitted"
    headline = Text(f"{name}: {word} ", style="bold")
    headline.append(f"({verdict.grade.value}", style=_COLOURS[verdict.grade])
    headline.append(f", rule {verdict.rule}, language {verdict.language})", style=_COLOURS[verdict.grade])
    out.print(headline)
    if verdict.classes is not None and verdict.grade is Grade.PROVED:
        out.print(f"  holds on every state of the model ({verdict.classes} classes of states looked at)")
    if verdict.splits:
        if verdict.classes is not None:
            out.print("  the sample beside it, which does not decide:")
        _show_splits(verdict)
    if verdict.counterexample is not None:
        show_counterexample(verdict.counterexample)
    elif verdict.reasons:
        for reason in verdict.reasons:
            out.print(f"  {reason.message}", markup=False)
    codes = dict.fromkeys(reason.code for reason in verdict.reasons)
    for code in codes:
        out.print(f"  next: {_NEXT[code]}", style="cyan", markup=False)


def _show_splits(verdict: Verdict) -> None:
    table = Table("split", "passed", "of", "lower bound", box=None, pad_edge=False)
    for name, split in verdict.splits.items():
        bound = "" if split.bound is None else f"{split.bound:.4f}"
        table.add_row(f"  {name}", str(split.passed), str(split.of), bound)
    out.print(table)


def show_counterexample(example: Counterexample) -> None:
    """Print the smallest state that breaks a candidate, and how."""
    how = "nothing in it can be left out" if example.minimal else "time ran out before it was as small as it gets"
    shown = "the given state" if example.split == "given" else f"this state ({how})"
    out.print(f"  breaks on {shown}:")
    out.print(_indented(example.state), markup=False)
    if example.trip.forward_failure:
        out.print(f"  the mutation fails there: {example.trip.forward_failure}", markup=False)
    if example.trip.failure:
        out.print(f"  recovery fails: {example.trip.failure}", markup=False)
    for residual in example.trip.residuals:
        out.print(f"  {residual}", markup=False)
    if example.trip.uncovered:
        omitted = ", ".join(map(str, example.trip.uncovered))
        out.print(f"  the contract omits {omitted}", markup=False)


def _indented(state: State) -> str:
    plain = state.write()
    if not plain:
        return "    {}   (the empty state)"
    return "\n".join("    " + line for line in json.dumps(plain, ensure_ascii=False, indent=2).splitlines())
