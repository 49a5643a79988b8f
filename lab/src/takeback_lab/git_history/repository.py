"""A repository's first-parent history, read and merged beside it: nothing is written to it and nothing of it is run.

All but one question are asked in a scratch repository that borrows the objects: so neither settings nor hooks,
filters or merge drivers of the repository count, and the trees that merges make are dropped with it. (Git may set the
time of an object that a merge makes again to now, as it always does.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from takeback.agents.git import Git, open_git
from takeback.errors import HarnessError, InputError

GITLINK: Final = "160000"
NOTHING: Final = "000000"
WHO: Final = {
    f"GIT_{role}_{what}": told
    for role in ("AUTHOR", "COMMITTER")
    for what, told in (("NAME", "lab"), ("EMAIL", "lab@localhost"), ("DATE", "1700000000 +0000"))
}
ALONE: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **WHO}
MOST_HELD: Final = 64 << 20
"""Bytes of contents that are held so as not to be asked for again."""


class RawChange(NamedTuple):
    """One line of a raw difference: modes as git writes them, ids, and the path before and after."""

    status: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str
    old_path: str
    path: str


@dataclass
class Repository:
    """A scratch repository that borrows another one's objects."""

    git: Git
    _held: dict[str, bytes] = field(default_factory=dict)
    _size: int = 0

    def list_commits(self, tip: str, count: int) -> list[str]:
        """Return so many commits of the first-parent line up to a tip, the oldest first."""
        found = self.git.line("rev-list", "--first-parent", "-n", str(count), tip).split()
        return found[::-1]

    def is_merge(self, commit: str) -> bool:
        """Tell whether a commit has several parents."""
        return len(self.git.line("rev-list", "--parents", "-n", "1", commit).split()) > 2  # noqa: PLR2004 - and itself

    def list_changes(self, old: str, new: str, *, renames: bool = False) -> list[RawChange]:
        """Return how two trees differ, with renames as git sees them or without."""
        how = ("-M50%", "-l2000") if renames else ("--no-renames",)
        words = self.git.run("diff-tree", "-r", "-z", "--raw", "--no-abbrev", *how, old, new).split(b"\0")
        return list(_read_changes(iter(words)))

    def list_tree(self, commit: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return mode and id of some paths in a commit's tree; those that are not there are left out."""
        wanted, found = set(paths), {}
        for line in self.git.run("ls-tree", "-r", "-z", commit).split(b"\0"):
            if line:
                about, _, path = line.partition(b"\t")
                mode, _, name = about.decode().split()
                if os.fsdecode(path) in wanted:
                    found[os.fsdecode(path)] = (mode, name)
        return found

    def read(self, changes: Sequence[tuple[str, str]]) -> dict[str, bytes]:
        """Return contents by id, of pairs of mode and id; that of another repository in this one is its id."""
        ids = dict.fromkeys(name for mode, name in changes if mode not in {GITLINK, NOTHING})
        missing = [name for name in ids if name not in self._held]
        if missing:
            self._keep(
                missing, self.git.run("cat-file", "--batch", given="".join(f"{i}\n" for i in missing).encode())
            )
        links = {name: name.encode() for mode, name in changes if mode == GITLINK}
        found = {name: self._held[name] for name in ids} | links
        if self._size > MOST_HELD:
            self._held.clear()
            self._size = 0
        return found

    def _keep(self, names: Sequence[str], printed: bytes) -> None:
        at = 0
        for name in names:
            end = printed.index(b"\n", at)
            words = printed[at:end].split()
            if len(words) != 3:  # noqa: PLR2004 - id, type and size
                raise HarnessError(
                    f"the repository lacks the content {name}", hint="use a full clone: 'git clone' without --filter"
                )
            size = int(words[2])
            self._held[name] = printed[end + 1 : end + 1 + size]
            self._size += size
            at = end + 2 + size

    def revert(self, commit: str, onto: str) -> str | None:
        """Return the tree of `onto` without a commit, merged as `git revert` does it; None where that conflicts."""
        base = self._commit(f"{commit}^{{tree}}")
        ours, theirs = self._commit(f"{onto}^{{tree}}", base), self._commit(f"{commit}^1^{{tree}}", base)
        code, printed, complaint = self.git.attempt("merge-tree", "--write-tree", "--name-only", "-z", ours, theirs)
        if code not in {0, 1}:
            raise HarnessError(f"git merge-tree failed: {complaint}", hint="git 2.38 or newer is needed")
        return None if code else printed.split(b"\0")[0].decode().strip()

    def _commit(self, tree: str, *parents: str) -> str:
        above = [word for parent in parents for word in ("-p", parent)]
        return self.git.line("commit-tree", self.git.line("rev-parse", tree), *above, "-m", "lab")

    def revert_really(self, commit: str, onto: str, place: Path) -> str | None:
        """Return the tree that the command `git revert` leaves in a working tree; None where it conflicts."""
        work = self.git.at(place, GIT_DIR=str(self.git.place), GIT_WORK_TREE=str(place))
        work.run("read-tree", "--reset", "-u", onto)
        work.run("update-ref", "--no-deref", "HEAD", onto)
        which = ("-m", "1") if self.is_merge(commit) else ()
        code, _, _ = work.attempt("revert", "--no-commit", *which, commit)
        tree = None if code else work.line("write-tree")
        work.attempt("revert", "--quit")
        return tree


def _read_changes(words: Iterator[bytes]) -> Iterator[RawChange]:
    for word in words:
        if not word:
            return
        old_mode, new_mode, old_id, new_id, status = word[1:].decode().split()
        path = before = os.fsdecode(next(words))
        if status[0] in "RC":
            path = os.fsdecode(next(words))
        yield RawChange(status[0], old_mode, new_mode, old_id, new_id, before, path)


@contextmanager
def open_repository(place: Path, tip: str) -> Iterator[tuple[Repository, str]]:
    """Yield a repository to read, and the id of the commit that a name stands for in it."""
    if not place.is_dir():
        raise InputError(str(place), found="no directory", expected="a git repository")
    theirs = open_git(place, os.environ)
    code, printed, _ = theirs.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{tip}^{{commit}}")
    if code:
        raise InputError(str(place), found=f"no commit {tip!r}", expected="a git repository with such a commit")
    objects = (place / os.fsdecode(theirs.run("rev-parse", "--git-path", "objects").rstrip(b"\n"))).resolve()
    with TemporaryDirectory(prefix="takeback-git-history-") as folder:
        scratch = Path(folder) / "scratch.git"
        git = open_git(Path(folder), os.environ).at(Path(folder), **ALONE)
        git.run("init", "--quiet", "--bare", "--template=", str(scratch))
        (scratch / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (scratch / "objects" / "info" / "alternates").write_bytes(os.fsencode(objects) + b"\n")
        yield Repository(git.at(scratch)), printed.decode().strip()
