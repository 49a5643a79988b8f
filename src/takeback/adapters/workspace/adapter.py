"""A workspace: a directory whose files are the harness, in Takeback's own layout.

Config, routing, middleware and listeners are TOML files that people edit; prompts are Markdown, tools JSON,
sandboxed files themselves; sockets are real. `surfaces` says where each lives; a surface from outside gets a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilesAdapter
from takeback.adapters.harness_places import why_no_place
from takeback.adapters.inner_harness import WAY_OUT, InnerHarnesses, tell_left_alone, tell_owner
from takeback.adapters.manifest import MANIFEST, PRIVATE, Manifest, check_places
from takeback.adapters.sockets import Sockets
from takeback.adapters.workspace.storage import Storage
from takeback.adapters.workspace.surfaces import HELD, storages
from takeback.errors import CannotSplice, InputError
from takeback.harness.adapter import Reading, Unsayable
from takeback.harness.images import FileChange, FileImage, Image
from takeback.state import SURFACES, State


class WorkspaceAdapter(FilesAdapter):
    """The files of one directory, and the sockets of this process."""

    name = "workspace"

    def __init__(self, directory: Directory, manifest: Manifest, *, hold: bool) -> None:
        super().__init__(directory)
        self._storages = {storage.name: storage for storage in storages()}
        self.places = {name: manifest.surfaces.get(name, storage.default) for name, storage in self._storages.items()}
        self._missing = tuple(
            f"the surface {name!r} is not installed: {place} is left alone"
            for name, place in manifest.surfaces.items()
            if name not in SURFACES
        )
        check_places(manifest.surfaces | self.places, str(directory.root / MANIFEST))
        self._images: dict[str, FileImage | None] = {}
        self._inner = InnerHarnesses(directory.root)
        self.sockets = Sockets(hold=hold)

    @property
    def surfaces(self) -> frozenset[str]:
        """Every surface that is installed."""
        return frozenset({*self._storages, *(HELD & SURFACES.keys())})

    def read(self, known: State) -> Reading:
        """What the files say; `known` itself if that is the same."""
        changed: dict[str, Any] = {}
        images: dict[str, FileImage | None] = {}
        broken: list[Any] = []
        strange: list[str] = [*self._missing]
        notes: list[str] = []
        self._directory.met.clear()
        self._directory.begin_reading()
        self._inner = InnerHarnesses(self._directory.root)
        for name, storage in self._storages.items():
            inner = self._inner.find_above(f"{self.places[name]}/")
            if inner is not None:
                notes.append(tell_left_alone(inner))
                continue
            part = storage.read(self._directory, self.places[name], known.part(name))
            images |= part.images
            broken += part.broken
            strange += part.strange
            notes += part.notes
            if part.value is not known.part(name):
                changed[name] = part.value
        self._images = images
        beside = dict.fromkeys(("", PRIVATE, *(_above(place) for place in self.places.values())))
        flat = [path for place in beside for path in self._directory.own_temporaries(place)]
        self._leftovers = tuple(dict.fromkeys((*flat, *self._directory.met)))
        state = State.of({**known.parts, **changed}) if changed else known
        return Reading(state, tuple(broken), tuple(strange), tuple(dict.fromkeys(notes)))

    def render(self, before: State, after: State) -> tuple[FileChange, ...] | Unsayable:
        """The files of surfaces that differ."""
        changes: list[FileChange] = []
        for name, storage in self._storages.items():
            one, two = before.part(name), after.part(name)
            if one is two:
                continue
            place = self.places[name]
            try:
                changes += storage.render(self._directory, place, self._images, one, two)
            except (CannotSplice, InputError) as fault:
                return Unsayable(place, str(fault))
        refused = ((change.path, self._why_no_place(change.path)) for change in changes)
        path, why = next(((path, why) for path, why in refused if why is not None), ("", None))
        return tuple(changes) if why is None else Unsayable(path, f"{path}: {why}")

    def _why_no_place(self, path: str) -> str | None:
        inner = self._inner.find_above(path)
        return why_no_place(path) if inner is None else f"{tell_owner(self._directory.root, inner)}: {WAY_OUT}"

    def touched(self, before: State, after: State) -> tuple[str, ...]:
        """The files in which two states differ."""
        return tuple(
            path
            for name, storage in self._storages.items()
            if before.part(name) is not after.part(name)
            for path in storage.touched(self.places[name], before.part(name), after.part(name))
        )

    def means(self, path: str, image: Image | None, state: State) -> bool:
        """Whether a file with this image would say what the state says."""
        storage = self._storage_at(path)
        if storage is None:
            return False
        return storage.means(self.places[storage.name], path, image, state.part(storage.name))

    def _storage_at(self, path: str) -> Storage | None:
        for name, place in self.places.items():
            if path == place or path.startswith(f"{place}/"):
                return self._storages[name]
        return None

    def remembered(self) -> Iterable[tuple[str, FileImage]]:
        """Documents, prompts and tools as last read."""
        return ((path, image) for path, image in self._images.items() if image is not None)

    def owns(self, path: str) -> bool:
        """Whether a path lies where a surface does."""
        return self._storage_at(path) is not None

    def beginnings(self) -> tuple[FileChange, ...]:
        """What a fresh workspace has in the place of each surface."""
        return tuple(storage.beginning(self.places[name]) for name, storage in self._storages.items())

    def prepare(self, before: State, after: State) -> str | None:
        """Take the sockets the change needs, or say why they are unavailable."""
        return self.sockets.prepare(before.part("resources"), after.part("resources"))

    def hold(self, state: State) -> None:
        """Listen on what a state says, and on nothing else."""
        self.sockets.sync(state.part("resources"))

    def problems(self) -> tuple[str, ...]:
        """Sockets that are unavailable."""
        return tuple(self.sockets.problems.values())

    def close(self) -> None:
        """Let the sockets and the directory go."""
        self.sockets.close()
        super().close()


def _above(place: str) -> str:
    above = str(PurePosixPath(place).parent)
    return "" if above == "." else above
