"""A journal record: one frozen, hash-chained value; and a bounded cache of records that were read.

A record's digest covers everything else in it, the digest of the record before it, and the ids of the
contents it refers to; an id is a salted digest of the content. Contents are stored beside the records, so
that they can be forgotten while the chain still holds. Records are never changed: later records (`commit`,
`abort`, `undo`, `redo`, `forget`, `evidence`, `hold`, `label`, `step`) say what becomes of an entry. Entries are
numbered without gaps, from 1 for the beginning.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any, Final, Generic, NamedTuple, NoReturn, TypeAlias, TypeVar, cast

from takeback.errors import JournalCorruptError
from takeback.journal.content import Content, Json, Ref, decode, encode, guard_against_corruption

T = TypeVar("T")

ROOT: Final = "0" * 64
"""What the first record names as its predecessor, and the index digest of a journal that touches nothing."""

ENTRY_KINDS: Final = frozenset({"genesis", "apply", "adopt", "salvage", "undo", "redo", "restore", "discard"})
"""Records that announce a change of the harness; each is settled by a later `commit` or `abort`."""

KINDS: Final = ENTRY_KINDS | {"commit", "abort", "forget", "checkpoint", "evidence", "hold", "label", "step"}

Refs: TypeAlias = "Ref | tuple[Ref | None, ...] | None"
"""What a record refers to under one name: a content, nothing, or several of these."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a caller wants recorded; the store adds number, time and chain.

    `payload["touches"]`, if there, is a list of index keys under which the record can be looked up. Captured values
    go into `contents`, by name, one or several: never into the payload, where they could not be forgotten.
    """

    kind: str
    payload: Mapping[str, Json]
    contents: Mapping[str, Content | Sequence[Content | None] | None] = field(default_factory=dict)


class Row(NamedTuple):
    """A record as it is stored: canonical texts, nothing trusted yet."""

    seq: int
    entry: int | None
    kind: str
    created_at: str
    payload: str
    contents: str
    touched: str
    """Digest of the whole index of touched keys after this record."""
    prev: str
    digest: str

    def compute_digest(self) -> str:
        """Return the digest this row's content should have."""
        return digest_columns(*self[:8])


def digest_columns(
    seq: Any, entry: Any, kind: Any, created_at: Any, payload: Any, contents: Any, touched: Any, prev: Any
) -> str:
    """Return the digest of a row's columns; the only text that may hold a line break comes last."""
    about = f"{seq}\n{entry}\n{kind}\n{created_at}\n{touched}\n{prev}\n{len(payload)}\n"
    digest = hashlib.sha256(about.encode(errors="surrogatepass"))
    for text in (str(payload), str(contents)):  # which may be long, and are not joined
        for start in range(0, len(text), _AT_ONCE):
            digest.update(text[start : start + _AT_ONCE].encode(errors="surrogatepass"))
    return digest.hexdigest()


def describe_columns(record: Record) -> dict[str, Any]:
    """Return the columns of a record by name; what was read must be what is stored."""
    contents = {name: list(refs) if isinstance(refs, tuple) else refs for name, refs in record.contents.items()}
    texts = {"payload": encode(dict(record.payload)), "contents": encode(contents)}
    named = {"kind": record.kind, "created_at": record.created_at, **texts}
    columns: dict[str, Any] = {"seq": record.seq, "entry": record.number, **named}
    columns |= {"touched": record.touched, "prev": record.prev}
    if digest_columns(**columns) != record.digest:
        raise JournalCorruptError(f"record {record.seq} is stored in a form that this version does not write")
    return columns


_AT_ONCE: Final = 1 << 20
"""So many characters of a long text are hashed at once."""
COLUMNS: Final = "seq, entry, kind, created_at, payload, contents, touched, prev, digest"
_NO_CONTENTS: Final = "{}"
_TYPES = ((int,), (int, type(None)), *[(str,)] * 7)


def read_row(values: Sequence[Any]) -> Row:
    """Return the row that a database gave; raise `JournalCorruptError` if a column holds what it cannot hold."""
    row = Row(*values)
    for name, value, types in zip(Row._fields, row, _TYPES, strict=True):
        if type(value) not in types:
            seq = row.seq if type(row.seq) is int else None
            raise JournalCorruptError(f"column {name} of journal record {row.seq!r:.40} holds no such value", seq=seq)
    return row


class _Said(Generic[T]):
    """What a record says under a name of its payload, checked when it is read."""

    def __init__(self, read: Callable[[Record, str], T], name: str) -> None:
        self._read = read
        self._name = name

    def __get__(self, record: Record, kind: type[Record]) -> T:
        return self._read(record, self._name)


def _refuse(record: Record, name: str, expected: str) -> NoReturn:
    value = encode(record.payload[name])
    raise JournalCorruptError(
        f"journal record {record.seq} ({record.kind}) says {name!r}: found {value:.60}, expected {expected}",
        seq=record.seq,
    )


def _read_text(record: Record, name: str) -> str:
    value = record.payload.get(name, "")
    return value if isinstance(value, str) else _refuse(record, name, "a text")


def _read_number(record: Record, name: str) -> int | None:
    value = record.payload.get(name)
    return value if value is None or type(value) is int else _refuse(record, name, "a number")


def _read_mapping(record: Record, name: str) -> Mapping[str, Any] | None:
    value = record.payload.get(name)
    return value if value is None or isinstance(value, dict) else _refuse(record, name, "a mapping")


def _read_list(record: Record, name: str, kind: type[T]) -> tuple[T, ...]:
    value = record.payload.get(name, [])
    if isinstance(value, list) and all(isinstance(item, kind) for item in value):
        return tuple(cast("list[T]", value))
    return _refuse(record, name, f"a list of {kind.__name__}")


def _read_texts(record: Record, name: str) -> tuple[str, ...]:
    return _read_list(record, name, str)


def _read_numbers(record: Record, name: str) -> tuple[int, ...]:
    return _read_list(record, name, int)


def _read_lists(record: Record, name: str) -> tuple[list[Any], ...]:
    return _read_list(record, name, list)


def _read_positions(record: Record, name: str) -> frozenset[int]:
    return frozenset(_read_list(record, name, int))


def _read_pairs(record: Record, name: str) -> tuple[tuple[str, str], ...]:
    with guard_against_corruption(f"record {record.seq}", seq=record.seq):
        return tuple((str(first), str(second)) for first, second in _read_list(record, name, list))


@dataclass(frozen=True, slots=True)
class Record:
    """A row that was checked against its own digest, with its payload decoded."""

    seq: int
    number: int | None
    """Number among the entries; None for records that are no entries."""
    kind: str
    created_at: str
    payload: Mapping[str, Json]
    contents: Mapping[str, Refs]
    touched: str
    prev: str
    digest: str

    off = _Said(_read_numbers, "off")
    """Entries that it took back, if it is an undo, redo or restore."""
    strict = _Said(_read_positions, "strict")
    """Positions of writes that fail where a container stands."""
    needs = _Said(_read_positions, "needs")
    """Positions of writes that fail where nothing is."""
    shared = _Said(_read_positions, "shared")
    """Positions of writes whose list belongs to nobody."""
    bare = _Said(_read_positions, "bare")
    """Positions of writes of a file's content that left its mode and path as they were."""
    note = _Said(_read_text, "note")
    """Why it was made, as whoever made it says; empty if nothing was said."""
    by = _Said(_read_text, "by")
    """Who made it; empty if that was not said."""
    identity = _Said(_read_text, "identity")
    """Of a first record: which harness the journal is of."""
    evidence = _Said(_read_mapping, "evidence")
    """What it was admitted on, without what may be forgotten; None if on nothing."""
    unproved = _Said(_read_text, "unproved")
    """Why a recorded change has no evidence; `pending` if it is only not proved yet, empty if it has some."""
    about = _Said(_read_number, "entry")
    """The number of the entry that it says something of, such as its evidence; None if of none."""
    subject = _Said(_read_text, "subject")
    """Of a `label` or `hold` record: whom contents are about; empty if it names none."""
    pattern = _Said(_read_text, "slots")
    """Of a `label` record: which addresses it labels; empty if it labels an entry."""
    steps = _Said(_read_lists, "steps")
    """The calls that it announces, in order: what is done, under which key, by which call."""
    call_key = _Said(_read_text, "key")
    """Of a `step` record: the key of the call."""
    outcome = _Said(_read_text, "state")
    """Of a `step` record: how far the step has come."""
    open_steps = _Said(_read_lists, "open")
    """Of a `step` record: all that is open after it."""
    approval = _Said(_read_mapping, "approval")
    """Who approved that something of it stays: digest, by, at, stays; None if nobody had to."""
    check = _Said(_read_mapping, "check")
    """How the user's own check went; None if there was none."""
    effect = _Said(_read_texts, "effect")
    """When it is noticed by whatever loads the harness; empty if that is not known."""
    unheeded = _Said(_read_texts, "unheeded")
    """Why the client ignores some of it, one sentence each."""
    ambiguous = _Said(_read_texts, "ambiguous")
    """Addresses at which what others changed allows several readings."""
    reformatted = _Said(_read_texts, "layout")
    """Files that it changed in nothing that the state says."""
    images = _Said(_read_lists, "images")
    """Of each file that it keeps images of: the path, and the forms before and after."""
    paths = _Said(_read_texts, "paths")
    """Of a recorded change of the project's files: their paths."""
    unkept = _Said(_read_pairs, "unkept")
    """Files that changed and of which no content was kept, each with the reason: they cannot be taken back."""
    moved = _Said(_read_pairs, "moved")
    """Files that were moved: from where, and to where."""
    taken_in = _Said(_read_texts, "taken_in")
    """The keys of slots that it found filled and of which the journal did not know yet."""
    forgotten = _Said(_read_texts, "contents")
    """The contents that a `forget` record says are gone."""

    @property
    def id(self) -> str:
        """The record's name; any unambiguous beginning of it will do, as in git."""
        return self.digest

    @property
    def entry(self) -> int:
        """The number of a record that is an entry."""
        if self.number is None:
            raise JournalCorruptError(f"record {self.seq} has no number, as an entry has", seq=self.seq)
        return self.number

    @property
    def touches(self) -> tuple[str, ...]:
        """The index keys this record is found under."""
        return read_touches(self.payload)

    @property
    def written_keys(self) -> tuple[str, ...]:
        """The keys of what it wrote, in order: `slots` of an undo, redo or restore, `touches` of any other entry."""
        return _read_texts(self, "slots") if "slots" in self.payload else self.touches

    @property
    def on(self) -> tuple[int, ...]:
        """Entries that it brought back, if it is an undo, redo or restore."""
        return () if isinstance(self.payload.get("on"), dict) else _read_numbers(self, "on")

    @property
    def parents(self) -> Mapping[int, tuple[int, int]]:
        """Of writes inside a text or list, by position: the entry and the write in it that put the whole there."""
        value = self.payload.get("on")
        if not isinstance(value, dict):
            return {}
        with guard_against_corruption(f"record {self.seq}", seq=self.seq):
            return {int(at): (entry, position) for at, (entry, position) in cast("dict[str, Any]", value).items()}

    @property
    def edits_inside(self) -> bool:
        """Whether planning needs what was there before, because contents were edited inside."""
        return "on" in self.payload or "mends" in self.payload

    @property
    def is_forced(self) -> bool:
        """Whether it was made without being admitted."""
        return bool(self.payload.get("forced"))

    @property
    def releases(self) -> bool:
        """Whether it ends a hold or removes a label."""
        return self.payload.get("release") is True

    @property
    def step(self) -> tuple[int, str]:
        """Of a `step` record: the number of the step, and what is done."""
        return _read_number(self, "step") or 0, _read_text(self, "action")

    @property
    def origin(self) -> Mapping[str, Any]:
        """Where it came from, such as a client's session or a commit."""
        return _read_mapping(self, "origin") or {}

    @property
    def stat(self) -> Mapping[str, int]:
        """Of a recorded change of the project's files: how many files, and lines that came and went."""
        said = _read_mapping(self, "stat") or {}
        return {name: number for name, number in said.items() if isinstance(number, int)}

    @property
    def dropped(self) -> tuple[int, int, str] | None:
        """Of a `forget` record that dropped contents with their ids: up to which record, how many, and their sum."""
        if "dropped" not in self.payload:
            return None
        with guard_against_corruption(f"record {self.seq}", seq=self.seq):
            until, count, total = cast("list[Any]", self.payload["dropped"])
            if type(until) is not int or type(count) is not int or not int(total, 16) < 1 << 256:
                raise ValueError(total)
        return until, count, total

    def with_evidence(self, later: Record) -> Record:
        """Return an entry with the evidence that a later record holds for it, or why there is none."""
        evidence = {name: later.payload[name] for name in ("evidence", "unproved") if name in later.payload}
        payload = {**{name: said for name, said in self.payload.items() if name != "unproved"}, **evidence}
        return replace(self, payload=payload, contents={**self.contents, **later.contents})

    def __repr__(self) -> str:
        name = f"#{self.number}" if self.number is not None else f"at {self.seq}"
        return f"Record({name} {self.kind} {self.digest[:10]})"

    def refs(self, name: str) -> tuple[Ref | None, ...]:
        """Return the contents under one name, as a tuple."""
        ref = self.contents.get(name, ())
        return ref if isinstance(ref, tuple) else (ref,)

    def all_refs(self) -> Iterator[Ref]:
        """Yield every content the record refers to directly."""
        for name in self.contents:
            yield from (ref for ref in self.refs(name) if ref)


def read_touches(payload: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the index keys a payload names, in order; one that it names twice was touched twice."""
    return tuple(cast("list[str]", payload.get("touches", ())))


def chain_draft(
    draft: Draft,
    refs: Mapping[str, Json],
    *,
    seq: int,
    number: int | None,
    touched: str,
    created_at: str,
    prev: str,
) -> Row:
    """Build the row for a draft at its number in the chain; `refs` are the ids of its contents by name."""
    row = Row(seq, number, draft.kind, created_at, encode(draft.payload), encode(refs), touched, prev, "")
    return row._replace(digest=row.compute_digest())


def require_known_kind(draft: Draft) -> None:
    """Refuse a draft of no known kind."""
    if draft.kind not in KINDS:
        raise ValueError(f"unknown record kind {draft.kind!r}; expected one of {sorted(KINDS)}")


def require_unaltered(row: Row) -> None:
    """Refuse a row whose content is not what its digest says."""
    if row.compute_digest() != row.digest:
        raise JournalCorruptError(
            f"journal record {row.seq} was altered: its content does not match its digest {row.digest[:12]}",
            seq=row.seq,
        )


def open_row(row: Row) -> Record:
    """Return the record in a row; raise `JournalCorruptError` if its content does not match its digest."""
    require_unaltered(row)
    return decode_row(row)


def decode_row(row: Row) -> Record:
    """Return the record in a row that is known to match its digest."""
    with guard_against_corruption(f"journal record {row.seq}", seq=row.seq):
        payload = decode(row.payload)
        contents = {} if row.contents == _NO_CONTENTS else decode(row.contents)
        if not isinstance(payload, dict) or not isinstance(contents, dict):
            raise TypeError("no mapping")
        refs = {name: _read_refs(value) for name, value in contents.items()}
        if "touches" in payload and not all(isinstance(key, str) for key in read_touches(payload)):
            raise TypeError("a key that is no text")
        for name in _LISTS_OF_TEXTS & payload.keys():
            payload[name] = _share_texts(payload[name])
    return Record(row.seq, row.entry, row.kind, row.created_at, payload, refs, row.touched, row.prev, row.digest)


_LISTS_OF_TEXTS: Final = frozenset({"touches", "slots", "taken_in", "paths"})
"""What of a payload names many things, which the lists of other records and the state name too."""


def _share_texts(value: Any) -> Any:
    """Return a list with each text held once, however many lists have it."""
    return [intern(item) if type(item) is str else item for item in value] if isinstance(value, list) else value


def _read_refs(value: Any) -> Refs:
    items = value if isinstance(value, list) else (value,)
    if not all(item is None or isinstance(item, str) for item in items):
        raise TypeError("a reference that is no id")
    return tuple(_share_texts(value)) if isinstance(value, list) else value


MOST: Final = 512
LARGEST: Final = 48 << 20
"""Characters of stored text whose records are kept at most; the last one read is kept whatever its size."""


class RecentRecords:
    """The records of one journal that were read last."""

    def __init__(self) -> None:
        self._by_seq: dict[int, tuple[Record, int]] = {}
        self._seqs: dict[int, int] = {}
        self._size = 0
        self._mutex = threading.Lock()

    def at(self, seq: int) -> Record | None:
        """Return the record at a place in the chain; None if it was not read lately."""
        record = self._by_seq.get(seq)
        return None if record is None else record[0]

    def entry(self, number: int) -> Record | None:
        """Return the entry with a number; None if it was not read lately."""
        seq = self._seqs.get(number)
        return None if seq is None else self.at(seq)

    def keep(self, record: Record, row: Row) -> Record:
        """Keep a record that was read and checked, and return it."""
        size = len(row.payload) + len(row.contents)
        with self._mutex:
            if record.seq not in self._by_seq:
                self._by_seq[record.seq] = (record, size)
                self._size += size
                if record.number is not None:
                    self._seqs[record.number] = record.seq
            while len(self._by_seq) > 1 and (len(self._by_seq) > MOST or self._size > LARGEST):
                oldest = next(iter(self._by_seq))
                gone, its_size = self._by_seq.pop(oldest)
                self._size -= its_size
                if gone.number is not None:
                    self._seqs.pop(gone.number, None)
        return record
