"""What titles and notes say: on what something was measured, who was asked, and what so few cases cannot show."""

from __future__ import annotations

from typing import Final

from takeback.lab.experiment import FEW
from takeback.lab.report.inputs import RunData

PAPER: Final = "gpt-oss-120b"
COHORT: Final = f"published: 197 failures of {PAPER}"
"""What stands behind the paper's figures for the natural failures."""


def titled(what: str, n: int, kind: str, data: RunData) -> str:
    """A title that says what was measured, on how many of what, and who was asked."""
    asked = f", {data.model}" if data.model else ""
    return f"{what}: {n} {kind}{asked}"


def unfinished(ran: int, data: RunData) -> str:
    """Says so where fewer tasks ran than were locked."""
    return "" if data.locked in (None, ran) else f"{ran} of {data.locked} locked tasks ran."


def few(n: int) -> str:
    """Says so where there are too few cases for any contrast."""
    return f"n = {n}: no contrast can come out of so few." if n < FEW else ""


def note(*parts: str) -> str:
    """The parts that say something, as one note."""
    return " ".join(part for part in parts if part)
