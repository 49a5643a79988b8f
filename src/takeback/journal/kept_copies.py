"""Which copies of a SQLite journal there are, so that what is forgotten in the journal is forgotten in them too.

Backups are noted, with their paths, in a file that the caller chooses outside of the project; journals that were
replaced stand beside the one in place. A file counts as a copy only if it begins with the same record. One that is
gone, in use or damaged is named, because it may still hold what was forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from takeback.canonical import encode, parse_strict
from takeback.errors import TakebackError
from takeback.journal.content import Ref
from takeback.journal.sqlite import SqliteStore
from takeback.journal.sqlite_files import name_companion
from takeback.journal.store import Options


class KeptCopies:
    """The copies of one journal that this user has."""

    def __init__(self, journal: Path, note: Path) -> None:
        self._journal = journal
        self._note = note

    def note_copy(self, copy: Path) -> None:
        """Remember a backup."""
        self._write([*self._read(), str(copy.absolute())])

    def list_paths(self) -> list[Path]:
        """Return where copies are, or were when they were made."""
        stem, suffix = self._journal.stem, self._journal.suffix
        return [*sorted(self._journal.parent.glob(f"{stem}-replaced-*{suffix}")), *map(Path, self._read())]

    def forget(self, refs: Sequence[Ref], first: str) -> tuple[str, ...]:
        """Forget contents in every copy of the journal that begins with a record; return what could not be done."""
        return tuple(self._forget_in_each(refs, first))

    def _forget_in_each(self, refs: Sequence[Ref], first: str) -> Iterator[str]:
        gone = []
        for path in self.list_paths():
            if not path.is_file() or path.is_symlink():
                gone.append(str(path))
                yield f"the backup {path} is not there any more: if it was moved, it still holds what was forgotten"
                continue
            try:
                yield from _forget_in(path, refs, first)
            except TakebackError as fault:
                yield f"the copy {path} may still hold what was forgotten: {fault.message}"
        if gone:
            self._write([path for path in self._read() if path not in gone])

    def _read(self) -> list[str]:
        try:
            note = parse_strict(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return []
        return [path for path in note if isinstance(path, str)] if isinstance(note, list) else []

    def _write(self, paths: Sequence[str]) -> None:
        self._note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._note.with_name(f"{self._note.name}.new")
        beside.write_text(encode(list(dict.fromkeys(paths)), ascii_only=True), encoding="utf-8")
        beside.replace(self._note)


def _forget_in(path: Path, refs: Sequence[Ref], first: str) -> Iterator[str]:
    """Forget contents in one copy; yield where they linger."""
    with closing(SqliteStore(path, Options(create=False))) as store:
        if next(iter(store.records(1))).digest != first:
            return
        there = sorted(ref for ref, content in store.contents(refs).items() if content is not None)
        lingering = store.forget(there).lingering if there else ""
    with suppress(OSError):
        os.unlink(name_companion(path, ".lock"))
    if lingering:
        yield lingering
