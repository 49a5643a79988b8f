"""What titles and notes say: on what something was measured, who was asked, and what so few cases cannot show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from takeback_lab.experiment import FEW
from takeback_lab.report.inputs import RunData

PAPER: Final = "gpt-oss-120b"
COHORT: Final = f"197 failures of {PAPER}"
"""What stands behind the paper's figures for the natural failures."""
REPLICATED: Final = "96 failures, Qwen3.8-27B"
"""What stands behind the paper's figures for its replication."""
TASKS: Final = f"600 tasks, {PAPER}"
"""What stands behind the paper's figures for turn 0."""


def titled(what: str, n: int | str, kind: str, data: RunData, *, by: str = ", ") -> str:
    """A title that says what was measured, on how many of what, and who was asked."""
    who = f"{by}{data.model}" if data.model else ""
    return f"{what}: {n} {kind}{who}{imported(data)}"


def plot_title(what: str, n: int | str, kind: str, data: RunData, *, cases: int = FEW) -> str:
    """The same for a plot, which has no note below: with the prompts, and whether `cases` are too few, in lines."""
    prompts = f", prompts {data.prompts}" if data.prompts and asked(data) else ""
    too_few = f"\n{few(cases)}" if few(cases) else ""
    return f"{what}\n{n} {kind}, {data.model}{prompts}{imported(data)}{too_few}"


def imported(data: RunData) -> str:
    """Says so where answers were produced elsewhere and taken in."""
    return f", {data.imported} answers imported" if data.imported else ""


def asked(data: RunData) -> bool:
    """Whether anybody was asked anything, as far as is known: an oracle is not."""
    return data.account is None or data.account.calls > 0


def prompted(data: RunData) -> str:
    """Says with which prompts, where somebody was asked."""
    return f"Prompts {data.prompts}." if data.prompts and asked(data) else ""


def ran(n: int, data: RunData) -> str:
    """How many ran, and of how many that were locked where those are more."""
    return str(n) if data.locked in (None, n) else f"{n} of {data.locked} locked"


def unfinished(ran: int, data: RunData) -> str:
    """Says so where fewer tasks ran than were locked."""
    return "" if data.locked in (None, ran) else f"{ran} of {data.locked} locked tasks ran."


def few(n: int, of: str = "") -> str:
    """Says so where there are too few cases (of what, where that is not all of them) for any contrast."""
    return f"n = {n}{f' {of}' if of else ''}: too few cases for a contrast." if n < FEW else ""


def few_parts(parts: Mapping[str, int]) -> str:
    """The same for parts by name; one that has no case at all is not there."""
    small = [f"{name} has n = {n}" for name, n in parts.items() if 0 < n < FEW]
    return f"{', '.join(small)}: too few cases for a contrast." if small else ""


def note(*parts: str) -> str:
    """The parts that say something, as one note."""
    return " ".join(part for part in parts if part)
