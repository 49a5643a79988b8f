"""Who may see the page: whoever opened the one-time link, in that browser, until the server ends.

Three secrets, each for one thing: the link, which opens once; the cookie it becomes; the token in every form.
"""

from __future__ import annotations

import hmac
import secrets
from threading import Lock
from typing import Final

BYTES: Final = 32


class Session:
    """The secrets of one run of the server."""

    def __init__(self, who: str = "") -> None:
        self.who = who
        """Who sits in front of the page, as said last: recorded with what is done there."""
        self.link = secrets.token_urlsafe(BYTES)
        self.cookie = secrets.token_urlsafe(BYTES)
        self.form_token = secrets.token_urlsafe(BYTES)
        self._opened = False
        self._lock = Lock()

    def open(self, given: str) -> bool:
        """Whether this is the link, opened for the first time."""
        with self._lock:
            if self._opened or not _same(given, self.link):
                return False
            self._opened = True
            return True

    def knows(self, cookie: str) -> bool:
        """Whether a cookie is this session's."""
        return _same(cookie, self.cookie)

    def allows(self, token: str) -> bool:
        """Whether a form came from a page of this session."""
        return _same(token, self.form_token)


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())
