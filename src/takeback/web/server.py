"""The server: a loopback port, the page behind the guard, and an end that waits for nobody."""

from __future__ import annotations

import socket
from typing import Final

import uvicorn

from takeback.errors import InputError
from takeback.plugins import ExtraPages
from takeback.web.app import make_app
from takeback.web.guard import LINK
from takeback.web.session import Session
from takeback.web.shelf import HarnessShelf

LOOPBACK: Final = "127.0.0.1"
GRACE: Final = 1
"""Seconds that open connections, such as pages that follow a journal, get at the end."""


class PageServer:
    """Harnesses served on a port of this machine."""

    def __init__(
        self,
        shelf: HarnessShelf,
        *,
        port: int = 0,
        read_only: bool = False,
        extra: ExtraPages | None = None,
        who: str = "",
    ) -> None:
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        session = Session(who)
        self.link = f"http://{LOOPBACK}:{self.port}{LINK}?link={session.link}"
        """Opens the page, once."""
        hosts = (f"{LOOPBACK}:{self.port}", f"localhost:{self.port}")
        config = uvicorn.Config(
            make_app(
                shelf, session, hosts, read_only=read_only, extra=extra, ending=lambda: self._server.should_exit
            ),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=GRACE,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until interrupted, or until `stop`."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True


def _listening(port: int) -> socket.socket:
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
        found.listen(128)
    except OSError as fault:
        found.close()
        raise InputError("--port", found=f"{port} ({fault.strerror})", expected="a free port, or 0 for any") from None
    return found
