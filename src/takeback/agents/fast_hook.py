"""Answers at once, before anything else of Takeback is loaded, that a tool call may go ahead.

A shell command is only noted, so that what its client reports meanwhile is left to its recorder. An edit of
a file that surely belongs to no harness passes. Everything else takes the slow path.

A client reports changed files while the tool that changed them still runs. Notes of running calls tell such a report
from one about an edit that no tool made: the former is left to the tool's own recorder, which knows who did it. A
note left behind, because the tool was never run, only delays a report: the end of a turn records everything.
"""

from __future__ import annotations

import json
import os
import time

from takeback.adapters.roots import HIDDEN, PRIVATE, find_root_text, has_other_names
from takeback.adapters.trust_record import is_trusted

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

CLIENTS = (
    *("claude-code", "codex", "gemini", "opencode"),
    *("copilot", "qwen", "cursor", "cline", "windsurf", "kiro", "kilo"),
)
SPEAK_OTHERWISE = frozenset({"copilot", "cursor", "cline", "windsurf", "kiro"})
"""Clients whose calls and answers `hook_dialects` translates."""
AFTER = frozenset({"PostToolUse", "PostToolUseFailure", "AfterTool", "tool.execute.after"})
BEFORE = frozenset({"PreToolUse", "BeforeTool", "tool.execute.before"})
RAN = (b"PostToolUse", b"AfterTool", b"tool.execute.after")
"""Words in what a client tells once a tool has run."""
CHANGED = frozenset({"ConfigChange", "FileChanged"})
"""Events by which a client tells of changed files."""
PATCH = "patch"
"""Where this word stands in a call, files may be named that only the long way finds."""
SHELLS = frozenset({"bash", "run_shell_command", "shell"})
PATCHES = frozenset({"apply_patch", "patch"})
NOTEBOOKS = frozenset({"notebookedit"})
EDITORS = frozenset({"write", "write_file", "edit", "replace", "multiedit"})
PATHS = ("file_path", "filePath", "path", "absolute_path")
TEXTS = frozenset({".md", ".mdc", ".txt", ".json", ".jsonc", ".json5", ".toml", ".yaml", ".yml", ""})
"""Endings of files that a client may load without their being in a folder whose name begins with a dot."""
ANYWHERE = (b"user", b'"claude-plugin"', b'"skills"', b'"openclaw"', b'"crewai"', b"[[documents]]")
"""Words of a manifest whose clients have files of any ending in folders of any name."""
TELLS = "claude-code"
"""The client that tells of changed files, also while the tool that changes them runs."""
PLAIN = b'adapter = "project"'
"""What the manifest of a project without a client says: only Takeback's own files are a harness's there."""
LONGEST = 200
"""Characters of a name that are kept at most."""
FOLDER = f"{PRIVATE}/under-way"
LONGEST_CALL = 600.0
"""So many seconds a tool is waited for; what its client has not told of then is taken for left behind."""


class Event:
    """One call of a hook, in one form for all clients; names are cut, paths are whole."""

    __slots__ = ("asked", "call", "client", "cwd", "given", "name", "path", "prompt", "session", "tool", "transcript")

    def __init__(self, raw: dict[str, Any], client: str, cwd: str) -> None:
        def read(key: str) -> str:
            value = raw.get(key)
            return value[:LONGEST].encode("utf-8", "replace").decode() if isinstance(value, str) else ""

        def read_whole(key: str) -> str:
            value = raw.get(key)
            return value if isinstance(value, str) else ""

        given = raw.get("tool_input")
        self.client = client
        self.name = read("hook_event_name")
        self.cwd = read_whole("cwd") or cwd
        self.session = read("session_id")
        self.prompt = read("prompt_id") or read("turn_id")
        self.asked = read_whole("prompt")
        """What a person typed, where the event is about that."""
        self.tool = read("tool_name")
        self.given: dict[str, Any] = given if isinstance(given, dict) else {}
        """What the tool was given."""
        self.path = read_whole("file_path")
        """The file that changed, where the event says so."""
        self.call = read("tool_use_id")
        """The client's own name of the tool call, where it has one."""
        self.transcript = read_whole("transcript_path")
        """The file in which the client keeps the conversation, where it says so."""

    @property
    def before(self) -> bool:
        """Whether the tool has not run yet."""
        return self.name in BEFORE

    @property
    def edits(self) -> bool:
        """Whether the tool is one that edits files, and says which."""
        return self.tool.lower() in EDITORS | PATCHES | NOTEBOOKS

    @property
    def shell(self) -> bool:
        """Whether the tool runs a command that is not known to edit files."""
        return self.tool.lower() in SHELLS and "apply_patch" not in str(self.given)

    def origin(self) -> dict[str, str]:
        """Return where a change comes from, for the journal."""
        known = {"client": self.client, "session": self.session, "prompt": self.prompt}
        known |= {"tool": self.tool, "event": self.name}
        return {key: value for key, value in known.items() if value}


class NoEventError(ValueError):
    """A hook's input is not an event; the message says what it is."""


def parse_event(data: bytes, client: str, cwd: str) -> Event:
    """Return the event in a hook's input; `cwd` is the hook's directory, if the client names none."""
    try:
        raw = json.loads(data)
    except ValueError as fault:
        raise NoEventError(f"no JSON ({fault})") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("hook_event_name"), str):
        raise NoEventError("JSON without hook_event_name")
    return Event(raw, client, cwd)


def can_pass_unchecked(data: bytes, client: str, cwd: str) -> bool:
    """Return whether a call may surely go ahead; note it where that is useful."""
    try:
        event = parse_event(data, client, cwd)
    except ValueError:
        return False
    if not event.before or not event.given:
        return False
    tool = event.tool.lower()
    if tool in SHELLS:
        return event.shell and _note_shell(event)
    path = next((event.given[name] for name in PATHS if name in event.given), None)
    if tool not in EDITORS or not isinstance(path, str) or not path:
        return False
    return is_nobodys(os.path.join(event.cwd, path))


def _note_shell(event: Event) -> bool:
    root = find_root_text(event.cwd)
    if root is not None and event.client == TELLS and is_trusted(root):
        note_tool_call(root, event.session, event.call, ())
    return True


def has_nothing_to_record(data: bytes, cwd: str, looked: dict[str, list[str] | None] | None = None) -> bool:
    """Return whether an event after which changes are recorded surely has nothing to record; its note is taken off.

    That is so where every harness it may concern is as it was at a look that found everything recorded, and for an
    edit of a file that is none of a harness's own. What a look at a harness finds is put into `looked`.
    """
    looked = {} if looked is None else looked
    try:
        event = parse_event(data, "", cwd)
    except ValueError:
        return False
    if event.before or PATCH in f"{event.tool} {event.given}":
        return False
    names = (*(event.given.get(name) for name in PATHS), event.path)
    named = [os.path.join(event.cwd, word) for word in names if isinstance(word, str) and word]
    roots = dict.fromkeys(find_root_text(place) for place in (event.cwd, *named))
    harnesses = [root for root in roots if root is not None]
    if not all(map(is_trusted, harnesses)):
        return False
    edits = event.tool.lower() in EDITORS and named
    if not (edits and all(map(is_nobodys, named))):
        from takeback.adapters.last_look import find_changed_files  # noqa: PLC0415 - start-up

        looked.update((root, find_changed_files(root)) for root in harnesses)
        if not all(look == [] for look in looked.values()):
            return False
    if event.name not in CHANGED:
        for root in harnesses:
            forget_tool_call(root, event.session, event.call)
    return True


def is_nobodys(path: str) -> bool:
    """Return whether a file surely belongs to no harness; a user's harness lies in folders of any name."""
    if has_other_names(path):
        return False
    places = {os.path.abspath(path), os.path.realpath(path)}
    for place in places:
        root = find_root_text(os.path.dirname(place))
        if root is None:
            continue
        try:
            with open(os.path.join(root, HIDDEN), "rb") as file:
                manifest = file.read()
        except OSError:
            return False
        inside = os.path.relpath(place, root)
        if PLAIN in manifest and b"kinds" not in manifest and not inside.startswith(PRIVATE):
            continue
        dotted = any(step.startswith(".") for step in inside.split(os.sep))
        if any(word in manifest for word in ANYWHERE) or dotted or os.path.splitext(inside)[1].lower() in TEXTS:
            return False
    return True


def note_tool_call(root: str, session: str, call: str, paths: Sequence[str]) -> None:
    """Note that a call has begun; `paths` are the files it edits, none where any may be."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.makedirs(os.path.join(root, FOLDER), 0o700, exist_ok=True)
        fd = os.open(_find_note_path(root, session, call), flags, 0o600)
        try:
            os.write(fd, json.dumps({"session": session, "paths": list(paths)}).encode())
        finally:
            os.close(fd)
    except OSError:
        return


def forget_tool_call(root: str, session: str, call: str) -> None:
    """Take off the note of a call; without a call, every note of the session."""
    if call:
        _remove(_find_note_path(root, session, call))
        return
    for place, noted in _list_notes(root):
        if noted.get("session") == session:
            _remove(place)


def _remove(place: str) -> None:
    try:
        os.unlink(place)
    except OSError:
        return


def is_claimed_by_tool(root: str, path: str = "") -> bool:
    """Return whether a running call may have changed a file; without a file, whether any call runs."""
    real = os.path.realpath(path) if path else ""
    for place, noted in _list_notes(root):
        try:
            late = time.time() - os.stat(place, follow_symlinks=False).st_mtime > LONGEST_CALL
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
