"""Texts and lists as (place, part) records, the slow and obvious way; shares no code with `takeback.state`.

What was written as a whole knows when. A part that was there from the start is called by its number and stands at
that number plus one, times 1024; a text that ends without a line's end has that as a part called `end`. Where a part
was moved to is written apart from what it says, under its name with an @ before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

STEP = 1024
END = "end"


@dataclass(frozen=True)
class Written:
    """A text or a list, when it was put there as a whole, and what was edited in it since."""

    content: Any
    when: Any
    edits: tuple[tuple[str, Any], ...] = ()
    ownerless: bool = False
    """Whether it is a list that came with its first item, where nothing was."""

    def with_parts(self, parts: tuple[tuple[str, Any], ...]) -> Written:
        """The same with more parts written."""
        return replace(self, edits=(*self.edits, *parts))

    def records(self) -> dict[str, Any]:
        """Every part that is there, with the place where it stands."""
        text = isinstance(self.content, str)
        records = _lines(self.content) if text else dict(enumerate_parts(self.content))
        elsewhere: dict[str, Any] = {}
        for name, record in self.edits:
            kind, key = (elsewhere, name[1:]) if name.startswith("@") else (records, name)
            if record is None:
                kind.pop(key, None)
            else:
                kind[key] = record
        return {name: (elsewhere.get(name, record)[0], record[1]) for name, record in records.items()}

    def whole(self) -> Any:
        """What it means."""
        if not self.edits:
            return self.content
        text = isinstance(self.content, str)
        records = self.records()
        end = records.pop(END, (None, ""))[1]
        parts = [part for _, part in sorted(records.values(), key=lambda record: record[0])]
        if not text:
            return parts
        joined = "".join(parts)
        if end and joined:
            joined = joined[: -len(end)] if joined.endswith(end) else joined[:-1]
        return joined


def enumerate_parts(items: Any) -> list[tuple[str, Any]]:
    """Parts that were there from the start, with their places."""
    return [(str(at), ((((at + 1) * STEP, str(at)),), item)) for at, item in enumerate(items)]


def _lines(text: str) -> dict[str, Any]:
    lines = text.split("\n")
    last = lines.pop()
    lines = [f"{line}\n" for line in lines]
    records = {}
    if last:
        windows = bool(lines) and lines[-1].endswith("\r\n") and not last.endswith("\r")
        end = "\r\n" if windows else "\n"
        lines.append(last + end)
        records[END] = (None, end)
    return {**dict(enumerate_parts(lines)), **records}


def written(value: Any, when: Any, *, ownerless: bool = False) -> Any:
    """A value of config with every list in it told apart by when it was written."""
    if isinstance(value, dict):
        return {key: written(item, when, ownerless=ownerless) for key, item in value.items()}
    return Written(value, when, ownerless=ownerless) if isinstance(value, list) else value


def lengths(value: Any) -> list[int]:
    """How long the lists in a value are that items can be added to."""
    if isinstance(value, dict):
        return [length for item in value.values() for length in lengths(item)]
    return [len(value)] if isinstance(value, list) else []


def plain(value: Any) -> Any:
    """The inverse of `written`, edits made."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.whole() if isinstance(value, Written) else value
