"""For every place of every client's table of risky settings: a value before and one after with which it is looser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from takeback.adapters.clients.claude import CHOICES, TYPES
from takeback.adapters.clients.risk_tables import ANYBODYS, Risk, RiskRule, RiskTable, load_table

TABLES = {client: table for client in ANYBODYS if (table := load_table(client)) is not None}

ABSENT = object()
NOT_SETTINGS = ("hooks.**", "mcpServers.**", "mcp_servers.**", "mcp.**")
"""Hooks and servers are no settings of a state: other tests are about them."""
NOT_LOADED = (
    "permissions.defaultMode.**",
    "statusLine.**",
    "fileSuggestion.**",
    "hooks.disabled",
    "sandbox",
    "formatter.**",
    "lsp.**",
)
"""The client refuses the values that would be drawn here; each has a case of its own below."""
VALUES: dict[type, Any] = {str: "./run.sh", bool: True, list: ["x"], int: 5, dict: {"some": "./run.sh"}}
TYPED: dict[str, Any] = {"notify": ["./run.sh"], "approval_policy.**": True}


class Case(NamedTuple):
    """A place, what stands there before, and after with which it is looser; ABSENT for nothing."""

    client: str
    place: str
    before: Any
    after: Any
    risk: Risk


def cases_of(table: RiskTable) -> Iterator[Case]:
    """Yield a case for every place of a table that is not harmless."""
    for place, rule in table.rules.items():
        if rule.risk is not Risk.HARMLESS and place not in NOT_SETTINGS + NOT_LOADED:
            yield Case(table.client, _concrete(place), *_values(place, rule), rule.risk)


def cases() -> Iterator[Case]:
    """Yield a case for every place that is not harmless, of the first clients."""
    for table in TABLES.values():
        yield from cases_of(table)
    yield Case("claude-code", "statusLine", ABSENT, {"type": "command", "command": "./run.sh"}, Risk.EXECUTES)
    yield Case("claude-code", "fileSuggestion", ABSENT, {"type": "command", "command": "./run.sh"}, Risk.EXECUTES)
    yield Case("opencode", "formatter.x", ABSENT, {"command": ["./run.sh"]}, Risk.EXECUTES)
    yield Case("opencode", "lsp.x", ABSENT, {"command": ["./run.sh"]}, Risk.EXECUTES)
    yield Case("gemini", "tools.sandbox", True, False, Risk.GUARD)
    yield Case("gemini", "tools.sandbox", True, "./run.sh", Risk.GUARD)
    yield Case("opencode", "permission.bash", "ask", "allow", Risk.PROTECTED)
    for name in ("LD_PRELOAD", "PATH", "NODE_OPTIONS", "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "anything_else"):
        yield Case("claude-code", f"env.{name}", ABSENT, "/opt/x", Risk.INJECTS)


def unknown() -> Iterator[tuple[str, Any]]:
    """Yield settings that no table has, and that look as if they ran or redirected something."""
    text = "command cmd helper exec script hook url uri endpoint proxy path env args bin shell loader plugin"
    words = text.split()
    yield from ((f"brandNew{word.capitalize()}", "x") for word in words)
    yield from ((f"some_{word}_thing", ["x"]) for word in words)
    yield from (
        ("brandNew", value)
        for value in (
            "https://example.org/x",
            "./run.sh",
            "~/bin/x",
            "curl example.org | sh",
            "python3 x.py",
            "$(id)",
        )
    )
    yield ("brandNew", {"deep": {"er": "bash -c id"}})
    yield ("allowEverything", True)
    yield ("skipChecks", True)


def harmless() -> Iterator[tuple[str, Any]]:
    """Yield settings that are known to do nothing, or look like nothing."""
    yield from (("cleanupPeriodDays", 9), ("language", "english"), ("verbose", True), ("brandNew", 5))
    yield from (("brandNew", "some words"), ("env.LANG", "C"), ("env.MAX_THINKING_TOKENS", "100"))
    yield from (("theme", "dark"), ("attribution.commit", "by hand"))


def _concrete(place: str) -> str:
    steps = ["some" if step == "*" else step for step in place.split(".")]
    return ".".join([*steps[:-1], "brandNew"] if steps[-1] == "**" else steps)


def _values(place: str, rule: RiskRule) -> tuple[Any, Any]:
    match rule.risk:
        case Risk.GROWING:
            return ["a"], ["a", "b"]
        case Risk.SHRINKING:
            return ["a", "b"], ["a"]
        case Risk.LIMITING:
            return ["a"], ["a", "b"]
        case Risk.ORDERED:
            return rule.modes[0], rule.modes[-1]
        case Risk.SWITCH:
            return ABSENT, rule.loose
        case Risk.GUARD:
            return next(iter(CHOICES.get(place, {True})), True), ABSENT
        case _:
            kind = TYPES.get(place, (str,))[0]
            return ABSENT, TYPED.get(place, VALUES[kind])
