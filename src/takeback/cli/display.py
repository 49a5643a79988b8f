"""Verdicts, counterexamples and single differences on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from takeback.canonical import write_pretty
from takeback.cli.output import out
from takeback.cli.secrets import learn_secrets, mask_value
from takeback.state import State
from takeback.verify import Code, Counterexample, Grade, Verdict

if TYPE_CHECKING:
    from takeback.present.diffs import Difference, LineRole
    from takeback.verify.trip import Residual

STYLES: Final[dict[LineRole, str]] = {
    "address": "bold",
    "hunk": "cyan",
    "context": "",
    "removed": "red",
    "added": "green",
    "note": "yellow",
}


def show_difference(difference: Difference, indent: str = "") -> None:
    """Print what happened at one address."""
    from takeback.present.diffs import iter_unified_lines  # noqa: PLC0415 - start-up

    for role, text in iter_unified_lines(difference):
        out.print(f"{indent}{text}", style=STYLES[role])


ONE_LINE = 80
OUTSIDE = " (outside the contract)"

_COLOURS = {Grade.PROVED: "green", Grade.SAMPLED: "yellow", Grade.REFUTED: "red", Grade.DECLARED: "red"}
_NEXT = {
    Code.MALFORMED: "Correct the file; `takeback schema` prints what a candidate looks like.",
    Code.LIMIT: "Make the candidate smaller; docs/formats.md lists the limits.",
    Code.OUT_OF_LANGUAGE: "Use a wider `--language`, or a recovery without these operations.",
    Code.MUTATION_CHANGED: "Repair witness, recovery and contract only; the mutation is locked.",
    Code.RECOVERY_EQUIVALENCE_FAILED: "Capture these addresses before the change and restore them.",
    Code.RECOVERY_FAULT: "Every restore needs a capture under its witness key; restore last in, first out.",
    Code.CONTRACT_INCOMPLETE: "Add the omitted addresses to the contract, or leave the contract out.",
    Code.BOUND_TOO_LOW: "Look at the failing state above, or decide by proof: `--rule proof`.",
    Code.UNDECIDED: "Capture what is edited before the change and restore it from that; "
    "`takeback oracle FILE` writes such a recovery.",
    Code.IRREVERSIBLE: "Declare how to compensate the call in takeback.toml, or approve what stays: "
    "`takeback apply FILE --approve DIGEST`.",
    Code.TIMEOUT: "Verify on fewer states, or decide by proof: `--rule proof`.",
}


def show_verdict(verdict: Verdict, name: str, file: str = "") -> None:
    """Print a short verdict, the split table, the failing state, what differs, and what to do next.

    `file` is where the candidate is, where a command can be given that works when copied.
    """
    from takeback.present.titles import format_count  # noqa: PLC0415 - start-up

    word = "admitted" if verdict.admitted else "not admitted"
    grounds = f"({describe_grade(verdict)}, rule {verdict.rule}, language {verdict.language})"
    out.print((f"{name}: {word} ", "bold"), (grounds, _COLOURS[verdict.grade]))
    if verdict.classes is not None and verdict.grade is Grade.PROVED:
        classes = format_count(verdict.classes, "class", "classes")
        out.print(f"  holds on every state of the model ({classes} of states checked)")
    if verdict.splits:
        if verdict.classes is not None:
            out.print("  the sample, which does not decide:")
        _show_splits(verdict)
    if verdict.counterexample is not None:
        _show_counterexample(verdict.counterexample)
    elif verdict.reasons:
        for reason in verdict.reasons:
            out.print(f"  {reason.message}")
    codes = dict.fromkeys(reason.code for reason in verdict.reasons)
    for code in codes:
        out.print(f"  next: {_NEXT[code]}", style="cyan")
    if file and Code.RECOVERY_EQUIVALENCE_FAILED in codes:
        out.print(f"  next, for a recovery that works: takeback oracle {shlex.quote(file)}", style="cyan")


def _show_splits(verdict: Verdict) -> None:
    rows = [
        (f"  {name}", str(split.passed), str(split.of), "" if split.bound is None else f"{split.bound:.4f}")
        for name, split in verdict.splits.items()
    ]
    out.table(("split", "passed", "of", "lower bound"), rows)


def _show_counterexample(example: Counterexample) -> None:
    how = "no part of it can be left out" if example.minimal else "time ran out before it was minimal"
    if example.through:
        how = f"the change succeeds there, and {how}"
    shown = "the given state" if example.split == "given" else f"this state ({how})"
    out.print(f"  breaks on {shown}:")
    learn_secrets(example.state.write())
    out.print(_indent_state(example.state))
    if example.trip.forward_failure:
        out.print(f"  the mutation fails there: {example.trip.forward_failure}")
    if example.trip.failure:
        out.print(f"  recovery fails: {example.trip.failure}")
    for residual in example.trip.residuals:
        _show_residual(residual)
    if example.trip.uncovered:
        omitted = ", ".join(map(str, example.trip.uncovered))
        out.print(f"  the contract omits {omitted}")


def _show_residual(residual: Residual) -> None:
    """Print what recovery did not bring back; long contents as what differs between the expected and the found."""
    from takeback.present.diffs import compare_sheets, make_sheet  # noqa: PLC0415 - start-up

    both = residual.expected_there and residual.found_there
    if not both or max(len(repr(residual.expected)), len(repr(residual.found))) <= ONE_LINE:
        out.print(f"  {residual}")
        return
    out.print(f"  {residual.address}: expected (-) and found (+) differ{'' if residual.covered else OUTSIDE}")
    show_difference(
        compare_sheets(str(residual.address), make_sheet(residual.expected), make_sheet(residual.found)), "    "
    )


def _indent_state(state: State) -> str:
    plain = state.write()
    if not plain:
        return "    {}   (the empty state)"
    return "\n".join("    " + line for line in write_pretty(mask_value(plain)).splitlines())


def describe_grade(verdict: Verdict) -> str:
    """Return the grade of a verdict, with its class beside it where something stays."""
    return with_class(verdict.grade.value, verdict.to_json())


def with_class(grade: str, evidence: Mapping[str, Any]) -> str:
    """Return a grade with the class beside it, by the JSON of a verdict; the grade alone where nothing stays."""
    from takeback.state.surfaces.calls import describe_stays  # noqa: PLC0415 - start-up

    stays = describe_stays(evidence.get("class", ""), evidence.get("stays", ()))
    return f"{grade}, {stays}" if stays else grade
