"""Runs git in one directory, with variables of the repository that a hook was called for left out."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from takeback.errors import HarnessError, InputError

SECONDS: Final = 300
KEPT: Final = ("GIT_AUTHOR", "GIT_CONFIG", "GIT_EXEC_PATH", "GIT_SSH")
"""What git's own variables that are kept begin with; the others name another repository or index."""
QUIET: Final = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one directory, with these variables."""

    place: Path
    env: Mapping[str, str]

    def at(self, place: Path, **more: str) -> Git:
        """Git in another directory, with more variables."""
        return Git(place, {**self.env, **more})

    def attempt(self, *words: str, given: bytes = b"") -> tuple[int, bytes, str]:
        """The exit code of a command, what it printed and what it complained of."""
        try:
            done = subprocess.run(  # noqa: S603 - words of our own, and names checked by git
                ["git", *words],  # noqa: S607 - whichever git the user has
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
        """What a command prints; a command that fails is an error."""
        code, printed, complaint = self.attempt(*words, given=given)
        if code:
            raise HarnessError(f"git {words[0]} failed: {complaint.splitlines()[-1] if complaint else code}")
        return printed

    def line(self, *words: str) -> str:
        """What a command prints, as one line."""
        return self.run(*words).decode("utf-8", "surrogateescape").rstrip("\n")

    def demand_repository(self) -> None:
        """Refuse a directory that is in no working tree of git."""
        code, printed, _ = self.attempt("rev-parse", "--is-inside-work-tree")
        if code or printed.strip() != b"true":
            raise InputError(str(self.place), found="no working tree of git", expected="a directory in one")


def git_in(place: Path, environment: Mapping[str, str]) -> Git:
    """Git in a directory, for the repository that the directory is in."""
    kept = {name: told for name, told in environment.items() if not name.startswith("GIT_") or name.startswith(KEPT)}
    return Git(place, {**kept, **QUIET})
