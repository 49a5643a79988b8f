"""Writes the notes that hooks read: how far the journal has come, and what the last look at all files rested on.

`HEAD` is kept apart from the journal, and tells when the journal was cut or replaced by an old copy. `last_look.py`
says what the other notes hold, and reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from takeback.adapters.directory import Directory
from takeback.adapters.last_look import (
    HEAD,
    LARGEST_EDIT,
    MANY,
    MOST_SINCE,
    NOTE,
    SINCE,
    build_look_note,
    build_since_note,
    is_later,
    measure_content,
    read_since,
)
from takeback.adapters.manifest import PRIVATE
from takeback.harness.images import FileImage


def write_end(directory: Directory, end: str, recorded: Mapping[str, FileImage]) -> None:
    """Write where the journal ends; in a harness of many files, also which small files it recorded since the look."""
    since = read_since(str(directory.root))
    before = "" if since is None else _read_end(directory)
    directory.write(HEAD, FileImage(end.encode(), 0o600), sync=False)
    if since is None or since[1] != before:
        return
    files = since[2] | {path: measure_content(image.content, image.mode) for path, image in recorded.items()}
    if len(files) <= MOST_SINCE:
        directory.write(SINCE, FileImage(build_since_note(since[0], end, files), 0o600), sync=False)


def write_look(directory: Directory, settled: int, kind_of: Callable[[str], str] | None) -> None:
    """Write what the last look rested on; nothing where something is too fresh or has changed meanwhile.

    `kind_of` says what a file is to a hook, where hooks of a harness of many files may have edits wait.
    """
    trail, root = directory.trail, directory.root
    files: dict[str, tuple[int, ...]] = {}
    latest = trail.began - settled
    for path in trail.asked:
        sign = directory.signature_read(path)
        if sign is not None and not _is_private(path):
            files[path] = sign
    folders = {folder for folder in trail.listed if not _is_private(folder)}
    missing = {path for path in trail.asked - files.keys() if not _is_private(path)}
    if any((root / path).is_file() for path in missing):
        return
    kinds = "" if kind_of is None or len(files) < MANY else "".join(map(kind_of, files))
    above = {path.rpartition("/")[0] for path in missing}
    fresh = _read_fresh_files(directory, files, latest) if kinds else {}
    note = build_look_note(str(root), files, folders | above, latest, kinds, fresh)
    if note is None:
        return
    directory.write(NOTE, FileImage(note, 0o600), sync=False)
    if kinds:
        end = _read_end(directory)
        directory.write(SINCE, FileImage(build_since_note(end, end, fresh), 0o600), sync=False)
    else:
        with suppress(OSError):
            (root / SINCE).unlink()


def _read_fresh_files(
    directory: Directory, files: Mapping[str, tuple[int, ...]], latest: int
) -> dict[str, list[Any]]:
    """Return what the look read in small files that changed too shortly before it: their times tell nothing."""
    fresh = [path for path, sign in files.items() if is_later(sign, latest)]
    images = {path: directory.image_read(path) for path in fresh} if len(fresh) <= MOST_SINCE else {}
    return {
        path: measure_content(image.content, image.mode)
        for path, image in images.items()
        if image is not None and len(image.content) <= LARGEST_EDIT
    }


def _read_end(directory: Directory) -> str:
    image = directory.read(HEAD)
    return "" if image is None else image.content.decode("utf-8", "replace")


def _is_private(path: str) -> bool:
    """Return whether a path lies in Takeback's own directory, which changes all the time."""
    return path == PRIVATE or path.startswith(f"{PRIVATE}/")
