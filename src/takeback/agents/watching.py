"""Follows the files of a harness and records what others change in them, an entry for each group of changes.

Writes that come close together are one group: an editor that writes anew and renames, a switch of branches. What
happened while nobody watched is recorded at the start, so that a watcher can be ended and started at any time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.adapters.clients.finding import FOREIGN
from takeback.adapters.directory import TEMPORARY
from takeback.adapters.open_by_manifest import open_workspace
from takeback.adapters.roots import PRIVATE
from takeback.agents.declared import Home, Own, home_of
from takeback.agents.judging import unloadable
from takeback.errors import TakebackError
from takeback.harness import Adopted, Harness, Refused
from takeback.harness.log import EntryView, view
from takeback.present.looser import weigh_states

BY: Final = "takeback watch"
GROUP_MS: Final = 1_600
"""A group ends after so long at the latest, while changes go on."""
QUIET_MS: Final = 200
"""A group ends when nothing changed for so long."""
GIT_SECONDS: Final = 30.0
"""So long a change waits at most for git to finish what it has begun."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """What a watcher says about one group of changes."""

    entry: EntryView | None
    """The entry that it became; None if it could not be recorded."""
    warnings: tuple[str, ...] = ()


class Watched:
    """A harness that is followed."""

    def __init__(self, root: Path, *, journal: str | None = None, check: bool = False) -> None:
        self.root = root
        self._journal = journal
        self._check = check
        self._git = git_directory(root)
        self._branch = self._head()
        self._home: Home | None = home_of(str(root / PRIVATE))

    def record(self) -> Noticed | None:
        """Record what differs from the journal; None if nothing does."""
        branch, self._branch = self._branch, self._head()
        note = f"switched to {self._branch}" if branch != self._branch else "changed"
        try:
            with closing(open_workspace(self.root, journal=self._journal, hold=False)) as harness:
                return self._recorded(harness, note)
        except TakebackError as fault:
            return Noticed(None, (f"not recorded: {fault.message}",))

    def _recorded(self, harness: Harness, note: str) -> Noticed | None:
        reading = harness.adapter.read(harness.state)
        weaker = weigh_states(harness, harness.state, reading.state) if reading.state is not harness.state else []
        found = harness.adopt(note, by=BY)
        warnings = list(weaker) if self._check else []
        if isinstance(found, Refused):
            return Noticed(None, (f"not recorded: {found.message}", *warnings))
        if not isinstance(found, Adopted):
            return None
        warnings += self._unloadable(harness) if self._check else []
        return Noticed(view(harness, found.entry), tuple(warnings))

    def _unloadable(self, harness: Harness) -> Iterator[str]:
        """Files that their client would not load."""
        remembered: Any = getattr(harness.adapter, "remembered", tuple)
        for path, image in remembered():
            known = None if self._home is None else self._home.declared(str(self.root / path))
            if known is None or isinstance(known[2], Own):
                continue
            fault = unloadable(known[2], image.content, path)
            if fault is not None:
                yield f"{path} would not be loaded: {fault[0]}"

    def _head(self) -> str:
        with suppress(OSError):
            return (self._git / "HEAD").read_text(encoding="utf-8").strip().removeprefix("ref: refs/heads/")
        return ""

    def settled(self, stop: threading.Event) -> None:
        """Wait for git to finish what it has begun, as long as that takes within bounds."""
        end = time.monotonic() + GIT_SECONDS
        while (self._git / "index.lock").exists() and time.monotonic() < end and not stop.is_set():
            time.sleep(QUIET_MS / 1000)


def git_directory(root: Path) -> Path:
    """Where git keeps what it knows of the working tree that a directory is in, also of one beside the first."""
    here = root.absolute()
    place = next((above / ".git" for above in (here, *here.parents) if (above / ".git").exists()), here / ".git")
    with suppress(OSError, UnicodeDecodeError):
        if place.is_file():
            return place.parent / place.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    return place


def follow(watched: Watched, stop: threading.Event, *, polling: bool = False) -> Iterator[Noticed]:
    """Everything that is noticed, from now on and what came before, until `stop` is set."""
    from watchfiles import watch  # noqa: PLC0415 - an extra

    begun = watched.record()
    if begun is not None:
        yield begun
    groups = watch(
        watched.root,
        watch_filter=_wanted(watched.root),
        debounce=GROUP_MS,
        step=QUIET_MS,
        stop_event=stop,
        rust_timeout=1_000,
        yield_on_timeout=True,
        raise_interrupt=False,
        force_polling=polling or None,
    )
    following = False
    for group in groups:
        if not group and following:
            continue
        following = True  # the first group, also an empty one, tells of what changed before the watcher had begun
        watched.settled(stop)
        noticed = watched.record()
        if noticed is not None:
            yield noticed


def _wanted(root: Path) -> Callable[[Any, str], bool]:
    """Whether a changed path may be of the harness."""
    left_out = FOREIGN | {PRIVATE}
    real = os.path.realpath(root)

    def wanted(change: Any, path: str) -> bool:
        del change
        steps = os.path.relpath(os.path.realpath(os.path.dirname(path)), real).split(os.sep)
        name = os.path.basename(path)
        return not left_out.intersection((*steps, name)) and not TEMPORARY.fullmatch(name)

    return wanted
