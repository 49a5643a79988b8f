"""The track database, `.takeback/track.db`: stat cache, contents, intake rows, prompts, calls under way.

One synced transaction a capture, under a lock of its own: a process killed before the commit leaves what was, and the
next look finds the same differences. The journal's file and lock are never touched. Imported by hooks, so that it
imports little.

Where the journal is sealed, and for secrets that are kept, contents are sealed with AES-GCM under one key, in a file
beside the journal's keys. That costs a hook some milliseconds, and without the extra `seal` nothing is stored rather
than stored in clear.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
import zlib

from takeback.track.cache import DIGEST, ENCODING, BadCacheError, Folder, is_safe_path, pack_folder, unpack_folder

try:  # what `sqlite3` and `hashlib` give, without what else these load: a hook is a process of its own
    import _sqlite3 as sqlite3
    from _blake2 import blake2b
except ImportError:
    import sqlite3  # type: ignore[no-redef]
    from hashlib import blake2b

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

PRIVATE = ".takeback"
TRACK = f"{PRIVATE}/track.db"
SETUP = f"{PRIVATE}/track.json"
"""What a database is begun with, beside it: which files are a client's, and whether contents are sealed."""
CLOCK = f"{PRIVATE}/track.lock"
"""Locked during a capture; its ctime is the file system's clock."""
FORMAT = 1
WAIT = 6.0
"""Seconds that a capture waits for another: a client gives a hook 15 in all."""
POLL = 0.002
PLAIN, ZLIB, GIT, FRAME = 0, 1, 2, 3
SEALED = 8
"""Forms of a content: as it is, compressed, an id of git's, a part of a frame; and, added to these, sealed."""
LARGEST = 1 << 28
"""Bytes that a stored content has at most when it is unpacked."""
PAGES = 400
NONCE, KEY = 12, 32
"""Bytes of a sealed content's nonce, and of the key."""
TOGETHER = 500
"""So many contents are asked for at once."""
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE folders (id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, changed INTEGER NOT NULL,
  modified INTEGER NOT NULL, inode INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE facts (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE contents (digest BLOB PRIMARY KEY, size INTEGER NOT NULL, form INTEGER NOT NULL, at INTEGER NOT NULL,
  frame INTEGER, start INTEGER, body BLOB);
CREATE TABLE frames (number INTEGER PRIMARY KEY, form INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE intake (number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, client TEXT NOT NULL,
  session TEXT NOT NULL, call TEXT NOT NULL, tool TEXT NOT NULL, command TEXT NOT NULL, prompt INTEGER,
  began INTEGER NOT NULL, ended INTEGER NOT NULL, told TEXT NOT NULL, edits BLOB);
CREATE TABLE deltas (intake INTEGER NOT NULL, path BLOB NOT NULL, known INTEGER NOT NULL,
  old_kind TEXT, old_mode INTEGER, old_size INTEGER, old_digest TEXT,
  new_kind TEXT, new_mode INTEGER, new_size INTEGER, new_digest TEXT);
CREATE INDEX deltas_by_intake ON deltas (intake);
CREATE TABLE prompts (number INTEGER PRIMARY KEY AUTOINCREMENT, client TEXT NOT NULL, session TEXT NOT NULL,
  line TEXT NOT NULL, at INTEGER NOT NULL);
CREATE TABLE calls (session TEXT NOT NULL, call TEXT NOT NULL, client TEXT NOT NULL, tool TEXT NOT NULL,
  began INTEGER NOT NULL, PRIMARY KEY (session, call));
"""


class TrackError(Exception):
    """The track database cannot be used; says why."""


class BrokenTrackError(TrackError):
    """The track database is no database of ours, or was cut off."""


def write_setup(root: str, setup: Mapping[str, Any]) -> None:
    """Keep what a database is begun with, so that one that is lost can be begun anew."""
    place = os.path.join(root, SETUP)
    fresh = f"{place}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(fresh, flags, 0o600), "w") as file:
        json.dump(dict(setup), file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(fresh, place)


def read_setup(root: str) -> dict[str, Any]:
    """Return what a database is begun with; raise `TrackError` where that is not known any more."""
    try:
        with open(os.open(os.path.join(root, SETUP), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)) as file:
            setup = json.loads(file.read(1 << 24))
        if not isinstance(setup, dict) or not {"settings", "owned", "sealed", "seal"} <= setup.keys():
            raise ValueError("not what Takeback writes")  # noqa: TRY301 - one way out
    except (OSError, ValueError) as fault:
        why = f"{TRACK} is lost, and {SETUP}, which says whose files are whose, cannot be read ({fault})"
        raise TrackError(f"{why}: move away what is left of {TRACK}, and 'takeback status' begins anew") from None
    return setup


class CaptureLock:
    """The lock of a project's captures; entering it gives the file system's time. A killed process holds none."""

    def __init__(self, root: str, seconds: float) -> None:
        self._place, self._seconds = os.path.join(root, CLOCK), seconds
        self._fd = -1

    def __enter__(self) -> int:
        self._fd = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            self._wait()
            os.utime(self._fd)
            return os.fstat(self._fd).st_ctime_ns
        except BaseException:
            os.close(self._fd)
            raise

    def _wait(self) -> None:
        end = time.monotonic() + self._seconds
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise TrackError(f"another capture has held {CLOCK} for {self._seconds:.0f} s") from None
                time.sleep(POLL)
            else:
                return

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def hold_lock(root: str, seconds: float = WAIT) -> CaptureLock:
    """Return the lock of a project's captures, which waits so long for another."""
    return CaptureLock(root, seconds)


class Transaction:
    """What is written within is committed, or nothing of it; `synced` waits until the disk has it."""

    def __init__(self, connection: sqlite3.Connection, *, synced: bool) -> None:
        self._connection, self._synced = connection, synced

    def __enter__(self) -> None:
        self._connection.execute(f"PRAGMA synchronous={'FULL' if self._synced else 'NORMAL'}")
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


class CannotSealError(Exception):
    """The key or the library for sealing is missing."""


class Seal:
    """One key, read from its file when it is first used."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._key = b""

    def seal(self, data: bytes, about: bytes) -> bytes:
        """Return data encrypted, bound to what it is about."""
        nonce = os.urandom(NONCE)
        sealed: bytes = self._load().encrypt(nonce, data, about)
        return nonce + sealed

    def open(self, data: bytes, about: bytes) -> bytes | None:
        """Return what was sealed; None where it was altered, or sealed under another key."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - needs the extra

        try:
            opened: bytes = self._load().decrypt(data[:NONCE], data[NONCE:], about)
        except InvalidTag:
            return None
        return opened

    def _load(self) -> Any:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - needs the extra
        except ImportError:
            raise CannotSealError("sealing needs the 'seal' extra: pip install 'takeback[seal]'") from None
        if not self._key:
            try:
                fd = os.open(self._place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                with open(fd, "rb") as file:
                    self._key = file.read(KEY + 1)
            except OSError as fault:
                raise CannotSealError(f"the key {self._place} cannot be read: {fault.strerror}") from None
            if len(self._key) != KEY:
                raise CannotSealError(f"{self._place} is not a key of {KEY} bytes")
        return AESGCM(self._key)


def make_key_file(place: str) -> None:
    """Make a key, readable by its owner only, unless there is one."""
    try:
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    try:
        os.write(fd, os.urandom(KEY))
        os.fsync(fd)
    finally:
        os.close(fd)


class Database:
    """One open track database."""

    def __init__(self, root: str, *, create: bool = False) -> None:
        self.root = root
        place = os.path.join(root, TRACK)
        if os.path.islink(place):
            raise TrackError(f"{place} is a link, which is not followed")
        fresh = not os.path.exists(place)
        if fresh and not create:
            raise TrackError(f"{place} is not there")
        if fresh:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        self._connection = sqlite3.connect(place, timeout=WAIT, isolation_level=None, check_same_thread=False)
        try:
            self._connection.execute(f"PRAGMA wal_autocheckpoint={PAGES}")
            if create:
                self._make()
            self.meta = self._read_meta()
        except sqlite3.DatabaseError as fault:
            self.close()
            if isinstance(fault, sqlite3.OperationalError) and "no such table" not in str(fault):
                raise TrackError(f"{place}: {fault}") from fault
            raise BrokenTrackError(f"{place}: {fault}") from fault
        except BaseException:
            self.close()
            raise
        self.key = bytes.fromhex(self.meta["key"])
        self._frame: tuple[int, bytes | None] = (0, None)
        self.set_seal(str(self.meta.get("seal", "")))

    def _make(self) -> None:
        if self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            return
        self._connection.execute("PRAGMA journal_mode=WAL")
        about = {"format": FORMAT, "order": sys.byteorder, "key": os.urandom(32).hex()}
        with self.transaction(synced=True):
            for statement in TABLES.split(";\n"):
                if statement.strip():
                    self._connection.execute(statement)
            for name, value in about.items():
                self.set(name, value)

    def _read_meta(self) -> dict[str, Any]:
        meta = {name: json.loads(value) for name, value in self._connection.execute("SELECT name, value FROM meta")}
        if meta.get("format") != FORMAT or len(meta.get("key", "")) != 64:  # noqa: PLR2004 - 32 bytes in hex
            raise BrokenTrackError(f"{TRACK}: found format {meta.get('format')!r}, expected {FORMAT}")
        return meta

    def transaction(self, *, synced: bool) -> Transaction:
        """Return a transaction, to be entered."""
        return Transaction(self._connection, synced=synced)

    def end_call(self, session: str, call: str) -> None:
        """Take off the note that a call is under way."""
        self.run("DELETE FROM calls WHERE session = ? AND call = ?", (session, call))

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""
        return self._connection.execute(sql, parameters).fetchall()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of some rows."""
        self._connection.executemany(sql, rows)

    def iterate(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the rows of a statement, one by one."""
        return iter(self._connection.execute(sql, parameters))

    def set(self, name: str, value: Any) -> None:
        """Set one value of the database's own."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))

    def erase_deleted(self) -> None:
        """Rewrite the file without what was deleted, and its log with it."""
        self._connection.execute("VACUUM")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def set_up(self, setup: Mapping[str, Any]) -> None:
        """Set what the database is begun with."""
        self.meta |= setup
        with self.transaction(synced=True):
            for name, value in setup.items():
                self.set(name, value)
        self.set_seal(str(setup["seal"]))

    def set_seal(self, place: str) -> None:
        """Seal contents with the key in a file, from now on."""
        self._seal = Seal(place)

    # folders

    def load_folders(self) -> dict[str, Folder]:
        """Return the whole cache, by path."""
        folders: dict[str, Folder] = {}
        for number, path, changed, modified, inode, body in self._connection.execute(
            "SELECT id, path, changed, modified, inode, body FROM folders"
        ):
            folder = _read_folder(number, path, (changed, modified, inode), body)
            folders[folder.path] = folder
        return folders

    def load_folder(self, path: str) -> Folder | None:
        """Return one folder of the cache."""
        rows = self.run(
            "SELECT id, path, changed, modified, inode, body FROM folders WHERE path = ?", (path.encode(*ENCODING),)
        )
        return _read_folder(rows[0][0], rows[0][1], tuple(rows[0][2:5]), rows[0][5]) if rows else None

    def load_facts(self, number: int) -> bytes:
        """Return the digests and git ids of a folder's files, one after another."""
        rows = self.run("SELECT body FROM facts WHERE id = ?", (number,))
        return bytes(rows[0][0]) if rows else b""

    def save_folder(self, folder: Folder) -> None:
        """Keep a folder, and the facts of its files where they changed."""
        body = pack_folder(folder.names, folder.columns, sorted(folder.left))
        path = folder.path.encode(*ENCODING)
        if folder.id:
            self._connection.execute(
                "UPDATE folders SET changed = ?, modified = ?, inode = ?, body = ? WHERE id = ?",
                (*folder.sign, body, folder.id),
            )
        else:
            cursor = self._connection.execute(
                "INSERT INTO folders (path, changed, modified, inode, body) VALUES (?, ?, ?, ?, ?)",
                (path, *folder.sign, body),
            )
            folder.id = int(cursor.lastrowid or 0)
        if folder.facts is not None:
            self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (folder.id, folder.facts))

    def drop_folder(self, folder: Folder) -> None:
        """Forget a folder."""
        self._connection.execute("DELETE FROM folders WHERE id = ?", (folder.id,))
        self._connection.execute("DELETE FROM facts WHERE id = ?", (folder.id,))

    # contents

    def digest(self, data: bytes) -> bytes:
        """Return the keyed digest of a content."""
        return blake2b(data, digest_size=DIGEST, key=self.key).digest()

    @property
    def is_sealed(self) -> bool:
        """Whether contents must not lie in clear here."""
        return bool(self.meta.get("sealed"))

    def put_content(self, digest: bytes, data: bytes, at: int, *, secret: bool = False) -> None:
        """Store one content that is not there yet; raise `CannotSealError` where it must be sealed and cannot be."""
        small = zlib.compress(data, 1)
        form, body = (ZLIB, small) if len(small) < len(data) else (PLAIN, data)
        if secret or self.is_sealed:
            form, body = form + SEALED, self._seal.seal(body, digest)
        self._connection.execute(
            "INSERT OR REPLACE INTO contents (digest, size, form, at, body) VALUES (?, ?, ?, ?, ?)",
            (digest, len(data), form, at, body),
        )

    def put_git_id(self, digest: bytes, size: int, name: bytes, at: int) -> None:
        """Note that git has a content, under an id."""
        self._connection.execute(
            "INSERT OR IGNORE INTO contents (digest, size, form, at, body) VALUES (?, ?, ?, ?, ?)",
            (digest, size, GIT, at, name),
        )

    def put_frame(self, contents: Sequence[tuple[bytes, bytes]], packed: bytes, at: int) -> None:
        """Store many contents that were packed as one."""
        form = PLAIN
        if self.is_sealed:
            form, packed = SEALED, self._seal.seal(packed, b"frame")
        cursor = self._connection.execute("INSERT INTO frames (form, body) VALUES (?, ?)", (form, packed))
        rows, start = [], 0
        for digest, data in contents:
            rows.append((digest, len(data), FRAME, at, cursor.lastrowid, start))
            start += len(data)
        self._connection.executemany(
            "INSERT OR REPLACE INTO contents (digest, size, form, at, frame, start) VALUES (?, ?, ?, ?, ?, ?)", rows
        )

    def has_stored(self, digest: bytes) -> bool:
        """Return whether a content is stored here, not only known to be git's."""
        return bool(self.run("SELECT 1 FROM contents WHERE digest = ? AND form <> ?", (digest, GIT)))

    def get_contents(self, digests: Sequence[bytes]) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield those of some contents that are here, each with its form: git's id where git has it."""
        for start in range(0, len(digests), TOGETHER):
            some = digests[start : start + TOGETHER]
            marks = ",".join("?" * len(some))
            sql = f"SELECT digest, size, form, frame, start, body FROM contents WHERE digest IN ({marks})"  # noqa: S608
            rows = {row[0]: row[1:] for row in self.run(sql, some)}
            for digest in some:
                content = self._open_content(digest, *rows[digest]) if digest in rows else None
                if content is not None:
                    yield digest, *content

    def _open_content(
        self, digest: bytes, size: int, form: int, frame: int, start: int, body: bytes
    ) -> tuple[int, bytes] | None:
        if form == GIT:
            return GIT, body
        if form != FRAME:
            data = self._unpack(form, body, digest)
            return None if data is None or self.digest(data) != digest else (PLAIN, data)
        for _ in range(2):  # what is held may be a frame that is gone, and whose number another has now
            whole = self._open_frame(frame)
            data = None if whole is None else whole[start : start + size]
            if data is not None and self.digest(data) == digest:
                return PLAIN, data
            self._frame = 0, None
        return None

    def _open_frame(self, number: int) -> bytes | None:
        """Return what is in a frame; the last one is held, since the next content is likely to be in it."""
        if self._frame[0] != number:
            self._frame = number, self._unpack_frame(number)
        return self._frame[1]

    def _unpack_frame(self, number: int) -> bytes | None:
        rows = self.run("SELECT form, body FROM frames WHERE number = ?", (number,))
        if not rows:
            return None
        form, body = rows[0]
        if form >= SEALED:
            opened = self._open_sealed(body, b"frame")
            if opened is None:
                return None
            body = opened
        import zstandard  # noqa: PLC0415 - start-up

        try:
            return zstandard.ZstdDecompressor().decompress(body, max_output_size=LARGEST)
        except zstandard.ZstdError:
            return None

    def _unpack(self, form: int, body: bytes, digest: bytes) -> bytes | None:
        if form >= SEALED:
            opened = self._open_sealed(body, digest)
            if opened is None:
                return None
            form, body = form - SEALED, opened
        if form == PLAIN:
            return body
        unpacking = zlib.decompressobj()
        try:
            data = unpacking.decompress(body, LARGEST)
        except zlib.error:
            return None
        return data if unpacking.eof else None

    def _open_sealed(self, body: bytes, about: bytes) -> bytes | None:
        try:
            return self._seal.open(body, about)
        except CannotSealError:
            return None

    # texts that hold parts of files

    def write_private(self, text: str) -> bytes:
        """Return a text that holds parts of files as it may be stored here."""
        body = zlib.compress(text.encode(*ENCODING), 1)
        return bytes([SEALED]) + self._seal.seal(body, b"edits") if self.is_sealed else bytes([ZLIB]) + body

    def read_private(self, body: bytes) -> str:
        """Return a text of `write_private`; empty where it cannot be read."""
        rest: bytes | None = body[1:]
        if body[:1] == bytes([SEALED]):
            rest = self._open_sealed(body[1:], b"edits")
        try:
            return "" if rest is None else zlib.decompressobj().decompress(rest, LARGEST).decode(*ENCODING)
        except zlib.error:
            return ""

    def next_row(self) -> int:
        """Return the number that the next intake row gets."""
        rows = self.run("SELECT seq FROM sqlite_sequence WHERE name = 'intake'")
        return int(rows[0][0]) + 1 if rows else 1

    def add_deltas(self, number: int, deltas: Sequence[Sequence[Any]]) -> None:
        """Add files that changed to an intake row."""
        self.run_many(
            "INSERT INTO deltas VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ((number, *delta) for delta in deltas)
        )

    def add_row(self, row: Mapping[str, Any]) -> None:
        """Add one intake row."""
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        self.run(f"INSERT INTO intake ({columns}) VALUES ({marks})", tuple(row.values()))  # noqa: S608 - our own names


def _read_folder(number: int, path: bytes, sign: tuple[int, ...], body: bytes) -> Folder:
    name = bytes(path).decode(*ENCODING)
    if not is_safe_path(name):
        raise BadCacheError(name)
    folder = Folder(name, number)
    folder.sign = sign  # type: ignore[assignment]
    unpack_folder(folder, body)
    return folder
