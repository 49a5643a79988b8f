"""What Takeback adds to a client's harness: hooks, the server and a skill, as operations of one change.

The change is admitted and recorded like any other, so that it is taken back byte for byte.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from takeback.adapters.clients.names import prefix
from takeback.agents.opencode_plugin import plugin_text
from takeback.errors import InputError
from takeback.harness.harness import Harness
from takeback.harness.log import EntryView
from takeback.state import State
from takeback.synthesize import invert

BY: Final = "takeback install"
NAME: Final = "takeback"
GUARD_SECONDS: Final = 15
RECORD_SECONDS: Final = 90
SKILL: Final = """---
name: takeback
description: Change this agent's own instructions, settings, tools or hooks so that every change can be taken back.
---

Changes of this project's agent files (instructions, settings, MCP servers, hooks, skills) are recorded by Takeback.

- Prefer the tools of the takeback server: `propose_change`, then `apply_change` with the token.
- An edit of such a file by other tools is recorded too. One that the client could not load is denied: do what the
  reason says. One that loosens permissions or removes a guard is for a person to allow.
- `history` or `takeback log` lists the changes; `plan_undo` and `undo`, or `takeback undo 5`, take one back and
  leave the others.
- Never edit `.takeback/`, and do not remove Takeback's hooks.
"""


class Hook(NamedTuple):
    """One hook: its event, what it is for, and how long it may take."""

    event: str
    matcher: str = ""
    guard: bool = False
    most: int = RECORD_SECONDS
    """So many seconds its client lets it have; a longer time is cut, with a warning at every start."""
    suffix: str = ""
    """Tells a second hook of an event from the first."""


HOOKS: Final[Mapping[str, Sequence[Hook]]] = {
    "claude-code": (
        Hook("PreToolUse", "Bash", most=GUARD_SECONDS, suffix="-shell"),
        Hook("PreToolUse", "Edit|Write|MultiEdit|NotebookEdit", guard=True),
        Hook("PostToolUse", "Edit|Write|MultiEdit|NotebookEdit|Bash"),
        Hook("PostToolUseFailure", "Edit|Write|MultiEdit|NotebookEdit|Bash"),
        Hook("ConfigChange"),
        Hook("FileChanged", ".mcp.json|CLAUDE.md|CLAUDE.local.md|AGENTS.md"),
        Hook("SessionStart"),
        Hook("Stop"),
        Hook("SessionEnd"),
    ),
    "codex": (
        Hook("PreToolUse", "apply_patch|Bash", guard=True),
        Hook("PostToolUse", "apply_patch|Bash"),
        Hook("SessionStart"),
        Hook("Stop"),
        Hook("SessionEnd", most=3),
    ),
    "gemini": (
        Hook("BeforeTool", "write_file|replace", guard=True),
        Hook("AfterTool", "write_file|replace|run_shell_command"),
        Hook("SessionStart"),
        Hook("AfterAgent"),
        Hook("SessionEnd"),
    ),
    "opencode": (),
}


def additions(client: str, kinds: Sequence[str], state: State, program: Sequence[str]) -> list[dict[str, Any]]:
    """The operations that install Takeback for one client of a harness; `program` are the words that start it."""
    if client not in HOOKS:
        raise InputError("client", found=client, expected=f"one of {', '.join(HOOKS)}")
    start = "" if kinds[0] == client else prefix(client)
    before = f"{start}toml:" if client == "codex" and _hooks_in_toml(state, start) else start
    ops = [_listener(client, hook, before, program) for hook in HOOKS[client]]
    server = server_of(client, program)
    scope = "json:" if client == "opencode" and _only_json(state, start) else ""
    ops.append({"op_type": "register_tool", "target": f"{start}{scope}mcp:{NAME}", "value": server})
    ops.append({"op_type": "set_prompt", "target": f"{start}skills/{NAME}", "value": SKILL})
    if client == "opencode":
        path = ".opencode/plugins/takeback.js"
        ops.append({"op_type": "write_file", "target": path, "value": plugin_text(program)})
        record = {"id": "takeback.js", "handler": "takeback.js", "options": {"file": path}}
        ops.append({"op_type": "add_listener", "target": f"{start}plugins", "value": record})
    return ops


def candidate_of(ops: Sequence[dict[str, Any]], state: State) -> Any:
    """The operations with a recovery."""
    from takeback.language import read_program  # noqa: PLC0415 - kept out of what hooks import
    from takeback.state import Stage  # noqa: PLC0415

    return invert(read_program(list(ops), Stage.FORWARD, "install"), state)


def installed(harness: Harness, client: str) -> EntryView | None:
    """The entry that installed Takeback for a client and is in force; None if there is none."""
    return next(
        (
            entry
            for entry in harness.log()
            if entry.kind == "apply" and entry.by == BY and entry.note == note_of(client) and entry.status == "live"
        ),
        None,
    )


def note_of(client: str) -> str:
    """What the entry says of itself."""
    return f"takeback install {client}"


def group_of(client: str, hook: Hook, program: Sequence[str]) -> dict[str, Any]:
    """One hook as the client's own files have it; `program` are the words that start Takeback."""
    seconds = GUARD_SECONDS if hook.guard else hook.most
    command: dict[str, Any] = {"type": "command", "command": shlex.join([*program, "hook", client])}
    if client == "gemini":
        command = {"name": f"takeback-{hook.event.lower()}", **command}
    command["timeout"] = seconds * 1000 if client == "gemini" else seconds
    if client == "claude-code" and hook.guard:
        command["onFailure"] = "block"
    return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [command]}


def server_of(client: str, program: Sequence[str]) -> dict[str, Any]:
    """The server as the client's own files have it."""
    if client == "opencode":
        return {"type": "local", "command": [*program, "serve"], "enabled": True}
    return {"command": program[0], "args": [*program[1:], "serve"]}


def _listener(client: str, hook: Hook, start: str, program: Sequence[str]) -> dict[str, Any]:
    name = f"takeback-{hook.event}{hook.suffix}"
    record = {"id": name, "handler": name, "options": group_of(client, hook, program)}
    return {"op_type": "add_listener", "target": f"{start}{hook.event}", "value": record}


def _hooks_in_toml(state: State, start: str) -> bool:
    """Whether Codex's hooks are in config.toml; with both that and hooks.json it warns at every start."""
    own = [event[len(start) :] for event in state["listeners"] if event.startswith(start)]
    return bool(own) and all(event.startswith("toml:") for event in own)


def _only_json(state: State, start: str) -> bool:
    """Whether opencode's settings are in opencode.json, and there is no opencode.jsonc."""
    keys = [key for surface in ("config", "routing", "tools") for key in state[surface] if key.startswith(start)]
    return any(key[len(start) :].startswith("json:") for key in keys) and all(
        key[len(start) :].startswith(("json:", ".opencode")) for key in keys
    )
