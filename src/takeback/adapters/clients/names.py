"""Names of things in a client's harness: `[client:][scope:]key`.

The first client of a directory has bare names, further ones begin with their own. A scope tells documents of one
client apart: `local:permissions.allow` is the allow list of the local settings.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from takeback.state.record import MAX_NAME


def prefix(*parts: str) -> str:
    """What names begin with."""
    return "".join(f"{part}:" for part in parts if part)


def longest(key: str, prefixes: Iterable[str]) -> str | None:
    """The longest of some beginnings that a name has."""
    return max((one for one in prefixes if key.startswith(one)), key=len, default=None)


def usable(name: Any) -> bool:
    """Whether a text can be a name."""
    return (
        isinstance(name, str)
        and 0 < len(name) <= MAX_NAME
        and not any(ord(char) < 32 or ord(char) == 127 for char in name)  # noqa: PLR2004  (ASCII)
    )


def filled(template: str, name: str) -> str:
    """A template with the name of a document in it."""
    return template.replace("{}", name)
