"""What a tool call would make of files: each file's bytes before and after, worked out without running the tool.

Where a call would fail by itself (the text to replace is not there), nothing is said of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from takeback.agents.events import EDITS, NOTEBOOKS, PATCHES, WRITES, Event
from takeback.agents.patches import BEGIN, patch_in, patched

_NAMES: Final = {
    "path": ("file_path", "filePath", "notebook_path", "path", "absolute_path"),
    "old": ("old_string", "oldString"),
    "new": ("new_string", "newString"),
    "all": ("replace_all", "replaceAll", "allow_multiple"),
}


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One file: what it holds, and what it would hold; None where it is not there."""

    path: str
    before: bytes | None
    after: bytes | None


def named_paths(event: Event) -> tuple[str, ...]:
    """The files that a call says it edits, as absolute paths."""
    path = _given(event.given, "path")
    if isinstance(path, str) and path:
        return (os.path.join(event.cwd, path),)
    patch = _patch(event)
    return tuple(os.path.join(event.cwd, found) for found, _ in patched(patch, lambda _: "")) if patch else ()


def edits_of(event: Event) -> Iterator[FileEdit]:
    """What a call would make of each file it edits."""
    tool = event.tool.lower()
    if tool in NOTEBOOKS:
        return
    if tool in WRITES | EDITS:
        path = _given(event.given, "path")
        if isinstance(path, str) and path:
            yield from _edited(os.path.join(event.cwd, path), tool, event.given)
        return
    patch = _patch(event)
    if patch:
        for name, after in patched(patch, lambda path: _text(os.path.join(event.cwd, path))):
            place = os.path.join(event.cwd, name)
            before = _read(place)
            new = None if after is None else after.encode()
            if new != before:
                yield FileEdit(place, before, new)


def _patch(event: Event) -> str:
    """The patch of a call, also one that a shell command holds."""
    texts = [text for text in event.given.values() if isinstance(text, str) and BEGIN in text]
    texts += [
        text
        for words in event.given.values()
        if isinstance(words, list)
        for text in words
        if isinstance(text, str) and BEGIN in text
    ]
    if not texts or (event.tool.lower() not in PATCHES and "apply_patch" not in str(event.given)):
        return ""
    return patch_in(texts[0])


def _edited(place: str, tool: str, given: Mapping[str, Any]) -> Iterator[FileEdit]:
    before = _read(place)
    if tool in WRITES:
        content = given.get("content")
        if isinstance(content, str):
            yield FileEdit(place, before, content.encode("utf-8", "surrogatepass"))
        return
    text: str | None = "" if before is None else before.decode("utf-8", "surrogateescape")
    steps = given.get("edits")
    for step in steps if isinstance(steps, list) else [given]:
        if text is None or not isinstance(step, dict):
            return
        text = _replaced(text, _given(step, "old"), _given(step, "new"), every=_given(step, "all") is True)
    if text is not None:
        yield FileEdit(place, before, text.encode("utf-8", "surrogateescape"))


def _replaced(text: str, old: Any, new: Any, *, every: bool) -> str | None:
    """A text with another in the place of a part of it; None if that is not there."""
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    if not old:
        return new if not text else None
    if old not in text and "\r\n" in text and "\r\n" not in old:
        found = _replaced(text.replace("\r\n", "\n"), old, new, every=every)
        return None if found is None else found.replace("\n", "\r\n")
    return text.replace(old, new, -1 if every else 1) if old in text else None


def _given(given: Mapping[str, Any], what: str) -> Any:
    return next((given[name] for name in _NAMES[what] if name in given), None)


def _text(place: str) -> str | None:
    data = _read(place)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _read(place: str) -> bytes | None:
    try:
        with open(place, "rb") as file:
            return file.read()
    except OSError:
        return None
