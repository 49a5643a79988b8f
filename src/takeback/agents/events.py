"""What a client's hook says on standard input, in one form for all clients.

Claude Code and Codex speak the same JSON; Gemini CLI names events and tools differently; opencode's plugin sends what
its own hooks get, under Claude Code's names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from takeback.agents.quick import BEFORE, CHANGED, CLIENTS, LONGEST, SHELLS
from takeback.errors import InputError

__all__ = ["BEFORE", "CHANGED", "CLIENTS", "SHELLS", "Event", "read_event"]

AFTER: Final = frozenset({"PostToolUse", "PostToolUseFailure", "AfterTool", "tool.execute.after"})
WRITES: Final = frozenset({"write", "write_file"})
EDITS: Final = frozenset({"edit", "replace", "multiedit"})
PATCHES: Final = frozenset({"apply_patch", "patch"})
NOTEBOOKS: Final = frozenset({"notebookedit"})


@dataclass(frozen=True, slots=True)
class Event:
    """One call of a hook."""

    client: str
    name: str
    cwd: str
    session: str = ""
    prompt: str = ""
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    """What the tool was given."""
    path: str = ""
    """The file that changed, where the event says so."""
    call: str = ""
    """The client's own name of the tool call, where it has one."""

    @property
    def before(self) -> bool:
        """Whether the tool has not run yet."""
        return self.name in BEFORE

    @property
    def edits(self) -> bool:
        """Whether the tool is one that edits files, and says which."""
        return self.tool.lower() in WRITES | EDITS | PATCHES | NOTEBOOKS

    @property
    def shell(self) -> bool:
        """Whether the tool runs a command that is not known to edit files."""
        return self.tool.lower() in SHELLS and "apply_patch" not in str(self.given)

    def origin(self) -> dict[str, str]:
        """Where a change comes from, for the journal."""
        known = {
            "client": self.client,
            "session": self.session,
            "prompt": self.prompt,
            "tool": self.tool,
            "event": self.name,
        }
        return {key: value for key, value in known.items() if value}


def read_event(data: bytes, client: str, cwd: str) -> Event:
    """The event in a hook's input; `cwd` is where the hook runs, if the client does not say."""
    where = "standard input"
    try:
        raw = json.loads(data)
    except ValueError as fault:
        raise InputError(where, found=f"no JSON ({fault})", expected="a hook's JSON") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("hook_event_name"), str):
        raise InputError(where, found="JSON without hook_event_name", expected="a hook's JSON")
    given = raw.get("tool_input")
    return Event(
        client,
        _text(raw, "hook_event_name"),
        _text(raw, "cwd") or cwd,
        session=_text(raw, "session_id"),
        prompt=_text(raw, "prompt_id") or _text(raw, "turn_id"),
        tool=_text(raw, "tool_name"),
        given=given if isinstance(given, dict) else {},
        path=_text(raw, "file_path"),
        call=_text(raw, "tool_use_id"),
    )


def _text(raw: Mapping[str, Any], key: str) -> str:
    found = raw.get(key)
    if not isinstance(found, str):
        return ""
    return found if key in {"cwd", "file_path"} else found[:LONGEST]
