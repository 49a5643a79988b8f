"""Holds: entries whose contents must stay, whatever retention or `forget` would do.

A hold is a record of its own (`hold`), of an entry or of a subject, and so is its release; the last one about each
counts. A held subject holds every entry that has something labelled with it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from takeback.errors import InputError
from takeback.harness.labels import collect_labelled, list_labels
from takeback.journal import Draft, Record, Store


def draft_hold(entry: int | None, *, subject: str = "", release: bool, by: str = "") -> Draft:
    """Build the record that holds an entry or a subject, or releases it."""
    about: dict[str, Any] = {"entry": entry} if entry is not None else {"subject": subject}
    return Draft("hold", {**about, "release": release, **({"by": by} if by else {})})


def list_holds(store: Store) -> tuple[set[int], set[str]]:
    """Return the numbers of the entries, and the subjects, that are held by their own name."""
    decided: dict[int | str, bool] = {}
    record: Record | None = store.latest("hold")
    while record is not None:
        decided.setdefault(record.subject if record.about is None else record.about, not record.releases)
        record = store.latest("hold", record.seq)
    held = [thing for thing, stands in decided.items() if stands]
    return {thing for thing in held if isinstance(thing, int)}, {thing for thing in held if isinstance(thing, str)}


def list_held(store: Store) -> set[int]:
    """Return the numbers of the entries that are held, by themselves or by a subject."""
    entries, subjects = list_holds(store)
    labels = list_labels(store) if subjects else {}
    for subject in subjects & labels.keys():
        entries |= collect_labelled(store, labels[subject]).entries
    return entries


def require_not_held(store: Store, entries: Collection[int]) -> None:
    """Refuse to forget what held entries captured."""
    held = sorted(list_held(store) & set(entries))
    if held:
        raise refuse_held(store, held)


def refuse_held(store: Store, held: list[int]) -> InputError:
    """Return the error for held entries of which something is to be forgotten."""
    names = ", ".join(f"#{entry}" for entry in held)
    entries, subjects = list_holds(store)
    by_name = [entry for entry in held if entry in entries]
    what = str(by_name[0]) if by_name else f"--subject {min(subjects)}"
    return InputError(
        "forget",
        found=f"{names}, which {'is' if len(held) == 1 else 'are'} held",
        expected="entries that are not held",
        hint=f"'takeback hold {what} --release' releases {'it' if len(held) == 1 else 'them'}",
    )
