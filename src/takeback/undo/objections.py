"""Why a write could not have happened in a history: what it would have stood on is not there, or something else is.

A part lies in a whole that some write put there. A write that needs a thing (a move, a replacement in place, the
removal of an item) could not have happened where that is not there, whoever had put it there. An item of a list that
belongs to nobody makes the list where there is none.
"""

from __future__ import annotations

from takeback.state import ABSENT, SURFACES
from takeback.state.part_names import is_place
from takeback.state.parts import is_part
from takeback.state.slots import Slot
from takeback.undo.history import START, History, View, When, grounded_on
from takeback.undo.index import claim_of, claimed
from takeback.undo.versions import Version, time_of


def why_impossible(history: History, version: Version, view: View) -> str | None:
    """Return why a write could not have happened in this view; None if it could."""
    write = version.write
    if is_part(write.slot[-1]):
        return _why_ungrounded(history, version, view) or _why_missing(history, version, view)
    return (
        _why_missing(history, version, view)
        or _why_claimed(history, version, view)
        or _why_misplaced(history, version, view)
    )


def _why_ungrounded(history: History, version: Version, view: View) -> str | None:
    """Why a part could not have been written: what it was written in is not there."""
    slot, ground = version.write.slot, grounded_on(version)
    makes = version.write.shared and not is_place(slot[-1])  # one that is shared makes its list itself
    content, when, founder = history.footing(slot[:-1], view, (version.entry, version.position + makes))
    if version.write.shared and not makes and content is ABSENT:
        return None  # where an item was moved to does nothing where the list is gone with its last item
    if founder is not None and grounded_on(founder) == ground:
        return _why_crowded(history, slot[:-1], view, time_of(version))
    if founder is None and when == ground:
        return None
    title = SURFACES[slot[0]].slot_title(slot[1:-1])
    if ground is None or ground == START:
        return f"it edits the {title} that was there at the beginning"
    return f"it edits the {title} that #{ground[0]} put there"


def _why_crowded(history: History, slot: Slot, view: View, until: When) -> str | None:
    """Why a list could not be made: something that is no mapping stands above it, or a mapping where it would."""
    above = history.leaf_above(slot, view, until)
    if above is not None:
        return f"{'/'.join(above[1:])!r} is not a mapping"
    return f"{'/'.join(slot[1:])!r} is a mapping" if history.is_container(slot, view, until) else None


def _why_missing(history: History, version: Version, view: View) -> str | None:
    """Why what a write needs was not there; None if it was, or it needs nothing."""
    write = version.write
    if not write.needs or history.is_there(write.slot, view, time_of(version)):
        return None
    return f"it changes {SURFACES[write.slot[0]].slot_title(write.slot[1:])}, which is not there"


def _why_claimed(history: History, version: Version, view: View) -> str | None:
    """Why what a write claims was not free."""
    slot, claim = version.write.slot, claim_of(version.write)
    if claim is None:
        return None
    for other in history.holders(slot[0], claim):
        if other != slot and claimed(slot[0], history.held(other, view, time_of(version))) == claim:
            return f"{claim} is held by {other[-1]!r}"
    return None


def _why_misplaced(history: History, version: Version, view: View) -> str | None:
    """Why a path could not be written: what stands above it is no container, or a container stands there."""
    write, until = version.write, time_of(version)
    slot, surface = write.slot, SURFACES[write.slot[0]]
    if not surface.nested or (write.after is ABSENT and not write.strict):
        return None
    if len(slot) > 2 and write.after is not ABSENT:  # noqa: PLR2004 - surface and one name: nothing is above it
        if surface.rooted and history.node(slot[:2], view, until)[0] is ABSENT:
            return f"it changes {surface.slot_title(slot[1:2])}, which is not there"
        above = history.leaf_above(slot, view, until)
        if above is not None:
            return f"{'/'.join(above[1:])!r} is not a {'directory' if surface.strict else 'mapping'}"
    if write.strict and history.is_container(slot, view, until):
        return f"{'/'.join(slot[1:])!r} is a directory"
    return None
