"""Paths where nothing of a harness may be: version control's, Takeback's own, outside, inner harnesses.

What is written to `.git` is run by the next git command, so that no manifest, import, link, image or undo
leads there. Names are compared as by file systems without upper case. The files of a folder with a harness
of its own belong to that harness, if this user made or trusted it: a `.takeback` that came with a clone
takes no file away.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import Final

from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE, find_root_text
from takeback.adapters.trust_record import is_trusted, read_former_record
from takeback.errors import NoPlaceError

VERSIONED: Final = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", ".sl"})
"""Directories of version control, in which files are run."""
OWN: Final = ".takeback"
_IGNORED: Final = {
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    0xAD,
    0xFEFF,
}
"""Characters that some file systems do not see in a name."""
_SHORT: Final = frozenset({"git~1", "git~2", "git~3", "git~4"})
"""How `.git` is also called where names have a short form."""
_RUN: Final = ("hooks", "config")
"""What git runs of a git directory of any name, or takes the names of programs from."""


_PLAIN: Final = re.compile("[a-z0-9_-]+(?:[.][a-z0-9_-]+)*")
"""A single name that every file system reads as it is written."""


def why_no_place(path: str) -> str | None:
    """Return why nothing of a harness may be at a relative path; None if it may."""
    if _PLAIN.fullmatch(path):
        return None
    for part in path.replace("\\", "/").split("/"):
        name = _normalize_name(part)
        if name in VERSIONED or name in _SHORT:
            return f"{part} belongs to version control, which runs what lies in it"
        if name == OWN:
            return f"{part} is Takeback's own directory"
        if part == "..":
            return "it leads out of the directory"
    return "it is not inside the directory" if path.startswith("/") else None


def require_harness_place(path: str) -> None:
    """Refuse a path at which nothing of a harness may be."""
    why = why_no_place(path)
    if why is not None:
        raise NoPlaceError(
            f"path {path!r} is refused: {why}", hint="a harness has no place there; name another file or folder"
        )


def _normalize_name(part: str) -> str:
    """Return a name as the most forgiving file system reads it."""
    if part.isascii() and part.islower() and part[-1:] not in {".", " "} and ":" not in part:
        return part
    seen = "".join(char for char in part if ord(char) not in _IGNORED).casefold()
    return seen.partition(":")[0].rstrip(" .") or seen


WAY_OUT: Final = (
    "its changes are taken back there, or takeback leave, run there, gives the files back to this harness"
)


class InnerHarnesses:
    """The harnesses below one directory, looked for once in each folder."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)
        self._known: dict[str, bool] = {}
        self._repositories: dict[str, bool] = {}

    def is_one(self, folder: str) -> bool:
        """Return whether a folder below the directory has a harness of its own."""
        if folder not in self._known:
            self._known[folder] = is_inner_harness(self._root, folder)
        return self._known[folder]

    def find_above(self, path: str) -> str | None:
        """Return the folder with a harness of its own that a path lies in, the outermost; None if there is none."""
        return next((folder for folder in _list_folders_above(path) if self.is_one(folder)), None)

    def find_repository_above(self, path: str) -> str | None:
        """Return the folder above a path that is a git directory of whatever name; None if there is none."""
        return next((folder for folder in _list_folders_above(path) if self._is_repository(folder)), None)

    def _is_repository(self, folder: str) -> bool:
        if folder not in self._repositories:
            self._repositories[folder] = is_git_directory(os.path.join(self._root, folder))
        return self._repositories[folder]


def _list_folders_above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def is_git_directory(place: str) -> bool:
    """Return whether git takes a folder for a repository without a working tree, or for what `.git` points to."""
    inner = (os.path.join(place, name) for name in ("objects", "refs"))
    return all(map(os.path.isdir, inner)) and os.path.lexists(os.path.join(place, "HEAD"))


def is_inner_harness(root: str, folder: str) -> bool:
    """Return whether a folder below a directory has a harness of its own that this user made or trusted."""
    place = os.path.join(root, folder)
    if not os.path.isdir(os.path.join(place, PRIVATE)):
        return False
    there = any(os.path.isfile(os.path.join(place, name)) for name in (MANIFEST, HIDDEN))
    return there and read_former_record(place) is not None


def require_own_place(root: str | os.PathLike[str], path: str, inner: InnerHarnesses | None = None) -> None:
    """Refuse a path at which nothing of a harness may be, or that belongs to a harness inside this one."""
    require_harness_place(path)
    folder = (InnerHarnesses(root) if inner is None else inner).find_above(path)
    if folder is not None:
        raise NoPlaceError(f"path {path!r} is refused: {describe_owner(root, folder)}", hint=WAY_OUT)


def require_writable_place(root: str | os.PathLike[str], path: str, inner: InnerHarnesses | None = None) -> None:
    """Refuse a path that must not be written, also because it lies in a git directory of another name."""
    inner = InnerHarnesses(root) if inner is None else inner
    require_own_place(root, path, inner)
    repository = inner.find_repository_above(path)
    if repository is not None and _normalize_name(path[len(repository) + 1 :]).startswith(_RUN):
        raise NoPlaceError(
            f"path {path!r} is refused: {repository} is a git directory, and git runs its hooks",
            hint="a harness has no place there; name another file or folder",
        )


def describe_owner(root: str | os.PathLike[str], folder: str) -> str:
    """Return the words that say to which harness the files of a folder belong."""
    return f"it belongs to the harness in {shlex.quote(os.path.join(os.fspath(root), folder))}"


def describe_left_alone(folder: str) -> str:
    """Return the line that `status` has for a harness inside this one."""
    return f"{folder}: it has a harness of its own now, to which its files belong; left alone here ({WAY_OUT})"


def describe_outer_harness(root: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the line about the harness around a new one, which covered its files until now; nothing without one."""
    place = os.path.realpath(root)
    outer = find_root_text(os.path.dirname(place))
    if outer is None or not is_trusted(outer):
        return ()
    warning = f"the harness in {outer} covers these files already; from now on they belong to this one, and that one "
    return (f"{warning}leaves them alone (if you do not want that, run: takeback leave -C {shlex.quote(place)})",)
