"""opencode: `opencode.json(c)`, `.opencode/` and AGENTS.md. In its permissions the last rule that matches wins, so
that the order of keys counts; a missing file that a setting brings in keeps it from starting.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_front_matter, check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.formats.json_document import JsoncDocument

RULES: Final = (
    DocumentRule(("mcp",), "servers", "mcp:"),
    DocumentRule(("permission", "*"), "ordered"),
    DocumentRule(("agent", "*", "permission", "*"), "ordered"),
    DocumentRule(("model",), "model"),
    DocumentRule(("small_model",), "model"),
    DocumentRule(("agent", "*", "model"), "model"),
)
TYPES: Final = {
    "$schema": (str,),
    "model": (str,),
    "small_model": (str,),
    "instructions": (list,),
    "mcp": (dict,),
    "agent": (dict,),
    "command": (dict,),
    "plugin": (list,),
    "provider": (dict,),
    "permission": (str, dict),
    "theme": (str,),
    "share": (str,),
    "autoupdate": (bool, str),
    "tools": (dict,),
    "keybinds": (dict,),
    "formatter": (bool, dict),
    "lsp": (bool, dict),
    "username": (str,),
}
_ACTIONS: Final = frozenset({"ask", "allow", "deny"})


def check_server_values(value: Any) -> str | None:
    """Return what is wrong with a server, if anything is."""
    servers = value.get("mcp", {}) if isinstance(value, dict) else {}
    for name, server in servers.items() if isinstance(servers, dict) else ():
        kind = server.get("type") if isinstance(server, dict) else None
        if kind == "local" and not isinstance(server.get("command"), list):
            return f"mcp.{name} is local and needs a command, as a list"
        if kind == "remote" and not isinstance(server.get("url"), str):
            return f"mcp.{name} is remote and needs a url"
        if kind not in {"local", "remote"} and not (isinstance(server, dict) and set(server) <= {"enabled"}):
            return f"mcp.{name} must have the type 'local' or 'remote'"
    return None


def check_permissions(value: Any) -> str | None:
    """Return which action of the permissions is not known, if one is not."""
    permissions = value.get("permission", {}) if isinstance(value, dict) else {}
    for tool, rules in permissions.items() if isinstance(permissions, dict) else ():
        for action in rules.values() if isinstance(rules, dict) else (rules,):
            if action not in _ACTIONS:
                return f"permission.{tool} has the action {action!r}; known are ask, allow and deny"
    return None


def list_instructions(value: Any) -> tuple[str, ...]:
    """Return the patterns and paths of instruction files that settings name."""
    listed = value.get("instructions", ()) if isinstance(value, dict) else ()
    named = tuple(path for path in listed if isinstance(path, str)) if isinstance(listed, list) else ()
    return (*named, *find_file_references(value))


def find_file_references(value: Any) -> tuple[str, ...]:
    """Return the files that settings bring in with `{file:…}`."""
    if isinstance(value, dict):
        return tuple(path for item in value.values() for path in find_file_references(item))
    if isinstance(value, list):
        return tuple(path for item in value for path in find_file_references(item))
    if isinstance(value, str) and "{file:" in value:
        return tuple(part.partition("}")[0] for part in value.split("{file:")[1:] if "}" in part)
    return ()


class OpencodeSettings(JsoncDocument):
    """JSON with comments; an empty file means no settings."""

    blank = True


def opencode(*, user: bool = False) -> Client:
    """Return the declaration of opencode; with `user`, of the user's own folder."""
    base = "" if user else ".opencode/"
    check = combine_checks(check_types(TYPES), check_server_values, check_permissions)
    own = frozenset({("$schema",)})

    def document(path: str, scope: str) -> Documents:
        return Documents(path, OpencodeSettings, RULES, scope, check=check, own=own)

    documents = [document("opencode.jsonc", ""), document("opencode.json", "json")]
    if not user:
        documents += [
            document(".opencode/opencode.jsonc", ".opencode"),
            document(".opencode/opencode.json", ".opencode.json"),
        ]
    described = check_front_matter("description")
    agents = [Texts(f"{base}{folder}", ".md", f"{folder}/{{}}", check=described) for folder in ("agents", "agent")]
    commands = [Texts(f"{base}{folder}", ".md", f"{folder}/{{}}") for folder in ("commands", "command")]
    endings = (".js", ".ts", ".mjs", ".mts")
    return Client(
        "opencode",
        ("opencode.jsonc", "opencode.json") if user else ("opencode.jsonc", "opencode.json", ".opencode"),
        tuple(documents),
        texts=(*agents, *commands),
        skills=(Skills(f"{base}skills"), Skills(f"{base}skill", name="skill/{}")),
        scripts=(
            Scripts(f"{base}plugins", endings, "plugins", Effect.NEXT_SESSION),
            Scripts(f"{base}plugin", endings, "plugin", Effect.NEXT_SESSION),
        ),
        instructions=("AGENTS.md",),
        nested=not user,
        includes=list_instructions,
        user_folder=".config/opencode",
        user=user,
    )
