"""OpenClaw: `openclaw.json`, which is JSON5, and the Markdown files and skills of a workspace. An unknown key or a
wrong type makes its settings invalid as a whole; it writes `meta` itself.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_list_rules, make_mode_rule, make_rules
from takeback.adapters.formats.json_document import Json5Document

_RULES: Final = (
    DocumentRule(("mcp", "servers"), "servers", "mcp:"),
    DocumentRule(("agents", "defaults", "model", "primary"), "model"),
    DocumentRule(("agents", "entries", "*", "model"), "model"),
)
_MAPPINGS: Final = (
    "agents",
    "mcp",
    "tools",
    "hooks",
    "plugins",
    "gateway",
    "channels",
    "models",
    "env",
    "meta",
    "skills",
)
_TYPES: Final = {
    **dict.fromkeys((*_MAPPINGS, "mcp.servers", "agents.defaults", "agents.entries"), (dict,)),
    "tools.allow": (list,),
    "tools.deny": (list,),
    "tools.profile": (str,),
}
_BY_HAND: Final = (
    "AGENTS.md",
    "SOUL.md",
    "TOOLS.md",
    "IDENTITY.md",
    "USER.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
    "MEMORY.md",
)
RISKS: Final[dict[str, RiskRule]] = {
    **make_rules(Risk.EXECUTES, "mcp.** hooks.** browser.executablePath tools.exec.**"),
    **make_rules(Risk.REDIRECTS, "models.providers.** gateway.** channels.** diagnostics.otel.**"),
    **make_rules(Risk.INJECTS, "env.**"),
    **make_rules(Risk.LOADS, "plugins.** skills.** $include"),
    **make_list_rules(
        Risk.GROWING,
        {
            "tools.allow": "allows more",
            "tools.alsoAllow": "allows more",
            "agents.entries.*.tools.allow": "allows more",
            "tools.elevated.allowFrom.*": "allows more",
        },
    ),
    **make_list_rules(Risk.SHRINKING, {"tools.deny": "denies less", "agents.entries.*.tools.deny": "denies less"}),
    **make_mode_rule("tools.profile", "minimal messaging coding full", "full"),
    **make_rules(
        Risk.PROTECTED,
        "tools.** agents.defaults.sandbox.** agents.entries.*.sandbox.** agents.entries.*.tools.** approvals.**",
        "is part of the permissions, and changed",
    ),
    **make_rules(Risk.HARMLESS, "meta.** ui.** logging.** agents.defaults.model.fallbacks agents.defaults.workspace"),
}


def _check_servers(value: Any) -> str | None:
    mcp = value.get("mcp") if isinstance(value, dict) else None
    servers = mcp.get("servers") if isinstance(mcp, dict) else None
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(server, dict) or ("command" in server) == ("url" in server):
            return f"mcp.servers.{name} must have command or url, and only one of them"
    return None


def openclaw(*, user: bool = False) -> Client:
    """Return the declaration of OpenClaw's workspace; with `user`, of the user's own folder."""
    check = combine_checks(check_types(_TYPES), _check_servers)
    settings = Documents(
        "openclaw.json", Json5Document, _RULES, check=check, effect=Effect.LIVE, own=frozenset({("meta",)})
    )
    if user:
        return Client(
            "openclaw",
            ("openclaw.json",),
            (settings,),
            texts=(Texts("workspace", ".md", "workspace/{}"),),
            skills=(Skills("workspace/skills", name="workspace/skills/{}"), Skills("skills")),
            scripts=(Scripts("hooks", effect=Effect.NEXT_SESSION),),
            nested=False,
            user_folder=".openclaw",
            user=True,
            risks=RISKS,
        )
    return Client(
        "openclaw",
        ("openclaw.json", "SOUL.md"),
        (settings,),
        texts=(Texts("memory", ".md", "memory/{}"),),
        skills=(Skills("skills"),),
        instructions=_BY_HAND,
        nested=False,
        user_folder=".openclaw",
        risks=RISKS,
    )
