"""Codex: `.codex/`, AGENTS.md and `.agents/skills`. A wrong type, or a key twice, keeps every command from starting.

Hooks run in parallel; a hook is trusted by its position, so that new groups go to the end. Trust itself is the
client's bookkeeping: it is no part of the state, and it is never written.
"""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import check_hooks, check_servers, check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills
from takeback.adapters.formats.json_document import MarklessJsonDocument
from takeback.adapters.formats.toml_document import ClientTomlDocument

_HOOKS: Final = frozenset({"command", "mcp_tool", "prompt", "agent"})
_EVENTS: Final = frozenset(
    {
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PreModelRequest",
        "PostModelRequest",
        "PreCompact",
        "PostCompact",
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "Interrupt",
    }
)
_TYPES: Final = {
    "model": (str,),
    "review_model": (str,),
    "model_provider": (str,),
    "model_reasoning_effort": (str,),
    "model_reasoning_summary": (str,),
    "model_verbosity": (str,),
    "approval_policy": (str, dict),
    "sandbox_mode": (str,),
    "features": (dict,),
    "tui": (dict,),
    "mcp_servers": (dict,),
    "hooks": (dict,),
    "notify": (list,),
    "shell_environment_policy": (dict,),
    "sandbox_workspace_write": (dict,),
    "projects": (dict,),
    "model_providers": (dict,),
    "project_doc_max_bytes": (int,),
    "developer_instructions": (str,),
}
_ENUMS: Final = {
    "sandbox_mode": frozenset({"read-only", "workspace-write", "danger-full-access"}),
    "approval_policy": frozenset({"untrusted", "on-failure", "on-request", "never"}),
    "model_reasoning_effort": frozenset({"none", "minimal", "low", "medium", "high", "xhigh"}),
}


def _check_values(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    for key, allowed in _ENUMS.items():
        item = value.get(key)
        if isinstance(item, str) and item not in allowed:
            return f"{key} is {item!r}; known are {', '.join(sorted(allowed))}"
    legacy = next((key for key in ("profile", "profiles") if key in value), None)
    return None if legacy is None else f"{legacy!r} is a legacy key with which the client does not start"


def codex(*, user: bool = False) -> Client:
    """Return the declaration of Codex; with `user`, of the user's own folder."""
    base = "" if user else ".codex/"
    check = combine_checks(
        check_types(_TYPES),
        _check_values,
        check_servers("mcp_servers", "command", "url", texts=("command", "url")),
        check_hooks(_HOOKS),
    )
    rules = (
        DocumentRule(("hooks", "state"), "bookkeeping"),
        DocumentRule(("hooks",), "hooks", scope="toml"),
        DocumentRule(("mcp_servers",), "servers", "mcp:"),
        DocumentRule(("model",), "model"),
        DocumentRule(("review_model",), "model"),
    )
    trust = frozenset({("projects",), ("tui",), ("plugins",), ("marketplaces",), ("notice",)})
    hook_effect = {"hooks": Effect.APPROVAL}
    documents = [
        Documents(
            f"{base}config.toml", ClientTomlDocument, rules, fresh=b"", check=check, effects=hook_effect, own=trust
        ),
        Documents(
            f"{base}hooks.json",
            MarklessJsonDocument,
            (DocumentRule(("hooks",), "hooks", scope=""),),
            "hooks.json",
            fresh=b'{\n  "hooks": {\n  }\n}\n',
            check=combine_checks(check_hooks(_HOOKS), check_types({"hooks": (dict,)})),
            effects=hook_effect,
        ),
        Documents(
            f"{base}agents/*.toml",
            ClientTomlDocument,
            (DocumentRule(("developer_instructions",), "text", "agents/{}"), DocumentRule(("model",), "model")),
            "agents/{}",
            fresh=b"",
            check=check_types(
                {"name": (str,), "description": (str,), "developer_instructions": (str,), "model": (str,)}
            ),
        ),
    ]
    if user:
        documents.append(Documents("*.config.toml", ClientTomlDocument, rules, "{}", fresh=b"", check=check))
    return Client(
        "codex",
        ("config.toml", "AGENTS.md") if user else (".codex", "AGENTS.override.md"),
        tuple(documents),
        skills=(Skills("skills"),)
        if user
        else (Skills(".agents/skills"), Skills(".codex/skills", name=".codex/skills/{}")),
        scripts=(Scripts(f"{base}hooks"), Scripts(f"{base}rules", (".rules",), effect=Effect.NEXT_SESSION)),
        instructions=("AGENTS.md", "AGENTS.override.md"),
        nested=not user,
        events=_EVENTS,
        user_folder=".codex",
        user=user,
    )
