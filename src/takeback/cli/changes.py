"""Changes on the terminal: unified diffs in colour, or with `--stat` how much came and went."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from takeback.cli.differences import show_difference
from takeback.cli.output import cells, out
from takeback.harness.log import change_json
from takeback.present.changes import differences
from takeback.present.diffs import Stat, stat_of
from takeback.state import State
from takeback.undo import SlotChange, Write

BAR: Final = 40
Before = Callable[[], State] | None


def show_changes(changes: Iterable[SlotChange | Write], before: Before = None, *, stat: bool = False) -> None:
    """Print changes; `before` works out the state ahead of them."""
    found = differences(changes, before)
    if stat:
        show_stat(stat_of(found))
        return
    for difference in found:
        show_difference(difference)


def show_stat(stats: tuple[Stat, ...]) -> None:
    """Print how much came and went at each address, and in all."""
    widest = max((cells(stat.address) for stat in stats), default=0)
    most = max((stat.added + stat.removed for stat in stats), default=0)
    digits = len(str(most))
    for stat in stats:
        plus, minus = _bar(stat, most)
        lines = f"{stat.added + stat.removed:>{digits}}"
        pad = " " * (widest - cells(stat.address))
        out.print(f" {stat.address}{pad} | {lines} ", ("+" * plus, "green"), ("-" * minus, "red"))
    added, removed = sum(stat.added for stat in stats), sum(stat.removed for stat in stats)
    places, lines = f"address{'' if len(stats) == 1 else 'es'}", f"line{'' if added == 1 else 's'}"
    out.print(f" {len(stats)} {places} changed, {added} {lines} added, {removed} removed")


def _bar(stat: Stat, most: int) -> tuple[int, int]:
    if most <= BAR:
        return stat.added, stat.removed
    return -(-stat.added * BAR // most), -(-stat.removed * BAR // most)


def changes_json(changes: Iterable[SlotChange | Write]) -> list[dict[str, Any]]:
    """Changes as JSON."""
    return [change_json(change) for change in changes]


def stats_json(changes: Iterable[SlotChange | Write], before: Before = None) -> list[dict[str, Any]]:
    """How many lines came and went at each address."""
    return [stat._asdict() for stat in stat_of(differences(changes, before))]
