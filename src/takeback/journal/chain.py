"""Checks a whole chain, row by row, and names every fault: which record, and what differs.

Takes raw rows, so that a damaged journal can be examined as far as it can be read. It cannot see a chain
that someone rewrote completely, digests and all; compare the head's id with one noted elsewhere for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from takeback.journal.encoding import sha256
from takeback.journal.record import KINDS, ROOT, Row


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the journal."""

    seq: int | None
    """The record concerned; None where the file as a whole is damaged."""
    problem: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What an examination found."""

    records: int
    """Rows that could be read."""
    intact: int
    """How many records from the first on form a whole chain: these can be trusted."""
    head: str | None
    """Digest of the last of those."""
    faults: tuple[Fault, ...]

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def check_rows(rows: Iterable[Row]) -> ChainReport:
    """Follow the chain through `rows` (in stored order) and report every break."""
    faults: list[Fault] = []
    count = intact = 0
    head: str | None = None
    previous: Row | None = None
    for row in rows:
        count += 1
        faults.extend(_row_faults(row, previous))
        if not faults:
            intact, head = count, row.digest
        previous = row
    return ChainReport(records=count, intact=intact, head=head, faults=tuple(faults))


def _row_faults(row: Row, previous: Row | None) -> Iterator[Fault]:
    expected_seq = previous.seq + 1 if previous else 1
    if row.seq != expected_seq:
        missing = f"{expected_seq}" if row.seq == expected_seq + 1 else f"{expected_seq} to {row.seq - 1}"
        yield Fault(row.seq, f"record {missing} missing before record {row.seq}")
    expected_prev = previous.digest if previous else ROOT
    if row.computed() != row.digest:
        yield Fault(row.seq, f"content of record {row.seq} ({row.kind}) does not match its digest {row.digest[:12]}")
    if row.seq == expected_seq and row.prev != expected_prev:
        yield Fault(
            row.seq,
            f"record {row.seq} follows {row.prev[:12]}, but record {row.seq - 1} is {expected_prev[:12]}",
        )
    if row.kind not in KINDS:
        yield Fault(row.seq, f"record {row.seq} has unknown kind {row.kind!r}")


def attachment_fault(seq: int, name: str, digest: str, text: str | None, *, forgotten: bool) -> Fault | None:
    """What is wrong with one attachment, if anything."""
    if text is None:
        if forgotten:
            return None
        return Fault(seq, f"{name} of record {seq} is gone, and no record says that it was forgotten")
    if sha256(text) != digest:
        return Fault(seq, f"{name} of record {seq} does not match its digest {digest[:12]}")
    return None
