"""Changes made by hand as things to choose from: one hunk of a text or list each, or one value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from takeback.canonical import encode, sha256
from takeback.present.changes import differences
from takeback.present.contents import Sheet
from takeback.present.diffs import Difference, DiffHunk, unified
from takeback.state import ABSENT, State
from takeback.state.inside import parts_of
from takeback.state.items import Items
from takeback.state.part_names import is_place
from takeback.state.parts import END, is_part
from takeback.state.slots import Slot, get_slot, put_slots, whole_of
from takeback.undo import SlotChange


@dataclass(frozen=True, slots=True)
class Choice:
    """Changes that are taken in, or put back, together."""

    found: tuple[Difference, ...]
    slots: tuple[Slot, ...]


def choices(changes: Iterable[SlotChange], before: State) -> tuple[Choice, ...]:
    """What can be chosen of changes to a state: hunk by hunk where each change lies in one, otherwise as a whole."""
    wholes: dict[Slot, list[SlotChange]] = {}
    for change in changes:
        wholes.setdefault(whole_of(change.slot), []).append(change)
    return tuple(choice for slot, group in wholes.items() for choice in _choices(slot, group, before))


def token_of(found: Iterable[Choice]) -> str:
    """A digest of what there was to choose from."""
    told = [
        [one.address, [list(line) for line in unified(one, clear=True)]] for choice in found for one in choice.found
    ]
    return sha256(encode(told, ascii_only=True))[:24]


def _choices(slot: Slot, group: list[SlotChange], before: State) -> Iterator[Choice]:
    found = tuple(differences(group, lambda: before))
    by_hunk = _by_hunk(slot, group, before, found[0]) if len(found) == 1 else None
    if by_hunk is None:
        yield Choice(found, tuple(change.slot for change in group))
        return
    for hunk, slots in by_hunk.items():
        yield Choice((replace(found[0], hunks=(hunk,)),), tuple(slots))


def _by_hunk(
    slot: Slot, group: list[SlotChange], before: State, found: Difference
) -> dict[DiffHunk, list[Slot]] | None:
    """The slots that changed in each hunk; None where that is not plain to see."""
    if len(found.hunks) < 2 or not all(is_part(change.slot[-1]) for change in group):  # noqa: PLR2004 - several
        return None
    if any(is_place(change.slot[-1]) for change in group):
        return None  # what moved stands in two hunks
    after = put_slots(before, [(change.slot, change.after) for change in group])
    if not (_one_line_each(slot, before, found.before) and _one_line_each(slot, after, found.after)):
        return None
    slots: dict[DiffHunk, list[Slot]] = {hunk: [] for hunk in found.hunks}
    for change in group:
        old, new = (_line(slot, change.slot, state) for state in (before, after))
        hunk = next((hunk for hunk in found.hunks if _holds(hunk, old, new)), None)
        if change.slot[-1][1:] == END:
            hunk = found.hunks[-1]
        if hunk is None:
            return None
        slots[hunk].append(change.slot)
    return slots if all(slots.values()) else None


def _one_line_each(slot: Slot, state: State, sheet: Sheet | None) -> bool:
    """Whether lines can be told apart as parts: always in a text, in a list if no item takes several."""
    content = get_slot(state, slot)
    parts = None if content is ABSENT else parts_of(content)
    if parts is None or sheet is None:
        return False
    return not isinstance(parts, Items) or sum(1 for _ in parts.links()) == len(sheet.lines)


def _line(whole: Slot, part: Slot, state: State) -> int | None:
    """Where a part stands, counted from 1; None if it is not there."""
    content = get_slot(state, whole)
    parts = None if content is ABSENT else parts_of(content)
    position = None if parts is None else parts.position(part[-1][1:])
    return None if position is None else position + 1


def _holds(hunk: DiffHunk, old: int | None, new: int | None) -> bool:
    """Whether a hunk removes or adds the line that a part is, or was."""
    return any(
        (line.mark == "-" and line.old == old) or (line.mark == "+" and line.new == new)
        for line in hunk.lines
        if line.mark in "-+"
    )
