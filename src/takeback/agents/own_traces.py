"""What of Takeback stands in a harness: hooks, server, skill, plugin, known again by what they say.

Not by who wrote them: a clone, an earlier version or a plugin may have. `list_removals` gives the operations of one
change that takes them out; what someone else put beside a hook stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from takeback.adapters.clients.names import prefix
from takeback.agents.quick import CLIENTS
from takeback.state import State

NAME: Final = "takeback"
PLUGIN: Final = ".opencode/plugins/takeback.js"
_CLIENT: Final = "|".join(CLIENTS)
_CALL: Final = re.compile(
    rf"(?:^|[\s/\\\"';&|])(?:takeback(?:\.exe)?[\"']?|-m takeback)\s+hook\b(?:\s+({_CLIENT}))?|^\S+ hook ({_CLIENT})$"
)
"""How a hook calls us: by our name anywhere in it, or by nothing but a program, `hook` and the client."""
_SERVES: Final = re.compile(r"(?:^|[/\\\s])takeback(?:\.exe)?$|^serve$")
_SAYS: Final = "recorded by Takeback"
_PLUGIN_KEY: Final = re.compile(r"^takeback@|^takeback$")


def is_own_hook(hook: Any, client: str = "") -> bool:
    """Whether a hook is one of ours, and for a client if one is named."""
    command = hook.get("command") if isinstance(hook, Mapping) else None
    words = " ".join([command, *_arguments(hook)]) if isinstance(command, str) else ""
    found = _CALL.search(words)
    if found is None:
        return False
    return not client or (found[1] or found[2] or CLIENTS[0]) == client


def _arguments(hook: Mapping[str, Any]) -> list[str]:
    given = hook.get("args")
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


def find_hooks(state: State, client: str = "") -> Iterator[tuple[str, Mapping[str, Any], list[Any]]]:
    """Yield events with groups that have hooks of ours, and the hooks in them that are not."""
    for event, elements in state["listeners"].items():
        for element in elements:
            hooks = _hooks_in(element)
            others = [hook for hook in hooks if not is_own_hook(hook, client)]
            if len(others) < len(hooks):
                yield event, element, others


def _hooks_in(element: Any) -> list[Any]:
    options = element.get("options") if isinstance(element, Mapping) else None
    hooks = options.get("hooks") if isinstance(options, Mapping) else None
    return hooks if isinstance(hooks, list) else []


def find_covered_tools(state: State, client: str, event: str) -> set[str] | None:
    """Return the tools for which an event has a hook of ours; None where it has one for every tool."""
    found: set[str] = set()
    for name, element, _ in find_hooks(state, client):
        if name.rpartition(":")[2] == event:
            matcher = element["options"].get("matcher")
            if not matcher or matcher == "*":
                return None
            found |= set(str(matcher).split("|"))
    return found


def find_plugins(state: State) -> list[str]:
    """Return the settings by which a client loads Takeback as a plugin."""
    found: list[str] = []
    for key, value in state["config"].items():
        if key.rpartition(":")[2] in {"enabledPlugins", "plugins"} and isinstance(value, Mapping):
            found += [f"{key}.{_escape(name)}" for name, on in value.items() if _PLUGIN_KEY.search(name) and on]
    return found


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace(".", "\\.")


def find_servers(state: State, start: str | None = None) -> list[str]:
    """Return the names of servers that are ours; `start` is what a client's names begin with."""
    found = []
    for name, record in state["tools"].items():
        command = record.get("command") if isinstance(record, Mapping) else None
        given = command if isinstance(command, list) else [command, *(record.get("args") or [])] if command else []
        words = [one for one in given if isinstance(one, str)]
        serves = bool(words) and "serve" in words and any(_SERVES.search(word) for word in words[:-1])
        if name.endswith(f"mcp:{NAME}") and serves and _belongs(name, start):
            found.append(name)
    return found


def find_skills(state: State, start: str | None = None) -> list[str]:
    """Return the names of skills that are ours, as far as they still say so."""
    return [
        name
        for name, text in state["prompts"].items()
        if name.endswith(f"skills/{NAME}") and isinstance(text, str) and _SAYS in text and _belongs(name, start)
    ]


def _belongs(name: str, start: str | None) -> bool:
    """Whether a name is one of a client's: it begins as that one's do, and not as another's."""
    if start is None:
        return True
    others = [prefix(client) for client in CLIENTS if prefix(client) != start]
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
    if client in {"", "opencode"} and ("files", PLUGIN) in state:
        ops.append({"op_type": "remove_file", "target": PLUGIN})
        for event, elements in state["listeners"].items():
            ours = [one for one in elements if one.get("options") == {"file": PLUGIN}]
            ops += [{"op_type": "remove_listener", "target": event, "value": one["id"]} for one in ours]
    return ops
