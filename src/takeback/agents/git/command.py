"""Runs git in one directory, so that it runs no program that the repository names.

The file system monitor and hooks are switched off, and git's variables are left out: they name another repository, or
settings. Filters and merge drivers of the repository's own config are emptied where a call would run them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from takeback.errors import HarnessError, InputError
from takeback.track.git import NO_PROGRAMS, keep_environment

SECONDS: Final = 300
KEPT: Final = ("GIT_AUTHOR",)
"""What git's own variables that are kept begin with; others name another repository, settings or a program."""
PROGRAMS: Final = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver|gpg\..*program)$"
"""Settings of a repository that name programs, and what makes a missing one an error."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one directory, with these variables."""

    place: Path
    env: Mapping[str, str]
    settings: tuple[str, ...] = NO_PROGRAMS

    def at(self, place: Path, **more: str) -> Git:
        """Return git in another directory, with more variables."""
        return Git(place, {**self.env, **more}, self.settings)

    def with_hooks_path(self) -> Git:
        """Return git that knows where hooks are; only for asking that."""
        return Git(self.place, self.env, NO_PROGRAMS[:2])

    def without_programs(self) -> Git:
        """Return git for which the programs that the repository's own config names are emptied."""
        asked = ("config", "--local", "--includes", "--null", "--name-only", "--get-regexp", PROGRAMS)
        _, printed, _ = self.attempt(*asked)
        names = [name for name in printed.decode("utf-8", "surrogateescape").split("\0") if name]
        emptied = (f"{name}={'false' if name.endswith('.required') else ''}" for name in dict.fromkeys(names))
        return Git(self.place, self.env, (*self.settings, *(word for setting in emptied for word in ("-c", setting))))

    def attempt(self, *words: str, given: bytes = b"") -> tuple[int, bytes, str]:
        """Return the exit code, the output and the error output of a command."""
        try:
            done = subprocess.run(  # noqa: S603 - words of our own, and names checked by git
                ["git", *self.settings, *words],  # noqa: S607 - whichever git the user has
                cwd=self.place,
                env=self.env,
                input=given,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise HarnessError("git is not installed") from None
        except subprocess.TimeoutExpired:
            raise HarnessError(f"git {words[0]} took longer than {SECONDS} s") from None
        return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()

    def run(self, *words: str, given: bytes = b"") -> bytes:
        """Return the output of a command; raise an error if it fails."""
        code, printed, complaint = self.attempt(*words, given=given)
        if code:
            raise HarnessError(f"git {words[0]} failed: {complaint.splitlines()[-1] if complaint else code}")
        return printed

    def line(self, *words: str) -> str:
        """Return the output of a command as one line."""
        return self.run(*words).decode("utf-8", "surrogateescape").rstrip("\n")

    def require_repository(self) -> None:
        """Refuse a directory that is in no working tree of git."""
        code, printed, _ = self.attempt("rev-parse", "--is-inside-work-tree")
        if code or printed.strip() != b"true":
            raise InputError(str(self.place), found="no working tree of git", expected="a directory in one")


def open_git(place: Path, environment: Mapping[str, str]) -> Git:
    """Return git in a directory, for the repository that the directory is in."""
    return Git(place, keep_environment(environment, KEPT))


EXCLUDE = '"$(git rev-parse --git-path info/exclude)"'


def why_shared(git: Git, place: str) -> str | None:
    """Say why others get a file, by its path in the directory that git is asked in; None if git does not have it.

    Where git is there and does not say, the file counts as shared.
    """
    if _find_top(git.place) is None:
        return None
    try:
        code, printed, complaint = git.attempt("ls-files", "--stage", "--", place)
    except HarnessError as fault:
        return f"cannot tell whether others get {place}: {fault.message}"
    if code:
        return f"cannot tell whether others get {place}: {complaint.splitlines()[0] if complaint else 'git failed'}"
    return f"git tracks {place}, so others get it" if printed else None


def name_exclusion(git: Git, place: str) -> str | None:
    """Name the command that keeps a file out of commits; None where nothing would take it in."""
    top = _find_top(git.place)
    if top is None:
        return None
    try:
        code, _, _ = git.attempt("check-ignore", "--quiet", "--", place)
    except HarnessError:
        return None
    inside = os.path.relpath(git.place / place, top)
    return None if code == 0 else f"echo /{inside} >> {EXCLUDE}"


def _find_top(root: Path) -> Path | None:
    """Return the top of the working tree that a directory is in."""
    start = Path(os.path.realpath(root))
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)
