"""opencode and Kilo, which was made from it: `opencode.json(c)`, `.opencode/`; `kilo.json(c)`, `.kilo/`; AGENTS.md.

In their permissions the last rule that matches wins, so that the order of keys counts. opencode does not start where
a setting brings in a file that is missing. Kilo drops a file for one wrong type, or where the project's has `{env:…}`
or `{file:…}`, and goes on without its rules that deny.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from takeback.adapters.clients.checks import (
    Types,
    check_front_matter,
    check_types,
    combine_checks,
    list_members,
    list_texts,
)
from takeback.adapters.clients.client import (
    Client,
    DocumentRule,
    Documents,
    Effect,
    Scripts,
    Skills,
    Texts,
    ValueCheck,
)
from takeback.adapters.clients.common_parts import declare_models, declare_texts
from takeback.adapters.formats.json_document import JsoncDocument

_RULES: Final = (
    DocumentRule(("mcp",), "servers", "mcp:"),
    DocumentRule(("permission", "*"), "ordered"),
    DocumentRule(("agent", "*", "permission", "*"), "ordered"),
    *declare_models("model", "small_model", "agent.*.model"),
)
_TYPES: Final[Types] = {
    str: "$schema model small_model theme share username",
    list: "instructions plugin",
    dict: "mcp agent command provider tools keybinds",
    (str, dict): "permission",
    (bool, str): "autoupdate",
    (bool, dict): "formatter lsp",
}
_ACTIONS: Final = frozenset({"ask", "allow", "deny"})
_PLUGINS: Final = (".js", ".ts", ".mjs", ".mts")
_RISKS: Final = """
executes: formatter.** lsp.** experimental.hook.** mcp.** shell
executes, is a command, which may run programs: command.*.template command.*
redirects: provider.** server.** enterprise.**
growing, loads more code: plugin
growing, brings in more instructions: instructions
growing, brings in more skills: skills.paths skills.urls
growing, allows more: experimental.primary_tools
shrinking, reaches more providers: disabled_providers
limiting: enabled_providers
ordered disabled manual auto, manual: share
switch on, shares every session: autoshare
harmless: command.*.description command.*.agent command.*.model command.*.subtask theme keybinds.** tui.** username
    layout logLevel autoupdate snapshot watcher.** compaction.** default_agent agent.*.prompt agent.*.description
    agent.*.mode agent.*.temperature agent.*.top_p agent.*.steps agent.*.maxSteps agent.*.color agent.*.hidden
    agent.*.variant agent.*.disable mode.*.prompt mode.*.description mode.*.temperature formatter.*.disabled
    lsp.*.disabled formatter.*.extensions lsp.*.extensions
"""
_KILO_RISKS: Final = f"""{_RISKS}
loads, brings in skills of others: skills.urls
"""


def _check_servers(value: Any) -> str | None:
    for name, server in list_members(value, "mcp"):
        kind = server.get("type") if isinstance(server, dict) else None
        if kind == "local" and not isinstance(server.get("command"), list):
            return f"mcp.{name} is local and needs a command, as a list"
        if kind == "remote" and not isinstance(server.get("url"), str):
            return f"mcp.{name} is remote and needs a url"
        if kind not in {"local", "remote"} and not (isinstance(server, dict) and set(server) <= {"enabled"}):
            return f"mcp.{name} must have the type 'local' or 'remote'"
    return None


def _check_permissions(value: Any) -> str | None:
    for tool, rules in list_members(value, "permission"):
        for action in rules.values() if isinstance(rules, dict) else (rules,):
            if action not in _ACTIONS:
                return f"permission.{tool} has the action {action!r}; known are ask, allow and deny"
    return None


def _list_instructions(value: Any) -> tuple[str, ...]:
    """Return the patterns and paths of instruction files that settings name."""
    return (*list_texts(value, "instructions"), *_find_file_references(value))


def _find_file_references(value: Any) -> tuple[str, ...]:
    """Return the files that settings bring in with `{file:…}`."""
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return tuple(path for item in inside for path in _find_file_references(item))
    if isinstance(value, str) and "{file:" in value:
        return tuple(part.partition("}")[0] for part in value.split("{file:")[1:] if "}" in part)
    return ()


class OpencodeSettings(JsoncDocument):
    """JSON with comments; an empty file means no settings."""

    blank = True


def _declare_settings(places: Mapping[str, str], *checks: ValueCheck) -> tuple[Documents, ...]:
    """Return settings at some paths, each with its scope."""
    check = combine_checks(check_types(_TYPES), _check_servers, _check_permissions, *checks)
    own = frozenset({("$schema",)})
    return tuple(
        Documents(path, OpencodeSettings, _RULES, scope, check=check, own=own) for path, scope in places.items()
    )


def _declare_folders(base: str, commands: str) -> tuple[Texts, ...]:
    agents = declare_texts(base, "agents agent", check=check_front_matter("description"))
    return (*agents, *declare_texts(base, commands))


def _declare_plugins(base: str, *folders: str) -> tuple[Scripts, ...]:
    return tuple(Scripts(base + folder, _PLUGINS, folder, Effect.NEXT_SESSION) for folder in folders)


def opencode(*, user: bool = False) -> Client:
    """Return the declaration of opencode; with `user`, of the user's own folder."""
    base = "" if user else ".opencode/"
    places = {"opencode.jsonc": "", "opencode.json": "json"}
    if not user:
        places |= {".opencode/opencode.jsonc": ".opencode", ".opencode/opencode.json": ".opencode.json"}
    return Client(
        "opencode",
        ("opencode.jsonc", "opencode.json") if user else ("opencode.jsonc", "opencode.json", ".opencode"),
        _declare_settings(places),
        texts=_declare_folders(base, "commands command"),
        skills=(Skills(f"{base}skills"), Skills(f"{base}skill", name="skill/{}")),
        scripts=_declare_plugins(base, "plugins", "plugin", "tools", "tool"),
        instructions=("AGENTS.md",),
        nested=not user,
        includes=_list_instructions,
        user_folder=".config/opencode",
        user=user,
        risks=_RISKS,
    )


def _check_references(value: Any) -> str | None:
    if isinstance(value, str):
        sign = next((prefix for prefix in ("{env:", "{file:") if prefix in value), None)
        return None if sign is None else f"{sign}…}} in a file of the project, for which the client drops the file"
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((wrong for item in inside if (wrong := _check_references(item)) is not None), None)


def kilo(*, user: bool = False) -> Client:
    """Return the declaration of Kilo; with `user`, of the user's own folder."""
    base = "" if user else ".kilo/"
    places = {"kilo.jsonc": "", "kilo.json": "json"}
    if not user:
        places |= {".kilo/kilo.jsonc": ".kilo", ".kilo/kilo.json": ".kilo.json"}
        places |= {".kilocode/kilo.jsonc": ".kilocode", ".kilocode/kilo.json": ".kilocode.json"}
    legacy = () if user else (Texts(".kilocode/rules", ".md", ".kilocode/rules/{}"),)
    return Client(
        "kilo",
        ("kilo.jsonc", "kilo.json") if user else ("kilo.jsonc", "kilo.json", ".kilo", ".kilocode"),
        _declare_settings(places, *(() if user else (_check_references,))),
        texts=(*_declare_folders(base, "commands command rules"), *legacy),
        skills=(Skills(f"{base}skills"), Skills(f"{base}skill", name="skill/{}")),
        scripts=_declare_plugins(base, "plugin", "plugins", "tool", "tools"),
        instructions=("AGENTS.md",),
        nested=not user,
        includes=_list_instructions,
        user_folder=".config/kilo",
        user=user,
        risks=_KILO_RISKS,
    )
