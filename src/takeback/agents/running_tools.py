"""Tool calls that run in a harness: noted before a tool runs, removed once its changes are recorded.

A client reports changed files while the tool that changed them still runs. These notes tell such a report
from one about an edit that no tool made: the former is left to the tool's own recorder, which knows who did
it. A note left behind, because the tool was never run, only delays a report: the end of a turn records
everything.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from takeback.adapters.roots import PRIVATE

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

FOLDER = f"{PRIVATE}/under-way"
LONGEST = 600.0
"""So many seconds a tool is waited for; what its client has not told of then is taken for left behind."""


def note_tool_call(root: str, session: str, call: str, paths: Sequence[str]) -> None:
    """Note that a call has begun; `paths` are the files it edits, none where any may be."""
    with suppress(OSError):
        os.makedirs(os.path.join(root, FOLDER), 0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(_find_note_path(root, session, call), flags, 0o600)
        try:
            os.write(fd, json.dumps({"session": session, "paths": list(paths)}).encode())
        finally:
            os.close(fd)


def forget_tool_call(root: str, session: str, call: str) -> None:
    """Take off the note of a call; without a call, every note of the session."""
    if call:
        with suppress(OSError):
            os.unlink(_find_note_path(root, session, call))
        return
    for place, noted in _list_notes(root):
        if noted.get("session") == session:
            with suppress(OSError):
                os.unlink(place)


def is_claimed_by_tool(root: str, path: str = "") -> bool:
    """Return whether a running call may have changed a file; without a file, whether any call runs."""
    real = os.path.realpath(path) if path else ""
    for place, noted in _list_notes(root):
        try:
            late = time.time() - os.stat(place, follow_symlinks=False).st_mtime > LONGEST
        except OSError:
            continue
        paths = [os.path.realpath(path) for path in noted.get("paths", ()) if isinstance(path, str)]
        if not late and (not real or not paths or real in paths):
            return True
    return False


def _list_notes(root: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        names = os.listdir(os.path.join(root, FOLDER))
    except OSError:
        return
    for name in names:
        place = os.path.join(root, FOLDER, name)
        try:
            with open(place, "rb") as file:
                noted = json.loads(file.read())
        except (OSError, ValueError):
            continue
        if isinstance(noted, dict):
            yield place, noted


def _find_note_path(root: str, session: str, call: str) -> str:
    name = "".join(char if char.isalnum() or char in "-_" else "-" for char in f"{session}.{call}")
    return os.path.join(root, FOLDER, name[:200])
