"""The order of families in tables and plots."""

from __future__ import annotations

from collections.abc import Sequence

from takeback_lab.report import published


def families_of(names: Sequence[str]) -> list[str]:
    """Families in the paper's order, others after them as they come."""
    known = [
        name
        for key in published.FAMILIES
        for name in dict.fromkeys(names)
        if published.family(name) == published.FAMILIES[key]
    ]
    return known + [name for name in dict.fromkeys(names) if name not in known]
