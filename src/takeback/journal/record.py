"""A journal record: one frozen, hash-chained value.

A record's digest covers everything else in it, the digest of the record before it, and the digests of its
attachments. Attachments (captured values, whole states) are stored beside the record, so that they can be
forgotten later while the chain still holds. Records are never changed: what becomes of an entry is said by
later records (`commit`, `abort`, `undo`, `redo`, `forget`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from takeback.errors import JournalCorruptError
from takeback.journal.encoding import Json, decode, encode, sha256

ROOT: Final = "0" * 64
"""What the first record names as its predecessor."""

ENTRY_KINDS: Final = frozenset({"genesis", "apply", "adopt", "salvage", "undo", "redo", "restore", "discard"})
"""Records that announce a change of the harness; each is settled by a later `commit` or `abort`."""

KINDS: Final = ENTRY_KINDS | {"commit", "abort", "forget", "checkpoint"}


@dataclass(frozen=True, slots=True)
class Draft:
    """What a caller wants recorded; the store adds number, time and chain.

    `payload["touches"]`, if there, is a list of index keys under which the record can be looked up.
    """

    kind: str
    payload: Mapping[str, Json]
    attachments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A record as it is stored: canonical texts, nothing trusted yet."""

    seq: int
    kind: str
    created_at: str
    payload: str
    attachments: str
    prev: str
    digest: str

    def computed(self) -> str:
        """The digest this row's content should carry."""
        body = (
            f'{{"attachments":{self.attachments},"created_at":{encode(self.created_at)},"kind":{encode(self.kind)},'
            f'"payload":{self.payload},"prev":{encode(self.prev)},"seq":{self.seq}}}'
        )
        return sha256(body)


@dataclass(frozen=True, slots=True)
class Record:
    """A row that was checked against its own digest, with its payload decoded."""

    seq: int
    kind: str
    created_at: str
    payload: Mapping[str, Json]
    attachments: Mapping[str, str]
    prev: str
    digest: str

    @property
    def id(self) -> str:
        """The record's name; any unambiguous beginning of it will do, as in git."""
        return self.digest

    @property
    def touches(self) -> tuple[str, ...]:
        """The index keys this record is found under."""
        return touches_of(self.payload)

    def __repr__(self) -> str:
        return f"Record(#{self.seq} {self.kind} {self.digest[:10]})"


def touches_of(payload: Mapping[str, Json]) -> tuple[str, ...]:
    """The index keys a payload names, each once, in order."""
    keys = payload.get("touches", ())
    return tuple(dict.fromkeys(cast("list[str]", keys)))


def seal(draft: Draft, *, seq: int, created_at: str, prev: str) -> tuple[Row, dict[str, str]]:
    """The row for a draft at its place in the chain, and the texts of its attachments."""
    if draft.kind not in KINDS:
        raise ValueError(f"unknown record kind {draft.kind!r}; expected one of {sorted(KINDS)}")
    texts = {name: encode(value) for name, value in draft.attachments.items()}
    row = Row(
        seq=seq,
        kind=draft.kind,
        created_at=created_at,
        payload=encode(draft.payload),
        attachments=encode({name: sha256(text) for name, text in texts.items()}),
        prev=prev,
        digest="",
    )
    return Row(row.seq, row.kind, row.created_at, row.payload, row.attachments, row.prev, row.computed()), texts


def open_row(row: Row) -> Record:
    """The record in a row, or `JournalCorruptError` if its content is not what its digest says."""
    if row.computed() != row.digest:
        raise JournalCorruptError(
            f"journal record {row.seq} was altered: its content does not match its digest {row.digest[:12]}",
            seq=row.seq,
        )
    payload = cast("Mapping[str, Json]", decode(row.payload))
    attachments = cast("Mapping[str, str]", decode(row.attachments))
    return Record(row.seq, row.kind, row.created_at, payload, attachments, row.prev, row.digest)
