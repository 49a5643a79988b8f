"""What a look at a harness's files rested on, noted so that a hook can tell that nothing has changed since.

The note holds the signatures of every file that was read and of every folder that was listed, and where the journal
ended; it is written only where the files were as the journal says, and where all of them had been quiet for so long
that a later change cannot look alike. It only saves work: whoever finds a difference, or no note, looks at all.
"""

from __future__ import annotations

import json
import os
import stat

from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

NOTE = f"{PRIVATE}/seen"
HEAD = f"{PRIVATE}/HEAD"
VERSION = 1
LARGEST = 64 << 20
"""Bytes of a note that are read at most."""
WIDTH = 5
"""Numbers of one signature."""


def measure_file(status: os.stat_result) -> tuple[int, ...]:
    """Return the numbers that change when a file changes, without reading it."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


def measure_folder(status: os.stat_result) -> tuple[int, ...]:
    """Return the numbers that change when a name in a folder comes or goes, without size and links."""
    return (0, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


def build_look_note(
    root: str, files: dict[str, tuple[int, ...]], folders: Iterable[str], began: int, settled: int
) -> bytes | None:
    """Return the note of a look that began at a time, for whoever writes it; None where something was too fresh."""
    with _Root(root) as place:
        names = sorted({"", *folders, *_list_folders_above(files), *_list_folders_above(folders)})
        signs = [place.numbers(name, folder=True) for name in names]
        listed = [(name, sign) for name, sign in zip(names, signs, strict=True) if sign is not None]
        numbers = [*files.values(), *(sign for _, sign in listed)]
        if any(max(sign[1], sign[2]) > began - settled for sign in numbers):
            return None
        whole = {
            "version": VERSION,
            "journal": place.text(HEAD),
            "manifest": place.manifest(),
            "folders": [name for name, _ in listed],
            "folder_numbers": [number for _, sign in listed for number in sign],
            "files": list(files),
            "file_numbers": [number for sign in files.values() for number in sign],
        }
    return json.dumps(whole, separators=(",", ":")).encode()


def is_unchanged(root: str) -> bool:
    """Return whether nothing that the last look rested on has changed since; False where that is not known."""
    try:
        with _Root(root) as place:
            whole = json.loads(place.bytes(NOTE))
            return (
                isinstance(whole, dict)
                and whole.get("version") == VERSION
                and whole["journal"] == place.text(HEAD) != ""
                and whole["manifest"] == place.manifest()
                and place.agrees(whole["folders"], whole["folder_numbers"], folder=True)
                and place.agrees(whole["files"], whole["file_numbers"], folder=False)
            )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


class _Root:
    """A directory held open, so that names below it are looked up without joining paths."""

    def __init__(self, root: str) -> None:
        self._fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> _Root:
        return self

    def __exit__(self, *fault: object) -> None:
        os.close(self._fd)

    def numbers(self, name: str, *, folder: bool) -> tuple[int, ...] | None:
        """Return the signature of a file or folder; None if nothing of that kind is there."""
        try:
            status = os.stat(name or ".", dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return None
        if folder:
            return measure_folder(status) if stat.S_ISDIR(status.st_mode) else None
        return measure_file(status)

    def agrees(self, names: Sequence[str], numbers: Sequence[int], *, folder: bool) -> bool:
        """Return whether each of some files or folders still has the signature that was noted."""
        if len(numbers) != WIDTH * len(names):
            return False
        found = os.stat
        take = measure_folder if folder else measure_file
        at = 0
        for name in names:
            if take(found(name or ".", dir_fd=self._fd, follow_symlinks=False)) != tuple(numbers[at : at + WIDTH]):
                return False
            at += WIDTH
        return True

    def manifest(self) -> list[Any]:
        """Return the signatures of the manifests that may be there."""
        signs = (self.numbers(name, folder=False) for name in (MANIFEST, HIDDEN))
        return [None if sign is None else list(sign) for sign in signs]

    def text(self, name: str) -> str:
        """Return a small file's text; empty if it is not there."""
        try:
            return self.bytes(name, 1000).decode("utf-8", "replace")
        except OSError:
            return ""

    def bytes(self, name: str, most: int = LARGEST) -> bytes:
        """Return a file's bytes, up to a bound; a link is not followed."""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=self._fd)
        with open(fd, "rb") as file:
            return file.read(most)


def _list_folders_above(paths: Iterable[str]) -> set[str]:
    """Return the folders above some paths: a missing folder may appear there."""
    found: set[str] = set()
    for path in paths:
        here = os.path.dirname(path)
        while here and here not in found:
            found.add(here)
            here = os.path.dirname(here)
    return found
