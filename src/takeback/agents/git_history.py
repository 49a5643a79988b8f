"""A history kept in git becomes entries of the journal, one per commit, each by parts and with its bytes.

Every commit is read before anything is recorded. Commits of one branch follow each other; a commit of a
side branch is carried over as git merges it, or comes with the merge that resolved its conflict. A copy of
the files is brought from tree to tree by git. The journal has to stand where the range begins, or where an
earlier run left it; a journal begun at the range's end first goes back to its beginning, as an entry of its
own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from takeback.adapters.directory import Directory
from takeback.adapters.opener import find_adapter, load_manifest
from takeback.adapters.roots import PRIVATE
from takeback.agents.git import Git
from takeback.errors import HarnessError, InputError, TakebackError
from takeback.harness import Adopted, Harness, RefusalReason, Refused
from takeback.harness.adapter import FileAdapter, Notes, Reading
from takeback.harness.engine import LOCK_SECONDS
from takeback.harness.file_history import find_formatting_drift
from takeback.journal import Record

FORMAT: Final = "%H%n%T%n%P%n%an <%ae>%n%aI%n%s"
SHORT: Final = 10
NOBODY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "takeback"), ("EMAIL", "takeback@localhost"), ("DATE", "@0 +0000"))
}


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, as git has it."""

    id: str
    tree: str
    parents: tuple[str, ...]
    author: str
    date: str
    subject: str

    def __str__(self) -> str:
        return f"{self.id[:SHORT]} ({self.subject})"


@dataclass(frozen=True, slots=True)
class CommitStep:
    """A commit in its place on the line."""

    commit: Commit
    tree: str | None
    """The tree that it leads to there; None where what it did comes with a later merge."""


def read_range(git: Git, asked: str) -> tuple[Commit, list[CommitStep]]:
    """Return the commit before the first of `REV..REV`, and the commits in order."""
    first, dots, last = asked.partition("..")
    if not dots or not first or first.startswith("-") or last.startswith((".", "-")):
        raise InputError("--from-git", found=asked, expected="a range of commits, REV..REV")
    start, end = (_read_commit(git, name) for name in (first, last or "HEAD"))
    if git.attempt("merge-base", "--is-ancestor", start.id, end.id)[0]:
        raise InputError(
            "--from-git",
            found=f"{asked}, of which {first} is not part of the history of {last or 'HEAD'}",
            expected="a range that begins in its end's own history",
            hint=f"'git merge-base {first} {last or 'HEAD'}' names the last commit they have in common",
        )
    listed = git.run(*_LOG, "--topo-order", "--reverse", f"{start.id}..{end.id}")
    return start, list(_list_steps(git, start, _parse_commits(listed)))


_LOG: Final = ("-c", "log.showSignature=false", "log", "-z", "--no-show-signature", f"--format={FORMAT}")


def _read_commit(git: Git, name: str) -> Commit:
    code, printed, _ = git.attempt("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if code:
        raise InputError("--from-git", found=name, expected="a commit of this repository")
    return _parse_commits(git.run(*_LOG, "--max-count=1", printed.decode().strip()))[0]


def _parse_commits(listed: bytes) -> list[Commit]:
    commits = []
    for text in listed.decode("utf-8", "replace").split("\0"):
        if text:
            number, tree, parents, author, date, subject = text.split("\n", 5)
            commits.append(Commit(number, tree, tuple(parents.split()), author, date, subject))
    return commits


def _list_steps(git: Git, start: Commit, commits: Sequence[Commit]) -> Iterator[CommitStep]:
    """Yield each commit with its tree: its own, once everything before it on the line is in its history."""
    parents = {commit.id: commit.parents for commit in commits}
    current, taken = start.tree, set[str]()
    for commit in commits:
        tree: str | None = commit.tree
        if not taken <= _find_ancestors(commit, parents):
            tree = _carry_over(git, commit, current)
        taken.add(commit.id)
        current = tree or current
        yield CommitStep(commit, tree)


def _find_ancestors(commit: Commit, parents: Mapping[str, Sequence[str]]) -> set[str]:
    ancestors, waiting = set[str](), list(commit.parents)
    while waiting:
        commit_id = waiting.pop()
        if commit_id in parents and commit_id not in ancestors:
            ancestors.add(commit_id)
            waiting += parents[commit_id]
    return ancestors


def _carry_over(git: Git, commit: Commit, onto: str) -> str | None:
    """Return the tree after applying a commit's change to another; None for a merge or a conflict."""
    if len(commit.parents) != 1:
        return None
    beside = git.at(git.place, **NOBODY)
    stand_in = beside.line("commit-tree", onto, "-p", commit.parents[0], "-m", "so far")
    code, printed, _ = beside.attempt("merge-tree", "--write-tree", stand_in, commit.id)
    return None if code else printed.decode().split("\n", 1)[0]


EMPTY: Final = "hash-object", "-t", "tree", "--stdin"
SUBMODULE: Final = "160000"
EXECUTABLE: Final = "100755"
ANY_EXECUTE: Final = 0o111


@contextmanager
def open_scratch_git(git: Git) -> Iterator[tuple[Git, Path]]:
    """Yield git that writes objects and an index apart from the repository, and the folder they are in."""
    with TemporaryDirectory(prefix="takeback-git-") as made:
        place = Path(made).resolve()
        (place / "objects").mkdir()
        top = Path(git.line("rev-parse", "--show-toplevel"))
        objects = (git.place / git.line("rev-parse", "--git-path", "objects")).resolve()
        yield (
            git.without_programs().at(
                top,
                GIT_OBJECT_DIRECTORY=str(place / "objects"),
                GIT_ALTERNATE_OBJECT_DIRECTORIES=str(objects),
                GIT_INDEX_FILE=str(place / "index"),
            ),
            place,
        )


class Replica:
    """The copy. `prefix` is where the harness is in the repository, empty or ending in a slash."""

    def __init__(self, git: Git, place: Path, prefix: str) -> None:
        self._git = git
        self._top = place / "files"
        self._prefix = prefix
        self._tree = git.line(*EMPTY)
        self.root = self._top / prefix
        (self.root / PRIVATE).mkdir(parents=True)
        self._modes: dict[str, int] = {}

    def keep(self, working: Path, loose: Iterable[str], tracked: Mapping[str, int]) -> None:
        """Copy files that no commit has, and take over permission bits of those that commits have."""
        for path in loose:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(working / path, self.root / path, follow_symlinks=False)
        self._modes = {self._prefix + path: mode for path, mode in tracked.items()}

    def go(self, tree: str) -> None:
        """Bring the files to another tree."""
        differing = find_differing_paths(self._git, self._tree, tree, self._prefix)
        for path in (path for path, mode in differing.items() if not mode):
            self._remove(self._top / path)
        wanted = {path: mode for path, mode in differing.items() if mode and mode != SUBMODULE}
        if wanted:
            self._git.run("read-tree", tree)
            listed = b"".join(os.fsencode(path) + b"\0" for path in wanted)
            self._git.run("checkout-index", "-f", "-z", "--stdin", f"--prefix={self._top}/", given=listed)
        for path in wanted.keys() & self._modes.keys():
            self._set_mode(self._top / path, self._modes[path], executable=wanted[path] == EXECUTABLE)
        self._tree = tree

    def _remove(self, place: Path) -> None:
        with suppress(FileNotFoundError, IsADirectoryError):
            place.unlink()
        for above in place.parents:
            if above == self.root or not above.is_relative_to(self._top):
                return
            try:
                above.rmdir()
            except OSError:
                return

    @staticmethod
    def _set_mode(place: Path, known: int, *, executable: bool) -> None:
        if place.is_symlink() or not place.is_file():
            return
        readers = (known & 0o444) >> 2
        place.chmod(known & ~ANY_EXECUTE | readers if executable else known & ~ANY_EXECUTE)


def find_differing_paths(git: Git, old: str, new: str, prefix: str) -> dict[str, str]:
    """Return the paths in which two trees differ, with git's mode in the later one; empty where nothing is there."""
    only = ("--", prefix) if prefix else ()
    printed = git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new, *only)
    words = [os.fsdecode(word) for word in printed.split(b"\0")]
    differing = {}
    for about, path in zip(words[0::2], words[1::2], strict=False):
        _, mode, *_, status = about.removeprefix(":").split(" ")
        differing[path] = "" if status == "D" else mode
    return differing


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


def adopt_history(harness: Harness, root: Path, git: Git, asked: str) -> Brought | Refused:
    """Record a range of commits; the harness's files must be as the last of them has them."""
    git.require_repository()
    if not isinstance(harness.adapter, FileAdapter):
        return Refused(RefusalReason.UNSTORED, f"this harness ({harness.adapter.name}) has no files")
    prefix = git.line("rev-parse", "--show-prefix")
    with open_scratch_git(git) as (beside, place), harness.journal.lock(LOCK_SECONDS):
        harness.ledger.refresh()
        start, steps = read_range(beside, asked)
        bringing = _Bringing(harness, root, beside, Replica(beside, place, prefix), start, steps)
        bringing.keep(prefix)
        return bringing.bring()


class _Bringing:
    """One run: the real harness, the copy of its files, and the commits."""

    def __init__(
        self, harness: Harness, root: Path, git: Git, replica: Replica, start: Commit, steps: Sequence[CommitStep]
    ) -> None:
        self._harness = harness
        self._root = root
        self._git = git
        self._replica = replica
        self._start = start
        self._steps = [step for step in steps if step.tree is not None]
        self._folded = len(steps) - len(self._steps)
        self._manifest = load_manifest(root)

    def keep(self, prefix: str) -> None:
        """Take over from the working tree what git does not know."""
        adapter = self._files(self._harness)
        adapter.read(self._harness.state)
        known = {path: image.mode for path, image in adapter.list_remembered_files()}
        trees = [self._git.line(*EMPTY), self._start.tree, *(step.tree or "" for step in self._steps)]
        tracked = {
            path.removeprefix(prefix)
            for old, new in pairwise(trees)
            for path in find_differing_paths(self._git, old, new, prefix)
        }
        loose = [path for path in known if path not in tracked]
        self._replica.keep(self._root, loose, {path: mode for path, mode in known.items() if path in tracked})

    def bring(self) -> Brought | Refused:
        """Read every commit, and if nothing speaks against it record them."""
        with closing(self._open_replica()) as adapter:
            at_journal = self._read(adapter)
            differing = self._differing(adapter) if not isinstance(at_journal, Refused) else []
        if isinstance(at_journal, Refused):
            return at_journal
        last = self._steps[-1].commit if self._steps else self._start
        if differing:
            more = f" and {len(differing) - MOST} more" if len(differing) > MOST else ""
            return Refused(
                RefusalReason.REAL,
                f"the working tree is not at {last}, the end of the range: {', '.join(differing[:MOST])}{more}; "
                "nothing was recorded (git stash or git commit first, or name the commit that is checked out)",
            )
        begin = self._begin(at_journal)
        if isinstance(begin, Refused):
            return begin
        return self._record_all(begin)

    def _read(self, adapter: FileAdapter) -> list[int] | Refused:
        """Return at how many steps the files are as the journal has them."""
        at_journal, ledger = list[int](), self._harness.ledger
        for at, step in enumerate([CommitStep(self._start, self._start.tree), *self._steps]):
            commit = step.commit
            reading = self._at(step, lambda: adapter.read(ledger.state))
            if reading.broken:
                copied = f"{self._replica.root}/"
                broken = tuple(replace(fault, where=fault.where.removeprefix(copied)) for fault in reading.broken)
                return Refused(
                    RefusalReason.BROKEN,
                    f"commit {commit} cannot be read: {broken[0]}; nothing was recorded",
                    broken=broken,
                )
            if reading.state is ledger.state and not find_formatting_drift(ledger, adapter.list_remembered_files()):
                at_journal.append(at)
        return at_journal

    def _differing(self, adapter: FileAdapter) -> list[str]:
        """Return the files that differ between the copy, at the last commit, and the working tree."""
        own = self._files(self._harness)
        state = own.read(self._harness.state).state
        reading: Reading = adapter.read(state)
        unlike = set() if reading.state is state else set(own.find_touched_files(state, reading.state))
        real, copied = (
            {path: image.content for path, image in side.list_remembered_files()} for side in (own, adapter)
        )
        unlike |= {path for path in {*real, *copied} if real.get(path) != copied.get(path)}
        said = {(True, False): "is new", (False, True): "is missing"}
        return [f"{path} {said.get((path in real, path in copied), 'differs')}" for path in sorted(unlike)]

    def _begin(self, at_journal: Sequence[int]) -> int | Refused | None:
        """Return the step after which recording begins; None if the journal must first go back to the beginning."""
        recorded = _list_recorded_commits(self._harness)
        numbers = [at for at, step in enumerate(self._steps, 1) if step.commit.id in recorded]
        if numbers and max(numbers) in at_journal:
            return max(numbers)
        if at_journal and not numbers and min(at_journal) < len(self._steps):
            return min(at_journal)
        if at_journal and not numbers and self._harness.ledger.tally() == (0, 0, 0):
            return None
        start = self._start.id[:SHORT]
        why = f"the journal stands at none of these commits: neither at {start}, where the range begins, nor later"
        if at_journal:
            why = "the journal has entries of its own already, and stands at the end of the range"
        return Refused(
            RefusalReason.STATE, f"{why}; nothing was recorded ('takeback adopt' records the difference as one entry)"
        )

    def _record_all(self, begin: int | None) -> Brought:
        about: dict[str, Any] = {"identity": self._harness.ledger.identity}
        entries: list[tuple[Commit, Record]] = []
        begun: Record | None = None
        store = self._harness.journal
        self._replica.go(self._start.tree)
        with closing(self._open_replica()) as adapter:
            copied = Harness(adapter, store, about=about, begin=False)
            if begin is None:
                done = copied.adopt(f"as it was at {self._start}", by=BY, origin=_describe_origin(self._start))
                begun = done.entry if isinstance(done, Adopted) else None
            todo = self._steps[begin or 0 :]
            for step in todo:
                done = self._at(step, partial(_adopt_commit, copied, step.commit))
                entries += [] if done is None else [(step.commit, done.entry)]
        self._harness.ledger.refresh()
        if isinstance(self._harness.adapter, Notes):
            self._harness.adapter.note(self._harness.ledger.last, self._harness.ledger.head)
        return Brought(tuple(entries), begun, len(todo) - len(entries), self._folded, begin or 0)

    def _at(self, step: CommitStep, do: Callable[[], Any]) -> Any:
        """Run something with the copy at a commit; name the commit in what fails."""
        try:
            self._replica.go(step.tree or step.commit.tree)
            return do()
        except TakebackError as fault:
            raise HarnessError(f"commit {step.commit} cannot be read: {fault.message}", where=fault.where) from fault

    def _open_replica(self) -> Any:
        opener = find_adapter(self._manifest.workspace.adapter, "workspace.adapter")
        return opener(Directory(self._replica.root, tag=self._manifest.workspace.id), self._manifest, hold=False)

    @staticmethod
    def _files(harness: Harness) -> FileAdapter:
        adapter = harness.adapter
        if not isinstance(adapter, FileAdapter):
            raise TypeError(f"the adapter {adapter.name!r} has no files")
        return adapter


def _adopt_commit(harness: Harness, commit: Commit) -> Adopted | None:
    note = f"{commit.id[:SHORT]} {commit.subject}".rstrip()
    done = harness.adopt(note, by=commit.author, origin=_describe_origin(commit))
    if isinstance(done, Refused):
        raise HarnessError(done.message)
    return done


def _describe_origin(commit: Commit) -> dict[str, str]:
    return {
        "client": "git",
        "commit": commit.id,
        "author": commit.author,
        "date": commit.date,
        "subject": commit.subject,
    }


def _list_recorded_commits(harness: Harness) -> set[str]:
    adopted = (record for record in harness.ledger.entries() if record.kind == "adopt" and record.by != BY)
    return {str(record.origin.get("commit", "")) for record in adopted if record.origin.get("client") == "git"}
