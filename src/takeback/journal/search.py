"""Where a value stands in a journal: in contents, which can be forgotten, and in names and notes, which stay.

A value is looked for as it is, as JSON and TOML write it, and inside base64. Contents are searched as they were,
also where they are stored compressed or sealed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from takeback.journal.content import Ref
from takeback.journal.record import Record
from takeback.journal.store import Store

MIN_BASE64 = 9
"""Shortest value that is looked for inside base64: shorter ones leave too little to go by."""


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """One place where a value stands."""

    seq: int
    number: int | None
    """The entry, if the record is one."""
    kind: str
    what: str
    """`before`, `after`, `candidate`, `state`, `note`, `touches`, …: under which name the record has it."""
    ref: Ref | None
    """The content that can be forgotten; None where it stands in a name or a note, and stays."""


def spellings(value: bytes) -> tuple[bytes, ...]:
    """The ways a value may be written down."""
    found = {value}
    try:
        text = value.decode()
    except UnicodeDecodeError:
        pass
    else:
        for ascii_only in (True, False):
            inner = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
            found |= {inner.encode(), json.dumps(inner, ensure_ascii=ascii_only)[1:-1].encode()}
    if len(value) >= MIN_BASE64:
        for shift in range(3):
            whole = base64.b64encode(b"\0" * shift + value)
            core = whole[4 if shift else 0 : -4]
            found |= {core, core.translate(bytes.maketrans(b"+/", b"-_"))}
    return tuple(sorted(found, key=len, reverse=True))


def places_of(store: Store, value: bytes, progress: Callable[[int], None] = lambda _: None) -> Iterator[ValuePlace]:
    """Every place where a value stands, in the order of the records."""
    wanted = spellings(value)
    leaves, trees, parts = _matching(store, wanted)
    for record in store.records():
        progress(record.seq)
        for name in record.contents:
            for ref in record.refs(name):
                yield from (
                    ValuePlace(record.seq, record.number, record.kind, name, found)
                    for found in dict.fromkeys((ref, *parts.get(ref or "", ())))
                    if found in leaves
                )
                if ref in trees:
                    yield ValuePlace(record.seq, record.number, record.kind, f"names in {name}", None)
        yield from _in_payload(record, wanted)


def _matching(store: Store, wanted: tuple[bytes, ...]) -> tuple[set[Ref], set[Ref], Mapping[Ref, list[Ref]]]:
    """Leaves that hold the value, trees that hold it in a name, and trees with the leaves of theirs that do."""
    leaves: set[Ref] = set()
    trees: set[Ref] = set()
    opened: dict[Ref, list[Ref]] = {}
    for ref, stored in store.every_content():
        holds = any(spelling in stored.data for spelling in wanted)
        if not stored.tree:
            leaves |= {ref} if holds else set()
            continue
        inside, value = stored.opened()
        opened[ref] = inside
        if holds and any(spelling in json.dumps(value).encode() for spelling in wanted):
            trees.add(ref)
    parts = {ref: [part for part in inside if part in leaves] for ref, inside in opened.items()}
    return leaves, trees, {ref: inside for ref, inside in parts.items() if inside}


def _in_payload(record: Record, wanted: tuple[bytes, ...]) -> Iterator[ValuePlace]:
    for name, item in record.payload.items():
        text: Any = json.dumps(item).encode()
        if any(spelling in text for spelling in wanted):
            yield ValuePlace(record.seq, record.number, record.kind, name, None)
