"""Whether what someone else did can be told from the versions before and after: which of two equal lines went?"""

from __future__ import annotations

from collections.abc import Iterable

from takeback.state import State
from takeback.state.inside import ambiguous
from takeback.state.slots import get_slot, slot_title, whole_of
from takeback.undo import Write


def several_readings(before: State, after: State, writes: Iterable[Write]) -> tuple[str, ...]:
    """Addresses of texts and lists whose parts were written, and whose versions allow several readings."""
    wholes = dict.fromkeys(whole_of(write.slot) for write in writes if whole_of(write.slot) is not write.slot)
    found = (slot for slot in wholes if ambiguous(get_slot(before, slot), get_slot(after, slot)))
    return tuple(map(slot_title, found))
