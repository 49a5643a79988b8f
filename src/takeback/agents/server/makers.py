"""Who makes an entry through the server: the client's name, its session where known, and how sure that is.

A client says its own name, which is `declared`; a name that belongs to the bearer token is `verified`. Two makers are
the same if they are signed alike.
"""

from __future__ import annotations

from typing import Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.mcpserver import Context

from takeback.present.visible import visible

LONGEST: Final = 60
SESSION_HEADER: Final = "mcp-session-id"
ANYONE: Final = "bearer"
"""The name of a token that has none of its own: it says that the client may ask, not who it is."""


def maker(context: Context[Any, Any], session: str | None) -> str:
    """How the entries of a request's client are signed."""
    headers = context.headers
    given = session if headers is None else headers.get(SESSION_HEADER)
    suffix = f", session {_plain(given)}" if given else ""
    parameters = context.session.client_params
    declared = _plain(parameters.client_info.name) if parameters is not None else ""
    user = getattr(context.request_context.request, "scope", {}).get("user")
    verified = user.access_token.client_id if isinstance(user, AuthenticatedUser) else ANYONE
    if verified != ANYONE:
        named = f" as {declared}" if declared else ""
        return f"{_plain(verified)} (verified{named}){suffix}"
    return f"{declared or 'an MCP client'} (declared){suffix}"


def _plain(text: str) -> str:
    """A name on one line; brackets and commas are how a signature is built, and so no part of a name."""
    kept = "".join(char for char in visible(text) if char not in "(),\\")
    return " ".join(kept.split())[:LONGEST]
