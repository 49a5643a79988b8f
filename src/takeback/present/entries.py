"""An entry in one line: what it did, and for an undo, redo or restore which entries it took back or brought back."""

from __future__ import annotations

from collections.abc import Callable

from takeback.harness.log import EntryView

Named = Callable[[int], str]
"""The note, or what else there is to say, of the entry with a number."""


def summary(entry: EntryView, named: Named) -> str:
    """What an entry did, on one line and whole."""
    if entry.kind == "genesis":
        return entry.note or "the beginning"
    told = [f"took back {_listed(entry.off, named)}"] if entry.off else []
    told += [f"brought back {_listed(entry.on, named)}"] if entry.on else []
    if not told:
        told = [", ".join((*entry.addresses, *(f"layout of {path}" for path in entry.layout))) or "nothing"]
    line = "; ".join(told)
    if entry.effect:
        line += f" ({', '.join(entry.effect)})"
    return " ".join(f"{entry.note}: {line}".split() if entry.note else line.split())


def _listed(numbers: tuple[int, ...], named: Named) -> str:
    return ", ".join(f"#{number} ({name})" if (name := named(number)) else f"#{number}" for number in numbers)
