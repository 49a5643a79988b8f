"""Peer: git revert (pygit2). A file for each entry, and for each chain a file that lists its ids, one per line."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote

import pygit2

from takeback.canonical import decode, encode
from takeback_lab.snapshots.method import PlainMethod, UndoAttempt, timed
from takeback_lab.snapshots.rows import StateRow, StateRows, rows_of, state_of
from takeback_lab.snapshots.situations import AnyJson, Situation

_ORDER = "order"


class GitRevert(PlainMethod):
    """Commits in a bare repository; a conflict means that the revert gave up."""

    def __init__(self) -> None:
        self.folder = TemporaryDirectory()
        self.repository = pygit2.init_repository(self.folder.name, bare=True)
        self.author = pygit2.Signature("lab", "lab@localhost", 0, 0)
        self.blobs: dict[str, pygit2.Oid] = {}

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        first = self.commit(trial.before.write(), [])
        second = self.commit(trial.between.write(), [first])
        third = self.commit(trial.after.write(), [second])
        stored = self.size(second, first)
        revert, onto = self.repository[second], self.repository[third]
        tree, seconds = timed(lambda: self.revert(revert, onto))
        return UndoAttempt(None if tree is None else self.read(tree), stored, seconds)

    def commit(self, state: AnyJson, parents: list[pygit2.Oid]) -> pygit2.Oid:
        """Commit a state."""
        index = pygit2.Index()
        for path, text in files_of(state).items():
            if text not in self.blobs:
                self.blobs[text] = self.repository.create_blob(text.encode())
            index.add(pygit2.IndexEntry(path, self.blobs[text], pygit2.enums.FileMode.BLOB))
        tree = index.write_tree(self.repository)
        return self.repository.create_commit(None, self.author, self.author, "change", tree, parents)

    def revert(self, commit: pygit2.Commit, onto: pygit2.Commit) -> pygit2.Oid | None:
        """The tree after a revert; None on a conflict."""
        index = self.repository.revert_commit(commit, onto)
        return None if index.conflicts is not None else index.write_tree(self.repository)

    def size(self, commit: pygit2.Oid, before: pygit2.Oid) -> int:
        """Bytes of the objects that a commit adds, as they lie on disk."""
        old = self.reachable(self.repository[before].tree)
        new = {commit, *self.reachable(self.repository[commit].tree)} - old
        places = (Path(self.folder.name) / "objects" / str(oid)[:2] / str(oid)[2:] for oid in new)
        return sum(place.stat().st_size for place in places)

    def reachable(self, tree: pygit2.Tree) -> set[pygit2.Oid]:
        """The tree and all that is in it."""
        found = {tree.id}
        for item in tree:
            found |= self.reachable(item) if isinstance(item, pygit2.Tree) else {item.id}
        return found

    def read(self, oid: pygit2.Oid) -> AnyJson | None:
        """The state in a tree."""
        files = {
            f"{folder.name}/{item.name}": item.data.decode() for folder in self.repository[oid] for item in folder
        }
        try:
            return state_of(rows_from(files))
        except (ValueError, KeyError):
            return None

    def close(self) -> None:
        """Remove the repository."""
        self.repository.free()
        self.folder.cleanup()


def files_of(state: AnyJson) -> dict[str, str]:
    """A state as files: entries by surface and key, and the order of each chain."""
    found: dict[str, str] = {}
    orders: dict[str, list[tuple[float, str]]] = {}
    for (surface, key), row in rows_of(state, fractional=False).items():
        found[f"{surface}/{quote(key, safe='')}"] = f"{row.value}\n"
        if row.position is not None:
            *above, name = decode(key)
            orders.setdefault(f"{surface}/{_ORDER}{quote(encode(above), safe='')}", []).append((row.position, name))
    for path, links in orders.items():
        found[path] = "".join(f"{name}\n" for _, name in sorted(links))
    return found


def rows_from(files: dict[str, str]) -> StateRows:
    """The rows in some files; an element that its chain does not list is a contradiction."""
    positions: dict[tuple[str, str], float] = {}
    rows: StateRows = {}
    for path, text in files.items():
        surface, _, name = path.partition("/")
        if name.startswith(_ORDER):
            above = decode(unquote(name.removeprefix(_ORDER)))
            for at, link in enumerate(text.splitlines()):
                positions[surface, encode([*above, link])] = float(at)
        else:
            rows[surface, unquote(name)] = StateRow(None, text.removesuffix("\n"))
    for key, row in rows.items():
        if key[0] in {"middleware", "listeners"}:
            rows[key] = StateRow(positions.pop(key), row.value)
    if positions:
        raise ValueError(f"{sorted(positions)[0]} is listed and not there")
    return rows
