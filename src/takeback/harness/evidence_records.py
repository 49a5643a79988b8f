"""Evidence in the journal for changes that others made: with the entry, or in a record of its own later.

A change is proved while it is recorded where that is quick; otherwise its entry is marked, and the next reader proves
it. Whatever goes wrong in proving, the change is recorded, and its entry says why it has no evidence.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from takeback.errors import TakebackError
from takeback.harness.entry_log import Rewind
from takeback.harness.ledger import Ledger
from takeback.harness.recorded_evidence import (
    AT_ONCE,
    AT_ONCE_BYTES,
    MOST,
    MOST_BYTES,
    Evidence,
    NoEvidence,
    make_evidence,
    refuse_number,
)
from takeback.harness.records import load_record_writes
from takeback.journal import Record
from takeback.progress import track_all_progress
from takeback.state import State
from takeback.state.file import File
from takeback.state.slots import describe_slot, find_containing_slot
from takeback.state.surfaces.project import PROJECT, view_changed_files
from takeback.undo import Write
from takeback.undo.record import list_writes_between

if TYPE_CHECKING:
    from takeback.harness.harness import Harness


def describe_evidence(
    ledger: Ledger, after: State, writes: Sequence[Write], before: State | None = None
) -> dict[str, Any]:
    """Return what the record of a change by others says of its evidence.

    The state before it is the ledger's, unless another is given.
    """
    there, hidden = ledger.state if before is None else before, _find_hidden(ledger, writes)
    if hidden:
        return NoEvidence(f"a value at {hidden} was forgotten, and is not kept again").about()
    return _try(lambda: _prove(there, after, writes, most=AT_ONCE, most_bytes=AT_ONCE_BYTES)).about()


def _prove(
    before: State, after: State, writes: Sequence[Write], *, most: int = MOST, most_bytes: int = MOST_BYTES
) -> Evidence | NoEvidence:
    """Prove a change; one of the project's files as a change of files, at the paths where they stand."""
    if any(write.slot[0] == PROJECT for write in writes):
        number = len({find_containing_slot(write.slot) for write in writes})
        if number > MOST:
            return refuse_number(number, MOST)
        linked = next((write.slot for write in writes if _is_link(write.before) or _is_link(write.after)), None)
        if linked is not None:
            return NoEvidence(
                f"{describe_slot(find_containing_slot(linked))} is or was a link, which no operation makes"
            )
        before, after = view_changed_files(before, after, (write.slot for write in writes))
        writes = list_writes_between(before, after)
    return make_evidence(before, after, writes, most=most, most_bytes=most_bytes)


def _is_link(content: Any) -> bool:
    return isinstance(content, File) and stat.S_ISLNK(content.mode)


def _find_hidden(ledger: Ledger, writes: Sequence[Write]) -> str:
    """Return where a change writes at, around or in a value that was forgotten; empty if nowhere."""
    written = {find_containing_slot(write.slot) for write in writes} if ledger.hidden else set()
    for slot in ledger.hidden:
        if any(
            slot[: len(written_slot)] == written_slot or written_slot[: len(slot)] == slot for written_slot in written
        ):
            return describe_slot(slot)
    return ""


def _try(make: Callable[[], Evidence | NoEvidence]) -> Evidence | NoEvidence:
    try:
        return make()
    except TakebackError as fault:
        return NoEvidence(f"it could not be proved: {fault.message}")
    except Exception as fault:  # the change was made, and must be recorded
        import logging  # noqa: PLC0415 - hardly ever

        logging.getLogger("takeback").exception("proving a recorded change failed")
        return NoEvidence(f"proving it failed ({type(fault).__name__}); please report that")


def prove_pending(harness: Harness) -> int:
    """Prove changes whose entries wait for it, newest first; each gets a record of its own. The lock is held."""
    ledger = harness.ledger
    past, numbers = Rewind(harness), sorted(ledger.unproved, reverse=True)
    for number in track_all_progress("recorded changes proved", numbers):
        record = harness.journal.get(number)
        ledger.prove(number, _try(partial(_prove_entry, harness, past, record)).about())
    return len(numbers)


def _prove_entry(harness: Harness, past: Rewind, record: Record) -> Evidence | NoEvidence:
    writes = load_record_writes(harness.journal, record)
    hidden = _find_hidden(harness.ledger, writes)
    if hidden:
        return NoEvidence(f"a value at {hidden} was forgotten")
    after = past.after(record)
    return _prove(past.before(record), after, writes)
