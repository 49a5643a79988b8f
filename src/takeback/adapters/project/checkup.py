"""Examines how a project's files are tracked: whether the database is whole, and with `deep` its contents are there.

Runs before the harness is opened, because opening settles what waits and makes a lost database anew.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from takeback.harness.doctor import Finding
from takeback.track.cache import BadCacheError
from takeback.track.database import TRACK, TrackError
from takeback.track.store import TrackStore

CHECK: Final = "track"
NAMED: Final = 5
ANEW: Final = (
    "it is made anew from the files as they stand; what is in the journal stays, "
    "and of files that changed since the last look it is not known what was there before"
)
MOVE: Final = f"move {TRACK} away ('mv {TRACK} {TRACK}.old'), and {ANEW}"


def examine_tracking(root: Path, *, deep: bool) -> Iterator[Finding]:
    """Yield how the track database of a project stands; `deep` tries to get every content that it counts on."""
    if not os.path.lexists(root / TRACK):
        yield Finding(CHECK, good=False, detail=f"{TRACK} is not there: {ANEW}")
        return
    try:
        with TrackStore.open(root) as store:
            problems = store.list_problems()
            if problems:
                yield Finding(CHECK, good=False, detail=f"{TRACK} is not whole: {problems[0]}; {MOVE}")
                return
            yield from _describe(store)
            if deep:
                yield from _check_contents(store)
    except (TrackError, BadCacheError, sqlite3.Error, ValueError) as fault:
        yield Finding(CHECK, good=False, detail=f"{TRACK} cannot be read: {fault}; {MOVE}")


def _describe(store: TrackStore) -> Iterator[Finding]:
    stats = store.stats()
    phrases = [
        f"{_count(stats.files, 'file')} tracked",
        f"{stats.kept_by_git} of them kept by git",
        f"{_count(stats.contents, 'content')} stored in {stats.stored_bytes:,} bytes",
        f"{stats.database_bytes:,} bytes in all",
        f"{_count(stats.rows, 'capture')} waiting" if stats.rows else "nothing waiting",
    ]
    yield Finding(CHECK, good=True, detail=f"{TRACK} is whole: {', '.join(phrases)}")
    unkept = [_count(len(stats.secrets), "secret")] if stats.secrets else []
    unkept += [_count(stats.unkept, "other file")] if stats.unkept else []
    if unkept:
        yield Finding(CHECK, good=True, detail=f"seen, not kept, and not to be taken back: {', '.join(unkept)}")


def _check_contents(store: TrackStore) -> Iterator[Finding]:
    """Say whether the last known content of every file that is kept can be had without the working tree."""
    count, lost = store.check_contents()
    if not lost:
        problem = f"the last known contents of {_count(count, 'file')} can be had without the working tree"
        yield Finding(CHECK, good=True, detail=problem)
        return
    shown = ", ".join(lost[:NAMED]) + (f" and {len(lost) - NAMED} more" if len(lost) > NAMED else "")
    problem = f"of {_count(len(lost), 'file')} the last known content is neither stored nor in git: {shown}"
    yield Finding(CHECK, good=False, detail=f"{problem}; while they stand there: {MOVE}")


def _count(number: int, singular: str) -> str:
    return f"{number} {singular}{'' if number == 1 else 's'}"
