"""Roo: `.roo/`, AGENTS.md and the rules of other clients. Its files are watched; the extension writes what was
allowed for ever into `.roo/mcp.json`.
"""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.client import Client, Effect, Skills, Texts
from takeback.adapters.clients.risk_rules import RiskRule
from takeback.adapters.clients.servers import SERVER_RISKS, declare_servers

RISKS: Final[dict[str, RiskRule]] = dict(SERVER_RISKS)
_LIVE: Final = Effect.LIVE


def roo(*, user: bool = False) -> Client:
    """Return the declaration of Roo; with `user`, of the user's own folder."""
    base = "" if user else ".roo/"
    rules = [(f"{base}rules", "rules/{}"), (f"{base}rules-*", "rules-{}")]
    return Client(
        "roo",
        ("rules", "commands", "skills") if user else (".roo", ".roorules"),
        () if user else (declare_servers(".roo/mcp.json", effect=_LIVE),),
        texts=(
            *(Texts(folder, ".md", name, effect=_LIVE) for folder, name in rules),
            *(Texts(folder, ".txt", f"{name}.txt", effect=_LIVE) for folder, name in rules),
            Texts(f"{base}commands", ".md", "commands/{}", effect=_LIVE),
        ),
        skills=(Skills(f"{base}skills", _LIVE),),
        instructions=() if user else ("AGENTS.md", "AGENTS.local.md", ".roorules", ".clinerules"),
        nested=not user,
        user_folder=".roo",
        user=user,
        risks=RISKS,
    )
