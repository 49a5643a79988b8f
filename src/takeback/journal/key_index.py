"""The index from a key to the entries that touch it, bound to the chain.

Three tables: entries by key, a running digest per key, and a sum per bucket of keys. Every record holds a
digest over all buckets, so that a missing, foreign or changed row is detected when its key is looked up: the
rows give the key's digest, the digests of a bucket give its sum, the sums give what the last record holds. A
lookup costs the key's own rows, one bucket of keys, and the list of buckets.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from sys import intern
from typing import Any, Final, Protocol

from takeback.errors import JournalCorruptError
from takeback.journal.content import decode, encode, guard_against_corruption

BUCKETS: Final = 256
_MODULUS: Final = 1 << 256
BELOW: Final = "*"
"""Added to a key, names everything beneath it."""
_ABOVE: Final = 2
"""How long the shortest key is that others can lie beneath: a surface and one name."""
BATCH: Final = 500
_NAME: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
"""One name in a key, as canonical JSON writes it."""


_WRITE_DIGEST: Final = (
    "INSERT INTO touched_keys (key, bucket, digest) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET digest = excluded.digest"
)


class Tables(Protocol):
    """As much of a database as a journal's tables, its index and its check need."""

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""


def select_in(tables: Tables, statement: str, values: Sequence[Any]) -> Iterator[Any]:
    """Yield the rows of a statement that ends in `IN` for many values, of which some are asked for at a time."""
    for start in range(0, len(values), BATCH):
        part = values[start : start + BATCH]
        yield from tables.run(f"{statement} ({','.join('?' * len(part))})", part)


def iter_keys_above(key: str) -> Iterator[str]:
    """Yield the keys that a key lies beneath; keys are JSON lists such as `["config","a","b"]`."""
    if key.count(",") < _ABOVE:
        return
    names = _NAME.findall(key)
    if f"[{','.join(names)}]" == key:  # what stands above a canonical key is its beginning
        end = 0
        for length, name in enumerate(names[:-1], start=1):
            end += len(name) + 1
            if length >= _ABOVE:
                yield f"{key[:end]}]"
        return
    with guard_against_corruption("a key of the index"):
        path = decode(key)
        if isinstance(path, list):
            yield from (encode(path[:length]) for length in range(_ABOVE, len(path)))


def index_keys(keys: Iterable[str]) -> dict[str, int]:
    """Return the keys with how often each is touched, and each key above one that something lies beneath it."""
    own = Counter(keys)
    below = dict.fromkeys((f"{above}{BELOW}" for key in own for above in iter_keys_above(key)), 1)
    return {**own, **below}


def _hash_text(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode(errors="surrogatepass")).digest(), "big")


def find_bucket(key: str) -> int:
    """Return the bucket a key is in."""
    return _hash_text(key) % BUCKETS


def extend_digest(digest: str, entry: int, times: int) -> str:
    """Return the digest of a key's entries with one more."""
    return hashlib.sha256(f"{digest} {entry} {times}".encode()).hexdigest()


def _hash_member(key: str, digest: str) -> int:
    return _hash_text(f"{digest} {key}") if digest else 0


def _hash_bucket(bucket: int, total: int) -> int:
    return _hash_text(f"{bucket} {total:x}") if total else 0


def _format_total(total: int) -> str:
    return f"{total % _MODULUS:064x}"


class KeyIndex:
    """The index in the tables `touches`, `touched_keys` and `touched_buckets`."""

    def __init__(self, tables: Tables, location: str) -> None:
        self._tables = tables
        self._location = location
        self._checked_root = ""
        self._buckets: dict[int, int] = {}
        self._keys: dict[int, tuple[int, dict[str, str]]] = {}

    def add(self, entry: int, touches: Iterable[str], root: str) -> str:
        """Note what an entry touches, inside a transaction; the digest of the index afterwards."""
        keys = index_keys(touches)
        if not keys:
            return root
        sums = self._sums(sorted({find_bucket(key) for key in keys}))
        total = int(root, 16) - sum(_hash_bucket(bucket, part) for bucket, part in sums.items())
        followed = root == self._checked_root
        held = {at: self._keys.pop(at)[1] for at in sums.keys() & self._keys.keys()} if followed else {}
        every = iter(keys.items())
        while part := list(islice(every, BATCH)):  # what is made of many keys is not held at once
            new = list(self._extend_digests(entry, part, sums))
            rows = [(key, entry, times) for key, times in part]
            self._tables.run_many("INSERT INTO touches (key, entry, times) VALUES (?, ?, ?)", rows)
            self._tables.run_many(_WRITE_DIGEST, new)
            for key, bucket, digest in new:
                if bucket in held:
                    held[bucket][key] = digest
        self._write_sums(sums)
        total += sum(_hash_bucket(bucket, part) for bucket, part in sums.items())
        after_root = _format_total(total)
        if followed:
            self._checked_root = after_root
            self._buckets.update(sums)
            self._keys |= {bucket: (sums[bucket], digests) for bucket, digests in held.items()}
        return after_root

    def _extend_digests(
        self, entry: int, keys: Sequence[tuple[str, int]], sums: dict[int, int]
    ) -> Iterator[tuple[str, int, str]]:
        """Yield keys with their buckets and new digests, and take these into the sums."""
        sql = "SELECT key, digest FROM touched_keys WHERE key IN"
        old: dict[str, str] = dict(select_in(self._tables, sql, [key for key, _ in keys]))
        for key, times in keys:
            bucket, before = find_bucket(key), old.get(key, "")
            after = extend_digest(before, entry, times)
            sums[bucket] = (sums[bucket] - _hash_member(key, before) + _hash_member(key, after)) % _MODULUS
            yield key, bucket, after

    def _write_sums(self, sums: Mapping[int, int]) -> None:
        self._tables.run_many(
            "INSERT INTO touched_buckets (bucket, total) VALUES (?, ?) "
            "ON CONFLICT (bucket) DO UPDATE SET total = excluded.total",
            [(bucket, _format_total(total)) for bucket, total in sums.items()],
        )

    def _sums(self, buckets: Sequence[int]) -> dict[int, int]:
        rows = select_in(self._tables, "SELECT bucket, total FROM touched_buckets WHERE bucket IN", buckets)
        return {**dict.fromkeys(buckets, 0), **self._totals(rows)}

    def _totals(self, rows: Iterable[Sequence[Any]]) -> dict[int, int]:
        with guard_against_corruption(f"the index of {self._location}"):
            return {bucket: int(total, 16) for bucket, total in rows}

    def entries(self, key: str, root: str) -> tuple[int, ...]:
        """Return entries that touch a key, checked against the digest `root` that the last record holds."""
        self._check_buckets(root)
        digest = self._check_keys(find_bucket(key)).get(key, "")
        rows = self._tables.run("SELECT entry, times FROM touches WHERE key = ? ORDER BY entry", (key,))
        if _digest_rows(rows) != digest:
            raise self._damage(f"rows of {key}")
        return tuple(entry for entry, times in rows for _ in range(times))

    def _check_buckets(self, root: str) -> None:
        """Raise unless the sums of all buckets give the digest that the last record holds."""
        if root == self._checked_root:
            return
        buckets = self._totals(self._tables.run("SELECT bucket, total FROM touched_buckets"))
        with guard_against_corruption(f"the index of {self._location}"):
            total = sum(_hash_bucket(bucket, part) for bucket, part in buckets.items())
        if _format_total(total) != root:
            raise self._damage("its sums")
        self._buckets, self._checked_root = buckets, root

    def _check_keys(self, bucket: int) -> Mapping[str, str]:
        """Return the digests of a bucket's keys; raise unless they give its sum."""
        expected = self._buckets.get(bucket, 0)
        held = self._keys.get(bucket)
        if held is not None and held[0] == expected:
            return held[1]
        rows = self._tables.run("SELECT key, digest FROM touched_keys WHERE bucket = ?", (bucket,))
        with guard_against_corruption(f"the index of {self._location}"):
            keys: dict[str, str] = {intern(key): digest for key, digest in rows}  # as records have it
            total = sum(_hash_member(key, digest) for key, digest in keys.items()) % _MODULUS
        if total != expected:
            raise self._damage(f"keys of bucket {bucket}")
        self._keys[bucket] = (expected, keys)
        return keys

    def _damage(self, what: str) -> JournalCorruptError:
        return JournalCorruptError(
            f"the index of the journal {self._location} does not match its records ({what}); nothing was changed"
        )

    def faults(
        self, touches: Mapping[str, Sequence[int]], root: str, known: set[int] | None
    ) -> Iterator[tuple[int | None, str]]:
        """Yield where the index differs from what the records say: entry, and what is wrong.

        Where not all records could be read, `known` are the entries that could, and only their rows are checked.
        """
        expected = _expand_touches(touches)
        named = {(key, *row) for key, rows in expected.items() for row in rows}
        rows = self._tables.run("SELECT key, entry, times FROM touches")
        stored = {tuple(row) for row in rows if known is None or row[1] in known}
        for row in sorted(named ^ stored, key=lambda row: (str(row[1]), str(row[0]))):
            key, entry, _ = row
            what = "is missing from" if row in named else "does not belong in"
            yield (entry if isinstance(entry, int) else None), f"key {key} of entry {entry} {what} the index"
        if known is not None:
            return
        digests = {key: _digest_rows(rows) for key, rows in expected.items()}
        sums = dict.fromkeys(map(find_bucket, digests), 0)
        for key, digest in digests.items():
            sums[find_bucket(key)] += _hash_member(key, digest)
        keys = {tuple(row) for row in self._tables.run("SELECT key, bucket, digest FROM touched_keys")}
        for key, *_ in sorted(keys ^ {(key, find_bucket(key), digest) for key, digest in digests.items()}, key=str):
            yield None, f"the digest of key {key} in the index is wrong"
        buckets = {tuple(row) for row in self._tables.run("SELECT bucket, total FROM touched_buckets")}
        for bucket, *_ in sorted(
            buckets ^ {(bucket, _format_total(total)) for bucket, total in sums.items()}, key=str
        ):
            yield None, f"the sum of bucket {bucket} of the index is wrong"
        if _format_total(sum(_hash_bucket(bucket, total % _MODULUS) for bucket, total in sums.items())) != root:
            yield None, "the last record holds another index than the records give"


def _digest_rows(rows: Iterable[Sequence[int]]) -> str:
    digest = ""
    for entry, times in rows:
        digest = extend_digest(digest, entry, times)
    return digest


def _expand_touches(touches: Mapping[str, Sequence[int]]) -> dict[str, list[tuple[int, int]]]:
    every: dict[str, dict[int, int]] = {}
    for key, entries in touches.items():
        every.setdefault(key, {}).update(Counter(entries))
        for above in iter_keys_above(key):
            every.setdefault(f"{above}{BELOW}", {}).update(dict.fromkeys(entries, 1))
    return {key: sorted(entries.items()) for key, entries in every.items()}
