"""Makes a change of several files: one by one, each only if it still is what it was, all or none.

What is replaced is kept until the journal says that the change is done. Before each file, and right before it is
swapped, the journal's lock is asserted, so that a process that lost it (its connection was cut, another took over)
does nothing more. Nothing here reads a state: rolling back and recovering go by images.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from takeback.errors import ChangedMeanwhile, JournalError, LostLock, NoPlaceError
from takeback.harness.adapter import Fenced, Place
from takeback.harness.images import DirectoryImage, FileChange, FileImage, LinkImage, same_file
from takeback.journal import Store
from takeback.journal.counted import counted_all
from takeback.journal.failpoint import failpoint


class Left(NamedTuple):
    """Files that are not what they were before a change that was rolled back."""

    ours: tuple[str, ...]
    """Those that hold what the change puts there."""
    theirs: tuple[str, ...]
    """Those that someone else has changed meanwhile."""


class Writing:
    """One change under way."""

    def __init__(self, place: Place, store: Store) -> None:
        self._place = guarded(place, store)
        self._store = store
        self._kept: list[Any] = []
        self._changes: tuple[FileChange, ...] = ()

    def run(self, changes: Sequence[FileChange]) -> None:
        """Make every change; raises at the first that cannot be made, those before it made."""
        self._changes = tuple(changes)
        for change in counted_all("files written", changes):
            fence(self._store)
            self._kept.append(self._place.put(change))

    def look_again(self) -> None:
        """Raise `ChangedMeanwhile` if someone wrote to a file that was replaced, after it was."""
        if not all(self._place.unchanged(kept) for kept in self._kept):
            raise ChangedMeanwhile("a file was changed by someone else while it was being replaced")

    def roll_back(self) -> None:
        """Put back what was there, last change first."""
        while self._kept:
            failpoint("rollback.step")
            fence(self._store)
            self._place.take_back(self._kept[-1])
            self._kept.pop()

    def what_is_left(self) -> Left:
        """Look at every file after rolling back: which are not what they were, by whose hand."""
        ours: list[str] = []
        theirs: list[str] = []
        for change in self._changes:
            if isinstance(change.after, DirectoryImage) or isinstance(change.before, DirectoryImage):
                continue  # a folder that stays is nobody's loss
            there = self._place.look(change.path)
            if arrived(there, change) and not same_file(change.before, change.after):
                ours.append(change.path)
            elif not same_file(there, change.before):
                theirs.append(change.path)
        return Left(tuple(ours), tuple(theirs))

    def settle(self) -> tuple[str, ...]:
        """Let go of what was replaced; returns where edits by others are kept that came too late to be noticed."""
        let_go = map(self._place.settle, counted_all("copies let go", self._kept))
        kept = tuple(path for path in let_go if path is not None)
        self._kept.clear()
        return kept


def finish(place: Place, store: Store, changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Bring every file to what it should become; returns those that someone else has changed, left alone."""
    place = guarded(place, store)
    foreign: list[str] = []
    for change in changes:
        fence(store)
        try:
            there = place.look(change.path)
        except NoPlaceError:
            foreign.append(change.path)  # a journal says so, but nothing of a harness may be there
            continue
        if arrived(there, change):
            continue
        if not same_file(change.before, there):
            foreign.append(change.path)
            continue
        try:
            place.settle(place.put(change))
        except ChangedMeanwhile:
            foreign.append(change.path)
    return tuple(foreign)


def arrived(there: Any, change: FileChange) -> bool:
    """Whether a file is already what a change makes of it."""
    if not same_file(there, change.after):
        return False
    one, two = change.before, change.after
    only_mode = isinstance(one, FileImage) and isinstance(two, FileImage) and one.content == two.content
    return not only_mode or there == two


def demand_unchanged(place: Place, changes: Sequence[FileChange]) -> None:
    """Raise `ChangedMeanwhile`, with nothing written down yet, if a file is not what a change was worked out from."""
    for change in changes:
        if isinstance(change.before, FileImage | LinkImage) and not same_file(place.look(change.path), change.before):
            raise ChangedMeanwhile(f"{change.path} was changed by someone else just now")


def begun(place: Place, changes: Sequence[FileChange]) -> bool:
    """Whether anything of a change is there."""
    for change in changes:
        with suppress(NoPlaceError):
            if arrived(place.look(change.path), change):
                return True
    return False


def guarded(place: Place, store: Store) -> Place:
    """A place that asserts the journal's lock right before each change, if it can."""
    return place.fenced(partial(fence, store)) if isinstance(place, Fenced) else place


def fence(store: Store) -> None:
    """Refuse to go on unless this process still holds the journal's lock."""
    try:
        store.assert_held()
    except JournalError as fault:
        raise LostLock(
            fault.message,
            hint="another process may have gone on with the journal: 'takeback status' shows how things stand",
        ) from fault
