"""Kiro: `.kiro/` and AGENTS.md. Its hooks are lists in files of their own, and stay settings; an agent without a list
of tools has none.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_types
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Skills, Texts
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_list_rules, make_rules
from takeback.adapters.clients.servers import declare_servers
from takeback.adapters.formats.json_document import JsonDocument

RISKS: Final[dict[str, RiskRule]] = {
    **make_rules(Risk.EXECUTES, "mcpServers.** then.command when.**"),
    **make_rules(Risk.PROTECTED, "hooks hooks.**", "has hooks, which run programs or guard, and they changed"),
    **make_list_rules(
        Risk.GROWING,
        {
            "tools": "may use more tools",
            "allowedTools": "allows more",
            "toolsSettings.*.allowedCommands": "allows more",
            "toolsSettings.*.allowedPaths": "opens more directories",
        },
    ),
    **make_list_rules(
        Risk.SHRINKING,
        {"toolsSettings.*.deniedCommands": "denies less", "toolsSettings.*.deniedPaths": "denies less"},
    ),
    **make_rules(Risk.PROTECTED, "toolsSettings.** enabled", "is part of the permissions, and changed"),
    **make_rules(Risk.LOADS, "resources prompt"),
    **make_rules(Risk.HARMLESS, "name description version then.type then.prompt includeMcpJson"),
}


def _check_hooks(value: Any) -> str | None:
    hooks = value.get("hooks", []) if isinstance(value, dict) else []
    if not isinstance(hooks, list):
        return "hooks must be a list of hooks"
    for hook in hooks:
        action = hook.get("action") if isinstance(hook, dict) else None
        if not isinstance(action, dict) or not isinstance(hook.get("trigger"), str):
            return "each hook needs a trigger and an action"
        if action.get("type") == "command" and not isinstance(action.get("command"), str):
            return f"the hook {hook.get('name', '')!r} has no command"
    return None


def kiro(*, user: bool = False) -> Client:
    """Return the declaration of Kiro; with `user`, of the user's own folder."""
    base = "" if user else ".kiro/"
    types = check_types(
        {"name": (str,), "tools": (list,), "allowedTools": (list,), "hooks": (dict,), "model": (str,)}
    )
    agent = (DocumentRule(("hooks",), "hooks"), DocumentRule(("model",), "model"))
    return Client(
        "kiro",
        ("settings", "steering", "agents") if user else (".kiro",),
        (
            declare_servers(f"{base}settings/mcp.json", effect=Effect.LIVE),
            Documents(f"{base}hooks/*.json", JsonDocument, (), "hooks/{}", check=_check_hooks),
            Documents(f"{base}hooks/*.kiro.hook", JsonDocument, (), "hooks/{}.kiro.hook"),
            Documents(f"{base}agents/*.json", JsonDocument, agent, "agents/{}.json", check=types),
        ),
        texts=(
            Texts(f"{base}steering", ".md", "steering/{}"),
            Texts(f"{base}agents", ".md", "agents/{}"),
            *(() if user else (Texts(".kiro/specs", ".md", "specs/{}"),)),
        ),
        skills=(Skills(f"{base}skills"),),
        instructions=() if user else ("AGENTS.md",),
        nested=not user,
        user_folder=".kiro",
        user=user,
        risks=RISKS,
    )
