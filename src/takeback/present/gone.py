"""What a person is told of contents that an undo needs and that cannot be had: forgotten, or sealed elsewhere."""

from __future__ import annotations

from takeback.errors import KEYS_HINT
from takeback.state.slots import slot_title
from takeback.undo import Gone


def describe_gone(gone: Gone) -> list[str]:
    """Return a sentence for each content that cannot be had, and what to do about those that are only sealed."""
    sealed = dict(gone.sealed)
    told = [
        f"what {slot_title(slot)} should get is sealed: {sealed[slot]}"
        if slot in sealed
        else f"what {slot_title(slot)} should get was forgotten"
        for slot in gone.slots
    ]
    return [*told, KEYS_HINT] if sealed else told
