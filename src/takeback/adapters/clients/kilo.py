"""Kilo: `kilo.json(c)`, `.kilo/` and AGENTS.md, much as opencode. It drops a file for one wrong type, or where the
project's has `{env:…}` or `{file:…}`, and goes on without its rules that deny.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_front_matter, check_types, combine_checks
from takeback.adapters.clients.client import Client, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.clients.opencode import (
    RULES,
    TYPES,
    OpencodeSettings,
    check_permissions,
    check_server_values,
    list_instructions,
)
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_rules
from takeback.adapters.clients.risk_tables import TABLES

RISKS: Final[dict[str, RiskRule]] = {
    **TABLES["opencode"].rules,
    **make_rules(Risk.LOADS, "skills.urls", "brings in skills of others"),
}
ENDINGS: Final = (".js", ".ts", ".mjs", ".mts")


def _check_references(value: Any) -> str | None:
    if isinstance(value, str):
        sign = next((prefix for prefix in ("{env:", "{file:") if prefix in value), None)
        return None if sign is None else f"{sign}…}} in a file of the project, for which the client drops the file"
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((wrong for item in inside if (wrong := _check_references(item)) is not None), None)


def kilo(*, user: bool = False) -> Client:
    """Return the declaration of Kilo; with `user`, of the user's own folder."""
    base = "" if user else ".kilo/"
    check = combine_checks(check_types(TYPES), check_server_values, check_permissions)
    check = check if user else combine_checks(check, _check_references)
    places = {"kilo.jsonc": "", "kilo.json": "json"}
    if not user:
        places |= {
            ".kilo/kilo.jsonc": ".kilo",
            ".kilo/kilo.json": ".kilo.json",
            ".kilocode/kilo.jsonc": ".kilocode",
            ".kilocode/kilo.json": ".kilocode.json",
        }
    own = frozenset({("$schema",)})
    described = check_front_matter("description")
    legacy = () if user else (Texts(".kilocode/rules", ".md", ".kilocode/rules/{}"),)
    return Client(
        "kilo",
        ("kilo.jsonc", "kilo.json") if user else ("kilo.jsonc", "kilo.json", ".kilo", ".kilocode"),
        tuple(
            Documents(path, OpencodeSettings, RULES, scope, check=check, own=own) for path, scope in places.items()
        ),
        texts=(
            *(Texts(f"{base}{folder}", ".md", f"{folder}/{{}}", check=described) for folder in ("agents", "agent")),
            *(Texts(f"{base}{folder}", ".md", f"{folder}/{{}}") for folder in ("commands", "command", "rules")),
            *legacy,
        ),
        skills=(Skills(f"{base}skills"), Skills(f"{base}skill", name="skill/{}")),
        scripts=(
            Scripts(f"{base}plugin", ENDINGS, "plugin", Effect.NEXT_SESSION),
            Scripts(f"{base}plugins", ENDINGS, "plugins", Effect.NEXT_SESSION),
        ),
        instructions=("AGENTS.md",),
        nested=not user,
        includes=list_instructions,
        user_folder=".config/kilo",
        user=user,
        risks=RISKS,
    )
