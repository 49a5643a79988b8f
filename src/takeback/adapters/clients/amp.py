"""Amp: `.amp/settings.json` and AGENTS.md. The first of its permissions that matches counts, so that their order
does; one of them may hand the call to a program.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_types, combine_checks, find_at_imports
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Skills, Texts
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_list_rules, make_rules, make_switch_rules
from takeback.adapters.clients.servers import check_reachable
from takeback.adapters.formats.json_document import JsoncDocument

KEY: Final = "amp.mcpServers"
_ACTIONS: Final = frozenset({"allow", "reject", "ask", "delegate"})
RISKS: Final[dict[str, RiskRule]] = {
    **make_rules(Risk.EXECUTES, "amp.mcpServers.** amp.toolbox.**"),
    **make_rules(Risk.REDIRECTS, "amp.url amp.proxy"),
    **make_switch_rules(True, {"amp.dangerouslyAllowAll": "accepts calls without asking"}),
    **make_list_rules(Risk.GROWING, {"amp.commands.allowlist": "allows more"}),
    **make_list_rules(
        Risk.SHRINKING, {"amp.tools.disable": "may use more tools", "amp.commands.denylist": "denies less"}
    ),
    **make_rules(Risk.PROTECTED, "amp.permissions amp.permissions.**", "is part of the permissions, and changed"),
    **make_rules(Risk.HARMLESS, "amp.git.** amp.notifications.** amp.terminal.** amp.showCosts"),
}


def _check_permissions(value: Any) -> str | None:
    rules = value.get("amp.permissions", []) if isinstance(value, dict) else []
    for rule in rules if isinstance(rules, list) else ():
        if not isinstance(rule, dict) or rule.get("action") not in _ACTIONS:
            return f"each of amp.permissions needs one of the actions {', '.join(sorted(_ACTIONS))}"
        if rule["action"] == "delegate" and not isinstance(rule.get("to"), str):
            return "one of amp.permissions delegates, and does not say to which program"
    return None


def _check_types(value: Any) -> str | None:
    """Return which setting has a wrong type; dots in names are no steps here."""
    wanted: dict[str, type] = {"amp.permissions": list, KEY: dict, "amp.tools.disable": list}
    if isinstance(value, dict):
        for key, kind in wanted.items():
            if key in value and not isinstance(value[key], kind):
                return f"{key} must be a {'list' if kind is list else 'mapping'}"
    return None


def amp(*, user: bool = False) -> Client:
    """Return the declaration of Amp; with `user`, of the user's own folder."""
    check = combine_checks(check_types({}), _check_types, _check_permissions, check_reachable(KEY))
    rules = (DocumentRule((KEY,), "servers", "mcp:"),)
    return Client(
        "amp",
        ("settings.json",) if user else (".amp",),
        (Documents("settings.json" if user else ".amp/settings.json", JsoncDocument, rules, check=check),),
        texts=() if user else (Texts(".agents/commands", ".md", "commands/{}"),),
        skills=() if user else (Skills(".agents/skills"),),
        instructions=("AGENTS.md", "AGENT.md"),
        nested=not user,
        imports=find_at_imports,
        user_folder=".config/amp",
        user=user,
        risks=RISKS,
        dotted=True,
    )
