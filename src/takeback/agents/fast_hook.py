"""Answers at once, before anything else of Takeback is loaded, that a tool call may go ahead.

A shell command is only noted, so that what its client reports meanwhile is left to its recorder. An edit of
a file that surely belongs to no harness passes. Everything else takes the slow path.
"""

from __future__ import annotations

import json
import os

from takeback.adapters.roots import HIDDEN, PRIVATE, find_root_text, has_other_names
from takeback.adapters.trust_record import is_trusted
from takeback.agents import running_tools

CLIENTS = (
    *("claude-code", "codex", "gemini", "opencode"),
    *("copilot", "qwen", "cursor", "cline", "windsurf", "kiro", "kilo"),
)
SPEAK_OTHERWISE = frozenset({"copilot", "cursor", "cline", "windsurf", "kiro"})
"""Clients whose calls and answers `hook_dialects` translates."""
BEFORE = frozenset({"PreToolUse", "BeforeTool", "tool.execute.before"})
RAN = (b"PostToolUse", b"AfterTool", b"tool.execute.after")
"""Words in what a client tells once a tool has run."""
CHANGED = frozenset({"ConfigChange", "FileChanged"})
"""Events by which a client tells of changed files."""
PATCH = "patch"
"""Where this word stands in a call, files may be named that only the long way finds."""
SHELLS = frozenset({"bash", "run_shell_command", "shell"})
EDITORS = frozenset({"write", "write_file", "edit", "replace", "multiedit"})
PATHS = ("file_path", "filePath", "path", "absolute_path")
TEXTS = frozenset({".md", ".mdc", ".txt", ".json", ".jsonc", ".json5", ".toml", ".yaml", ".yml", ""})
"""Endings of files that a client may load without their being in a folder whose name begins with a dot."""
ANYWHERE = (b"user", b'"claude-plugin"', b'"skills"', b'"openclaw"', b'"crewai"', b"[[documents]]")
"""Words of a manifest whose clients have files of any ending in folders of any name."""
TELLS = "claude-code"
PLAIN = b'adapter = "project"'
"""What the manifest of a project without a client says: only Takeback's own files are a harness's there."""
LONGEST = 200
"""Characters of a name that are kept at most."""


def can_pass_unchecked(data: bytes, client: str, cwd: str) -> bool:
    """Return whether a call may surely go ahead; note it where that is useful."""
    try:
        raw = json.loads(data)
    except ValueError:
        return False
    if not isinstance(raw, dict) or raw.get("hook_event_name") not in BEFORE:
        return False
    tool, given = str(raw.get("tool_name", "")).lower(), raw.get("tool_input")
    folder = raw.get("cwd") if isinstance(raw.get("cwd"), str) else cwd
    if not isinstance(given, dict) or not isinstance(folder, str):
        return False
    if tool in SHELLS:
        return _note_shell(raw, given, client, folder)
    path = next((given[name] for name in PATHS if name in given), None)
    if tool not in EDITORS or not isinstance(path, str) or not path:
        return False
    return is_nobodys(os.path.join(folder, path))


def has_nothing_to_record(data: bytes, cwd: str, looked: dict[str, list[str] | None] | None = None) -> bool:
    """Return whether an event after which changes are recorded surely has nothing to record; its note is taken off.

    That is so where every harness it may concern is as it was at a look that found everything recorded, and for an
    edit of a file that is none of a harness's own. What a look at a harness finds is put into `looked`.
    """
    looked = {} if looked is None else looked
    try:
        raw = json.loads(data)
    except ValueError:
        return False
    if not isinstance(raw, dict) or not isinstance(raw.get("hook_event_name"), str):
        return False
    folder = raw.get("cwd") if isinstance(raw.get("cwd"), str) else cwd
    given = raw.get("tool_input") if isinstance(raw.get("tool_input"), dict) else {}
    text = f"{raw.get('tool_name')} {given}"
    if (
        raw["hook_event_name"] in BEFORE
        or not isinstance(folder, str)
        or not isinstance(given, dict)
        or PATCH in text
    ):
        return False
    names = (*(given.get(name) for name in PATHS), raw.get("file_path"))
    named = [os.path.join(folder, word) for word in names if isinstance(word, str) and word]
    roots = dict.fromkeys(find_root_text(place) for place in (folder, *named))
    harnesses = [root for root in roots if root is not None]
    if not all(map(is_trusted, harnesses)):
        return False
    edits = str(raw.get("tool_name", "")).lower() in EDITORS and named
    if not (edits and all(map(is_nobodys, named))):
        from takeback.adapters.last_look import find_changed_files  # noqa: PLC0415 - start-up

        looked.update((root, find_changed_files(root)) for root in harnesses)
        if not all(look == [] for look in looked.values()):
            return False
    if raw["hook_event_name"] not in CHANGED:
        for root in harnesses:
            running_tools.forget_tool_call(root, _read_text(raw, "session_id"), _read_text(raw, "tool_use_id"))
    return True


def _read_text(raw: dict[str, object], name: str) -> str:
    value = raw.get(name)
    return value[:LONGEST] if isinstance(value, str) else ""


def _note_shell(raw: dict[str, object], given: dict[str, object], client: str, folder: str) -> bool:
    if "apply_patch" in str(given):
        return False
    root = find_root_text(folder)
    if root is not None and client == TELLS and is_trusted(root):
        running_tools.note_tool_call(root, str(raw.get("session_id", "")), str(raw.get("tool_use_id", "")), ())
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
