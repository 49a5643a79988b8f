"""Whose a thing of a harness with several clients is, by its name, so that it is judged by the clients that read it.

Clients are given as a harness has them: the first has bare names, the names of the others begin with their own. Where
no client is given, nobody knows whose a thing is, and it may be anybody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from takeback.adapters.clients.client import ANY, Client, Documents, Texts


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file of a client of which only the bytes count: instructions, a skill, a script."""

    script: bool = False


def is_instruction(client: Client, path: str) -> bool:
    """Return whether a client reads the file at a path as instructions."""
    above, _, name = path.rpartition("/")
    return path in client.instructions or (name in client.instructions and (client.nested or not above))


def find_declaration(client: Client, path: str) -> Documents | Texts | PlainFile | None:
    """Return what a client declares of the file at a path; None if nothing."""
    for documents in client.documents:
        declared = documents.path
        if path == declared:
            return documents
        if ANY in declared:
            start, _, end = declared.partition(ANY)
            if path.startswith(start) and path.endswith(end):
                return documents
    for scripts in client.scripts:
        if is_in_folder(path, scripts.folder, scripts.endings):
            return PlainFile(script=True)
    for skills in client.skills:
        if is_in_folder(path, skills.folder):
            return PlainFile()
    for texts in client.texts:
        if path.startswith(texts.start) and path.endswith(texts.ending):
            return texts
    return PlainFile() if is_instruction(client, path) else None


def is_in_folder(path: str, folder: str, endings: tuple[str, ...] = ()) -> bool:
    """Return whether a path lies in a folder, and has one of some endings where there are any."""
    return path.startswith(folder) and path.startswith("/", len(folder)) and (not endings or path.endswith(endings))


@cache
def list_readers(path: str, *, hooks: bool) -> tuple[str, ...]:
    """Return every known client that reads the file at a path of a project; with `hooks`, or runs its hooks."""
    top, last = path.partition("/")[0], path.rpartition("/")[2]
    return tuple(
        name
        for name, client, tops in _list_programs()
        if ((tops is None or top in tops or last in client.instructions) and can_read(client, path))
        or (hooks and path in client.runs_hooks_of)
    )


@cache
def _list_programs() -> tuple[tuple[str, Client, frozenset[str] | None], ...]:
    """Return every known client that is a program, and the first steps of paths that it reads; None for any."""
    from takeback.adapters.clients import CLIENTS  # noqa: PLC0415 - it imports what imports this

    declared = ((name, declare()) for name, declare in CLIENTS.items())
    return tuple((name, client, _list_tops(client)) for name, client in declared if client.is_program)


def _list_tops(client: Client) -> frozenset[str] | None:
    starts = [
        *(document.path.partition(ANY)[0] for document in client.documents),
        *(f"{script.folder}/" for script in client.scripts),
        *(f"{skill.folder}/" for skill in client.skills),
        *(text.start for text in client.texts),
        *client.also_reads,
        *client.instructions,
    ]
    exact = {document.path for document in client.documents if ANY not in document.path}
    exact |= {*client.instructions, *(path for path in client.also_reads if not path.endswith("/"))}
    if any("/" not in start and start not in exact for start in starts):
        return None
    return frozenset(start.partition("/")[0] for start in starts)


def can_read(client: Client, path: str) -> bool:
    """Return whether a client reads the file at a path, as its own or as that of another client."""
    if find_declaration(client, path) is not None:
        return True
    others = (path.startswith(pattern) if pattern.endswith("/") else path == pattern for pattern in client.also_reads)
    return any(others)


def owners_of(name: str, clients: Sequence[str]) -> Sequence[str]:
    """Return the client that a setting is of; none where no client is given."""
    return [client for client in clients[1:] if name.startswith(f"{client}:")] or clients[:1]


def readers_of(name: str, clients: Sequence[str]) -> Sequence[str]:
    """Return the clients that read a text; a file that lies where several look is that of all of them."""
    named = [client for client in clients[1:] if name.startswith(f"{client}:")]
    if named or len(clients) < 2:  # noqa: PLR2004 - one client reads everything
        return named or clients
    from takeback.adapters.clients import CLIENTS  # noqa: PLC0415 - it imports what imports this

    declared = {client: CLIENTS[client]() for client in clients if client in CLIENTS}
    lying = [
        client for client, reader in declared.items() if any(name.startswith(f"{at}/") for at in _folders(reader))
    ]
    first = declared.get(clients[0])
    bare = first is not None and any(_fits(name, template) for template in _templates(first))
    return lying or (clients[:1] if bare else clients)


def is_of(client: str, owners: Sequence[str]) -> bool:
    """Whether a thing is, or may be, of a client."""
    return not owners or client in owners


def is_as_in_opencode(owners: Sequence[str]) -> bool:
    """Whether a thing is, or may be, of opencode or of a client that was made from it."""
    return any(is_of(client, owners) for client in ("opencode", "kilo"))


def _folders(client: Client) -> list[str]:
    documents = (document.path.partition(ANY)[0].rstrip("/") for document in client.documents if ANY in document.path)
    return [
        *(text.folder for text in client.texts),
        *(skill.folder for skill in client.skills),
        *filter(None, documents),
    ]


def _templates(client: Client) -> list[str]:
    """Return the forms of the names that texts of a client have."""
    inner = (rule.name for document in client.documents for rule in document.rules if rule.what == "text")
    return [*(text.name for text in client.texts), *(skill.name for skill in client.skills), *inner]


def _fits(name: str, template: str) -> bool:
    start, _, end = template.partition("{}")
    return name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)
