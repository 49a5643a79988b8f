"""Which harness a file belongs to, and what its client does with it: from declarations alone, without looking around.

This is what the guard asks before every edit, so that it must be fast: no state, no journal, no walk through folders.
Files that instruction files bring in are not known here; the recorder finds them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from takeback.adapters.clients import CLIENTS
from takeback.adapters.clients.client import ANY, Client, Documents, Texts
from takeback.adapters.clients.ownership import PlainFile, find_declaration
from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE, find_root_text, has_other_names
from takeback.canonical import parse
from takeback.errors import HarnessError, InputError

BROUGHT_IN: Final = frozenset({".md", ".mdc", ".txt", ""})
"""Endings of files that an instruction file may bring in; whether one does is found out by looking."""


@dataclass(frozen=True, slots=True)
class Own:
    """A file in Takeback's own directory."""


@dataclass(frozen=True, slots=True)
class Home:
    """A harness, and the clients whose files are in it."""

    root: str
    clients: tuple[Client, ...]
    journal: str

    def relative(self, path: str) -> tuple[str, ...]:
        """Return a path inside the harness, as written and with links followed; nothing for one that leads out."""
        real = os.path.realpath(self.root)
        written = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        places = (os.path.relpath(spelling, real) for spelling in (written, os.path.realpath(path)))
        return tuple(dict.fromkeys(place for place in places if place != ".." and not place.startswith("../")))

    def leads_out(self, path: str) -> bool:
        """Return whether a path in the harness is a link that leads out of it."""
        real = os.path.relpath(os.path.realpath(path), os.path.realpath(self.root))
        return real == ".." or real.startswith("../")

    def find_declaration(self, path: str) -> tuple[str, Client | None, Documents | Texts | PlainFile | Own] | None:
        """Return a file's path in the harness, its client and its role there; None if it is nobody's."""
        for place in self.relative(path):
            if place == PRIVATE or place.startswith(f"{PRIVATE}/"):
                return place, None, Own()
            for client in self.clients:
                declaration = find_declaration(client, place)
                if declaration is not None:
                    return place, client, declaration
        return None

    def find_hard_link(self, path: str) -> str | None:
        """Return the file of the harness that a path is a hard link to; None if it is none."""
        try:
            mine = os.stat(path)
        except OSError:
            return None
        for place in self._places():
            try:
                stat = os.lstat(os.path.join(self.root, place))
            except OSError:
                continue
            if (stat.st_dev, stat.st_ino) == (mine.st_dev, mine.st_ino):
                return place
        return None

    def _places(self) -> Iterator[str]:
        """Yield the declared paths of files in the harness: fixed ones first, then folders."""
        folders = dict.fromkeys([PRIVATE])
        for client in self.clients:
            for documents in client.documents:
                start, star, _ = documents.path.partition(ANY)
                folders |= {start.rpartition("/")[0] or ".": None} if star else {}
                yield from () if star else (documents.path,)
            yield from client.instructions
            folders |= dict.fromkeys(texts.start.rpartition("/")[0] for texts in client.texts)
            folders |= dict.fromkeys(skills.folder for skills in client.skills)
            folders |= dict.fromkeys(scripts.folder for scripts in client.scripts)
        for folder in folders:
            for above_it, _, names in os.walk(os.path.join(self.root, folder)):
                yield from (os.path.relpath(os.path.join(above_it, name), self.root) for name in names)

    def documents(self) -> Iterator[tuple[str, str, Documents]]:
        """Yield the documents of every client that have a fixed path."""
        for client in self.clients:
            for documents in client.documents:
                if ANY not in documents.path:
                    yield client.name, documents.path, documents


def find_declared_file(
    path: str, cwd: str = ""
) -> tuple[Home, str, Client | None, Documents | Texts | PlainFile | Own] | None:
    """Return whose a file is, also by another name: a hard link to a file of the harness is that file.

    `cwd` is where the agent works; a link may lie anywhere.
    """
    home = find_home(path)
    known = None if home is None else home.find_declaration(path)
    if home is not None and known is not None:
        return home, *known
    for other in _find_homes(path, cwd) if has_other_names(path) else ():
        place = other.find_hard_link(path)
        declaration = None if place is None else other.find_declaration(os.path.join(other.root, place))
        if declaration is not None:
            return other, *declaration
    return None


def _find_homes(path: str, cwd: str) -> Iterator[Home]:
    roots = dict.fromkeys(find_root_text(start) for start in (path, cwd) if start)
    homes = (find_home(os.path.join(root, PRIVATE)) for root in roots if root is not None)
    yield from (home for home in homes if home is not None)


def find_home(path: str) -> Home | None:
    """Return the harness that a path lies in; None if it lies in none, or in one without clients' files."""
    root = find_root_text(path)
    if root is None or os.path.isfile(os.path.join(root, MANIFEST)):
        return None
    place = os.path.join(root, HIDDEN)
    try:
        with open(place, encoding="utf-8") as file:
            about, documents = _read_manifest(file.read())
        clients = tuple(CLIENTS[kind](user=about.get("user", False)) for kind in about.get("kinds", ()))
        if documents:
            clients = (*clients, _declare_own(documents, place))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise HarnessError(f"{place} cannot be read: {fault}") from fault
    return Home(root, clients, str(about.get("journal", "")))


def _declare_own(documents: list[dict[str, Any]], place: str) -> Client:
    from takeback.adapters.clients.own_documents import declare_documents  # noqa: PLC0415 - only where there are any
    from takeback.adapters.manifest import OwnDocument  # noqa: PLC0415

    return declare_documents([OwnDocument(**document) for document in documents], (), place)


def _read_manifest(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return workspace and documents of a manifest; read one in our own form without a parser, which is slow."""
    head, *lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    pairs = [line.partition(" = ") for line in lines]
    names = [name for name, _, _ in pairs]
    if head == "[workspace]" and len(set(names)) == len(names) and all(name.isidentifier() for name in names):
        try:
            return {name: parse(value, name) for name, _, value in pairs}, []
        except InputError:
            pass  # TOML that is not JSON
    import tomllib  # noqa: PLC0415 - start-up

    whole = tomllib.loads(text)
    return whole["workspace"], whole.get("documents", [])


def can_be_ours(path: str) -> bool:
    """Return whether a file may belong to a harness: declared, or imported by instructions."""
    if os.path.splitext(path)[1].lower() in BROUGHT_IN:
        return True
    if has_other_names(path):
        return True
    home = find_home(path)
    return find_root_text(path) is not None if home is None else home.find_declaration(path) is not None
