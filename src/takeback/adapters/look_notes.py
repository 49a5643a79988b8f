"""Writes the notes that hooks read: how far the journal has come, and what the last look at all files rested on.

`HEAD` is kept apart from the journal, and tells when the journal was cut or replaced by an old copy. `last_look.py`
says what the other notes hold, and reads them. Where a hook or a command has just looked at all files and everything
is recorded, hooks need not look again until something changes, and commands need not read what has not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

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
from takeback.adapters.roots import LOCAL
from takeback.harness.images import FileImage

if TYPE_CHECKING:
    from takeback.harness.harness import Harness
    from takeback.harness.outcomes import Status


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


def read_noted_record(directory: Directory) -> tuple[int, str] | None:
    """Return the record with which the journal was last seen to end; None if that is not noted, or damaged."""
    match = re.fullmatch(r"(\d{1,18}) ([0-9a-f]{64})\n", _read_end(directory))
    return None if match is None else (int(match[1]), match[2])


def _read_end(directory: Directory) -> str:
    image = directory.read(HEAD)
    return "" if image is None else image.content.decode("utf-8", "replace")


def _is_private(path: str) -> bool:
    """Return whether a path lies in Takeback's own directory, which changes all the time."""
    return path == PRIVATE or path.startswith(f"{PRIVATE}/")


def note_calm_look(harness: Harness) -> None:
    """Note what the last look rested on; call it only if the files were as the journal says now."""
    from takeback.adapters.files_adapter import FilesAdapter  # noqa: PLC0415 - it imports this
    from takeback.harness.harness import Harness  # noqa: PLC0415 - start-up

    adapter, ledger = harness.adapter, harness.ledger
    open_ends = ledger.pending is not None or ledger.holes or ledger.missing or harness.doubt
    if isinstance(adapter, FilesAdapter) and not open_ends and not adapter.leftovers():
        own = str(adapter.place.root / LOCAL)
        plain = type(harness) is Harness and adapter.project is None and not getattr(ledger.store, "key_place", "")
        adapter.note_look(ledger.last, ledger.head, wait=plain and ledger.store.location == own)


def note_calm_status(harness: Harness, status: Status) -> None:
    """Note the look of a status that shows nothing to record, in a harness of many files without such a note."""
    from takeback.adapters.files_adapter import FilesAdapter  # noqa: PLC0415 - it imports this

    adapter = harness.adapter
    if harness.ledger.store.readonly or status.drift or status.broken or status.layout:
        return
    if isinstance(adapter, FilesAdapter) and adapter.needs_look_note():
        note_calm_look(harness)
