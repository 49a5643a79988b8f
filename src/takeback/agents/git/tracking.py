"""Whether others get a file of a directory: whether git has it, or would take it in with the next commit."""

from __future__ import annotations

import os
from pathlib import Path

from takeback.agents.git.running import Git
from takeback.errors import HarnessError

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
        return f"whether others get {place} cannot be told: {fault.message}"
    if code:
        return (
            f"whether others get {place} cannot be told: {complaint.splitlines()[0] if complaint else 'git failed'}"
        )
    return f"git tracks {place}, so that others get it" if printed else None


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
    here = Path(os.path.realpath(root))
    return next((one for one in (here, *here.parents) if (one / ".git").exists()), None)
