"""Notes an edit in a harness of many files at once, and leaves making an entry of it to the next command.

Only what needs no understanding is noted so: other bytes in a file that the last look took for plain, or in
instructions without settings and imports. Everything else (settings, files that come or go, permission bits, a
policy, a sealed journal) is left to the recorder, which reads the whole harness.
"""

from __future__ import annotations

import fcntl
import json
import os
import time

from takeback.adapters.last_look import (
    LARGEST_EDIT,
    SINCE,
    TEXT,
    build_since_note,
    find_edited_files,
    is_bare_text,
    measure_content,
    read_since,
)
from takeback.adapters.roots import PRIVATE, find_root_text
from takeback.adapters.trust_record import read_record
from takeback.agents.fast_capture import is_tracked
from takeback.agents.fast_hook import (
    AFTER,
    CHANGED,
    EDITORS,
    LONGEST,
    PATCH,
    PATHS,
    TELLS,
    forget_tool_call,
    has_nothing_to_record,
    is_nobodys,
)

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from typing import Any

LOCK = f"{PRIVATE}/journal.db.lock"
POLICY = f"{PRIVATE}/policy.toml"
MOST_FILES = 50
MOST_BYTES = 4 << 20
SHORT = 8
TOLD = "noted; the next takeback command records it: 'takeback log'"


def note_edits(data: bytes, client: str, cwd: str) -> str | None:
    """Answer what a client tells once a tool has run; return what to print, None where the recorder has to look."""
    raw = _read_call(data)
    noted = _note_named_edit(raw, client, cwd)
    if noted is not None:
        return noted
    looked: dict[str, list[str] | None] = {}
    if has_nothing_to_record(data, cwd, looked):
        return ""
    return _note_found_edits(raw, client, cwd, looked)


def _note_named_edit(raw: dict[str, Any] | None, client: str, cwd: str) -> str | None:
    """Note the edit of the file that an edit tool names; return what to print, None where it is not noted."""
    if raw is None or str(raw.get("tool_name", "")).lower() not in EDITORS:
        return None
    folder = _find_here(raw, cwd)
    given = raw.get("tool_input")
    names = [given[name] for name in PATHS if isinstance(given.get(name), str)] if isinstance(given, dict) else []
    if not names or folder is None:
        return None
    place = os.path.join(folder, names[0])
    root = None if is_nobodys(place) else _find_own_root(folder, os.path.dirname(place))
    if root is None:
        return None
    inside = os.path.relpath(os.path.realpath(place), os.path.realpath(root))
    return None if inside.startswith("..") else _note_edits(root, [inside], raw, client)


def _note_found_edits(
    raw: dict[str, Any] | None, client: str, cwd: str, looked: dict[str, list[str] | None]
) -> str | None:
    """Note the edits that a look at a harness has found; return what to print, None where they are not noted."""
    if raw is None or len(looked) != 1:
        return None
    ((root, changed),) = looked.items()
    folder = _find_here(raw, cwd)
    if not changed or len(changed) > MOST_FILES or folder is None or _find_own_root(folder, folder) != root:
        return None
    return _note_edits(root, changed, raw, client)


def _read_call(data: bytes) -> dict[str, Any] | None:
    """Return what a client tells after a tool has run; None for anything else, and for patches."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or raw.get("hook_event_name") not in AFTER - CHANGED:
        return None
    return None if PATCH in f"{raw.get('tool_name')} {raw.get('tool_input')}" else raw


def _find_here(raw: dict[str, Any], cwd: str) -> str | None:
    folder = raw.get("cwd", cwd)
    return folder if isinstance(folder, str) else None


def _find_own_root(*places: str) -> str | None:
    """Return the one harness at some places, if its hooks may note edits."""
    roots = {find_root_text(place) for place in places}
    root = roots.pop()
    if roots or root is None or not os.path.isfile(os.path.join(root, SINCE)):
        return None
    return None if os.path.lexists(os.path.join(root, POLICY)) or is_tracked(root) else root


def _note_edits(root: str, paths: list[str], raw: dict[str, Any], client: str) -> str | None:
    from takeback.adapters import waiting_edits as waiting  # noqa: PLC0415 - start-up

    secret = (read_record(root) or {}).get("secret")
    if not isinstance(secret, str) or not secret:
        return None
    lock = _take_lock(root)
    if lock is None:
        return None
    try:
        edited = find_edited_files(root, paths) if len(waiting.list_waiting(root)) < waiting.MOST else None
        contents = None if edited is None else _read_contents(root, edited)
        if contents is None:
            return None
        if contents:
            waiting.save_edit(root, secret, waiting.WaitingEdit(_describe_call(raw, client, paths), contents))
            _note_contents(root, contents)
    except OSError:
        return None
    finally:
        os.close(lock)
    forget_tool_call(root, _read_text(raw, "session_id"), _read_text(raw, "tool_use_id"))
    if not contents or client != TELLS:
        return ""
    return json.dumps({"systemMessage": TOLD}, separators=(",", ":")) + "\n"


def _take_lock(root: str) -> int | None:
    """Take the journal's lock until it is closed; None where somebody else has it."""
    try:
        lock = os.open(os.path.join(root, LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _read_contents(root: str, edited: list[tuple[str, str]]) -> dict[str, bytes] | None:
    """Return what edited files hold now; None where one has to be understood after all."""
    contents: dict[str, bytes] = {}
    left = MOST_BYTES
    for path, kind in edited:
        try:
            file = os.open(os.path.join(root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            with open(file, "rb") as given:
                content = given.read(LARGEST_EDIT + 1)
        except OSError:
            return None
        left -= len(content)
        if len(content) > LARGEST_EDIT or left < 0 or (kind == TEXT and not is_bare_text(content)):
            return None
        contents[path] = content
    return contents


def _note_contents(root: str, contents: dict[str, bytes]) -> None:
    """Note what waits as recorded, so that the next hook need not note it again."""
    since = read_since(root)
    if since is None:
        return
    files = dict(since[2])
    for path, content in contents.items():
        files[path] = measure_content(content, os.stat(os.path.join(root, path), follow_symlinks=False).st_mode)
    place = os.path.join(root, SINCE)
    beside = f"{place}.{os.urandom(4).hex()}"
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(file, "wb") as out:
        out.write(build_since_note(since[0], since[1], files))
    os.rename(beside, place)


def _describe_call(raw: dict[str, Any], client: str, paths: list[str]) -> dict[str, Any]:
    """Return what an entry says of the call."""
    tool, session = _read_text(raw, "tool_name"), _read_text(raw, "session_id")
    known = {
        "client": client,
        "session": session,
        "prompt": _read_text(raw, "prompt_id") or _read_text(raw, "turn_id"),
        "tool": tool,
        "event": _read_text(raw, "hook_event_name"),
        "ended": str(time.time_ns() // 1_000_000),
    }
    named = paths if tool.lower() in EDITORS else []
    return {
        "note": " ".join((tool, *named)) if tool else f"found at {known['event']}",
        "by": f"{client} (declared)" + (f", session {session[:SHORT]}" if session else ""),
        "origin": {name: text for name, text in known.items() if text},
    }


def _read_text(raw: dict[str, Any], name: str) -> str:
    value = raw.get(name)
    return value[:LONGEST] if isinstance(value, str) else ""
