"""Encrypted contents: each has a key of its own, and the keys are in a file apart from the journal.

Forgetting a content deletes its key and rewrites the key file, so that earlier copies of the journal, and a
server's write-ahead log and backups, are worthless too. The key file also holds the lookup keys of equal
contents: nothing of that is in the journal. It is small, readable by its owner only, and must be backed up
apart from the journal, or forgetting does not reach that backup.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from takeback.errors import JournalCorruptError, JournalError, MissingExtraError, MissingKeysError
from takeback.journal.content import Ref
from takeback.journal.sqlite_files import DRIVER_FAULTS, ReadingCopy, can_write, make_uri, translate_error

_VERSION: Final = b"\x01"
_NONCE: Final = 12
BATCH: Final = 500
_TABLES = (
    "CREATE TABLE IF NOT EXISTS owner (journal TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, key BLOB NOT NULL, lookup BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS keys_by_lookup ON keys (lookup)",
)


class ContentKey(NamedTuple):
    """The key of one content."""

    id: Ref
    key: bytes
    lookup: bytes


def _make_cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - needs the extra
    except ImportError as error:
        raise MissingExtraError("a sealed journal needs the 'seal' extra: pip install 'takeback[seal]'") from error
    return AESGCM(key)


def make_key() -> bytes:
    """Return a random key of 256 bits."""
    return os.urandom(32)


def _make_associated_data(at: int, *, tree: bool) -> bytes:
    return f"takeback {'tree' if tree else 'leaf'} {at}".encode()


def make_first_nonce() -> bytes:
    """Return the nonce at which a content's count begins; no key is used for another content."""
    return os.urandom(_NONCE)


def encrypt_pieces(key: bytes, first: bytes, pieces: Iterable[bytes], *, tree: bool) -> Iterator[bytes]:
    """Yield pieces of a content encrypted, each bound to its position; the same pieces give the same result."""
    cipher = _make_cipher(key)
    start = int.from_bytes(first, "big")
    for at, piece in enumerate(pieces):
        nonce = ((start + at) % 2 ** (8 * _NONCE)).to_bytes(_NONCE, "big")
        yield _VERSION + nonce + cipher.encrypt(nonce, piece, _make_associated_data(at, tree=tree))


def decrypt_pieces(key: bytes, pieces: Iterable[bytes], *, tree: bool) -> Iterator[bytes]:
    """Yield the pieces that `encrypt_pieces` encrypted."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - needs the extra

    cipher = _make_cipher(key)
    for at, piece in enumerate(pieces):
        if piece[:1] != _VERSION or len(piece) <= _NONCE:
            raise JournalCorruptError("a sealed content has no known form")
        try:
            yield cipher.decrypt(piece[1 : 1 + _NONCE], piece[1 + _NONCE :], _make_associated_data(at, tree=tree))
        except InvalidTag as fault:
            raise JournalCorruptError("a sealed content was altered, or its key is another's") from fault


def _connect_key_file(name: str, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=timeout, isolation_level=None, check_same_thread=False, uri=True)


def _connect_read_only(path: Path, timeout: float, *, untouched: bool) -> sqlite3.Connection:
    """Connect to a key file that cannot be written; a copy made for that leaves no key on the disk."""
    with closing(ReadingCopy(path, untouched=untouched)) as copy:
        there = _connect_key_file(copy.uri, timeout)
        if not copy.made:
            return there
        with closing(there):
            held = _connect_key_file("file::memory:", timeout)
            there.backup(held)
            return held


class KeyFile:
    """Keys of one journal's contents, by id."""

    def __init__(
        self,
        path: Path,
        journal: str,
        *,
        create: bool,
        readonly: bool = False,
        untouched: bool = False,
        timeout: float = 10.0,
    ) -> None:
        self.path = path
        _make_cipher(make_key())
        if path.is_symlink():
            raise JournalError(f"cannot use the key file {path}: it is a link, which is not followed")
        if not path.exists():
            if not create:
                raise MissingKeysError(
                    f"the key file {path} is missing: the journal's contents cannot be read without it",
                    hint="put it back from a copy, or name the right one with TAKEBACK_KEYS",
                )
            self._make()
        readonly = readonly or not can_write(path)
        with self._faults():
            self._connection = (
                _connect_read_only(path, timeout, untouched=untouched)
                if readonly
                else _connect_key_file(make_uri(path, "mode=rw"), timeout)
            )
        try:
            self._prepare(journal, readonly=readonly)
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        except OSError as error:
            raise JournalError(f"cannot make the key file {self.path}: {error.strerror}") from error

    def _prepare(self, journal: str, *, readonly: bool) -> None:
        with self._faults():
            if not readonly:
                self._run("PRAGMA journal_mode=WAL")
                self._run("PRAGMA secure_delete=ON")
                self._run("PRAGMA synchronous=FULL")
                with self._transaction():
                    for statement in _TABLES:
                        self._run(statement)
                    if not self._run("SELECT journal FROM owner"):
                        self._run("INSERT INTO owner VALUES (?)", (journal,))
            else:
                self._run("PRAGMA query_only=ON")
            owner = self._run("SELECT journal FROM owner")
        if [tuple(row) for row in owner] != [(journal,)]:
            raise JournalError(f"the key file {self.path} belongs to another journal")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except DRIVER_FAULTS as error:
            raise translate_error(error, f"the key file {self.path}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._run("ROLLBACK")
            raise
        self._run("COMMIT")

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def add(self, keys: Sequence[ContentKey]) -> None:
        """Keep new keys, durably: before the contents they are for are committed anywhere."""
        with self._faults(), self._transaction():
            self._connection.executemany("INSERT OR REPLACE INTO keys (id, key, lookup) VALUES (?, ?, ?)", keys)

    def get(self, refs: Sequence[Ref]) -> dict[Ref, bytes]:
        """Return the keys of contents, leaving out those that do not exist."""
        return {row[0]: row[1] for row in self._select("id, key", "id", refs)}

    def pages(self) -> Iterator[list[Ref]]:
        """Yield the ids of all keys, in order."""
        last = ""
        while True:
            with self._faults():
                rows = self._run("SELECT id FROM keys WHERE id > ? ORDER BY id LIMIT ?", (last, BATCH))
            if not rows:
                return
            yield [str(row[0]) for row in rows]
            last = str(rows[-1][0])

    def find_refs(self, lookups: Sequence[bytes]) -> Mapping[bytes, Ref]:
        """Return the ids of contents by lookup key."""
        return {row[0]: row[1] for row in self._select("lookup, id", "lookup", lookups)}

    def _select(self, columns: str, by: str, values: Sequence[Any]) -> list[Any]:
        rows: list[Any] = []
        with self._faults():
            for start in range(0, len(values), BATCH):
                part = values[start : start + BATCH]
                marks = ",".join("?" * len(part))
                rows += self._run(f"SELECT {columns} FROM keys WHERE {by} IN ({marks})", part)  # noqa: S608
        return rows

    def drop(self, refs: Sequence[Ref]) -> str:
        """Delete keys, and rewrite the file so that no byte of them is left; return what prevents it, if anything."""
        with self._faults():
            with self._transaction():
                self._connection.executemany("DELETE FROM keys WHERE id = ?", [(ref,) for ref in refs])
            self._run("VACUUM")
            busy = self._run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
        return "" if not busy else f"another process is reading the key file {self.path}: forget again when it ended"

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def name_key_file(journal: str) -> str:
    """Return the file name for a journal's keys under the home directory."""
    return f"{hashlib.sha256(journal.encode()).hexdigest()[:32]}.keys"


def locate_default_keys(journal: str) -> Path:
    """Return the path of the key file where no other was given."""
    return Path.home() / ".local" / "state" / "takeback" / "keys" / name_key_file(journal)
