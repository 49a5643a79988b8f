"""The server on its transports: standard input and output, or HTTP on loopback with a bearer token.

Over HTTP, requests without the token, to another host name or from another origin are refused. A token is made, or
read from a file that nobody else can read: one per line, alone or behind the name of the client it belongs to.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import anyio
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl

from takeback.agents.server.desk import Desk
from takeback.agents.server.makers import ANYONE
from takeback.agents.server.tools import build
from takeback.errors import InputError

LOOPBACK: Final = "127.0.0.1"
SCOPE: Final = "harness"
SHORTEST: Final = 16
Tokens = Mapping[str, str]
"""Names of clients by token."""


class Bearers:
    """Tells whose a token is; compares every token in constant time."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = dict(tokens)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who may ask with a token; None if nobody."""
        name = None
        for known, owner in self._tokens.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                name = owner
        return None if name is None else AccessToken(token=token, client_id=name, scopes=[SCOPE])


def made_token() -> str:
    """A new token."""
    return secrets.token_urlsafe(32)


def read_tokens(path: Path) -> Tokens:
    """The tokens in a file: TOKEN, or NAME TOKEN, on a line each."""
    try:
        found = path.stat()
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise InputError(str(path), found=f"no readable file ({fault})", expected="a file with a token") from None
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        hint = f"chmod 600 {path}"
        raise InputError(
            str(path), found=f"mode {mode:04o}", expected="mode 0600: only its owner reads it", hint=hint
        )
    tokens: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        token = words[-1]
        if len(words) > 2 or len(token) < SHORTEST or token in tokens:  # noqa: PLR2004
            expected = f"TOKEN or NAME TOKEN, each token once and at least {SHORTEST} characters long"
            raise InputError(f"{path}: line {number}", found="something else", expected=expected)
        tokens[token] = words[0] if len(words) > 1 else ANYONE
    if not tokens:
        raise InputError(str(path), found="nothing in it", expected="a token")
    return tokens


def listening(port: int) -> socket.socket:
    """A socket on loopback; port 0 is any free one."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((LOOPBACK, port))
    except OSError as fault:
        bound.close()
        raise InputError("--port", found=f"{port} ({fault.strerror})", expected="a port that is free") from None
    bound.listen()
    return bound


def serve_stdio(desk: Desk, session: str) -> None:
    """Serve one client on standard input and output, until it closes them."""
    build(desk, session).run("stdio")


def serve_http(desk: Desk, bound: socket.socket, tokens: Tokens) -> None:
    """Serve clients on a socket, until the process is told to stop."""
    port = bound.getsockname()[1]
    names = [f"{host}:{port}" for host in (LOOPBACK, "localhost")]
    url = AnyHttpUrl(f"http://{names[0]}")
    auth = AuthSettings(
        issuer_url=url, resource_server_url=url, required_scopes=[SCOPE], validate_token_resource=False
    )
    server = build(desk, auth=auth, verifier=Bearers(tokens))
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    app = server.streamable_http_app(transport_security=security)
    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False)
    anyio.run(lambda: uvicorn.Server(config).serve(sockets=[bound]))
