"""Whether what someone else did can be told from the versions before and after: which of two equal lines went?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from takeback.state import State
from takeback.state.inside import compare
from takeback.state.slots import get_slot, slot_title, whole_of
from takeback.undo import Write


class Readings(NamedTuple):
    """Addresses of texts and lists of which more could be said than their versions before and after tell."""

    several: tuple[str, ...]
    """They allow several readings."""
    coarse: tuple[str, ...]
    """A stretch of them was too long to be compared line by line: it counts as replaced."""


def read_versions(before: State, after: State, writes: Iterable[Write]) -> Readings:
    """Return what is open about the texts and lists whose parts were written."""
    wholes = dict.fromkeys(whole_of(write.slot) for write in writes if whole_of(write.slot) is not write.slot)
    compared = [(slot_title(slot), compare(get_slot(before, slot), get_slot(after, slot))) for slot in wholes]
    return Readings(
        tuple(title for title, one in compared if one is not None and one.several),
        tuple(title for title, one in compared if one is not None and one.coarse),
    )
