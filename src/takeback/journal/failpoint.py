"""Named boundaries of every durable step, where a test can make the process die.

`failpoint(name)` does nothing unless a probe is armed. `BOUNDARIES` is the whole list, so that a torture run
can demand that each was hit; reaching a name that is not on it is a mistake and raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

BOUNDARIES: dict[str, str] = {
    "journal.append.begin": "the journal is locked for writing, nothing is inserted",
    "journal.append.inserted": "the records are inserted, the transaction is open",
    "journal.append.done": "the records are durable",
    "change.announced": "the journal announces a change, nothing real is touched yet",
    "change.written": "everything real is changed, the journal does not say so yet",
    "change.settled": "the journal says that the change is done",
    "call.tried": "the journal says that a call is tried, nothing was sent yet",
    "call.started": "the program of a call runs, and has not answered yet",
    "call.made": "a call was made, the journal does not say so yet",
    "call.noted": "the journal says how a call went",
    "record.begin": "a record of another system is about to be changed",
    "record.open": "rows are written, the database's transaction is open",
    "record.written": "a record of another system is changed, the next one is not",
    "record.back": "a record of another system was put back, what was changed before it is not",
    "recovery.begun": "recovery has found an unfinished change",
    "recovery.written": "recovery has finished everything real, the journal does not say so yet",
    "file.temp.created": "an empty temporary file exists",
    "file.temp.written": "the temporary file is written and synced",
    "file.renamed": "the new file is in place, its directory is not synced",
    "file.removed": "a file is gone, its directory is not synced",
    "file.settled": "a file that was replaced and kept until the commit is let go",
    "rollback.step": "a write has failed, what was written before it is being put back",
    "directory.created": "a directory was made for a file that is not there yet",
    "directory.removed": "a directory was removed with the last file in it",
}

Probe = Callable[[str], None]
_probe: Probe | None = None


def failpoint(name: str) -> None:
    """Tell the armed probe, if any, that this boundary is reached."""
    if _probe is not None:
        if name not in BOUNDARIES:
            raise KeyError(f"failpoint {name!r} is not declared in BOUNDARIES")
        _probe(name)


@contextmanager
def arm_failpoints(probe: Probe) -> Iterator[None]:
    """Call `probe` at every boundary reached inside the block."""
    global _probe  # noqa: PLW0603 - one process dies once; a probe is process-wide by nature
    before, _probe = _probe, probe
    try:
        yield
    finally:
        _probe = before
