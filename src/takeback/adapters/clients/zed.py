"""Zed: `.zed/settings.json`, and the first of nine names as instructions: a new `.rules` silences AGENTS.md."""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import check_servers, check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills
from takeback.adapters.clients.risk_rules import (
    Risk,
    RiskRule,
    make_list_rules,
    make_mode_rule,
    make_rules,
    make_switch_rules,
)
from takeback.adapters.formats.json_document import JsoncDocument

KEY: Final = "context_servers"
FIRST_OF: Final = (
    *(".rules", ".cursorrules", ".windsurfrules", ".clinerules", ".github/copilot-instructions.md"),
    *("AGENT.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
)
_TOOL: Final = "agent.tool_permissions.tools.*"
RISKS: Final[dict[str, RiskRule]] = {
    **make_rules(Risk.EXECUTES, "context_servers.** lsp.** dap.** agent_servers.** terminal.shell.** formatter.**"),
    **make_rules(Risk.REDIRECTS, "language_models.** proxy server_url"),
    **make_rules(Risk.INJECTS, "terminal.env.**"),
    **make_list_rules(Risk.GROWING, {f"{_TOOL}.always_allow": "allows more"}),
    **make_list_rules(
        Risk.SHRINKING, {f"{_TOOL}.always_deny": "denies less", f"{_TOOL}.always_confirm": "asks less"}
    ),
    **make_mode_rule("agent.tool_permissions.default", "deny confirm allow", "confirm"),
    **make_mode_rule(f"{_TOOL}.default", "deny confirm allow", "confirm"),
    **make_switch_rules(
        True,
        {
            "trust_all_worktrees": "trusts every directory",
            "session.trust_all_worktrees": "trusts every directory",
            "agent.always_allow_tool_actions": "accepts calls without asking",
            "agent.profiles.*.enable_all_context_servers": "approves every server",
            "enable_all_context_servers": "approves every server",
        },
    ),
    **make_rules(Risk.PROTECTED, "agent.tool_permissions.**", "is part of the permissions, and changed"),
    **make_rules(
        Risk.HARMLESS, "theme tab_size vim_mode buffer_font_size ui_font_size format_on_save agent.default_profile"
    ),
}


def zed(*, user: bool = False) -> Client:
    """Return the declaration of Zed; with `user`, of the user's own folder."""
    base = "" if user else ".zed/"
    rules = (DocumentRule((KEY,), "servers", "mcp:"), DocumentRule(("agent", "default_model", "model"), "model"))
    types = {KEY: (dict,), "agent": (dict,), "language_models": (dict,), "agent.tool_permissions": (dict,)}
    check = combine_checks(check_types(types), check_servers(KEY, "command", "url", "settings"))
    return Client(
        "zed",
        ("settings.json",) if user else (".zed", ".rules"),
        (Documents(f"{base}settings.json", JsoncDocument, rules, check=check, effect=Effect.LIVE),),
        skills=() if user else (Skills(".agents/skills"),),
        scripts=() if user else (Scripts(".zed", ("tasks.json", "debug.json")),),
        instructions=("AGENTS.md",) if user else FIRST_OF,
        nested=False,
        user_folder=".config/zed",
        user=user,
        risks=RISKS,
    )
