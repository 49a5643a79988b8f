"""Windsurf: `.windsurf/`, AGENTS.md and `.windsurfrules`. Its servers are at home; a hook blocks with exit code 2."""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import check_flat_hooks, check_servers, check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_list_rules, make_rules
from takeback.adapters.clients.servers import KEY, SERVER_RISKS
from takeback.adapters.formats.json_document import JsonDocument

_DOINGS: Final = ("read_code", "write_code", "run_command", "mcp_tool_use", "user_prompt")
_EVENTS: Final = frozenset(
    {
        *(f"{when}_{what}" for when in ("pre", "post") for what in _DOINGS),
        *("post_cascade_response", "post_setup_worktree"),
    }
)
RISKS: Final[dict[str, RiskRule]] = {
    **SERVER_RISKS,
    **make_list_rules(Risk.GROWING, {"windsurf.cascadeCommandsAllowList": "allows more"}),
    **make_list_rules(Risk.SHRINKING, {"windsurf.cascadeCommandsDenyList": "denies less"}),
    **make_rules(Risk.REDIRECTS, "serverUrl"),
}


def windsurf(*, user: bool = False) -> Client:
    """Return the declaration of Windsurf; with `user`, of the user's own folder."""
    base = "" if user else ".windsurf/"
    hooks = (DocumentRule(("hooks",), "hooks", scope=""),)
    ways = check_servers(KEY, "command", "url", "serverUrl", texts=("command", "url", "serverUrl"))
    servers = Documents(
        "mcp_config.json",
        JsonDocument,
        (DocumentRule((KEY,), "servers", "mcp:", scope=""),),
        "mcp.json",
        check=combine_checks(check_types({KEY: (dict,)}), ways),
    )
    return Client(
        "windsurf",
        ("hooks.json", "mcp_config.json", "memories") if user else (".windsurf", ".windsurfrules"),
        (
            Documents(f"{base}hooks.json", JsonDocument, hooks, "hooks.json", check=check_flat_hooks()),
            *((servers,) if user else ()),
        ),
        texts=(
            Texts("memories" if user else ".windsurf/rules", ".md", "rules/{}", effect=Effect.LIVE),
            Texts(f"{base}workflows", ".md", "workflows/{}", effect=Effect.LIVE),
        ),
        skills=(Skills(f"{base}skills"),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=() if user else ("AGENTS.md", ".windsurfrules"),
        nested=not user,
        events=_EVENTS,
        user_folder=".codeium/windsurf",
        user=user,
        risks=RISKS,
        dotted=True,
    )
