"""A document of MCP servers, as most clients have one: `{"mcpServers": {name: record}}`, or under another key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from takeback.adapters.clients.checks import check_servers, check_types, combine_checks
from takeback.adapters.clients.client import DocumentRule, Documents, Effect, ValueCheck
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_rules
from takeback.adapters.formats.document import Document
from takeback.adapters.formats.json_document import JsonDocument

KEY: Final = "mcpServers"
SERVER_RISKS: Final[dict[str, RiskRule]] = make_rules(Risk.EXECUTES, "mcpServers.** hooks.**")
"""What servers and hooks may do where a surface cannot hold them, so that they are settings."""


def declare_servers(
    path: str,
    scope: str = "mcp.json",
    *,
    key: str = KEY,
    tools: str = "",
    form: Callable[[bytes, str], Document] = JsonDocument,
    effect: Effect = Effect.APPROVAL,
) -> Documents:
    """Return the declaration of a document of servers; `tools` is the scope that their names have."""
    return Documents(
        path,
        form,
        (DocumentRule((key,), "servers", "mcp:", scope=tools),),
        scope,
        fresh=f'{{\n  "{key}": {{\n  }}\n}}\n'.encode(),
        check=combine_checks(check_types({key: (dict,)}), check_reachable(key)),
        effects={key: effect},
    )


def check_reachable(key: str = KEY) -> ValueCheck:
    """Return a check that every server has a command or an address."""
    return check_servers(key, "command", "url", texts=("command", "url", "type"))
