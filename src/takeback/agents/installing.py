"""What Takeback adds to a client's harness: hooks, the server and a skill, as operations of one change.

The change is admitted and recorded like any other, so that it is taken back byte for byte. Hooks go into a settings
file that only this machine reads where a client has one, otherwise into a file that git does not track, and nothing
goes into files that others get too unless that is asked for.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from takeback.adapters.clients.names import prefix
from takeback.agents.git.running import Git
from takeback.agents.git.tracking import name_exclusion, why_shared
from takeback.agents.opencode_plugin import plugin_text
from takeback.agents.own_traces import PLUGIN, find_covered_tools, find_plugins, find_servers, find_skills
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


PRIVATE_SCOPE: Final[Mapping[str, str]] = {"claude-code": "local:"}
"""What the names of a client's settings file begin with that only this machine reads; others have none."""
HOOKS_FILE: Final[Mapping[str, str]] = {
    "claude-code": ".claude/settings.local.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "opencode": PLUGIN,
}
"""The file of a project that hooks go into where others do not get them."""
CODEX_SETTINGS: Final = ".codex/config.toml"
ABSENT: Final = "takeback is not installed here: this edit is neither guarded nor recorded (pip install takeback)"
"""What shared hooks say on a machine without the program; the edit is made all the same."""


class Placing(NamedTuple):
    """Where the additions go: into files that others get too, and who reads the settings otherwise."""

    shared: bool = False
    user: bool = False
    """Whether the harness is the user's own folder, of which every file is private."""


def additions(
    client: str, kinds: Sequence[str], state: State, program: Sequence[str], placing: Placing | None = None
) -> list[dict[str, Any]]:
    """The operations that install Takeback for one client of a harness; `program` are the words that start it.

    What is there already, by whomever, is left out.
    """
    if client not in HOOKS:
        raise InputError("client", found=client, expected=f"one of {', '.join(HOOKS)}")
    where = placing or Placing()
    start = start_of(client, kinds)
    before = f"{start}toml:" if client == "codex" and _hooks_in_toml(state, start) else start
    if not where.shared and not where.user:
        before += PRIVATE_SCOPE.get(client, "")
    by_plugin = bool(find_plugins(state))
    is_open = not where.user and client not in PRIVATE_SCOPE  # a file that someone may commit one day
    hooks = [] if by_plugin else [hook for hook in HOOKS[client] if not _is_covered(hook, client, state)]
    ops = [_listener(client, hook, before, program, fails_open=where.shared or is_open) for hook in hooks]
    if client == "opencode" and ("files", PLUGIN) not in state:
        ops.append({"op_type": "write_file", "target": PLUGIN, "value": plugin_text(program)})
        record = {"id": "takeback.js", "handler": "takeback.js", "options": {"file": PLUGIN}}
        ops.append({"op_type": "add_listener", "target": f"{start}plugins", "value": record})
    if by_plugin:
        return ops
    if where.shared and not find_servers(state, start):
        scope = "json:" if client == "opencode" and _only_json(state, start) else ""
        server = server_of(client, program)
        ops.append({"op_type": "register_tool", "target": f"{start}{scope}mcp:{NAME}", "value": server})
    if (where.shared or where.user) and not find_skills(state, start):
        ops.append({"op_type": "set_prompt", "target": f"{start}skills/{NAME}", "value": SKILL})
    return ops


def start_of(client: str, kinds: Sequence[str]) -> str:
    """Return what the names of a client begin with."""
    return "" if not kinds or kinds[0] == client else prefix(client)


def find_hooks_file(client: str, root: Path) -> str:
    """Return the file of a project that a client's hooks go into; of Codex the one that has hooks already."""
    if client == "codex" and not (root / HOOKS_FILE[client]).exists():
        try:
            said = tomllib.loads((root / CODEX_SETTINGS).read_text(encoding="utf-8")).get("hooks")
        except (OSError, ValueError):
            said = None
        if isinstance(said, dict) and set(said) - {"state"}:
            return CODEX_SETTINGS
    return HOOKS_FILE[client]


def demand_private(client: str, git: Git) -> None:
    """Refuse a project where the hooks of a client would stand in a file that others get too."""
    place = find_hooks_file(client, git.place)
    why = why_shared(git, place)
    if why is None:
        return
    lacking = "" if client in PRIVATE_SCOPE else f"{client} has no settings file that only this machine reads. "
    raise InputError(
        "client",
        found=why,
        expected="a file for its hooks that others do not get, or --shared",
        hint=f"{lacking}'takeback install {client} --shared' adds them for everybody; where takeback is not "
        "installed they let every edit pass, with a message. The folder plugin/ of Takeback's repository adds them "
        "for yourself, in every project",
    )


def warn_of_commits(client: str, git: Git) -> list[str]:
    """Return what keeps the file with a client's hooks out of commits, where nothing does yet."""
    place = find_hooks_file(client, git.place)
    way = name_exclusion(git, place)
    return [] if way is None else [f"git does not track {place}, and does not ignore it: {way} keeps it to yourself"]


def _is_covered(hook: Hook, client: str, state: State) -> bool:
    """Whether hooks of ours are there for every tool of one; an event without tools has one or none."""
    tools = find_covered_tools(state, client, hook.event)
    return tools is None or (bool(hook.matcher) and set(hook.matcher.split("|")) <= tools)


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


def group_of(client: str, hook: Hook, program: Sequence[str], *, fails_open: bool = False) -> dict[str, Any]:
    """One hook as the client's own files have it; `program` are the words that start Takeback.

    Those that others may get let an edit pass, with a message, where the program is not there.
    """
    seconds = GUARD_SECONDS if hook.guard else hook.most
    words = shlex.join([*program, "hook", client])
    if fails_open:
        there = f"command -v {shlex.quote(program[0])} >/dev/null 2>&1"
        words = f"if {there}; then {words}; else echo {shlex.quote(ABSENT)} >&2; fi"
    command: dict[str, Any] = {"type": "command", "command": words}
    if client == "gemini":
        command = {"name": f"takeback-{hook.event.lower()}", **command}
    command["timeout"] = seconds * 1000 if client == "gemini" else seconds
    if client == "claude-code" and hook.guard and not fails_open:
        command["onFailure"] = "block"
    return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [command]}


def server_of(client: str, program: Sequence[str]) -> dict[str, Any]:
    """The server as the client's own files have it."""
    if client == "opencode":
        return {"type": "local", "command": [*program, "serve"], "enabled": True}
    return {"command": program[0], "args": [*program[1:], "serve"]}


def _listener(client: str, hook: Hook, start: str, program: Sequence[str], *, fails_open: bool) -> dict[str, Any]:
    name = f"takeback-{hook.event}{hook.suffix}"
    record = {"id": name, "handler": name, "options": group_of(client, hook, program, fails_open=fails_open)}
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
