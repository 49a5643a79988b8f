"""Which directories are harnesses: those with a manifest, of a workspace or hidden in Takeback's own directory."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook, nor is `pathlib`
if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "takeback.toml"
PRIVATE = ".takeback"
LOCAL = f"{PRIVATE}/journal.db"
HIDDEN = f"{PRIVATE}/manifest.toml"
"""The manifest of a harness in clients' files, which adds nothing beside Takeback's own directory."""


def find_manifest_path(root: Path) -> str | None:
    """Return the path of a directory's manifest, relative to it; None if it has none."""
    return next((place for place in (MANIFEST, HIDDEN) if (root / place).is_file()), None)


def find_root_above(start: Path) -> Path | None:
    """Return the nearest harness at or above a path; None if there is none."""
    root = find_root_text(str(start))
    return None if root is None else type(start)(root)


def find_root_text(start: str) -> str | None:
    """Return the same as `find_root_above`, for paths that are texts."""
    folder = start if os.path.isabs(start) else os.path.join(os.getcwd(), start)
    while not any(os.path.isfile(os.path.join(folder, place)) for place in (MANIFEST, HIDDEN)):
        folder, last = os.path.dirname(folder), folder
        if folder == last:
            return None
    return folder


def find_root(start: Path) -> Path:
    """Return the nearest harness at or above a directory; the directory itself if there is none.

    What is no directory is refused: otherwise a misspelled name below a harness would stand for that harness.
    """
    if not os.path.isdir(start):
        from takeback.errors import InputError  # noqa: PLC0415 - hooks import this module

        given = "a file" if os.path.lexists(start) else "no such directory"
        raise InputError(str(start), found=given, expected="a directory")
    root = find_root_above(start)
    return start if root is None or root == start.absolute() else root


def has_other_names(path: str) -> bool:
    """Return whether a file has hard links: a write by one name shows under the others."""
    try:
        return os.stat(path).st_nlink > 1 and not os.path.isdir(path)
    except OSError:
        return False
