"""Holds: entries whose contents must stay, whatever retention or `forget` would do.

A hold is a record of its own (`hold`), and so is its release; the last one about an entry counts.
"""

from __future__ import annotations

from collections.abc import Collection

from takeback.errors import InputError
from takeback.journal import Draft, Record, Store


def draft_hold(entry: int, *, release: bool, by: str = "") -> Draft:
    """Build the record that holds an entry, or releases it."""
    return Draft("hold", {"entry": entry, "release": release, **({"by": by} if by else {})})


def list_held(store: Store) -> set[int]:
    """Return the numbers of the entries that are held."""
    decided: dict[int, bool] = {}
    record: Record | None = store.latest("hold")
    while record is not None:
        if record.about is not None:
            decided.setdefault(record.about, not record.releases)
        record = store.latest("hold", record.seq)
    return {entry for entry, held in decided.items() if held}


def require_not_held(store: Store, entries: Collection[int]) -> None:
    """Refuse to forget what held entries captured."""
    held = sorted(list_held(store) & set(entries))
    if held:
        names = ", ".join(f"#{entry}" for entry in held)
        raise InputError(
            "forget",
            found=f"{names}, which {'is' if len(held) == 1 else 'are'} held",
            expected="entries that are not held",
            hint=f"'takeback hold {held[0]} --release' releases it",
        )
