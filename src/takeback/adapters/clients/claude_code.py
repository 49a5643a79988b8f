"""Claude Code: `.claude/`, `.mcp.json` and CLAUDE.md. One wrong type in its settings makes it drop the whole file."""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import (
    check_choices,
    check_front_matter,
    check_hooks,
    check_needed_keys,
    check_servers,
    check_text_lists,
    check_types,
    combine_checks,
    find_at_imports,
)
from takeback.adapters.clients.claude_types import CHOICES, NEEDED, TEXTS_IN, TYPES
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.formats.json_document import JsonDocument

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


def _find_misplaced_event(value: object, *, top: bool = True) -> str | None:
    """Return the complaint about a key outside of `hooks` that is named like a hook event, if there is one."""
    if isinstance(value, dict):
        for key, below in value.items():
            if top and key == "hooks":
                continue
            if key in EVENTS:
                return f"the key {key!r} stands outside of 'hooks'"
            event_below = _find_misplaced_event(below, top=False)
            if event_below is not None:
                return event_below
    return None


class ClaudeSettings(JsonDocument):
    """Strict JSON; an empty file means no settings."""

    blank = True


def claude_code(*, user: bool = False) -> Client:
    """Return the declaration of Claude Code; with `user`, of the user's own folder."""
    base = "" if user else ".claude/"
    check = combine_checks(
        check_types(TYPES),
        check_choices(CHOICES),
        check_text_lists(TEXTS_IN),
        check_needed_keys(NEEDED),
        _find_misplaced_event,
        check_hooks(),
    )

    def settings(path: str, scope: str = "", *, own: frozenset[tuple[str, ...]] = _APPROVALS) -> Documents:
        return Documents(base + path, ClaudeSettings, _RULES, scope, check=check, effects=_LIVE, own=own)

    local = frozenset({*_APPROVALS, ("permissions", "allow")})
    documents = [settings("settings.json"), settings("settings.local.json", "local", own=local)]
    if not user:
        demand = combine_checks(check_types({"mcpServers": (dict,)}), _check_server_entries)
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
    named = check_front_matter("name", "description")
    return Client(
        "claude-code",
        ("CLAUDE.md", "settings.json") if user else (".claude", "CLAUDE.md", "CLAUDE.local.md"),
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
        imports=find_at_imports,
        user_folder=".claude",
        user=user,
        weak_signs=() if user else (".mcp.json",),
    )


def _check_server_entries(value: object) -> str | None:
    servers = value.get("mcpServers", {}) if isinstance(value, dict) else {}
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(server, dict):
            return f"mcpServers.{name} must be a mapping"
        if "url" in server and server.get("type") not in {"http", "sse", "ws", "streamable-http"}:
            return f"mcpServers.{name} has a url but no type (http, sse or ws), so that the client would skip it"
    return check_servers("mcpServers", "command", "url", texts=("command", "url", "type"))(value)
