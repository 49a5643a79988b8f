"""Patches as Codex's `apply_patch` takes them: which files they change, and into what.

A part of a patch that does not fit the file is one that the tool itself will refuse, so that nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

BEGIN = "*** Begin Patch"
END = "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
ReadText = Callable[[str], str | None]


def patch_in(text: str) -> str:
    """The patch that a text contains, such as a command with a here-document; empty if there is none."""
    start = text.find(BEGIN)
    return "" if start < 0 else text[start:]


def patched(patch: str, read: ReadText) -> Iterator[tuple[str, str | None]]:
    """Each file that a patch changes, with its text afterwards; None where it is deleted."""
    lines = patch.splitlines()[1:]
    at = 0
    while at < len(lines) and not lines[at].startswith(END):
        line = lines[at]
        at += 1
        body, at = _body(lines, at) if line.startswith((_ADD, _UPDATE)) else ([], at)
        if line.startswith(_ADD):
            yield line[len(_ADD) :], "".join(f"{added[1:]}\n" for added in body if added.startswith("+"))
        elif line.startswith(_DELETE):
            yield line[len(_DELETE) :], None
        elif line.startswith(_UPDATE):
            yield from _updated(line[len(_UPDATE) :], body, read)


def _body(lines: list[str], at: int) -> tuple[list[str], int]:
    """The lines of one file's part, and where the next begins."""
    found: list[str] = []
    while at < len(lines):
        line = lines[at]
        if line.startswith("*** ") and not line.startswith((_MOVE, _END_OF_FILE)):
            break
        found.append(line)
        at += 1
    return found, at


def _updated(path: str, body: list[str], read: ReadText) -> Iterator[tuple[str, str | None]]:
    text = read(path)
    moved = next((line[len(_MOVE) :] for line in body if line.startswith(_MOVE)), "")
    after = None if text is None else _with_hunks(text, body)
    if after is None:
        return
    if moved:
        yield path, None
    yield moved or path, after


def _with_hunks(text: str, body: list[str]) -> str | None:
    """A text with every hunk applied; None if one does not fit."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    for context, hunk in _hunks(body):
        if context and context in lines[at:]:
            at = lines.index(context, at) + 1
        old = [line[1:] for line in hunk if not line.startswith("+")]
        new = [line[1:] for line in hunk if not line.startswith("-")]
        found = _find(lines, old, at)
        if found is None:
            return None
        lines[found : found + len(old)] = new
        at = found + len(new)
    return newline.join(lines)


def _hunks(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The hunks of one file's part, each with the line that it comes after, if it names one."""
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


def _find(lines: list[str], old: list[str], start: int) -> int | None:
    if not old:
        return len(lines) - 1 if lines and not lines[-1] else len(lines)
    for same in (lambda one: one, str.rstrip, str.strip):
        wanted = [same(line) for line in old]
        for at in range(start, len(lines) - len(old) + 1):
            if [same(line) for line in lines[at : at + len(old)]] == wanted:
                return at
    return None
