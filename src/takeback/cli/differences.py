"""One difference on the terminal: a unified diff in colour."""

from __future__ import annotations

from typing import Final

from takeback.cli.output import out
from takeback.present.diffs import Difference, LineRole, unified

STYLES: Final[dict[LineRole, str]] = {
    "address": "bold",
    "hunk": "cyan",
    "context": "",
    "removed": "red",
    "added": "green",
    "note": "yellow",
}


def show_difference(found: Difference, indent: str = "") -> None:
    """Print what happened at one address."""
    for role, text in unified(found):
        out.print(f"{indent}{text}", style=STYLES[role])
