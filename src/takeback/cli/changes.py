"""Changes on the terminal: unified diffs in colour, or with `--stat` how much came and went."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from takeback.cli.output import measure_cells, out
from takeback.state import State

if TYPE_CHECKING:
    from takeback.present.diffs import Stat
    from takeback.undo import SlotChange, Write

BAR: Final = 40
Before = Callable[[], State] | None


def show_changes(changes: Iterable[SlotChange | Write], before: Before = None, *, stat: bool = False) -> None:
    """Print changes; `before` works out the state ahead of them."""
    from takeback.cli.display import show_difference  # noqa: PLC0415 - start-up
    from takeback.present.changes import find_differences  # noqa: PLC0415 - start-up
    from takeback.present.diffs import count_changes  # noqa: PLC0415 - start-up

    found = find_differences(changes, before)
    if stat:
        show_stat(count_changes(found))
        return
    for difference in found:
        show_difference(difference)


def show_stat(stats: tuple[Stat, ...]) -> None:
    """Print how much came and went at each address, and in all."""
    widest = max((measure_cells(stat.address) for stat in stats), default=0)
    most = max((stat.added + stat.removed for stat in stats), default=0)
    digits = len(str(most))
    for stat in stats:
        plus, minus = _measure_bar(stat, most)
        lines = f"{stat.added + stat.removed:>{digits}}"
        pad = " " * (widest - measure_cells(stat.address))
        out.print(f" {stat.address}{pad} | {lines} ", ("+" * plus, "green"), ("-" * minus, "red"))
    added, removed = sum(stat.added for stat in stats), sum(stat.removed for stat in stats)
    places, lines = f"address{'' if len(stats) == 1 else 'es'}", f"line{'' if added == 1 else 's'}"
    out.print(f" {len(stats)} {places} changed, {added} {lines} added, {removed} removed")


def _measure_bar(stat: Stat, most: int) -> tuple[int, int]:
    if most <= BAR:
        return stat.added, stat.removed
    return -(-stat.added * BAR // most), -(-stat.removed * BAR // most)


def changes_to_json(changes: Iterable[SlotChange | Write]) -> list[dict[str, Any]]:
    """Return changes as JSON."""
    from takeback.harness.entry_log import change_to_json  # noqa: PLC0415 - start-up

    return [change_to_json(change) for change in changes]


def stats_to_json(changes: Iterable[SlotChange | Write], before: Before = None) -> list[dict[str, Any]]:
    """Return how many lines came and went at each address."""
    from takeback.present.changes import find_differences  # noqa: PLC0415 - start-up
    from takeback.present.diffs import count_changes  # noqa: PLC0415 - start-up

    return [stat._asdict() for stat in count_changes(find_differences(changes, before))]
