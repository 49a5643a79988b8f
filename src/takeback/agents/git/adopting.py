"""A history kept in git becomes entries of the journal, one per commit, each by parts and with its bytes.

Every commit is read before anything is recorded. The journal has to stand where the range begins, or where an
earlier run of this left it; a journal that was begun at the range's end and has no entry yet first goes back to the
range's beginning, as an entry of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from takeback.adapters.directory import Directory
from takeback.adapters.open_by_manifest import manifest_of
from takeback.adapters.registry import adapter_named
from takeback.agents.git.history import SHORT, Commit, CommitRange, CommitStep, read_range
from takeback.agents.git.replica import Replica, differences, scratch_git
from takeback.agents.git.running import Git
from takeback.errors import HarnessError, TakebackError
from takeback.harness import Adopted, Harness, Refused, Why
from takeback.harness.adapter import FileAdapter, Notes, Reading
from takeback.harness.engine import LOCK_SECONDS
from takeback.harness.recorded import formatted
from takeback.journal import Record

BY: Final = "takeback adopt --from-git"
MOST: Final = 5
"""How many files are named at most."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What became of a range of commits."""

    entries: tuple[tuple[Commit, Record], ...]
    begun: Record | None = None
    """The entry by which a fresh journal went back to where the range begins."""
    skipped: int = 0
    """Commits that change nothing of the harness."""
    folded: int = 0
    """Commits of side branches whose changes came with the merge that resolved their conflicts."""
    known: int = 0
    """Commits that are in the journal already."""


@dataclass(slots=True)
class _Read:
    """What was found by going through the commits once."""

    at_journal: list[int] = field(default_factory=list)
    """At how many steps the files are as the journal has them."""
    differs: list[str] = field(default_factory=list)
    """Files in which the working tree is not as the last commit has it."""


def adopt_history(harness: Harness, root: Path, git: Git, asked: str) -> Brought | Refused:
    """Record a range of commits; the harness's files must be as the last of them has them."""
    git.demand_repository()
    if not isinstance(harness.adapter, FileAdapter):
        return Refused(Why.UNSTORED, f"this harness ({harness.adapter.name}) has no files")
    prefix = git.line("rev-parse", "--show-prefix")
    with scratch_git(git) as (beside, place), harness.journal.lock(LOCK_SECONDS):
        harness.ledger.refresh()
        commits = read_range(beside, asked)
        replica = Replica(beside, place, prefix)
        bringing = _Bringing(harness, root, beside, replica, commits)
        bringing.keep(prefix)
        return bringing.bring()


class _Bringing:
    """One run: the real harness, the copy of its files, and the commits."""

    def __init__(self, harness: Harness, root: Path, git: Git, replica: Replica, commits: CommitRange) -> None:
        self._harness = harness
        self._root = root
        self._git = git
        self._replica = replica
        self._range = commits
        self._steps = tuple(step for step in commits.steps if step.tree is not None)
        self._folded = len(commits.steps) - len(self._steps)
        self._manifest = manifest_of(root)

    def keep(self, prefix: str) -> None:
        """Take over from the working tree what git does not know."""
        adapter = self._files(self._harness)
        adapter.read(self._harness.state)
        known = {path: image.mode for path, image in adapter.remembered()}
        trees = [self._range.start.tree, *(step.tree or "" for step in self._steps)]
        empty = self._git.line("hash-object", "-t", "tree", "--stdin")
        tracked = {one.path.removeprefix(prefix) for one in differences(self._git, empty, trees[0], prefix)}
        for one, two in pairwise(trees):
            tracked |= {found.path.removeprefix(prefix) for found in differences(self._git, one, two, prefix)}
        loose = [path for path in known if path not in tracked]
        self._replica.keep(self._root, loose, {path: mode for path, mode in known.items() if path in tracked})

    def bring(self) -> Brought | Refused:
        """Read every commit, and if nothing speaks against it record them."""
        with closing(self._opened()) as adapter:
            found = self._read(adapter)
        if isinstance(found, Refused):
            return found
        last = self._steps[-1].commit if self._steps else self._range.start
        if found.differs:
            return Refused(
                Why.REAL,
                f"the working tree is not at {last}, the end of the range: {_listed(found.differs)}; nothing was "
                "recorded (git stash or git commit first, or name the commit that is checked out)",
            )
        begin = self._begin(found)
        if isinstance(begin, Refused):
            return begin
        return self._recorded(begin)

    def _read(self, adapter: FileAdapter) -> _Read | Refused:
        """Go through all commits without recording anything."""
        found, ledger = _Read(), self._harness.ledger
        steps: Sequence[CommitStep | None] = (None, *self._steps)
        for at, step in enumerate(steps):
            commit = self._range.start if step is None else step.commit
            reading = self._at(commit, step, lambda: adapter.read(ledger.state))
            if reading.broken:
                copied = f"{self._replica.root}/"
                broken = tuple(replace(one, where=one.where.removeprefix(copied)) for one in reading.broken)
                return Refused(
                    Why.BROKEN, f"commit {commit} cannot be read: {broken[0]}; nothing was recorded", broken=broken
                )
            if reading.state is ledger.state and not formatted(ledger, adapter.remembered()):
                found.at_journal.append(at)
        found.differs = self._differing(adapter)
        return found

    def _differing(self, adapter: FileAdapter) -> list[str]:
        """Files in which the copy, now at the last commit, and the working tree differ."""
        own = self._files(self._harness)
        state = own.read(self._harness.state).state
        reading: Reading = adapter.read(state)
        unlike = set() if reading.state is state else set(own.touched(state, reading.state))
        real, copied = ({path: image.content for path, image in one.remembered()} for one in (own, adapter))
        unlike |= {path for path in {*real, *copied} if real.get(path) != copied.get(path)}
        said = {(True, False): "is new", (False, True): "is missing"}
        return [f"{path} {said.get((path in real, path in copied), 'differs')}" for path in sorted(unlike)]

    def _begin(self, found: _Read) -> int | Refused | None:
        """After how many steps recording begins; None if the journal has to go back to the beginning first."""
        recorded = _recorded_commits(self._harness)
        numbers = [at for at, step in enumerate(self._steps, 1) if step.commit.id in recorded]
        if numbers and max(numbers) in found.at_journal:
            return max(numbers)
        if found.at_journal and not numbers and min(found.at_journal) < len(self._steps):
            return min(found.at_journal)
        if found.at_journal and not numbers and self._harness.ledger.tally() == (0, 0, 0):
            return None
        if found.at_journal:
            why = "the journal has entries of its own already, and stands at the end of the range"
        else:
            start = f"{self._range.start.id[:SHORT]}"
            why = (
                f"the journal stands at none of these commits: neither at {start}, where the range begins, nor later"
            )
        return Refused(
            Why.STATE, f"{why}; nothing was recorded ('takeback adopt' records the difference as one entry)"
        )

    def _recorded(self, begin: int | None) -> Brought:
        """Record the commits from a step on."""
        about: dict[str, Any] = {"identity": self._harness.ledger.identity}
        entries: list[tuple[Commit, Record]] = []
        begun: Record | None = None
        store = self._harness.journal
        self._replica.go(self._range.start.tree)
        with closing(self._opened()) as adapter:
            copied = Harness(adapter, store, about=about, begin=False)
            if begin is None:
                start = self._range.start
                done = copied.adopt(f"as it was at {start}", by=BY, origin=_origin(start))
                begun = done.entry if isinstance(done, Adopted) else None
            todo = self._steps[begin or 0 :]
            for step in todo:
                done = self._at(step.commit, step, partial(_adopted, copied, step.commit))
                entries += [] if done is None else [(step.commit, done.entry)]
        self._harness.ledger.refresh()
        if isinstance(self._harness.adapter, Notes):
            self._harness.adapter.note(self._harness.ledger.last, self._harness.ledger.head)
        return Brought(tuple(entries), begun, len(todo) - len(entries), self._folded, begin or 0)

    def _at(self, commit: Commit, step: CommitStep | None, do: Callable[[], Any]) -> Any:
        """Do something with the copy at a commit; what fails there says which one it was."""
        try:
            self._replica.go(commit.tree if step is None or step.tree is None else step.tree)
            return do()
        except TakebackError as fault:
            raise HarnessError(f"commit {commit} cannot be read: {fault.message}", where=fault.where) from fault

    def _opened(self) -> Any:
        opener = adapter_named(self._manifest.workspace.adapter, "workspace.adapter")
        return opener(Directory(self._replica.root, tag=self._manifest.workspace.id), self._manifest, hold=False)

    @staticmethod
    def _files(harness: Harness) -> FileAdapter:
        adapter = harness.adapter
        if not isinstance(adapter, FileAdapter):
            raise TypeError(f"the adapter {adapter.name!r} has no files")
        return adapter


def _adopted(harness: Harness, commit: Commit) -> Adopted | None:
    note = f"{commit.id[:SHORT]} {commit.subject}".rstrip()
    done = harness.adopt(note, by=commit.author, origin=_origin(commit))
    if isinstance(done, Refused):
        raise HarnessError(done.message)
    return done


def _origin(commit: Commit) -> dict[str, str]:
    """Where an entry comes from."""
    return {
        "client": "git",
        "commit": commit.id,
        "author": commit.author,
        "date": commit.date,
        "subject": commit.subject,
    }


def _recorded_commits(harness: Harness) -> set[str]:
    """Commits that entries of the journal were made of."""
    found = set()
    for record in harness.ledger.entries():
        origin: Any = record.payload.get("origin", {})
        if record.kind == "adopt" and record.payload.get("by") != BY and origin.get("client") == "git":
            found.add(str(origin.get("commit", "")))
    return found


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MOST} more" if len(paths) > MOST else ""
    return ", ".join(paths[:MOST]) + more
