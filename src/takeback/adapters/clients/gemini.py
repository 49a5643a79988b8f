"""Gemini CLI: `.gemini/` and GEMINI.md. It does not start with a byte-order mark, an empty file, a trailing comma."""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import (
    check_front_matter,
    check_hooks,
    check_types,
    combine_checks,
    find_at_imports,
)
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Scripts, Skills, Texts
from takeback.adapters.formats.json_document import CommentedJsonDocument
from takeback.adapters.formats.toml_document import ClientTomlDocument

_RULES: Final = (
    DocumentRule(("mcpServers",), "servers", "mcp:"),
    DocumentRule(("hooks",), "hooks"),
    DocumentRule(("model", "name"), "model"),
)
_EVENTS: Final = frozenset(
    {
        "BeforeTool",
        "AfterTool",
        "BeforeAgent",
        "AfterAgent",
        "BeforeModel",
        "BeforeToolSelection",
        "AfterModel",
        "SessionStart",
        "SessionEnd",
        "Notification",
        "PreCompress",
    }
)
_TYPES: Final = {
    "model": (dict,),
    "model.name": (str,),
    "mcpServers": (dict,),
    "context": (dict,),
    "context.fileName": (str, list),
    "tools": (dict,),
    "general": (dict,),
    "ui": (dict,),
    "security": (dict,),
    "privacy": (dict,),
    "hooks": (dict,),
    "hooksConfig": (dict,),
    "mcp": (dict,),
    "skills": (dict,),
}
_WAYS: Final = ("command", "url", "httpUrl")


def check_server_ways(value: Any) -> str | None:
    """Return which server has no way to be reached, if one has none."""
    servers = value.get("mcpServers", {}) if isinstance(value, dict) else {}
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(server, dict) or not any(way in server for way in _WAYS):
            return f"mcpServers.{name} must have one of {', '.join(_WAYS)}"
    return None


def list_context_files(value: Any) -> tuple[str, ...]:
    """Return the names of instruction files that settings have."""
    context = value.get("context", {}) if isinstance(value, dict) else {}
    named = context.get("fileName", ()) if isinstance(context, dict) else ()
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    return tuple(name for name in names if isinstance(name, str))


class GeminiSettings(CommentedJsonDocument):
    """JSON with comments; with a byte-order mark the client does not start."""

    byte_order_mark = False


def gemini(*, user: bool = False) -> Client:
    """Return the declaration of Gemini CLI; with `user`, of the user's own folder."""
    base = "" if user else ".gemini/"
    check = combine_checks(check_types(_TYPES), check_server_ways, check_hooks(frozenset({"command"})))
    own = frozenset({("general", "enableAutoUpdate"), ("general", "disableAutoUpdate"), ("security", "auth")})
    command = (DocumentRule(("prompt",), "text", "commands/{}"),)
    documents = (
        Documents(f"{base}settings.json", GeminiSettings, _RULES, check=check, own=own),
        Documents(
            f"{base}commands/*.toml",
            ClientTomlDocument,
            command,
            "commands/{}",
            fresh=b"",
            check=check_types({"description": (str,), "prompt": (str,)}),
        ),
        *(() if not user else (Documents("policies/*.toml", ClientTomlDocument, (), "policies/{}", fresh=b""),)),
    )
    return Client(
        "gemini",
        ("settings.json", "GEMINI.md") if user else (".gemini", "GEMINI.md"),
        documents,
        texts=(Texts(f"{base}agents", ".md", "agents/{}", check=check_front_matter("name", "description")),),
        skills=(Skills(f"{base}skills"),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=("GEMINI.md",),
        nested=not user,
        events=_EVENTS,
        imports=find_at_imports,
        includes=list_context_files,
        user_folder=".gemini",
        user=user,
    )
