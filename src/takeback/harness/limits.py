"""Limits are checked before a change is announced, by the code that reads: what is written can be read again.

What an operation writes was checked when it was read; what it makes of a text, a list or a mapping that is there is
checked here, for changes and for what taking entries back or bringing them back would leave.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from takeback.errors import InputError
from takeback.harness.engine import Engine
from takeback.harness.results import Refused, Why
from takeback.state import ABSENT, SURFACES, State
from takeback.state.slots import Slot, whole_of
from takeback.undo import SlotChange

ON_DISK: Final = "files"
"""The surface whose contents are files themselves: what is there, or was, may be of any size."""
_PLAIN: Final = frozenset({str, int, float, bool, type(None), tuple})
"""Whole values, which were read when they were written."""


def can_grow(change: SlotChange) -> bool:
    """Tell whether a change may leave something longer than it ever was: what comes to be, or is made of parts."""
    return change.after is not ABSENT and (change.before is ABSENT or type(change.after) not in _PLAIN)


def refuse_unreadable(
    engine: Engine, before: State, after: State, slots: Iterable[Slot], *, back: bool = False
) -> Refused | None:
    """Return a refusal where what stands in some slots could not be read again; None where all of it can be.

    Files on disk may be of any size where they were so already, or where that comes `back`.
    """
    written: dict[Slot, list[str]] = {}
    whole: set[Slot] = set()
    for slot in slots:
        place = whole_of(slot)
        written.setdefault(place, []).extend(slot[len(place) :])
        whole |= {place} if place is slot else set()
    for slot, names in written.items():
        fault = _why_unreadable(after, slot, () if slot in whole else names)
        on_disk = engine.files is not None and slot[0] == ON_DISK
        if fault is None or (on_disk and (back or _why_unreadable(before, slot, ()) is not None)):
            continue
        message = f"{fault.where}: {fault.message}; it could not be read again, and nothing was changed"
        return Refused(Why.LIMIT, f"{message}. Make it smaller, or take something out first")
    return None


def _why_unreadable(state: State, slot: Slot, names: Iterable[str]) -> InputError | None:
    try:
        SURFACES[slot[0]].check_slot(state.part(slot[0]), slot[1:], tuple(names))
    except InputError as fault:
        return fault
    return None
