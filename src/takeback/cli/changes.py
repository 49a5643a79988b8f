"""Changes on the terminal: unified diffs in colour, or with `--stat` how much came and went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from takeback.cli.line_breaks import measure_cells
from takeback.cli.output import out
from takeback.state import ABSENT, State
from takeback.state.slots import Slot, describe_slot, find_containing_slot

if TYPE_CHECKING:
    from takeback.present.diffs import Stat
    from takeback.undo import SlotChange, Write

BAR: Final = 40
MOST: Final = 200
"""So many values, texts and files at most are shown line by line."""
MOST_JSON: Final = 2_000
FOLDERS: Final = 20
Before = Callable[[], State] | None


def show_changes(changes: Iterable[SlotChange | Write], before: Before = None, *, stat: bool = False) -> None:
    """Print changes; `before` works out the state ahead of them."""
    from takeback.cli.display import show_difference  # noqa: PLC0415 - start-up
    from takeback.present.changes import find_differences  # noqa: PLC0415 - start-up
    from takeback.present.diffs import count_changes  # noqa: PLC0415 - start-up

    changes = tuple(changes)
    wholes = {find_containing_slot(change.slot): change for change in changes}
    if len(wholes) > MOST:
        _show_folders(wholes, () if before is None else (before(),))
        return
    differences = find_differences(changes, before)
    if stat:
        _show_stat(count_changes(differences))
        return
    for difference in differences:
        show_difference(difference)


def _show_folders(wholes: Mapping[Slot, SlotChange | Write], states: tuple[State, ...]) -> None:
    """Print a change of very many places folder by folder: how many come, go and change in each."""
    folders: dict[str, Counter[str]] = {}
    for slot, change in wholes.items():
        kind = "come" if change.before is ABSENT else "go" if change.after is ABSENT else "change"
        title = describe_slot(slot, *states)
        folders.setdefault(title.rpartition("/")[0] or title, Counter())[kind] += 1
    for folder, counts in list(folders.items())[:FOLDERS]:
        out.print(f" {folder}/…: {', '.join(f'{number} {kind}' for kind, number in counts.items())}")
    if len(folders) > FOLDERS:
        out.print(f" and {len(folders) - FOLDERS} more folders")
    total = sum((counts for counts in folders.values()), Counter[str]())
    summary = ", ".join(f"{number} {kind}" for kind, number in total.items())
    out.print(f" in all: {summary}; too many to show line by line")


def _show_stat(stats: tuple[Stat, ...]) -> None:
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


def changes_to_json(changes: Iterable[SlotChange | Write], *states: State) -> list[dict[str, Any]]:
    """Return changes as JSON; of very many, without what was there and what is.

    A file that was moved is named by where it stands in the first state that has it.
    """
    from takeback.harness.entry_log import change_to_json, slot_to_json  # noqa: PLC0415 - start-up

    listed = tuple(changes)
    if len(listed) <= MOST_JSON:
        return [change_to_json(change, *states) for change in listed]
    return [
        {
            **slot_to_json(change.slot, *states),
            "existed": change.before is not ABSENT,
            "exists": change.after is not ABSENT,
            "contents": "left out",
        }
        for change in listed
    ]


def stats_to_json(changes: Iterable[SlotChange | Write], before: Before = None) -> list[dict[str, Any]]:
    """Return how many lines came and went at each address."""
    from takeback.present.changes import find_differences  # noqa: PLC0415 - start-up
    from takeback.present.diffs import count_changes  # noqa: PLC0415 - start-up

    return [stat._asdict() for stat in count_changes(find_differences(changes, before))]
