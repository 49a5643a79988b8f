"""What a client's tool call would make of files, and the prompt that it was made under.

Claude Code and Codex send the same JSON; Gemini CLI names events and tools differently; opencode's plugin
sends what its own hooks get, under Claude Code's names. Edits and Codex's patches are worked out without
running the tool; where a call would fail by itself, nothing is reported. The last prompt is read from the end
of the transcript that a client keeps and names: a line of JSON for each message; other lines are skipped.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from takeback.agents.fast_hook import EDITORS, NOTEBOOKS, PATCHES, Event, parse_event
from takeback.errors import InputError

WRITES: Final = frozenset({"write", "write_file"})
EDITS: Final = EDITORS - WRITES


def read_event(data: bytes, client: str, cwd: str) -> Event:
    """Return the event in a hook's input; `cwd` is the hook's directory, if the client names none."""
    try:
        return parse_event(data, client, cwd)
    except ValueError as fault:
        raise InputError("standard input", found=str(fault), expected="a hook's JSON") from None


BEGIN = "*** Begin Patch"
END = "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
ReadText = Callable[[str], str | None]


def apply_patch(patch: str, read: ReadText) -> Iterator[tuple[str, str | None]]:
    """Yield each file that a patch changes, with its new text; None if it is deleted."""
    lines = patch.splitlines()[1:]
    at = 0
    while at < len(lines) and not lines[at].startswith(END):
        line = lines[at]
        at += 1
        body, at = _read_body(lines, at) if line.startswith((_ADD, _UPDATE)) else ([], at)
        if line.startswith(_ADD):
            yield line[len(_ADD) :], "".join(f"{added[1:]}\n" for added in body if added.startswith("+"))
        elif line.startswith(_DELETE):
            yield line[len(_DELETE) :], None
        elif line.startswith(_UPDATE):
            yield from _update_file(line[len(_UPDATE) :], body, read)


def _read_body(lines: list[str], at: int) -> tuple[list[str], int]:
    """Return the lines about one file, and the index of the next."""
    body: list[str] = []
    while at < len(lines):
        line = lines[at]
        if line.startswith("*** ") and not line.startswith((_MOVE, _END_OF_FILE)):
            break
        body.append(line)
        at += 1
    return body, at


def _update_file(path: str, body: list[str], read: ReadText) -> Iterator[tuple[str, str | None]]:
    text = read(path)
    moved = next((line[len(_MOVE) :] for line in body if line.startswith(_MOVE)), "")
    after = None if text is None else _apply_hunks(text, body)
    if after is None:
        return
    if moved:
        yield path, None
    yield moved or path, after


def _apply_hunks(text: str, body: list[str]) -> str | None:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    for context, hunk in _read_hunks(body):
        if context and context in lines[at:]:
            at = lines.index(context, at) + 1
        old = [line[1:] for line in hunk if not line.startswith("+")]
        new = [line[1:] for line in hunk if not line.startswith("-")]
        start = _find_lines(lines, old, at)
        if start is None:
            return None
        lines[start : start + len(old)] = new
        at = start + len(new)
    return newline.join(lines)


def _read_hunks(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the hunks for one file, each with the line that it comes after, if it names one."""
    context = ""
    hunk: list[str] = []
    for line in body:
        if line.startswith("@@"):
            if hunk:
                yield context, hunk
            context, hunk = line[2:].strip(), []
        elif line[:1] in {" ", "+", "-"} or not line:
            hunk.append(line or " ")
    if hunk:
        yield context, hunk


def _find_lines(lines: list[str], old: list[str], start: int) -> int | None:
    if not old:
        return len(lines) - 1 if lines and not lines[-1] else len(lines)
    for same in (lambda line: line, str.rstrip, str.strip):
        wanted = [same(line) for line in old]
        for at in range(start, len(lines) - len(old) + 1):
            if [same(line) for line in lines[at : at + len(old)]] == wanted:
                return at
    return None


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


def list_named_paths(event: Event) -> tuple[str, ...]:
    """Return the absolute paths of the files that a call says it edits."""
    path = _read_argument(event.given, "path")
    if isinstance(path, str) and path:
        return (os.path.join(event.cwd, path),)
    patch = _find_call_patch(event)
    return tuple(os.path.join(event.cwd, path) for path, _ in apply_patch(patch, lambda _: "")) if patch else ()


def list_edits(event: Event) -> Iterator[FileEdit]:
    """Yield the edit that a call would make of each file."""
    tool = event.tool.lower()
    if tool in NOTEBOOKS:
        return
    if tool in WRITES | EDITS:
        path = _read_argument(event.given, "path")
        if isinstance(path, str) and path:
            yield from _apply_edit(os.path.join(event.cwd, path), tool, event.given)
        return
    patch = _find_call_patch(event)
    if patch:
        for name, after in apply_patch(patch, lambda path: _read_text(os.path.join(event.cwd, path))):
            place = os.path.join(event.cwd, name)
            before = _read_bytes(place)
            new = None if after is None else after.encode()
            if new != before:
                yield FileEdit(place, before, new)


def _find_call_patch(event: Event) -> str:
    """Return the patch in a call, also in a command with a here-document; empty if there is none."""
    if event.tool.lower() not in PATCHES and "apply_patch" not in str(event.given):
        return ""
    words = (word for value in event.given.values() for word in (value if isinstance(value, list) else [value]))
    texts = (word for word in words if isinstance(word, str) and BEGIN in word)
    return next((text[text.index(BEGIN) :] for text in texts), "")


def _apply_edit(place: str, tool: str, given: Mapping[str, Any]) -> Iterator[FileEdit]:
    before = _read_bytes(place)
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
        text = _replace_text(
            text, _read_argument(step, "old"), _read_argument(step, "new"), every=_read_argument(step, "all") is True
        )
    if text is not None:
        yield FileEdit(place, before, text.encode("utf-8", "surrogateescape"))


def _replace_text(text: str, old: Any, new: Any, *, every: bool) -> str | None:
    """Return a text with a part replaced; None if the part is not in it."""
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    if not old:
        return new if not text else None
    if old not in text and "\r\n" in text and "\r\n" not in old:
        replaced = _replace_text(text.replace("\r\n", "\n"), old, new, every=every)
        return None if replaced is None else replaced.replace("\n", "\r\n")
    return text.replace(old, new, -1 if every else 1) if old in text else None


def _read_argument(given: Mapping[str, Any], what: str) -> Any:
    return next((given[name] for name in _NAMES[what] if name in given), None)


def _read_text(place: str) -> str | None:
    data = _read_bytes(place)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _read_bytes(place: str) -> bytes | None:
    try:
        with open(place, "rb") as file:
            return file.read()
    except OSError:
        return None


LARGEST: Final = 1 << 20
"""So many bytes of the end are read."""
CHANGING: Final = "<"
"""How a message begins that the client wrote itself: of a command, or a reminder."""


def find_last_prompt(path: str) -> str:
    """Return what a person typed last; nothing where the file does not say."""
    for line in reversed(_read_end(path)):
        if b'"user' not in line and b'"UserMessage"' not in line:
            continue
        try:
            message = _read_message(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if message and not message.startswith(CHANGING):
            return message
    return ""


def _read_end(path: str) -> list[bytes]:
    """Return the last lines of an ordinary file."""
    if not os.path.isabs(path):
        return []
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid():
                return []
            file.seek(max(0, facts.st_size - LARGEST))
            return file.read(LARGEST).splitlines()
    except OSError:
        return []


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for anybody at the other end of it."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _read_message(raw: Any) -> str:
    """Return the text of a message that a person wrote; nothing of any other."""
    if not isinstance(raw, dict):
        return ""
    payload = raw.get("payload")
    if isinstance(payload, dict) and payload.get("type") == "item_completed":  # Codex
        item = payload.get("item")
        return (
            _join_texts(item.get("content")) if isinstance(item, dict) and item.get("type") == "UserMessage" else ""
        )
    message = raw.get("message")
    if raw.get("type") == "user" and isinstance(message, dict) and not raw.get("isMeta"):  # Claude Code
        return _join_texts(message.get("content"))
    return ""


def _join_texts(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
