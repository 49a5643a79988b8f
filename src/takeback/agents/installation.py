"""What Takeback adds to a client's harness (hooks, server, skill), and how it is removed.

It is one change, admitted and recorded like any other, so that it is taken back byte for byte. It is
recognized by its content, not by who wrote it. Where a client has a settings file that only this machine
reads, hooks go there.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from takeback.adapters.clients import build_members
from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.clients.contents import build_prefix
from takeback.adapters.clients.init import detect_clients
from takeback.adapters.directory import Directory
from takeback.agents.fast_hook import CLIENTS
from takeback.agents.git import Git, name_exclusion, why_shared
from takeback.agents.hook_files import (
    NAMES,
    PLUGIN,
    SAYS,
    ask_for_program,
    list_own_file_additions,
    list_own_file_removals,
    list_texts,
)
from takeback.errors import HarnessError, InputError
from takeback.harness.adapter import NotExpressible, Reading
from takeback.harness.engine import LOCK_SECONDS
from takeback.harness.entry_log import EntryView
from takeback.harness.file_transaction import complete_changes
from takeback.harness.harness import Harness
from takeback.harness.images import FileChange, FileImage
from takeback.journal.memory import MemoryStore
from takeback.repair import invert_mutation
from takeback.state import State
from takeback.state.surface import install_surfaces
from takeback.undo.record import run_and_record

NAME: Final = "takeback"
_CLIENT: Final = "|".join(CLIENTS)
_CALL: Final = re.compile(
    rf"(?:^|[\s/\\\"';&|])(?:takeback(?:\.exe)?[\"']?|-m takeback)\s+hook\b(?:\s+({_CLIENT}))?|^\S+ hook ({_CLIENT})$"
)
"""How a hook calls us: by our name anywhere in it, or by nothing but a program, `hook` and the client."""
_SERVES: Final = re.compile(r"(?:^|[/\\\s])takeback(?:\.exe)?$|^serve$")
_PLUGIN_KEY: Final = re.compile(r"^takeback@|^takeback$")


def is_own_hook(hook: Any, client: str = "") -> bool:
    """Return whether a hook is one of ours, and for a client if one is named."""
    command = hook.get("command") if isinstance(hook, Mapping) else None
    if not isinstance(command, str):
        return False
    given = hook.get("args")
    arguments = [word for word in given if isinstance(word, str)] if isinstance(given, list) else []
    match = _CALL.search(" ".join([command, *arguments]))
    return match is not None and client in {"", match[1] or match[2] or CLIENTS[0]}


def find_hooks(state: State, client: str = "") -> Iterator[tuple[str, Mapping[str, Any], list[Any]]]:
    """Yield events with groups that have hooks of ours, and the hooks in them that are not."""
    for event, elements in state["listeners"].items():
        for element in elements:
            hooks = _list_hooks_in(element)
            others = [hook for hook in hooks if not is_own_hook(hook, client)]
            if len(others) < len(hooks):
                yield event, element, others


def _list_hooks_in(element: Any) -> list[Any]:
    options = element.get("options") if isinstance(element, Mapping) else None
    hooks = options.get("hooks") if isinstance(options, Mapping) else None
    return hooks if isinstance(hooks, list) else [options] if isinstance(options, Mapping) else []


def find_covered_tools(state: State, client: str, event: str) -> set[str] | None:
    """Return the tools for which an event has a hook of ours; None where it has one for every tool."""
    tools: set[str] = set()
    for name, element, _ in find_hooks(state, client):
        if name.rpartition(":")[2] == event:
            matcher = element["options"].get("matcher")
            if not matcher or matcher == "*":
                return None
            tools |= set(str(matcher).split("|"))
    return tools


def find_plugins(state: State) -> list[str]:
    """Return the settings by which a client loads Takeback as a plugin."""
    plugins: list[str] = []
    for key, value in state["config"].items():
        if key.rpartition(":")[2] in {"enabledPlugins", "plugins"} and isinstance(value, Mapping):
            plugins += [f"{key}.{_escape(name)}" for name, on in value.items() if _PLUGIN_KEY.search(name) and on]
    return plugins


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace(".", "\\.")


def find_servers(state: State, start: str | None = None) -> list[str]:
    """Return the names of servers that are ours; `start` is what a client's names begin with."""
    servers = []
    for name, record in state["tools"].items():
        command = record.get("command") if isinstance(record, Mapping) else None
        given = command if isinstance(command, list) else [command, *(record.get("args") or [])] if command else []
        words = [server for server in given if isinstance(server, str)]
        serves = bool(words) and "serve" in words and any(_SERVES.search(word) for word in words[:-1])
        if name.endswith(f"mcp:{NAME}") and serves and _is_clients_name(name, start):
            servers.append(name)
    return servers


def find_skills(state: State, start: str | None = None) -> list[str]:
    """Return the names of skills and commands that are ours, as far as they still say so."""
    return [
        name
        for name, text in state["prompts"].items()
        if name.endswith(NAMES) and isinstance(text, str) and SAYS in text and _is_clients_name(name, start)
    ]


def _is_clients_name(name: str, start: str | None) -> bool:
    """Return whether a name belongs to a client: it has that client's prefix, and no other client's."""
    if start is None:
        return True
    others = [build_prefix(client) for client in CLIENTS if build_prefix(client) != start]
    return name.startswith(start) and not any(name.startswith(other) for other in others)


def list_removals(state: State, client: str = "", start: str | None = None) -> list[dict[str, Any]]:
    """Return the operations that take out everything of ours, or everything of one client's."""
    ops: list[dict[str, Any]] = []
    for event, element, others in find_hooks(state, client):
        if others:
            kept = {**element, "options": {**element["options"], "hooks": others}}
            ops.append({"op_type": "add_listener", "target": event, "value": kept})
        else:
            ops.append({"op_type": "remove_listener", "target": event, "value": element["id"]})
    ops += [{"op_type": "remove_tool", "target": name} for name in find_servers(state, start)]
    ops += [{"op_type": "remove_prompt", "target": name} for name in find_skills(state, start)]
    return [*ops, *list_own_file_removals(client, state)]


BY: Final = "takeback install"
GUARD_SECONDS: Final = 15
RECORD_SECONDS: Final = 90


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
    "copilot": (
        Hook("PreToolUse", "Edit|Write|MultiEdit", guard=True),
        Hook("PostToolUse", "Edit|Write|MultiEdit|Bash"),
        Hook("PostToolUseFailure", "Edit|Write|MultiEdit|Bash"),
        Hook("SessionStart"),
        Hook("Stop"),
        Hook("SessionEnd"),
    ),
    "qwen": (
        Hook("PreToolUse", "write_file|edit", guard=True),
        Hook("PostToolUse", "write_file|edit|run_shell_command"),
        Hook("PostToolUseFailure", "write_file|edit|run_shell_command"),
        Hook("SessionStart"),
        Hook("Stop"),
        Hook("SessionEnd"),
    ),
    "cursor": (
        Hook("preToolUse", guard=True),
        Hook("afterFileEdit"),
        Hook("afterShellExecution"),
        Hook("sessionStart"),
        Hook("stop"),
        Hook("sessionEnd"),
    ),
    "windsurf": (
        Hook("pre_write_code", guard=True),
        Hook("post_write_code"),
        Hook("post_run_command"),
        Hook("post_cascade_response"),
    ),
    "cline": (),
    "kiro": (),
    "kilo": (),
}
TRACK_HOOKS: Final[Mapping[str, Sequence[Hook]]] = {
    "claude-code": (Hook("UserPromptSubmit", most=GUARD_SECONDS),),
    "codex": (Hook("UserPromptSubmit", most=GUARD_SECONDS),),
    "gemini": (
        Hook("BeforeTool", "run_shell_command", most=GUARD_SECONDS, suffix="-shell"),
        Hook("BeforeAgent", most=GUARD_SECONDS),
    ),
    "copilot": (
        Hook("PreToolUse", "Bash", most=GUARD_SECONDS, suffix="-shell"),
        Hook("UserPromptSubmit", most=GUARD_SECONDS),
    ),
    "qwen": (
        Hook("PreToolUse", "run_shell_command", most=GUARD_SECONDS, suffix="-shell"),
        Hook("UserPromptSubmit", most=GUARD_SECONDS),
    ),
}
"""What a project whose own files are tracked needs besides: a look before each command, and the prompts."""


PRIVATE_SCOPE: Final[Mapping[str, str]] = {"claude-code": "local:", "copilot": "local:"}
"""What the names of a client's settings file begin with that only this machine reads; others have none."""
HOOKS_FILE: Final[Mapping[str, str]] = {
    "claude-code": ".claude/settings.local.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "opencode": PLUGIN,
    "copilot": ".github/copilot/settings.local.json",
    "qwen": ".qwen/settings.json",
    "cursor": ".cursor/hooks.json",
    "windsurf": ".windsurf/hooks.json",
    "cline": ".cline/hooks/PreToolUse.sh",
    "kiro": ".kiro/hooks/takeback.json",
    "kilo": ".kilo/plugin/takeback.js",
}
"""The file of a project that hooks go into where others do not get them."""
IN_MILLISECONDS: Final = frozenset({"gemini", "qwen"})
"""Clients that count the time of a hook so."""
WITHOUT_SERVERS: Final = frozenset({"cline", "windsurf"})
"""Clients that have no servers in a project."""
OWN_SERVERS: Final[Mapping[str, str]] = {"copilot": ".github:"}
"""What the names of servers begin with in a file that no other client reads."""
CODEX_SETTINGS: Final = ".codex/config.toml"
ABSENT: Final = "takeback is not installed here: this edit is neither guarded nor recorded (pip install takeback)"
"""What shared hooks say on a machine without the program; the edit is made all the same."""


class Placing(NamedTuple):
    """Where the additions go: into files that others get too, and who reads the settings otherwise."""

    shared: bool = False
    user: bool = False
    """Whether the harness is the user's own folder, of which every file is private."""
    tracked: bool = False
    """Whether the project's own files are tracked."""


def list_additions(
    client: str, kinds: Sequence[str], state: State, program: Sequence[str], placing: Placing | None = None
) -> list[dict[str, Any]]:
    """Return the operations that install Takeback for one client; `program` are the words that start it.

    What is already there, whoever put it there, is left out.
    """
    if client not in HOOKS:
        raise InputError("client", found=client, expected=f"one of {', '.join(HOOKS)}")
    where = placing or Placing()
    start = find_name_start(client, kinds)
    before = f"{start}toml:" if client == "codex" and _has_hooks_in_toml(state, start) else start
    if not where.shared and not where.user:
        before += PRIVATE_SCOPE.get(client, "")
    elif client == "copilot":
        before += "hooks/takeback:"
    by_plugin = bool(find_plugins(state))
    is_open = not where.user and client not in PRIVATE_SCOPE  # a file that someone may commit one day
    wanted = (*HOOKS[client], *(TRACK_HOOKS.get(client, ()) if where.tracked else ()))
    ops: list[dict[str, Any]] = []
    for hook in wanted if not by_plugin else ():
        if not _is_covered(hook, client, state):
            name = f"takeback-{hook.event}{hook.suffix}"
            group = build_hook_group(client, hook, program, fails_open=where.shared or is_open)
            record = {"id": name, "handler": name, "options": group}
            ops.append({"op_type": "add_listener", "target": f"{before}{hook.event}", "value": record})
    ops += list_own_file_additions(client, state, start, program)
    if by_plugin:
        return ops
    if where.shared and client not in WITHOUT_SERVERS and not find_servers(state, start):
        scope = "json:" if client == "opencode" and _has_only_json(state, start) else OWN_SERVERS.get(client, "")
        server = build_server(client, program)
        ops.append({"op_type": "register_tool", "target": f"{start}{scope}mcp:{NAME}", "value": server})
    if where.shared or where.user:
        there = find_skills(state, start)
        ops += [
            {"op_type": "set_prompt", "target": f"{start}{name}", "value": text}
            for name, text in list_texts(client).items()
            if f"{start}{name}" not in there
        ]
    return ops


def find_name_start(client: str, kinds: Sequence[str]) -> str:
    """Return what the names of a client begin with."""
    return "" if not kinds or kinds[0] == client else build_prefix(client)


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
        expected="a file for its hooks that only you have, or --shared",
        hint=f"{lacking}'takeback install {client} --shared' adds them for everybody; without takeback they let "
        f"every edit pass, with a message. The folder plugin/ of Takeback's repository adds them "
        "for yourself, in every project",
    )


def warn_of_commits(client: str, git: Git) -> list[str]:
    """Return what keeps the file with a client's hooks out of commits, where nothing does yet."""
    place = find_hooks_file(client, git.place)
    way = name_exclusion(git, place)
    return [] if way is None else [f"git does not track {place}, and does not ignore it: {way} keeps it to yourself"]


def _is_covered(hook: Hook, client: str, state: State) -> bool:
    """Return whether our hooks cover every tool of a hook; an event without tools has one or none."""
    tools = find_covered_tools(state, client, hook.event)
    return tools is None or (bool(hook.matcher) and set(hook.matcher.split("|")) <= tools)


def build_candidate(ops: Sequence[dict[str, Any]], state: State) -> Any:
    """Return the operations as a candidate with a recovery."""
    from takeback.language import read_program  # noqa: PLC0415 - kept out of what hooks import
    from takeback.state import Stage  # noqa: PLC0415

    return invert_mutation(read_program(list(ops), Stage.FORWARD, "install"), state)


def find_installation(harness: Harness, client: str) -> EntryView | None:
    """Return the live entry that installed Takeback for a client; None if there is none."""
    wanted = ("apply", BY, describe_installation(client), "live")
    entries = (entry for entry in harness.log() if (entry.kind, entry.by, entry.note, entry.status) == wanted)
    return next(entries, None)


def describe_installation(client: str) -> str:
    """Return the note of the entry that installs Takeback."""
    return f"takeback install {client}"


def build_hook_group(client: str, hook: Hook, program: Sequence[str], *, fails_open: bool = False) -> dict[str, Any]:
    """Return one hook as the client's own files have it; `program` are the words that start Takeback.

    A shared hook lets an edit pass, with a message, where the program is missing.
    """
    seconds = GUARD_SECONDS if hook.guard else hook.most
    words = shlex.join([*program, "hook", client])
    if fails_open:
        answer = "; echo '{}'" if client == "cursor" else ""
        words = f"if {ask_for_program(program)}; then {words}; else echo {shlex.quote(ABSENT)} >&2{answer}; fi"
    if client == "cursor":
        closed = {"failClosed": True} if hook.guard and not fails_open else {}
        return {"command": words, "timeout": seconds, **closed}
    if client == "windsurf":
        return {"command": words, "show_output": hook.guard}
    command: dict[str, Any] = {"type": "command", "command": words}
    if client in IN_MILLISECONDS:
        command = {"name": f"takeback-{hook.event.lower()}", **command}
    command["timeout"] = seconds * 1000 if client in IN_MILLISECONDS else seconds
    if client == "claude-code" and hook.guard and not fails_open:
        command["onFailure"] = "block"
    return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [command]}


def build_server(client: str, program: Sequence[str]) -> dict[str, Any]:
    """Return the server as the client's own files have it."""
    if client in {"opencode", "kilo"}:
        return {"type": "local", "command": [*program, "serve"], "enabled": True}
    return {"command": program[0], "args": [*program[1:], "serve"]}


def _has_hooks_in_toml(state: State, start: str) -> bool:
    """Return whether Codex's hooks are in config.toml; with hooks.json besides, Codex warns at every start."""
    own = [event[len(start) :] for event in state["listeners"] if event.startswith(start)]
    return bool(own) and all(event.startswith("toml:") for event in own)


def _has_only_json(state: State, start: str) -> bool:
    keys = [key for surface in ("config", "routing", "tools") for key in state[surface] if key.startswith(start)]
    return any(key[len(start) :].startswith("json:") for key in keys) and all(
        key[len(start) :].startswith(("json:", ".opencode")) for key in keys
    )


class ClientFiles:
    """The clients' files of one directory, as they are."""

    def __init__(self, adapter: ClientAdapter) -> None:
        self._adapter = adapter
        self.reading: Reading = adapter.read(State())

    def take_out(self, ops: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        """Take some of ours out of the files; returns the files that someone else was writing meanwhile."""
        before = self.reading.state
        done = run_and_record(build_candidate(ops, before).mutation, before)
        changes = self._adapter.render(before, done.state)
        if isinstance(changes, NotExpressible):
            raise HarnessError(f"{changes.path}: {changes.reason}", hint="remove it with an editor")
        changes = tuple(replace(change, after=None) if _is_emptied_command(change) else change for change in changes)
        store = MemoryStore()
        with store.lock(LOCK_SECONDS):
            return complete_changes(self._adapter.place, store, changes)


def _is_emptied_command(change: FileChange) -> bool:
    """Tell whether a change leaves nothing in the file of a command of ours; an empty one would break its client."""
    name = change.path.rpartition(".")[0]
    return name.endswith(NAMES) and isinstance(change.after, FileImage) and not change.after.content.strip()


def list_own(state: State) -> list[dict[str, Any]]:
    """Return the operations that take everything of ours out of a harness, plugins of its settings too."""
    plugins = [{"op_type": "unset_config", "target": key} for key in find_plugins(state)]
    return [*list_removals(state), *plugins]


@contextmanager
def open_client_files(root: Path, *, user: bool) -> Iterator[ClientFiles]:
    """Open the files of the clients that a directory has, without a journal."""
    install_surfaces()
    directory = Directory(root)
    try:
        members = build_members(list(detect_clients(root, user=user)), user=user)
        yield ClientFiles(ClientAdapter(directory, members, ask="never"))
    finally:
        directory.close()
