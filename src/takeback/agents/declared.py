"""Which harness a file belongs to, and what its client does with it: from declarations alone, without looking around.

This is what the guard asks before every edit, so that it must be fast: no state, no journal, no walk through folders.
Files that instruction files bring in are not known here; the recorder finds them.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from takeback.adapters.clients import CLIENTS
from takeback.adapters.clients.client import ANY, Client, Documents, Texts
from takeback.adapters.roots import HIDDEN, PRIVATE, manifest_path, root_above
from takeback.errors import HarnessError


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file of a client of which only the bytes count: instructions, a skill, a script."""

    script: bool = False


@dataclass(frozen=True, slots=True)
class Own:
    """A file in Takeback's own directory."""


@dataclass(frozen=True, slots=True)
class Home:
    """A harness, and the clients whose files are in it."""

    root: Path
    clients: tuple[Client, ...]
    journal: str

    def relative(self, path: str) -> tuple[str, ...]:
        """A path as it lies in the harness: as it is written, and with links followed; not what leads out of it."""
        real = os.path.realpath(self.root)
        written = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        found = (os.path.relpath(one, real) for one in (written, os.path.realpath(path)))
        return tuple(dict.fromkeys(one for one in found if one != ".." and not one.startswith("../")))

    def leads_out(self, path: str) -> bool:
        """Whether a path in the harness is a link that leads out of it."""
        real = os.path.relpath(os.path.realpath(path), os.path.realpath(self.root))
        return real == ".." or real.startswith("../")

    def declared(self, path: str) -> tuple[str, Client | None, Documents | Texts | PlainFile | Own] | None:
        """Where a file is in the harness, whose it is and what it is to that client; None if it is nobody's."""
        for place in self.relative(path):
            if place == PRIVATE or place.startswith(f"{PRIVATE}/"):
                return place, None, Own()
            for client in self.clients:
                found = _declared(client, place)
                if found is not None:
                    return place, client, found
        return None

    def documents(self) -> Iterator[tuple[str, Documents]]:
        """The documents of every client that are at a fixed place."""
        for client in self.clients:
            for documents in client.documents:
                if ANY not in documents.path:
                    yield documents.path, documents


def home_of(path: str) -> Home | None:
    """The harness that a path lies in; None if it lies in none, or in one that is not of clients' files."""
    root = root_above(Path(path))
    if root is None or manifest_path(root) != HIDDEN:
        return None
    try:
        raw: dict[str, Any] = tomllib.loads((root / HIDDEN).read_text(encoding="utf-8"))
        about = raw["workspace"]
        clients = tuple(CLIENTS[kind](user=about.get("user", False)) for kind in about.get("kinds", ()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise HarnessError(f"{root / HIDDEN} cannot be read: {fault}") from fault
    return Home(root, clients, str(about.get("journal", "")))


def _declared(client: Client, path: str) -> Documents | Texts | PlainFile | None:
    for documents in client.documents:
        start, star, end = documents.path.partition(ANY)
        if path == documents.path or (star and path.startswith(start) and path.endswith(end)):
            return documents
    for texts in client.texts:
        if path.startswith(f"{texts.folder}/") and path.endswith(texts.ending):
            return texts
    if any(path.startswith(f"{scripts.folder}/") for scripts in client.scripts):
        return PlainFile(script=True)
    if any(path.startswith(f"{skills.folder}/") for skills in client.skills):
        return PlainFile()
    return PlainFile() if path.rpartition("/")[2] in client.instructions else None
