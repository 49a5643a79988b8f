"""An entry in one line: what it did, and for an undo, redo or restore which entries it took back or brought back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from takeback.canonical import encode
from takeback.harness.log import EntryView
from takeback.present.secrets import is_revealing, masked, masked_text
from takeback.state import KINDS, SURFACES

EntryNamer = Callable[[int], str]
"""The note, or what else there is to say, of the entry with a number."""
SHORT: Final = 40
"""An item longer than this is not told; texts that are set are not told at all: they may be secrets."""
MOST: Final = 3
"""So many operations are told one by one."""
_DONE: Final = {
    "set": "set {at}",
    "add": "added {at}",
    "remove": "removed {at}",
    "edit": "edited {at}",
    "move": "moved {at}",
    "replace": "replaced {at}",
    "append": "added {item} to {at}",
    "insert": "added {item} to {at}",
    "remove item": "removed {item} from {at}",
}


def summary(entry: EntryView, named: EntryNamer) -> str:
    """What an entry did, on one line and whole."""
    if entry.kind == "genesis":
        return entry.note or "the beginning"
    told = [f"took back {_listed(entry.off, named)}"] if entry.off else []
    told += [f"brought back {_listed(entry.on, named)}"] if entry.on else []
    line = "; ".join(told) or deeds(entry)
    if entry.effect:
        line += f" ({', '.join(entry.effect)})"
    told_line = " ".join(f"{entry.note}: {line}".split() if entry.note else line.split())
    return told_line if is_revealing() else masked_text(told_line)


def check_words(check: Mapping[str, Any]) -> str:
    """What a check said, as an entry carries it, on one line."""
    how = check.get("why") or f"exit code {check.get('exit')}"
    return (
        f"{'passed' if check.get('passed') else 'failed'} ({how}, {check.get('seconds')} s): {check.get('command')}"
    )


def deeds(entry: EntryView) -> str:
    """What a change did: its operations where it has them, else what it touched."""
    if entry.mutation and len(entry.mutation) <= MOST:
        return ", ".join(_told(op) for op in entry.mutation)
    if entry.kind == "discard":
        return f"put back {', '.join(entry.files)}"
    return ", ".join((*entry.addresses, *(f"layout of {path}" for path in entry.layout))) or "nothing"


def _told(op: Mapping[str, Any]) -> str:
    op = op if is_revealing() else masked(op)
    kind = KINDS.get(str(op.get("op_type")))
    if kind is None:
        return f"{op.get('op_type')} {op.get('target')}"
    surface = SURFACES[kind.surface]
    at = str(surface.address(surface.target(str(op["target"]), "entry", kind)))
    value, short = op.get("value"), "value" in op and len(encode(op["value"])) <= SHORT
    told = _DONE.get(kind.verb, "changed {at}").format(at=at, item=encode(value) if short else "an item")
    return f"{told} to {encode(value)}" if kind.verb == "set" and isinstance(value, int | float) else told


def _listed(numbers: tuple[int, ...], named: EntryNamer) -> str:
    return ", ".join(f"#{number} ({name})" if (name := named(number)) else f"#{number}" for number in numbers)
