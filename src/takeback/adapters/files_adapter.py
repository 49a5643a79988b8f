"""What every adapter of a directory's files has: putting files, leftovers, and the note of the journal's end."""

from __future__ import annotations

import re
from contextlib import suppress

from takeback.adapters.directory import SETTLED, Directory
from takeback.adapters.inner_harness import demand_own_place
from takeback.adapters.last_look import NOTE, note_look
from takeback.adapters.manifest import PRIVATE
from takeback.adapters.place import FilePlace
from takeback.errors import HarnessError
from takeback.harness.images import FileImage, Image

HEAD = f"{PRIVATE}/HEAD"
"""How far the journal has come, noted apart from it: tells when the journal was cut or replaced by an old copy."""
NOTED = re.compile(rb"(\d{1,18}) ([0-9a-f]{64})\n")


class FilesAdapter:
    """The files of one directory."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._place = FilePlace(directory)
        self._leftovers: tuple[str, ...] = ()

    @property
    def place(self) -> FilePlace:
        """Where the files are put."""
        return self._place

    def image(self, path: str) -> Image | None:
        """A file as the last reading found it; one that it did not come to, as it is now."""
        demand_own_place(self._directory.root, path)
        return self._directory.recall(path)

    def leftovers(self) -> tuple[str, ...]:
        """Temporary files that a killed process of this harness left, as last seen."""
        return self._leftovers

    def sweep(self) -> tuple[str, ...]:
        """Remove them."""
        removed, self._leftovers = self._leftovers, ()
        for path in removed:
            parts = tuple(path.split("/"))
            with self._directory.faults("remove", path), self._directory.parent(parts) as parent:
                if parent is not None:
                    Directory.discard(parent, parts[-1])
        return removed

    def note(self, seq: int, digest: str) -> None:
        """Remember in a small file; not synced, since it may lag behind but never runs ahead."""
        with suppress(HarnessError):
            self._directory.write(HEAD, FileImage(f"{seq} {digest}\n".encode(), 0o600), sync=False)

    def noted(self) -> tuple[int, str] | None:
        """What the small file says; None if there is none or a failing machine spoilt it. A link is refused."""
        image = self._directory.read(HEAD)
        found = None if image is None else NOTED.fullmatch(image.content)
        return None if found is None else (int(found[1]), found[2].decode())

    def note_look(self, seq: int, digest: str) -> None:
        """Note what the last look rested on, for hooks; call it only where that found the files as the journal says.

        What can no longer be told, because something is too fresh or moved on meanwhile, is not noted.
        """
        trail, root = self._directory.trail, self._directory.root
        files: dict[str, tuple[int, ...]] = {}
        for path in trail.asked:
            sign = self._directory.signature_read(path)
            if sign is not None and not _is_private(path):
                files[path] = (sign.size, sign.modified, sign.changed, sign.inode, sign.mode)
        folders = {folder for folder in trail.listed if not _is_private(folder)}
        missing = {path for path in trail.asked - files.keys() if not _is_private(path)}
        if self.noted() != (seq, digest) or any((root / path).is_file() for path in missing):
            return
        note = note_look(
            str(root), files, folders | {path.rpartition("/")[0] for path in missing}, trail.began, SETTLED
        )
        with suppress(HarnessError):
            if note is not None:
                self._directory.write(NOTE, FileImage(note, 0o600), sync=False)

    def close(self) -> None:
        """Let the directory go."""
        self._directory.close()


def _is_private(path: str) -> bool:
    """Return whether a path lies in Takeback's own directory, which changes all the time."""
    return path == PRIVATE or path.startswith(f"{PRIVATE}/")
