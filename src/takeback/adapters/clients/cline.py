"""Cline: `.clinerules`, `.cline/` and AGENTS.md. A project has no settings file; a hook is a file named by its event,
which runs even where it is not executable. At home its servers are strict JSON, dropped for one comment.
"""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.client import Client, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_rules
from takeback.adapters.clients.servers import SERVER_RISKS, declare_servers
from takeback.adapters.formats.json_document import JsonDocument

RISKS: Final[dict[str, RiskRule]] = {
    **SERVER_RISKS,
    **make_rules(Risk.REDIRECTS, "baseUrl"),
    **make_rules(Risk.PROTECTED, "autoApprove autoApprove.** yolo", "is part of the permissions, and changed"),
}
_NEXT: Final = Effect.NEXT_SESSION


def cline(*, user: bool = False) -> Client:
    """Return the declaration of Cline; with `user`, of the user's own folder."""
    base = "" if user else ".cline/"
    rules = () if user else (Texts(".clinerules/workflows", ".md", "workflows/{}", effect=Effect.LIVE),)
    more = (
        ()
        if user
        else (Texts(".clinerules", ".md", ".clinerules/{}"), Texts(".clinerules", ".txt", ".clinerules/{}.txt"))
    )
    return Client(
        "cline",
        ("rules", "data", "hooks") if user else (".clinerules", ".cline"),
        ()
        if not user
        else (
            declare_servers("data/settings/cline_mcp_settings.json", "mcp", effect=_NEXT),
            Documents("data/settings/global-settings.json", JsonDocument, scope="global"),
        ),
        texts=(
            *rules,
            *more,
            Texts(f"{base}rules", ".md", "rules/{}"),
            Texts(f"{base}agents", ".md", "agents/{}"),
        ),
        skills=(
            Skills(f"{base}skills"),
            *(() if user else (Skills(".clinerules/skills", name=".clinerules/skills/{}"),)),
            *(() if user else (Skills(".agents/skills", name=".agents/skills/{}"),)),
        ),
        scripts=(
            Scripts(f"{base}hooks", event="hooks", effect=_NEXT),
            *(() if user else (Scripts(".clinerules/hooks", event=".clinerules/hooks", effect=_NEXT),)),
            Scripts(f"{base}plugins", (".js", ".ts"), "plugins", _NEXT),
            Scripts(f"{base}cron", effect=_NEXT),
        ),
        instructions=() if user else ("AGENTS.md", ".clinerules"),
        nested=not user,
        user_folder=".cline",
        user=user,
        risks=RISKS,
    )
