"""Changes of slots and files as differences, address by address, and as choices: one hunk or one value each.

A whole directory is listed file by file; changed lines and items are shown within the text or list they
belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from takeback.canonical import encode, sha256
from takeback.errors import TakebackError
from takeback.harness.entry_log import content_to_json, is_moved
from takeback.harness.images import DirectoryImage, FileChange, FileImage, Image, KeptImage, LinkImage, Unknown
from takeback.harness.records import describe_unknown_content
from takeback.present.diffs import (
    LONGEST,
    Difference,
    DiffHunk,
    Sheet,
    compare_sheets,
    iter_unified_lines,
    make_digest_sheet,
    make_file_sheet,
    make_items_sheet,
    make_sheet,
)
from takeback.secret_mask import find_secrets
from takeback.state import ABSENT, SURFACES, State
from takeback.state.address import END, is_part, is_place
from takeback.state.chain import Chain
from takeback.state.file import File
from takeback.state.file_paths import find_current_path
from takeback.state.forgotten import has_forgotten
from takeback.state.items import Items
from takeback.state.part_slots import get_parts
from takeback.state.slots import Slot, describe_slot, find_containing_slot, get_slot, put_slots
from takeback.undo import SlotChange, Write


def find_differences(
    changes: Iterable[SlotChange | Write], before: Callable[[], State] | None = None
) -> Iterator[Difference]:
    """Yield what changes did; `before` builds the state ahead of them, called only where parts changed or moved."""
    changes = list(changes)
    for change in _join_parts(changes, before):
        itemised = any(isinstance(side, Items) for side in (change.before, change.after))
        notes: tuple[str, ...] = (_describe_move(change.slot, changes, before),) if is_moved(change) else ()
        old, new = (_make_sheets(change.slot, side, itemised=itemised) for side in (change.before, change.after))
        for slot in sorted(old.keys() | new.keys()):
            states = () if before is None or not _may_have_moved(change) else (before(),)
            yield compare_sheets(describe_slot(slot, *states), old.get(slot), new.get(slot), *notes)


def _may_have_moved(change: SlotChange | Write) -> bool:
    """Tell whether a change is of a file that does not stand at its slot's path, or may not."""
    return any(getattr(side, "at", None) is not None for side in (change.before, change.after))


def _join_parts(
    changes: list[SlotChange | Write], before: Callable[[], State] | None
) -> Iterator[SlotChange | Write]:
    """Yield changes with those of parts joined; unchanged where the whole can no longer be rebuilt."""
    parts = [change for change in changes if is_part(change.slot[-1])]
    if (
        not parts
        or before is None
        or any(has_forgotten(change.before) or has_forgotten(change.after) for change in parts)
    ):
        yield from changes
        return
    try:
        old = before()
        new = put_slots(old, [(change.slot, change.after) for change in changes])
    except TakebackError:
        yield from changes
        return
    described: set[Slot] = set()
    for change in changes:
        slot = find_containing_slot(change.slot)
        if slot not in described:
            described.add(slot)
            yield SlotChange(slot, get_slot(old, slot), get_slot(new, slot)) if slot != change.slot else change


def _describe_move(slot: Slot, changes: list[SlotChange | Write], before: Callable[[], State] | None) -> str:
    """Describe from which position to which an element moved; only that it did where the chain is unknown."""
    said = "moved within its chain"
    if before is None or any(has_forgotten(change.before) or has_forgotten(change.after) for change in changes):
        return said
    try:
        old = before()
        new = put_slots(old, [(change.slot, change.after) for change in changes])
    except TakebackError:
        return said
    places = [_find_position(slot, state) for state in (old, new)]
    return said if None in places or places[0] == places[1] else "moved from place {} to place {}".format(*places)


def _find_position(slot: Slot, state: State) -> int | None:
    chain: Any = state.part(slot[0])
    for name in slot[1:-1]:
        chain = chain.get(name)
    return chain.index(slot[-1]) + 1 or None if isinstance(chain, Chain) else None


def _make_sheets(slot: Slot, content: Any, *, itemised: bool) -> dict[Slot, Sheet]:
    if content is ABSENT:
        return {}
    if has_forgotten(content):
        word = describe_unknown_content(slot, content)
        return {slot: Sheet((f"{word}\n",), inline=word)}
    if itemised:
        plain = content_to_json(slot, content)
        return {
            slot: _mark_secrets(
                slot, plain, make_items_sheet(plain) if isinstance(plain, list) else make_sheet(plain)
            )
        }
    parts = SURFACES[slot[0]].parts_shown(slot[1:], content)
    return {(slot[0], *path): _make_slot_sheet((slot[0], *path), inner) for path, inner in parts}


def _make_slot_sheet(slot: Slot, content: Any) -> Sheet:
    if isinstance(content, File) and content.is_longer(LONGEST):
        size, digest = content.measure()
        return replace(
            make_digest_sheet(size, digest, f"{content.mode:04o}"), path=find_current_path(slot[1:], content)
        )
    text = SURFACES[slot[0]].text(content)
    if text is not None:
        path = find_current_path(slot[1:], content) if isinstance(content, File) else ""
        return replace(make_file_sheet(*text), path=path)
    plain = content_to_json(slot, content)
    return _mark_secrets(slot, plain, make_sheet(plain))


def _mark_secrets(slot: Slot, content: Any, sheet: Sheet) -> Sheet:
    name = ".".join(map(str, slot[1:])) if slot[0] == "config" else ""
    return replace(sheet, secrets=find_secrets(content, name))


@dataclass(frozen=True, slots=True)
class Choice:
    """Changes that are taken in, or put back, together."""

    found: tuple[Difference, ...]
    slots: tuple[Slot, ...]


def list_choices(changes: Iterable[SlotChange], before: State) -> tuple[Choice, ...]:
    """Return what can be chosen of changes to a state: by hunk where each change lies in one, otherwise whole."""
    wholes: dict[Slot, list[SlotChange]] = {}
    for change in changes:
        wholes.setdefault(find_containing_slot(change.slot), []).append(change)
    return tuple(choice for slot, group in wholes.items() for choice in _iter_choices(slot, group, before))


def digest_choices(choices: Iterable[Choice]) -> str:
    """Return a digest of what there was to choose from."""
    lines = [
        [difference.address, [list(line) for line in iter_unified_lines(difference, clear=True)]]
        for choice in choices
        for difference in choice.found
    ]
    return sha256(encode(lines, ascii_only=True))[:24]


def _iter_choices(slot: Slot, group: list[SlotChange], before: State) -> Iterator[Choice]:
    differences = tuple(find_differences(group, lambda: before))
    by_hunk = _group_by_hunk(slot, group, before, differences[0]) if len(differences) == 1 else None
    if by_hunk is None:
        yield Choice(differences, tuple(change.slot for change in group))
        return
    for hunk, slots in by_hunk.items():
        yield Choice((replace(differences[0], hunks=(hunk,)),), tuple(slots))


def _group_by_hunk(
    slot: Slot, group: list[SlotChange], before: State, difference: Difference
) -> dict[DiffHunk, list[Slot]] | None:
    if len(difference.hunks) < 2 or not all(is_part(change.slot[-1]) for change in group):  # noqa: PLR2004 - several
        return None
    if any(is_place(change.slot[-1]) for change in group):
        return None  # what moved stands in two hunks
    after = put_slots(before, [(change.slot, change.after) for change in group])
    if not (
        _has_line_per_part(slot, before, difference.before) and _has_line_per_part(slot, after, difference.after)
    ):
        return None
    slots: dict[DiffHunk, list[Slot]] = {hunk: [] for hunk in difference.hunks}
    for change in group:
        old, new = (_find_line(slot, change.slot, state) for state in (before, after))
        hunk = next((hunk for hunk in difference.hunks if _has_line(hunk, old, new)), None)
        if change.slot[-1][1:] == END:
            hunk = difference.hunks[-1]
        if hunk is None:
            return None
        slots[hunk].append(change.slot)
    return slots if all(slots.values()) else None


def _has_line_per_part(slot: Slot, state: State, sheet: Sheet | None) -> bool:
    """Return whether each part is one line: always in a text, in a list if no item takes several."""
    content = get_slot(state, slot)
    parts = None if content is ABSENT else get_parts(content)
    if parts is None or sheet is None:
        return False
    return not isinstance(parts, Items) or sum(1 for _ in parts.links()) == len(sheet.lines)


def _find_line(whole: Slot, part: Slot, state: State) -> int | None:
    content = get_slot(state, whole)
    parts = None if content is ABSENT else get_parts(content)
    position = None if parts is None else parts.position(part[-1][1:])
    return None if position is None else position + 1


def _has_line(hunk: DiffHunk, old: int | None, new: int | None) -> bool:
    return any(
        (line.mark == "-" and line.old == old) or (line.mark == "+" and line.new == new)
        for line in hunk.lines
        if line.mark in "-+"
    )


def find_file_differences(changes: Iterable[FileChange | KeptImage]) -> Iterator[Difference]:
    """Yield what happens to each file; directories are described by a note."""
    for change in changes:
        notes: tuple[str, ...] = ()
        if isinstance(change.after, DirectoryImage) or isinstance(change.before, DirectoryImage):
            notes = ("the directory is made",) if change.before is None else ("the directory goes",)
        yield compare_sheets(change.path, _make_image_sheet(change.before), _make_image_sheet(change.after), *notes)


def _make_image_sheet(image: Image | Unknown | None) -> Sheet | None:
    if isinstance(image, LinkImage):
        return Sheet((f"link to {image.target}\n",), inline=f"link to {image.target}")
    if isinstance(image, FileImage):
        return make_file_sheet(image.content, f"{image.mode:04o}")
    return Sheet(("(not recorded)\n",), inline="(not recorded)") if isinstance(image, Unknown) else None
