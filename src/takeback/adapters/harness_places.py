"""Decides where a harness has no place: in version control's own directories, in Takeback's own, and outside.

What is written to `.git` is run by the next git command, so that no manifest, import, link, image or undo leads
there. The one rule for all of them; names are compared as file systems do that know no upper case.
"""

from __future__ import annotations

from typing import Final

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


def why_no_place(path: str) -> str | None:
    """Return why nothing of a harness may be at a relative path; None if it may."""
    for part in path.split("/"):
        name = _normal(part)
        if name in VERSIONED or name in _SHORT:
            return f"{part} belongs to version control, which runs what lies in it"
        if name == OWN:
            return f"{part} is Takeback's own directory"
        if part == "..":
            return "it leads out of the directory"
    return "it is not inside the directory" if path.startswith("/") else None


def demand_harness_place(path: str) -> None:
    """Refuse a path at which nothing of a harness may be."""
    why = why_no_place(path)
    if why is not None:
        raise NoPlaceError(
            f"path {path!r} is refused: {why}", hint="a harness has no place there; name another file or folder"
        )


def _normal(part: str) -> str:
    """Return a name as the most forgiving file system reads it."""
    if part.isascii() and part.islower() and part[-1:] not in {".", " "} and ":" not in part:
        return part
    seen = "".join(char for char in part if ord(char) not in _IGNORED).casefold()
    return seen.partition(":")[0].rstrip(" .") or seen
