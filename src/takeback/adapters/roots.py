"""Which directories are harnesses: those with a manifest, of a workspace or hidden in Takeback's own directory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MANIFEST: Final = "takeback.toml"
PRIVATE: Final = ".takeback"
HIDDEN: Final = f"{PRIVATE}/manifest.toml"
"""The manifest of a harness in clients' files, which adds nothing beside Takeback's own directory."""


def manifest_path(root: Path) -> str | None:
    """Where the manifest of a directory is, relative to it; None if it has none."""
    return next((place for place in (MANIFEST, HIDDEN) if (root / place).is_file()), None)


def root_above(start: Path) -> Path | None:
    """The harness that a path lies in: itself, or the nearest directory above it; None if there is none."""
    here = start.absolute()
    return next((place for place in (here, *here.parents) if manifest_path(place) is not None), None)


def find_root(start: Path) -> Path:
    """The harness that a directory lies in; the directory itself if there is none."""
    found = root_above(start)
    return start if found is None or found == start.absolute() else found
