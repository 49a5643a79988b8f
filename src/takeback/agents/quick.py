"""What can be answered about a tool call at once, before anything of Takeback is loaded: that it may go ahead.

A shell command is only noted, so that what its client tells of changed files meanwhile is left to its recorder. An
edit of a file that surely is none of a harness's own passes. Everything else takes the long way.
"""

from __future__ import annotations

import json
import os

from takeback.adapters.roots import HIDDEN, above, has_other_names
from takeback.adapters.trust_record import is_trusted
from takeback.agents import under_way

CLIENTS = ("claude-code", "codex", "gemini", "opencode")
BEFORE = frozenset({"PreToolUse", "BeforeTool", "tool.execute.before"})
SHELLS = frozenset({"bash", "run_shell_command", "shell"})
EDITORS = frozenset({"write", "write_file", "edit", "replace", "multiedit"})
PATHS = ("file_path", "filePath", "path", "absolute_path")
TEXTS = frozenset({".md", ".mdc", ".txt", ".json", ".jsonc", ".toml", ""})
"""Endings of files that a client may load without their being in a folder whose name begins with a dot."""
TELLS = "claude-code"


def passes(data: bytes, client: str, cwd: str) -> bool:
    """Whether a call may surely go ahead; it is noted where that is of use."""
    try:
        raw = json.loads(data)
    except ValueError:
        return False
    if not isinstance(raw, dict) or raw.get("hook_event_name") not in BEFORE:
        return False
    tool, given = str(raw.get("tool_name", "")).lower(), raw.get("tool_input")
    here = raw.get("cwd") if isinstance(raw.get("cwd"), str) else cwd
    if not isinstance(given, dict) or not isinstance(here, str):
        return False
    if tool in SHELLS:
        return _shell(raw, given, client, here)
    path = next((given[name] for name in PATHS if name in given), None)
    if tool not in EDITORS or not isinstance(path, str) or not path:
        return False
    return _nobodys(os.path.join(here, path))


def _shell(raw: dict[str, object], given: dict[str, object], client: str, here: str) -> bool:
    if "apply_patch" in str(given):
        return False
    root = above(here)
    if root is not None and client == TELLS and is_trusted(root):
        under_way.begin(root, str(raw.get("session_id", "")), str(raw.get("tool_use_id", "")), ())
    return True


def _nobodys(path: str) -> bool:
    """Whether a file is surely none of a harness's own; those of a user's harness lie in folders of any name."""
    if has_other_names(path):
        return False
    places = {os.path.abspath(path), os.path.realpath(path)}
    for place in places:
        root = above(os.path.dirname(place))
        if root is None:
            continue
        try:
            with open(os.path.join(root, HIDDEN), "rb") as file:
                manifest = file.read()
        except OSError:
            return False
        inside = os.path.relpath(place, root)
        dotted = any(step.startswith(".") for step in inside.split(os.sep))
        if b"user" in manifest or dotted or os.path.splitext(inside)[1].lower() in TEXTS:
            return False
    return True
