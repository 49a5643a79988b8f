"""Whether a file is there is state: one that came with an entry goes with the last of what was put into it.

A document belongs to nobody as long as anything is in it. Where nothing is left, it goes if the entries that made it
were taken back, unless someone else's words, a comment, are in it; one that was there before stays as it was.
Where the last live entry that changed it removed it, it goes with all that was recorded of it, comments too.
"""

from __future__ import annotations

from collections.abc import Collection

from takeback.harness.adapter import FileAdapter, Formatted
from takeback.harness.images import UNKNOWN, FileChange, FileImage, images_at
from takeback.harness.ledger import CHANGES, Ledger
from takeback.state import State


def settle_existence(
    adapter: FileAdapter,
    formatted: Formatted,
    ledger: Ledger,
    change: FileChange,
    spliced: FileChange | None,
    after: State,
    toggled: tuple[Collection[int], Collection[int]],
) -> FileChange:
    """Return a change that removes a file only with all that is in it, and leaves no husk of what entries made."""
    path = change.path
    if not isinstance(change.before, FileImage) or not adapter.means(path, None, after):
        return change
    rest = change.after if isinstance(change.after, FileImage) else None if spliced is None else spliced.after
    if not isinstance(rest, FileImage):
        return change
    past = _Past(ledger, path, *toggled)
    gone = FileChange(path, change.before, None)
    if past.removed and past.last == change.before:
        return gone
    if formatted.is_bare(path, rest):
        return change if past.outlives else gone
    accounted = past.last == change.before and not past.live
    return gone if change.after is None and accounted else FileChange(path, change.before, rest)


class _Past:
    """What the journal knows of a file's being there, once some entries are taken back and others brought back."""

    def __init__(self, ledger: Ledger, path: str, off: Collection[int], on: Collection[int]) -> None:
        made = False
        self.outlives = False
        """Whether it was there from the start, or an entry that made it is live."""
        self.live = False
        """Whether any entry that changed it is live."""
        self.removed = False
        """Whether the last live entry that changed it removed it."""
        self.last: object = UNKNOWN
        """What it was when it was last recorded."""
        for record, image in images_at(ledger.store, path):
            if ledger.aborted(record):
                continue
            self.last = image.after if self.last is UNKNOWN else self.last
            self.outlives |= record.kind == "genesis"
            if record.kind not in CHANGES:
                continue
            entry = record.entry
            live = entry in on or (entry not in off and entry not in ledger.history.undone)
            self.removed |= live and not self.live and image.after is None
            self.live |= live
            made |= image.before is None
            self.outlives |= live and image.before is None
        self.outlives |= not made
