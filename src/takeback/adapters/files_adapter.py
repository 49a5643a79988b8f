"""What every adapter of a directory's files has: putting files, leftovers, and the note of the journal's end."""

from __future__ import annotations

import re
from contextlib import suppress

from takeback.adapters.directory import Directory
from takeback.adapters.harness_places import demand_harness_place
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
        """A file as it is now."""
        demand_harness_place(path)
        return self._directory.look(path)

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

    def close(self) -> None:
        """Let the directory go."""
        self._directory.close()
