"""A range of commits as a line of steps, each with the tree it leads to.

Commits of one branch follow each other as they are. A commit of a side branch is carried over to where the line has
come, as git merges it; where that leaves a conflict, what it did comes with the merge that resolved it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from takeback.agents.git.running import Git
from takeback.errors import InputError

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


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Commits in order, and the one before the first."""

    start: Commit
    steps: tuple[CommitStep, ...]


def read_range(git: Git, asked: str) -> CommitRange:
    """The commits of `REV..REV`."""
    first, dots, last = asked.partition("..")
    if not dots or not first or first.startswith("-") or last.startswith((".", "-")):
        raise InputError("--from-git", found=asked, expected="a range of commits, REV..REV")
    start, end = (_commit(git, name) for name in (first, last or "HEAD"))
    if git.attempt("merge-base", "--is-ancestor", start.id, end.id)[0]:
        raise InputError(
            "--from-git",
            found=f"{asked}, of which {first} is not part of the history of {last or 'HEAD'}",
            expected="a range that begins in its end's own history",
            hint=f"'git merge-base {first} {last or 'HEAD'}' names the last commit they have in common",
        )
    listed = git.run(*_LOG, "--topo-order", "--reverse", f"{start.id}..{end.id}")
    return CommitRange(start, tuple(_steps(git, start, _parsed(listed))))


_LOG: Final = ("-c", "log.showSignature=false", "log", "-z", "--no-show-signature", f"--format={FORMAT}")


def _commit(git: Git, name: str) -> Commit:
    code, printed, _ = git.attempt("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if code:
        raise InputError("--from-git", found=name, expected="a commit of this repository")
    return _parsed(git.run(*_LOG, "--max-count=1", printed.decode().strip()))[0]


def _parsed(listed: bytes) -> list[Commit]:
    found = []
    for one in listed.decode("utf-8", "replace").split("\0"):
        if one:
            number, tree, parents, author, date, subject = one.split("\n", 5)
            found.append(Commit(number, tree, tuple(parents.split()), author, date, subject))
    return found


def _steps(git: Git, start: Commit, commits: Sequence[Commit]) -> Iterator[CommitStep]:
    """Each commit with its tree: its own, once everything before it on the line is part of its history."""
    parents = {commit.id: commit.parents for commit in commits}
    here, taken = start.tree, set[str]()
    for commit in commits:
        tree: str | None = commit.tree
        if not taken <= _ancestors(commit, parents):
            tree = _carried(git, commit, here)
        taken.add(commit.id)
        here = tree or here
        yield CommitStep(commit, tree)


def _ancestors(commit: Commit, parents: Mapping[str, Sequence[str]]) -> set[str]:
    found, waiting = set[str](), list(commit.parents)
    while waiting:
        one = waiting.pop()
        if one in parents and one not in found:
            found.add(one)
            waiting += parents[one]
    return found


def _carried(git: Git, commit: Commit, onto: str) -> str | None:
    """The tree that a commit's own change makes of another one; None for a merge, and where it leaves a conflict."""
    if len(commit.parents) != 1:
        return None
    beside = git.at(git.place, **NOBODY)
    stand_in = beside.line("commit-tree", onto, "-p", commit.parents[0], "-m", "so far")
    code, printed, _ = beside.attempt("merge-tree", "--write-tree", stand_in, commit.id)
    return None if code else printed.decode().split("\n", 1)[0]
