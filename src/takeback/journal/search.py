"""Where a value stands in a journal: in contents, which can be forgotten, and in names and notes, which stay.

A value is looked for in every form that `takeback.journal.forms` knows. Contents are searched as they were, also
where they are stored compressed or sealed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from takeback.journal.content import Ref
from takeback.journal.forms import Forms
from takeback.journal.record import Record
from takeback.journal.store import Store


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


def places_of(store: Store, value: bytes, progress: Callable[[int], None] = lambda _: None) -> Iterator[ValuePlace]:
    """Every place where a value stands, in the order of the records."""
    wanted = Forms(value)
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


def _matching(store: Store, wanted: Forms) -> tuple[set[Ref], set[Ref], Mapping[Ref, list[Ref]]]:
    """Leaves that hold the value, trees that hold it in a name, and trees with the leaves of theirs that do."""
    leaves: set[Ref] = set()
    trees: set[Ref] = set()
    opened: dict[Ref, list[Ref]] = {}
    for ref, stored in store.every_content():
        holds = wanted.stand_in(stored.data)
        if not stored.tree:
            leaves |= {ref} if holds else set()
            continue
        inside, value = stored.opened()
        opened[ref] = inside
        if holds and wanted.stand_in(json.dumps(value).encode()):
            trees.add(ref)
    parts = {ref: [part for part in inside if part in leaves] for ref, inside in opened.items()}
    return leaves, trees, {ref: inside for ref, inside in parts.items() if inside}


def _in_payload(record: Record, wanted: Forms) -> Iterator[ValuePlace]:
    for name, item in record.payload.items():
        text: Any = json.dumps(item).encode()
        if wanted.stand_in(text):
            yield ValuePlace(record.seq, record.number, record.kind, name, None)
