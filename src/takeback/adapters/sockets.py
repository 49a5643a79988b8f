"""Real listening sockets on loopback, held by this process for as long as the state says so.

A socket outlives no process: opening a harness again takes the addresses again, and what is unavailable is
reported, not hidden. Handles live here and never in a state.
"""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit

from takeback.errors import InputError
from takeback.state import PMap

BACKLOG = 16
LOOPBACK = "127.0.0.1"


def listen_on_loopback(port: int) -> socket.socket:
    """Return a socket that listens for a server of this process; port 0 means any free one."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as fault:
        listener.close()
        raise InputError("--port", found=f"{port} ({fault.strerror})", expected="a free port, or 0 for any") from None
    return listener


class Sockets:
    """Sockets by resource key. With `hold` false, taking one only proves that it can be had."""

    def __init__(self, *, hold: bool = True) -> None:
        self._hold = hold
        self._held: dict[str, tuple[str, socket.socket]] = {}
        self.problems: dict[str, str] = {}

    def prepare(self, before: PMap, after: PMap) -> str | None:
        """Take what `after` needs and `before` did not; on failure give it back and say why."""
        taken: list[str] = []
        for key, address in _list_wanted(after).items():
            if _list_wanted(before).get(key) == address:
                continue
            if self._source(self._held, key, address) is not None:
                continue
            reason = self._take(_name_taken(key), address)
            if reason is not None:
                for name in taken:
                    self._release(name)
                return f"resource {key!r} cannot listen on {address}: {reason}"
            taken.append(_name_taken(key))
        return None

    def sync(self, part: PMap) -> None:
        """Hold exactly what the state says; note what is unavailable."""
        before, self._held, self.problems = self._held, {}, {}
        wanted = _list_wanted(part) if self._hold else {}
        for key, address in wanted.items():
            source = self._source(before, key, address)
            if source is not None:
                self._held[key] = before.pop(source)
        for _, sock in before.values():
            sock.close()
        for key, address in wanted.items():
            reason = None if key in self._held else self._take(key, address)
            if reason is not None:
                self.problems[key] = f"resource {key!r} cannot listen on {address}: {reason}"

    @staticmethod
    def _source(held: dict[str, tuple[str, socket.socket]], key: str, address: str) -> str | None:
        """Return the held socket that serves: the key's own, one taken for it, or one that changes its key."""
        others: tuple[str, ...] = () if address.endswith(":0") else tuple(held)
        for name in (key, _name_taken(key), *others):
            if name in held and held[name][0] == address:
                return name
        return None

    def port(self, key: str) -> int | None:
        """Return the port that a held socket listens on; None if it is not held."""
        held = self._held.get(key)
        return None if held is None else int(held[1].getsockname()[1])

    def close(self) -> None:
        """Let everything go."""
        for key in list(self._held):
            self._release(key)

    def _take(self, key: str, address: str) -> str | None:
        parts = urlsplit(address)
        family = socket.AF_INET6 if ":" in (parts.hostname or "") else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((parts.hostname or "", parts.port or 0))
            sock.listen(BACKLOG)
        except OSError as error:
            sock.close()
            return error.strerror or str(error)
        self._held[key] = (address, sock)
        return None

    def _release(self, key: str) -> None:
        self._held.pop(key)[1].close()


def _name_taken(key: str) -> str:
    """Return the name of a socket taken for a change not made yet; no resource key contains NUL."""
    return f"{key}\0"


def _list_wanted(part: PMap) -> dict[str, str]:
    """Return the addresses to listen on: of open sockets, not of those held outside."""
    records: dict[str, Any] = dict(part.items())
    return {
        key: record["address"]
        for key, record in records.items()
        if record["kind"] == "socket" and record["lifecycle"] == "open"
    }
