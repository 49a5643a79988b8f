"""The smallest adapter of files there can be: settings and prompts of an agent in one JSON file, `toy.json`.

The example of docs/adapters.md, and a subject of the conformance suite.
"""

from __future__ import annotations

from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilePlace
from takeback.adapters.formats.document import patch_document
from takeback.adapters.formats.json_document import JsonDocument
from takeback.adapters.manifest import Manifest
from takeback.errors import CannotSplice, InputError
from takeback.harness.adapter import Broken, NotExpressible, Reading
from takeback.harness.images import FileChange, FileImage, Image
from takeback.state import SURFACES, State

FILE = "toy.json"
KEYS = {"config": "settings", "prompts": "prompts"}


class ToyAdapter:
    """`{"settings": {...}, "prompts": {...}}`."""

    name = "toy"
    surfaces = frozenset({"config", "prompts"})

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.place = FilePlace(directory)
        self.read_as: FileImage | None = None

    def read(self, known: State) -> Reading:
        self.read_as = self.directory.read(FILE)
        try:
            return Reading(self._state(self.read_as, known))
        except InputError as fault:
            return Reading(known, (Broken(FILE, fault.where, fault.message),))

    def _state(self, image: Image | None, known: State) -> State:
        content = image.content if isinstance(image, FileImage) else b"{}"
        value = JsonDocument(content, str(self.directory.root / FILE)).value
        parts = dict(known.parts)
        for surface, key in KEYS.items():
            fresh = SURFACES[surface].read(value.get(key, {}), FILE)
            placed = SURFACES[surface].transfer_places(fresh, known.part(surface))
            if any(SURFACES[surface].differing(known.part(surface), placed)):
                parts[surface] = placed
        return known if all(parts[name] is known.part(name) for name in parts) else State.of(parts)

    def _plain(self, state: State) -> dict:
        found = {key: SURFACES[surface].write(state.part(surface)) for surface, key in KEYS.items()}
        return {key: value for key, value in found.items() if value}

    def render(self, before: State, after: State) -> tuple[FileChange, ...] | NotExpressible:
        image = self.read_as
        document = JsonDocument(b"{}\n" if image is None else image.content, str(self.directory.root / FILE))
        try:
            data = patch_document(document, self._plain(before), self._plain(after)).data
        except CannotSplice as fault:
            return NotExpressible(FILE, str(fault))
        if image is not None and data == image.content:
            return ()
        return (FileChange(FILE, image, FileImage(data, 0o644 if image is None else image.mode)),)

    def find_touched_files(self, before: State, after: State) -> tuple[str, ...]:
        return () if self._plain(before) == self._plain(after) else (FILE,)

    def means(self, path: str, image: Image | None, state: State) -> bool:
        try:
            return path == FILE and self._state(image, state) is state
        except InputError:
            return False

    def list_remembered_files(self):
        return [] if self.read_as is None else [(FILE, self.read_as)]

    def image(self, path: str) -> Image | None:
        return self.directory.look(path)

    def owns(self, path: str) -> bool:
        return path == FILE

    def close(self) -> None:
        self.directory.close()


def open_adapter(directory: Directory, manifest: Manifest, *, hold: bool) -> ToyAdapter:
    return ToyAdapter(directory)
