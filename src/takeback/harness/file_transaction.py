"""A change of several files: one by one, each only if it is still what it was, all or none.

What is replaced is kept until the journal says that the change is done. Before each file, and right before it
is swapped, the journal's lock is checked, so that a process that lost it does nothing more. Rolling back and
recovering go by images, never by states. SIGINT is deferred until the change is whole; anything else that
ends a process in the middle of a change is for recovery.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from takeback.errors import ChangedMeanwhile, JournalError, LostLock, NoPlaceError
from takeback.harness.adapter import Fenced, ManyPlaces, Place
from takeback.harness.images import DirectoryImage, FileChange, FileImage, LinkImage, is_same_file
from takeback.journal import Store
from takeback.journal.failpoint import failpoint
from takeback.progress import track_all_progress

MANY = 64
"""From so many changes on they are made together."""


@contextmanager
def defer_sigint() -> Iterator[None]:
    """Defer an interrupt until the block is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Left(NamedTuple):
    """Files that are not what they were before a change that was rolled back."""

    ours: tuple[str, ...]
    """Those that hold what the change puts there."""
    theirs: tuple[str, ...]
    """Those that someone else has changed meanwhile."""


class FileTransaction:
    """One change under way."""

    def __init__(self, place: Place, store: Store) -> None:
        self._place = fence_place(place, store)
        self._store = store
        self._kept: list[Any] = []
        self._changes: tuple[FileChange, ...] = ()

    def run(self, changes: Sequence[FileChange]) -> None:
        """Make every change; raises at the first that cannot be made, those before it made."""
        self._changes = tuple(changes)
        changes_counted = track_all_progress("files written", changes)
        if len(changes) >= MANY and isinstance(self._place, ManyPlaces):
            self._place.put_all(changes_counted, self._kept.append)
            return
        for change in changes_counted:
            require_lock_held(self._store)
            self._kept.append(self._place.put(change))

    def require_untouched(self) -> None:
        """Raise `ChangedMeanwhile` if someone wrote to a file that was replaced, after it was."""
        if not all(self._place.is_unchanged(kept) for kept in self._kept):
            raise ChangedMeanwhile("a file was changed by someone else while it was being replaced")

    def roll_back(self) -> None:
        """Put back what was there, last change first."""
        while self._kept:
            failpoint("rollback.step")
            require_lock_held(self._store)
            self._place.take_back(self._kept[-1])
            self._kept.pop()

    def inspect_leftovers(self) -> Left:
        """Inspect every file after rolling back: which are not what they were, and who changed them."""
        ours: list[str] = []
        theirs: list[str] = []
        for change in self._changes:
            if isinstance(change.after, DirectoryImage) or isinstance(change.before, DirectoryImage):
                continue  # a folder that stays is nobody's loss
            there = self._place.look(change.path)
            if is_applied(there, change) and not is_same_file(change.before, change.after):
                ours.append(change.path)
            elif not is_same_file(there, change.before):
                theirs.append(change.path)
        return Left(tuple(ours), tuple(theirs))

    def settle(self) -> tuple[str, ...]:
        """Release what was replaced; return where edits by others are kept that came too late to be noticed."""
        let_go = map(self._place.settle, track_all_progress("copies let go", self._kept))
        kept = tuple(path for path in let_go if path is not None)
        self._kept.clear()
        return kept


def complete_changes(place: Place, store: Store, changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Bring every file to what it should become; returns those that someone else has changed, left alone."""
    place = fence_place(place, store)
    foreign: list[str] = []
    for change in changes:
        require_lock_held(store)
        try:
            there = place.look(change.path)
        except NoPlaceError:
            foreign.append(change.path)  # a journal says so, but nothing of a harness may be there
            continue
        if is_applied(there, change):
            continue
        if not is_same_file(change.before, there):
            foreign.append(change.path)
            continue
        try:
            place.settle(place.put(change))
        except ChangedMeanwhile:
            foreign.append(change.path)
    return tuple(foreign)


def is_applied(there: Any, change: FileChange) -> bool:
    """Return whether a file is already what a change makes of it."""
    if not is_same_file(there, change.after):
        return False
    old, new = change.before, change.after
    only_mode = isinstance(old, FileImage) and isinstance(new, FileImage) and old.content == new.content
    return not only_mode or there == new


def require_unchanged(place: Place, changes: Sequence[FileChange]) -> None:
    """Raise `ChangedMeanwhile`, with nothing written down yet, if a file is not what a change was worked out from."""
    for change in changes:
        if isinstance(change.before, FileImage | LinkImage) and not is_same_file(
            place.look(change.path), change.before
        ):
            raise ChangedMeanwhile(f"{change.path} was changed by someone else just now")


def has_begun(place: Place, changes: Sequence[FileChange]) -> bool:
    """Return whether any part of a change was made."""
    for change in changes:
        with suppress(NoPlaceError):
            if is_applied(place.look(change.path), change):
                return True
    return False


def fence_place(place: Place, store: Store) -> Place:
    """Return a place that checks the journal's lock right before each change, if it can."""
    return place.add_fence(partial(require_lock_held, store)) if isinstance(place, Fenced) else place


def require_lock_held(store: Store) -> None:
    """Refuse to go on unless this process still holds the journal's lock."""
    try:
        store.assert_held()
    except JournalError as fault:
        raise LostLock(
            fault.message,
            hint="another process may have continued the journal: 'takeback status' shows its state",
        ) from fault
