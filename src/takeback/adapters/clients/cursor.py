"""Cursor: `.cursor/`, AGENTS.md and `.cursorrules`. Globs in the front matter of a rule are no YAML, so that rules
are lines of text. A hook that fails lets the call pass unless it says `failClosed`.
"""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import check_flat_hooks, check_text_lists, check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_list_rules, make_rules
from takeback.adapters.clients.servers import SERVER_RISKS, declare_servers
from takeback.adapters.formats.json_document import JsoncDocument, JsonDocument

_EVENTS: Final = frozenset(
    {
        *("sessionStart", "sessionEnd", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart"),
        *("subagentStop", "beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution"),
        *("beforeReadFile", "afterFileEdit", "beforeSubmitPrompt", "preCompact", "stop", "afterAgentResponse"),
        *("afterAgentThought", "beforeTabFileRead", "afterTabFileEdit"),
    }
)
RISKS: Final[dict[str, RiskRule]] = {
    **SERVER_RISKS,
    **make_rules(Risk.EXECUTES, "install start terminals build.**"),
    **make_list_rules(
        Risk.GROWING,
        {
            "terminalAllowlist": "allows more",
            "mcpAllowlist": "allows more",
            "permissions.allow": "allows more",
        },
    ),
    **make_list_rules(Risk.SHRINKING, {"permissions.deny": "denies less"}),
    **make_rules(Risk.PROTECTED, "autoRun autoRun.** permissions.**", "is part of the permissions, and changed"),
    **make_rules(Risk.HARMLESS, "version editor.** display.** snapshot"),
}


def cursor(*, user: bool = False) -> Client:
    """Return the declaration of Cursor; with `user`, of the user's own folder."""
    base = "" if user else ".cursor/"
    lists = check_text_lists(("terminalAllowlist", "mcpAllowlist", "permissions.allow", "permissions.deny"))
    types = {"permissions": (dict,), "permissions.allow": (list,), "permissions.deny": (list,)}
    limits = combine_checks(check_types(types), lists)
    documents = (
        Documents(f"{base}permissions.json", JsoncDocument, check=limits, effect=Effect.LIVE),
        Documents(f"{base}{'cli-config' if user else 'cli'}.json", JsonDocument, scope="cli", check=limits),
        declare_servers(f"{base}mcp.json"),
        Documents(
            f"{base}hooks.json",
            JsonDocument,
            (DocumentRule(("hooks",), "hooks", scope=""),),
            "hooks.json",
            check=check_flat_hooks(version=1),
            effect=Effect.LIVE,
        ),
        *(() if user else (Documents(f"{base}environment.json", JsonDocument, scope="environment"),)),
    )
    return Client(
        "cursor",
        ("mcp.json", "hooks.json", "permissions.json", "cli-config.json") if user else (".cursor", ".cursorrules"),
        documents,
        texts=(
            Texts(f"{base}rules", ".mdc", "rules/{}", effect=Effect.LIVE),
            Texts(f"{base}commands", ".md", "commands/{}", effect=Effect.LIVE),
            Texts(f"{base}agents", ".md", "agents/{}"),
        ),
        skills=(Skills(f"{base}skills"),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=() if user else ("AGENTS.md", ".cursorrules"),
        nested=not user,
        events=_EVENTS,
        user_folder=".cursor",
        user=user,
        runs_hooks_of=(".claude/settings.json", ".claude/settings.local.json"),
        risks=RISKS,
    )
