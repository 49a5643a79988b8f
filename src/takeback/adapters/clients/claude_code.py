"""Claude Code: `.claude/`, `.mcp.json` and CLAUDE.md. One wrong type in its settings makes it drop the whole file."""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import (
    at_imports,
    choices,
    every,
    hooks,
    needed,
    servers,
    texts_in,
    typed,
    with_front_matter,
)
from takeback.adapters.clients.claude_types import CHOICES, NEEDED, TEXTS_IN, TYPES
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.formats.json_text import JsonDocument

EVENTS: Final = frozenset(
    {
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Notification",
        "UserPromptSubmit",
        "UserPromptExpansion",
        "SessionStart",
        "SessionEnd",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "PreModelSwitch",
        "PostModelSwitch",
        "PermissionRequest",
        "PermissionDenied",
        "Setup",
        "TeammateIdle",
        "TaskCreated",
        "TaskCompleted",
        "Elicitation",
        "ElicitationResult",
        "ConfigChange",
        "WorktreeCreate",
        "WorktreeRemove",
        "InstructionsLoaded",
        "CwdChanged",
        "FileChanged",
        "DirectoryAdded",
        "MessageDisplay",
    }
)

_RULES: Final = (
    DocumentRule(("hooks",), "hooks"),
    DocumentRule(("model",), "model"),
    DocumentRule(("fallbackModel",), "model"),
    DocumentRule(("agent",), "model"),
)
_LIVE: Final = {"hooks": Effect.LIVE, "permissions": Effect.LIVE, "disableAllHooks": Effect.LIVE}
_APPROVALS: Final = frozenset({("enabledMcpjsonServers",), ("disabledMcpjsonServers",), ("enabledPlugins",)})


def _misplaced(value: object, *, top: bool = True) -> str | None:
    """A key named like a hook event, outside of `hooks`, makes the client drop the file."""
    if isinstance(value, dict):
        for key, below in value.items():
            if top and key == "hooks":
                continue
            if key in EVENTS:
                return f"the key {key!r} stands outside of 'hooks'"
            found = _misplaced(below, top=False)
            if found is not None:
                return found
    return None


class ClaudeSettings(JsonDocument):
    """Strict JSON; an empty file means no settings."""

    blank = True


def claude_code(*, user: bool = False) -> Client:
    """The declaration; with `user`, of the user's own folder."""
    base = "" if user else ".claude/"
    check = every(typed(TYPES), choices(CHOICES), texts_in(TEXTS_IN), needed(NEEDED), _misplaced, hooks())

    def settings(path: str, scope: str = "", *, own: frozenset[tuple[str, ...]] = _APPROVALS) -> Documents:
        return Documents(base + path, ClaudeSettings, _RULES, scope, check=check, effects=_LIVE, own=own)

    local = frozenset({*_APPROVALS, ("permissions", "allow")})
    documents = [settings("settings.json"), settings("settings.local.json", "local", own=local)]
    if not user:
        demand = every(typed({"mcpServers": (dict,)}), _server_entries)
        rules = (DocumentRule(("mcpServers",), "servers", "mcp:", scope=""),)
        documents.append(
            Documents(
                ".mcp.json",
                JsonDocument,
                rules,
                "mcp.json",
                fresh=b'{\n  "mcpServers": {\n  }\n}\n',
                check=demand,
                effects={"mcpServers": Effect.APPROVAL},
            )
        )
    named = with_front_matter("name", "description")
    return Client(
        "claude-code",
        ("CLAUDE.md", "settings.json") if user else (".claude", "CLAUDE.md", ".mcp.json", "CLAUDE.local.md"),
        tuple(documents),
        texts=(
            Texts(f"{base}agents", ".md", "agents/{}", check=named),
            Texts(f"{base}commands", ".md", "commands/{}", effect=Effect.LIVE),
            Texts(f"{base}rules", ".md", "rules/{}"),
            Texts(f"{base}output-styles", ".md", "output-styles/{}"),
        ),
        skills=(Skills(f"{base}skills", Effect.LIVE),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"),
        nested=not user,
        events=EVENTS,
        imports=at_imports,
        user_folder=".claude",
        user=user,
    )


def _server_entries(value: object) -> str | None:
    found = value.get("mcpServers", {}) if isinstance(value, dict) else {}
    for name, server in found.items() if isinstance(found, dict) else ():
        if not isinstance(server, dict):
            return f"mcpServers.{name} must be a mapping"
        if "url" in server and server.get("type") not in {"http", "sse", "ws", "streamable-http"}:
            return f"mcpServers.{name} has a url but no type (http, sse or ws), so that the client would skip it"
    return servers("mcpServers", "command", "url", texts=("command", "url", "type"))(value)
