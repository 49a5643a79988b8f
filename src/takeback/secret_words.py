"""Words that distinguish a text that may hold a secret from one that surely holds none, without any import."""

from __future__ import annotations

SIGNS = (
    *("private key", "sk-", "pk-", "rk-", "sk_", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "gl"),
    *("xox", "xapp-", "slack", "akia", "asia", "aiza", "ya29.", "hf_", "npm_", "pypi-", "dop_v1_", "shp", "sg."),
    *("age-secret", "eyj", "bearer ", "basic ", "://"),
)
"""Beginnings of what secrets look like, in small letters: a text without any of them has none of that look."""
HINTS = ("secret", "passw", "passphrase", "key", "credential", "auth", "bearer", "cookie", "pat", "pwd", "token")
"""What the name of every secret has in it."""


def may_hold_secret(text: str) -> bool:
    """Return whether a text may hold a secret; if not, masking it would change nothing."""
    lowered = text.casefold()
    return any(word in lowered for word in SIGNS) or any(word in lowered for word in HINTS)
