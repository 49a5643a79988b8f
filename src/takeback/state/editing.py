"""Edits inside a text: what an operation's value looks like, and a text on which several of them go through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from takeback.errors import InputError, OperationFailed
from takeback.state.operation import Operation
from takeback.state.text import Text
from takeback.state.values import text

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"old": {"type": "string", "maxLength": 1000}, "new": {"type": "string", "maxLength": 2000}},
    "required": ["old", "new"],
    "additionalProperties": False,
}
MOST_PIECES: Final = 6
READS: Final = ("the text, to find what is replaced in it",)


class TextEdit(NamedTuple):
    """Replace `old`, which must occur exactly once, by `new`; an empty `old` appends."""

    old: str
    new: str


def read_edit(raw: Any, where: str) -> TextEdit:
    """Return an edit from its JSON, or raise."""
    if not isinstance(raw, dict) or set(raw) != {"old", "new"}:
        raise InputError(where, found=raw, expected="a mapping with old and new")
    return TextEdit(text(raw["old"], f"{where}.old"), text(raw["new"], f"{where}.new"))


def edited(content: Text, edit: TextEdit) -> Text:
    """Return a text with an edit made; raise `OperationFailed` where it cannot be."""
    return content.edited(edit.old, edit.new)


def edits_by_path(ops: Iterable[Operation]) -> dict[Any, list[TextEdit]]:
    """Return the edits among operations, by what they edit."""
    found: dict[Any, list[TextEdit]] = {}
    for op in ops:
        if isinstance(op.value, TextEdit):
            found.setdefault(op.path, []).append(op.value)
    return found


def tried_texts(edits: Sequence[TextEdit], salt: str) -> tuple[str, ...]:
    """Return texts that edits may meet, smallest first after one on which they go through one after the other.

    The others are made of what edits replace and put in, up to two at a time and with nothing else, or of all that
    they replace.
    """
    pieces = list(dict.fromkeys(piece for edit in edits for piece in edit if piece))[:MOST_PIECES]
    replaced = list(dict.fromkeys(edit.old for edit in edits))
    made = ["", *pieces, *(f"{one}{two}" for one in pieces for two in pieces)]
    made += ["".join(replaced), "".join(reversed(replaced)), "\n".join(replaced)]
    return tuple(dict.fromkeys((_editable(edits, salt), *made)))


def _editable(edits: Sequence[TextEdit], salt: str) -> str:
    """A text of its own on which edits go through, as far as one is easily found.

    What is to be replaced is put in where nothing before has put it there already.
    """
    wanted: list[str] = []
    for at, edit in enumerate(edits):
        if edit.old and not _goes_through(edits[: at + 1], wanted, salt):
            wanted.append(edit.old)
    return _spread(wanted, salt)


def _goes_through(edits: Sequence[TextEdit], wanted: list[str], salt: str) -> bool:
    now = Text.of(_spread(wanted, salt))
    try:
        for edit in edits:
            now = edited(now, edit)
    except OperationFailed:
        return False
    return True


def _spread(wanted: list[str], salt: str) -> str:
    return "\n".join([f"{salt} first", *wanted, f"{salt} last"])
