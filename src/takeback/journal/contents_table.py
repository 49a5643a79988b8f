"""The tables `contents` and `pieces` of a database, encrypted or not.

A row holds the id, the salt, the lookup key of equal contents, and the bytes; large ones are stored in
pieces. A forgotten content keeps only its id and the number of the record that says so. Encrypted rows hold
encrypted bytes and nothing else: salt and lookup key are in the key file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from takeback.errors import JournalCorruptError, JournalError
from takeback.journal.content import (
    BATCH,
    PIECE,
    PLAIN,
    ContentDigest,
    ContentStore,
    Ref,
    Stored,
    Wanted,
    compute_content_id,
    cut_into_pieces,
    is_redacted,
    join_pieces,
    make_salt,
    unpack_piece,
)
from takeback.journal.key_index import Tables, select_in
from takeback.progress import track_progress

if TYPE_CHECKING:
    from takeback.journal.encryption import ContentKey, KeyFile

COLUMNS: Final = "id, tree, salt, body, forgotten"
_INSERT = "INSERT INTO contents (id, tree, salt, lookup, body) VALUES (?, ?, ?, ?, ?)"
MOST_HELD: Final = 2 << 20
"""So many bytes of new contents are held until they are written."""
ROW_BYTES: Final = 1024
"""So many bytes a new content takes until it is written, beside its own."""
_PIECE = "INSERT INTO pieces (id, at, body) VALUES (?, ?, ?)"


class _Row(NamedTuple):
    id: Ref
    tree: int
    salt: bytes | None
    body: bytes | None
    forgotten: int | None


class ContentTable(ContentStore):
    """The contents of one stored journal.

    `said_forgotten` tells whether a record says that one was forgotten, `said_dropped` whether one says that some
    were dropped with their ids; which those were is for the check of the whole journal.
    """

    def __init__(
        self,
        tables: Tables,
        keys: KeyFile | None,
        said_forgotten: Callable[[int, Ref], bool],
        said_dropped: Callable[[], bool],
        location: str,
    ) -> None:
        self._tables = tables
        self._said_dropped = said_dropped
        self._keys = keys
        self._said_forgotten = said_forgotten
        self._location = location
        self._new: dict[bytes, Ref] = {}
        self._new_rows: list[tuple[Any, ...]] = []
        self._new_keys: list[ContentKey] = []
        self._held = 0
        self.keyless: dict[Ref, str] = {}
        """Contents that were asked for and whose keys are not here: which key, and where it was looked for."""

    def find_refs(self, lookups: Sequence[bytes]) -> Mapping[bytes, Ref]:
        new = {key: self._new[key] for key in lookups if key in self._new}
        rest = [key for key in lookups if key not in new]
        return {**self._find_stored(rest), **new} if rest else new

    def _find_stored(self, lookups: Sequence[bytes]) -> Mapping[bytes, Ref]:
        if self._keys is not None:
            known = self._keys.find_refs(lookups)
            there = {row.id for row in self._rows(list(known.values())) if row.forgotten is None}
            return {key: ref for key, ref in known.items() if ref in there}
        rows = select_in(self._tables, "SELECT lookup, id FROM contents WHERE lookup IN", lookups)
        return {bytes(key): ref for key, ref in rows}

    def take_contents(self, wanted: Sequence[Wanted]) -> Sequence[Ref]:
        refs: list[Ref] = []
        for item in wanted:
            if self._keys is None:
                salt = make_salt()
                ref = compute_content_id(salt, (item.data,), tree=item.tree)
                pieces = cut_into_pieces(item.data)
            else:
                from takeback.journal.encryption import ContentKey, make_key  # noqa: PLC0415 - only for a sealed journal

                key, salt = make_key(), b""
                ref, pieces = _seal_content(key, item)
                self._new_keys.append(ContentKey(ref, key, item.lookup))
            refs.append(ref)
            body = self._take_single_piece(ref, pieces)
            lookup = item.lookup if self._keys is None else None
            self._new_rows.append((ref, int(item.tree), salt, lookup, body))
            self._new[item.lookup] = ref
            self._held += ROW_BYTES + (0 if body is None else len(body))
            if self._held > MOST_HELD:
                self.flush()
        return refs

    def flush(self) -> None:
        """Write what was taken in, inside a transaction; keys are durable before the rows are."""
        keys, rows = self._new_keys, self._new_rows
        self.discard()
        if self._keys is not None and keys:
            self._keys.add(keys)
        if rows:
            self._tables.run_many(_INSERT, rows)

    def discard(self) -> None:
        """Drop what was taken in and not written."""
        self._new, self._new_rows, self._new_keys, self._held = {}, [], [], 0

    def _take_single_piece(self, ref: Ref, pieces: Iterator[bytes]) -> bytes | None:
        """Return the only piece; None where there are several, which are stored one by one."""
        first, second = next(pieces), next(pieces, None)
        if second is None:
            return first
        self._tables.run(_PIECE, (ref, 0, first))
        self._tables.run(_PIECE, (ref, 1, second))
        for at, piece in enumerate(pieces, start=2):
            self._tables.run(_PIECE, (ref, at, piece))
        return None

    def _rows(self, refs: Sequence[Ref]) -> Iterator[_Row]:
        return map(_read_content_row, self._select(refs))

    def _select(self, refs: Sequence[Ref]) -> Iterator[Sequence[Any]]:
        """Yield rows as they are stored, in the order of their ids: neighbours in the index are read once."""
        return select_in(self._tables, f"SELECT {COLUMNS} FROM contents WHERE id IN", sorted(refs))  # noqa: S608

    def get(self, refs: Iterable[Ref], near: Sequence[bytes] = ()) -> dict[Ref, Stored | None]:
        """Return contents by id, each checked; None for a forgotten one, or one without a key here."""
        asked = dict.fromkeys(refs)
        wanted = [ref for ref in asked if not is_redacted(ref)]
        opened: dict[Ref, Stored | None] = {}
        for start in range(0, len(wanted), BATCH):  # the rows of many files are not held beside their contents
            part = wanted[start : start + BATCH]
            rows = {}
            for values in self._select(part):
                stored = _open_plain_row(values) if self._keys is None else None
                if stored is None:
                    row = _read_content_row(values)
                    rows[row.id] = row
                else:
                    opened[values[0]] = stored
            keys = {} if self._keys is None else self._keys.get(part)
            for ref in part if len(opened) < start + len(part) else ():
                if ref not in opened:
                    opened[ref] = self._open_content(ref, rows.pop(ref, None), keys.get(ref), near)
        return opened if len(wanted) == len(asked) else {ref: opened.get(ref) for ref in asked}

    def _open_content(self, ref: Ref, row: _Row | None, key: bytes | None, near: Sequence[bytes]) -> Stored | None:
        if row is None:
            if self._said_dropped():
                return None
            raise JournalCorruptError(f"content {ref[:12]} of {self._location} is missing, and was not forgotten")
        if row.forgotten is not None:
            if not self._said_forgotten(row.forgotten, ref):
                raise JournalCorruptError(f"content {ref[:12]} of {self._location} is gone, and was not forgotten")
            return None
        if self._keys is not None and key is None:  # sealed by another copy of the harness, whose keys are elsewhere
            self.keyless[ref] = f"the key of content {ref[:12]} is not in {self._keys.path}"
            return None
        if row.body is None:
            for data in near:
                if self._reads_as(row, key, data):
                    return Stored(data, bool(row.tree))
        if self._keys is None and row.body is not None and row.body[:1] == PLAIN:
            data = row.body[1:]
            computed = compute_content_id(row.salt or b"", (data,), tree=bool(row.tree))
        else:
            data, computed = self._data(row, key)
        if computed != ref:
            raise JournalCorruptError(f"content {ref[:12]} of {self._location} does not match its digest")
        return Stored(data, bool(row.tree))

    def _reads_as(self, row: _Row, key: bytes | None, data: bytes) -> bool:
        """Tell whether a content in several pieces is the same as some bytes; holds one piece at a time."""
        tree = bool(row.tree)
        if key is None:
            return compute_content_id(row.salt or b"", (data,), tree=tree) == row.id
        from takeback.journal.encryption import decrypt_pieces  # noqa: PLC0415 - only for a sealed journal

        digest, at, view = ContentDigest(b"", tree=tree), 0, memoryview(data)
        for piece in map(unpack_piece, decrypt_pieces(key, digest.pass_through(self._pieces(row)), tree=tree)):
            if view[at : at + len(piece)] != piece:
                return False
            at += len(piece)
        return at == len(data) and digest.of(()) == row.id

    def _data(self, row: _Row, key: bytes | None) -> tuple[bytes, Ref]:
        tree = bool(row.tree)
        pieces = self._pieces(row)
        if self._keys is None:
            data = join_pieces(pieces)
            return data, compute_content_id(row.salt or b"", (data,), tree=tree)
        if key is None:
            raise JournalError(f"the key of content {row.id[:12]} is not in {self._keys.path}")
        from takeback.journal.encryption import decrypt_pieces  # noqa: PLC0415 - only for a sealed journal

        digest = ContentDigest(b"", tree=tree)
        data = join_pieces(decrypt_pieces(key, digest.pass_through(pieces), tree=tree))
        return data, digest.of(())

    def _pieces(self, row: _Row) -> Iterator[bytes]:
        if row.body is not None:
            yield row.body
            return
        at = 0
        while piece := self._tables.run("SELECT body FROM pieces WHERE id = ? AND at = ?", (row.id, at)):
            yield _to_bytes(piece[0][0])
            at += 1

    def forget(self, refs: Sequence[Ref], seq: int) -> None:
        """Delete contents, inside a transaction, on the word of record `seq`."""
        self._tables.run_many(
            "UPDATE contents SET salt = NULL, lookup = NULL, body = NULL, forgotten = ? "
            "WHERE id = ? AND forgotten IS NULL",
            [(seq, ref) for ref in refs],
        )
        self._tables.run_many("DELETE FROM pieces WHERE id = ?", [(ref,) for ref in refs])

    def drop(self, refs: Sequence[Ref]) -> None:
        """Delete contents with their ids, and the ids of those forgotten before, inside a transaction."""
        self._tables.run_many("DELETE FROM contents WHERE id = ?", [(ref,) for ref in refs])
        self._tables.run_many("DELETE FROM pieces WHERE id = ?", [(ref,) for ref in refs])
        self._tables.run("DELETE FROM contents WHERE forgotten IS NOT NULL")

    def list_idle_keys(self) -> list[Ref]:
        """Return the ids of keys whose contents are not there."""
        idle: list[Ref] = []
        for page in () if self._keys is None else self._keys.pages():
            there = {row.id for row in self._rows(page)}
            idle += [ref for ref in page if ref not in there]
        return idle

    def traces(self, refs: Sequence[Ref]) -> list[bytes]:
        """Return random bytes that are in every copy of these rows, to search for copies by."""
        rows = select_in(self._tables, "SELECT salt, lookup FROM contents WHERE id IN", refs)
        return [bytes(item) for row in rows for item in row if item]

    def every(self) -> Iterator[_Row]:
        """Yield all rows, in pages."""
        last = ""
        while True:
            sql = f"SELECT {COLUMNS} FROM contents WHERE id > ? ORDER BY id LIMIT {BATCH}"  # noqa: S608
            page = [_read_content_row(row) for row in self._tables.run(sql, (last,))]
            yield from page
            if len(page) < BATCH:
                return
            last = page[-1].id

    def every_content(self) -> Iterator[tuple[Ref, Stored]]:
        """Yield every stored content."""
        for row in self.every():
            stored = self.get((row.id,))[row.id] if row.forgotten is None else None
            if stored is not None:
                yield row.id, stored

    @property
    def key_place(self) -> str:
        """Where keys are looked for; empty where contents are not sealed."""
        return "" if self._keys is None else str(self._keys.path)

    def count_keyless(self) -> int:
        """Return how many contents are stored and sealed with keys that are not here."""
        if self._keys is None:
            return 0
        count, last = 0, ""
        sql = f"SELECT id FROM contents WHERE id > ? AND forgotten IS NULL ORDER BY id LIMIT {BATCH}"  # noqa: S608
        while page := [str(row[0]) for row in self._tables.run(sql, (last,))]:
            count += len(page) - len(self._keys.get(page))
            last = page[-1]
        return count

    def compute_digest(self) -> tuple[dict[Ref, Ref | None], dict[Ref, list[Ref] | None]]:
        """Return the id each content's bytes give (None: deleted), and the parts of trees (None: no key)."""
        ids: dict[Ref, Ref | None] = {}
        trees: dict[Ref, list[Ref] | None] = {}
        of: int = self._tables.run("SELECT count(*) FROM contents")[0][0]
        for row in track_progress("contents checked", self.every(), of):
            if row.forgotten is not None:
                ids[row.id] = None
                continue
            try:
                computed = self._compute_row_digest(row, trees)
            except JournalCorruptError:
                computed = "unreadable"
            ids[row.id] = row.id if computed == row.id else computed  # one text, not two
        return ids, trees

    def _compute_row_digest(self, row: _Row, trees: dict[Ref, list[Ref] | None]) -> Ref:
        tree = bool(row.tree)
        if self._keys is None:
            if not tree:
                return compute_content_id(row.salt or b"", map(unpack_piece, self._pieces(row)), tree=False)
            data, computed = self._data(row, None)
        else:
            key = self._keys.get((row.id,)).get(row.id)
            if key is None or not tree:
                trees |= {row.id: None} if tree else {}
                return compute_content_id(b"", self._pieces(row), tree=tree)
            data, computed = self._data(row, key)
        if computed == row.id:
            trees[row.id] = list(map(intern, Stored(data, True).open_tree()[0]))
        return computed


def _seal_content(key: bytes, item: Wanted) -> tuple[Ref, Iterator[bytes]]:
    """Return the id of an encrypted content and its pieces; several are encrypted twice, never held together."""
    from takeback.journal.encryption import encrypt_pieces, make_first_nonce  # noqa: PLC0415 - only for a sealed journal

    first = make_first_nonce()

    def boxes() -> Iterator[bytes]:
        return encrypt_pieces(key, first, cut_into_pieces(item.data), tree=item.tree)

    if len(item.data) > PIECE:
        return compute_content_id(b"", boxes(), tree=item.tree), boxes()
    only = list(boxes())
    return compute_content_id(b"", only, tree=item.tree), iter(only)


def _open_plain_row(values: Sequence[Any]) -> Stored | None:
    """Return the content of a row that holds it whole and as it is; None for any other, and for a wrong one."""
    ref, tree, salt, body, forgotten = values
    if forgotten is not None or type(body) is not bytes or type(salt) is not bytes or type(tree) is not int:
        return None
    if body[:1] != PLAIN:
        return None
    data = body[1:]
    return Stored(data, bool(tree)) if compute_content_id(salt, (data,), tree=bool(tree)) == ref else None


def _read_content_row(values: Sequence[Any]) -> _Row:
    row = _Row(*values)
    kinds = tuple(map(type, row))
    if kinds not in _PLAIN_KINDS and not all(map(isinstance, row, _KINDS)):
        raise JournalCorruptError(f"a row of contents ({row.id!r:.40}) holds what it cannot hold")
    return row


_KINDS = (str, int, bytes | None, bytes | None, int | None)
_PLAIN_KINDS = ((str, int, bytes, bytes, type(None)),)


def _to_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise JournalCorruptError("a piece of a content holds what it cannot hold")
    return value
