"""What every journal store can do, and how one is opened from a path or a URL.

A store appends records atomically, keeps contents once each, and serialises writers of all processes; it never
changes a record. It knows nothing of harnesses or slots: it looks up records by place, by number, by the beginning
of their id, and by the keys they touch. Stores are registered by URL scheme, here and nowhere else.

A journal's end may have a word that only those who know a secret can write. It stands in the journal itself and is
written in the transaction that adds records, so that a process that is killed never leaves records without it. Who
knows the secret, and what an end without its word means, is decided by whoever opens the journal
(`adapters/trust.py`).
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from takeback.errors import JournalCorruptError, JournalError, MissingExtraError, UnknownEntryError
from takeback.journal.content import Leaf, Ref, Stored, sum_refs
from takeback.journal.record import COLUMNS, ROOT, Draft, Record, read_row, require_unaltered
from takeback.journal.url import require_path_or_url
from takeback.plugins import find_entry_points as entry_points

if TYPE_CHECKING:
    from takeback.journal.chain import ChainReport
    from takeback.journal.key_index import Tables


MIN_PREFIX = 4
"""Shortest beginning of an id that is taken for a name."""

MAX_NUMBER_DIGITS = 18

HEX: Final = re.compile(r"[0-9a-f]+")
NUMBER: Final = re.compile(r"[0-9]+")

FIND_LIMIT = 10
"""How many records with one beginning are listed at most."""

MISSING_HINT = "put it back from a copy, or name the right one with --journal; only 'takeback init' begins a journal"

STORES: Final = {
    "memory": "takeback.journal.memory:MemoryStore",
    "sqlite": "takeback.journal.sqlite:SqliteStore",
    "postgresql": "takeback.journal.postgres:PostgresStore",
    "postgres": "takeback.journal.postgres:PostgresStore",
}
"""Classes by URL scheme, each with `open_at(where, options)`; others join in the entry point group below."""

GROUP: Final = "takeback.stores"


@dataclass(frozen=True, slots=True)
class Options:
    """How a journal is opened."""

    timeout: float = 10.0
    """Seconds to wait for other processes."""
    create: bool = True
    """Whether to begin a journal where there is none."""
    seal: bool = False
    """Whether a new journal seals its contents, each under a key of its own. PostgreSQL journals always do."""
    keys: Path | None = None
    """Where the keys of a sealed journal are; beside a SQLite journal, or under the home directory, if not given."""
    readonly: bool = False
    """Never write. A journal that cannot be written is opened so without being asked."""
    voucher: Voucher | None = None
    """Says whether a SQLite journal's end is known, before it is acted on, and writes the word for each new one."""


@dataclass(frozen=True, slots=True)
class Erased:
    """Contents were deleted."""

    record: Record
    lingering: str = ""
    """Where copies may still be found for a while, and until when; empty if nowhere."""


class Copies(Protocol):
    """The copies of a journal that its user has."""

    def list_paths(self) -> list[Path]:
        """Return where copies are, or were when they were made."""

    def forget(self, refs: Sequence[Ref], first: str) -> tuple[str, ...]:
        """Forget contents in every copy of the journal that begins with a record; return what could not be done."""


class CaptureFilter(Protocol):
    """Decides which contents are never stored."""

    @property
    def irreversible(self) -> str:
        """Whether a change of something that is not kept needs an approval: `ask` or `yes`."""

    def withhold(self, leaves: Sequence[Leaf]) -> None:
        """Say of contents that are about to be stored which are not: those get an id that stands for nothing."""

    def find_ref(self, leaf: Leaf) -> Ref | None:
        """Return what stands for a content that is not stored; None if it is."""

    def is_line_apart(self, line: bytes) -> bool:
        """Tell whether a line of a text is stored apart from those around it, because it is not kept."""

    def has_match_in(self, data: bytes) -> bool:
        """Tell whether the bytes of a file hold what is not kept wherever it stands."""


class Store(Protocol):
    """An append-only, hash-chained list of records, and the contents they refer to."""

    @property
    def location(self) -> str:
        """Where it is, fit for a person to read: never with a password."""

    @property
    def readonly(self) -> bool:
        """Whether it can only be read."""

    def append(self, drafts: Sequence[Draft], *, expect: str | None = None) -> tuple[Record, ...]:
        """Record all drafts durably, or none. With `expect`, only if that is the head's digest."""

    def head(self) -> Record | None:
        """Return the last record."""

    def record(self, seq: int) -> Record:
        """Return the record with this number in the chain, from 1; raise `UnknownEntryError` if there is none."""

    def get(self, number: int) -> Record:
        """Return the entry with this number; raise `UnknownEntryError` if there is none."""

    def many(self, numbers: Sequence[int]) -> Iterator[Record]:
        """Yield the entries with these numbers, in the order given."""

    def find(self, prefix: str) -> tuple[Record, ...]:
        """Return up to `FIND_LIMIT` records whose id begins with `prefix`, oldest first."""

    def records(self, start: int = 1, *, reverse: bool = False) -> Iterator[Record]:
        """Yield records from number `start` on, or from the last down to it."""

    def latest(self, kind: str, before: int | None = None) -> Record | None:
        """Return the last record of a kind, before a number in the chain if one is given."""

    def touching(self, key: str, *, below: bool = False) -> tuple[int, ...]:
        """Return numbers of entries that touch `key`, ascending; with `below`, those that touch a key beneath it.

        An entry that touches a key twice comes twice. Checked against the chain: an index that lost or gained a row
        is a `JournalCorruptError`.
        """

    def content(self, ref: Ref) -> Stored | None:
        """Return a content, checked against its id; None if it was forgotten."""
        return self.contents((ref,))[ref]

    def contents(self, refs: Iterable[Ref]) -> dict[Ref, Stored | None]:
        """Return several contents at once."""

    def every_content(self) -> Iterator[tuple[Ref, Stored]]:
        """Yield every stored content, for searching."""

    def forget(self, refs: Sequence[Ref]) -> Erased:
        """Delete contents permanently, with a record that says so."""

    def drop(self, refs: Sequence[Ref], named: Collection[Ref]) -> Erased:
        """Delete contents and their ids, and what is left of forgotten ones, so that the journal gets smaller.

        One record says how many of those went that records and stored trees still name, and their sum: `named`.
        """

    @property
    def capture(self) -> CaptureFilter | None:
        """What decides which contents are not stored; None if all are."""

    def set_capture(self, capture: CaptureFilter) -> None:
        """Have contents that are about to be stored looked at first."""

    def lock(self, timeout: float = 30.0) -> AbstractContextManager[None]:
        """Keep every other process and thread out until the block ends; re-entrant."""

    def assert_held(self) -> None:
        """Raise `NotHeldError` if the lock was lost meanwhile, or someone else has written."""

    def check(self, progress: Callable[[int], None] = lambda _: None) -> ChainReport:
        """Examine everything stored; `progress` is called with how many records were read."""

    def measure_size(self) -> int:
        """Return how many bytes it takes up; 0 where that cannot be told."""

    def close(self) -> None:
        """Let go of files and connections."""


def open_journal(
    where: str | PathLike[str],
    *,
    timeout: float = 10.0,
    create: bool = True,
    seal: bool = False,
    keys: str | PathLike[str] | None = None,
    readonly: bool = False,
    voucher: Voucher | None = None,
) -> Store:
    """Open a journal: `:memory:`, a path for SQLite, or a URL such as `postgresql://host/db`; see `Options`.

    A PostgreSQL URL may end in `#name` to keep several journals in one database.
    """
    place = fspath(where)
    require_path_or_url(place)
    options = Options(timeout, create, seal, None if keys is None else Path(keys), readonly, voucher)
    scheme, there, _ = place.partition("://")
    name = "memory" if place == ":memory:" else scheme if there else "sqlite"
    store: Store = _load_store_class(name).open_at(place, options)
    return store


def _load_store_class(scheme: str) -> Any:
    known = STORES.get(scheme)
    if known is not None:
        module, _, name = known.partition(":")
        try:
            return getattr(import_module(module), name)
        except ImportError as error:
            raise MissingExtraError(
                "a PostgreSQL journal needs the 'postgres' extra: pip install 'takeback[postgres]'"
            ) from error
    for point in entry_points(group=GROUP, name=scheme):
        try:
            return point.load()
        except (ImportError, AttributeError) as fault:
            raise JournalError(f"the entry point {scheme} of {GROUP} cannot be loaded: {fault}") from fault
    shown = scheme if scheme.isidentifier() else "(not shown)"
    schemes = sorted({"postgresql", *(point.name for point in entry_points(group=GROUP))})
    known_as = " or ".join(f"{name}://…" for name in schemes)
    raise JournalError(f"unknown kind of journal {shown!r}; expected a file path or {known_as}")


def draft_drop(until: int, named: Collection[Ref]) -> Draft:
    """Build the record that says that contents were dropped, and which of those that are still named."""
    return Draft("forget", {"contents": [], "dropped": [until, len(named), sum_refs(named)]})


def get_mutex(store: Store) -> AbstractContextManager[bool]:
    """Return what keeps this process's other threads out of a journal: the store's own, or one beside it.

    Whoever holds the journal's lock holds the store's own already, so that the two are never taken in two orders.
    """
    own = getattr(store, "mutex", None)
    return threading.RLock() if own is None else own


def describe_missing_journal(location: str) -> str:
    """Return the message about a journal that should exist and does not."""
    return f"the journal {location} is missing; nothing was changed"


def resolve_record(store: Store, name: str) -> Record:
    """Return the one record called `name`: `HEAD`, `7` or `#7` for entry 7, or the beginning of an id.

    Digits that are the number of one entry and the beginning of another's id name neither.
    """
    if name == "HEAD":
        head = store.head()
        if head is None:
            raise UnknownEntryError("the journal is empty: there is no HEAD")
        return head
    wanted, digits = name.lower(), name.removeprefix("#")
    numbered = _find_number(store, digits) if NUMBER.fullmatch(digits) else None
    if name.startswith("#") or len(name) < MIN_PREFIX or not HEX.fullmatch(wanted):
        if numbered is not None:
            return numbered
        raise UnknownEntryError(_why_unnamed(name, digits))
    records = list(store.find(wanted))
    candidates = [f"{record.digest[:12]} (record {record.seq})" for record in records]
    if numbered is not None and numbered not in records:
        records.append(numbered)
        candidates.append(f"{numbered.digest[:12]} (entry {name})")
    if not records:
        named = f"no entry has the number {name}, and no" if NUMBER.fullmatch(name) else "no"
        raise UnknownEntryError(f"{named} entry's id begins with {name!r}; 'takeback log' lists them")
    if len(records) > 1:
        raise UnknownEntryError(
            f"{name!r} is ambiguous: {', '.join(candidates)}; give more digits of the id you mean"
        )
    return records[0]


def _find_number(store: Store, digits: str) -> Record | None:
    if len(digits) > MAX_NUMBER_DIGITS:
        return None
    try:
        return store.get(int(digits))
    except UnknownEntryError:
        return None


def _why_unnamed(name: str, digits: str) -> str:
    if NUMBER.fullmatch(digits):
        shown = digits if len(digits) <= MAX_NUMBER_DIGITS else f"{digits[:MAX_NUMBER_DIGITS]}…"
        return f"there is no entry #{shown}; 'takeback log' lists them"
    return (
        f"{name!r} names no entry; expected its number, {MIN_PREFIX} or more hex digits of its id, or HEAD; "
        "'takeback log' lists them"
    )


def has_record_with_id(store: Store, seq: int, digest: str) -> bool:
    """Return whether the record with this number has this id."""
    try:
        return store.record(seq).digest == digest
    except UnknownEntryError:
        return False


def format_now() -> str:
    """Return the time a record is written, UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def contents_near(store: Store, refs: Iterable[Ref], near: Sequence[bytes]) -> dict[Ref, Stored | None]:
    """Return contents; where the store can tell, large ones that equal bytes in `near` are those, held once."""
    find = getattr(store, "contents_near", None)
    contents: dict[Ref, Stored | None] = store.contents(refs) if find is None else find(refs, near)
    return contents


@runtime_checkable
class Sealing(Protocol):
    """A store that may seal its contents, each with a key of its own."""

    @property
    def key_place(self) -> str:
        """Where keys are looked for; empty where contents are not sealed."""

    def count_keyless(self) -> int:
        """Return how many contents are stored and sealed with keys that are not here."""


def keyless_of(store: Store) -> Mapping[Ref, str]:
    """Return what is known of contents that a store met and whose keys are not here; it fills as they are met."""
    known: Mapping[Ref, str] = getattr(store, "keyless", {})
    return known


def explain_cut(location: str, last: int, noted: tuple[int, str]) -> JournalCorruptError:
    """Return the error for a journal that ends before what was noted of it."""
    seq, digest = noted
    return JournalCorruptError(
        f"the journal {location} ends at record {last}, but record {seq} ({digest[:12]}) was written: it was cut "
        "short, or is an old copy; nothing was changed",
        seq=seq,
        hint="'takeback restore-journal' accepts it as it is, 'takeback restore-journal FILE' puts a backup "
        "in its place; each says first what is lost, and asks for --yes",
    )


WORD: Final = "vouched"
"""The name under which a journal keeps the word for its end."""
_PUT = "INSERT INTO about (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


@dataclass(frozen=True, slots=True)
class JournalEnd:
    """Where a journal ends."""

    journal: str = ""
    """The journal's random name."""
    seq: int = 0
    digest: str = ROOT
    word: str = ""
    """What it says for its end; empty if nothing."""


class Voucher(Protocol):
    """What a store asks about the end of its journal."""

    def vouch(self, journal: str, seq: int, digest: str) -> str:
        """Return the word for an end that this process has made; empty where none is kept."""

    def demand_vouched(self, end: JournalEnd) -> None:
        """Raise if the journal that is opened must not be acted on."""


def write_word(tables: Tables, voucher: Voucher | None, journal: str, seq: int, digest: str) -> None:
    """Write the word for a journal's new end; inside the transaction that makes it."""
    word = "" if voucher is None else voucher.vouch(journal, seq, digest)
    if word:
        tables.run(_PUT, (WORD, word))


def read_end(tables: Tables) -> JournalEnd:
    """Return where a journal ends, inside a snapshot; an altered last record is an error."""
    about = dict(tables.run("SELECT name, value FROM about"))
    rows = tables.run(f"SELECT {COLUMNS} FROM records ORDER BY seq DESC LIMIT 1")  # noqa: S608 - a constant
    journal, word = str(about.get("journal", "")), str(about.get(WORD, ""))
    if not rows:
        return JournalEnd(journal, word=word)
    row = read_row(rows[0])
    require_unaltered(row)
    return JournalEnd(journal, row.seq, row.digest, word)


def look_at_end(path: Path) -> JournalEnd | None:
    """Return where the journal in a file ends, its log included; None if that cannot be read."""
    from takeback.journal.sqlite_files import (  # noqa: PLC0415 - start-up
        DRIVER_FAULTS,
        LOOKS,
        POLL,
        ConnectedFile,
        has_bytes,
        make_uri,
        name_companion,
    )

    for left in range(LOOKS - 1, -1, -1):  # looking takes no lock: a page may be on its way from the log to the file
        mode = "mode=ro" if has_bytes(name_companion(path, "-wal")) else "mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(make_uri(path, mode), uri=True, isolation_level=None)) as connection:
                connection.execute("PRAGMA trusted_schema=OFF")
                connection.execute("BEGIN")
                return read_end(ConnectedFile(connection))
        except (JournalError, *DRIVER_FAULTS):
            if left:
                time.sleep(POLL)
    return None
