"""A workspace: a directory whose files are the harness, in Takeback's own layout, and how it is made.

Config, routing, middleware and listeners are TOML files that people edit; prompts are Markdown, tools JSON,
sandboxed files themselves; sockets are real. A surface from outside is kept as JSON, unless its attribute
`workspace_storage` returns a `Storage`. Everything is in place before the manifest is written, and the
manifest makes the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilesAdapter, KeptFile
from takeback.adapters.harness_places import (
    WAY_OUT,
    InnerHarnesses,
    describe_left_alone,
    describe_owner,
    why_no_place,
)
from takeback.adapters.last_look import OTHER, PLAIN, TEXT, is_bare_text
from takeback.adapters.manifest import (
    MANIFEST,
    PRIVATE,
    Manifest,
    Workspace,
    check_places,
    read_manifest,
)
from takeback.adapters.workspace.folder_storage import JsonFolderStorage, TextStorage, TreeStorage
from takeback.adapters.workspace.storage import DocumentStorage, JsonStorage, RoutingStorage, Storage, TablesStorage
from takeback.errors import CannotSplice, HarnessError, InputError
from takeback.harness.adapter import NotExpressible, Reading
from takeback.harness.images import FileChange, FileImage, Image
from takeback.journal.url import redact_url, strip_password
from takeback.state import ABSENT, SURFACES, State
from takeback.state.slots import Slot, get_slot
from takeback.state.surface import install_surfaces

if TYPE_CHECKING:
    from takeback.adapters.init import NewHarness

HELD: Final = frozenset({"resources", "calls"})
"""Surfaces of which a workspace has no file."""

_STORAGES: dict[str, Callable[[], Storage]] = {
    "config": lambda: DocumentStorage("config", "config.toml", "# Settings of the agent.\n"),
    "routing": lambda: RoutingStorage(
        "routing", "routing.toml", "# Which model serves what. A key set to false is explicitly disabled.\n"
    ),
    "middleware": lambda: TablesStorage(
        "middleware",
        "middleware.toml",
        "# The middleware chain: the first [[middleware]] runs first.\n",
        "middleware",
    ),
    "listeners": lambda: TablesStorage(
        "listeners",
        "listeners.toml",
        "# Callbacks by event: the [[listener]] tables of one event run in the order they stand in.\n",
        "listener",
        events=True,
    ),
    "prompts": lambda: TextStorage("prompts", "prompts", ".md"),
    "tools": lambda: JsonFolderStorage("tools", "tools", ".json"),
    "files": lambda: TreeStorage("files", "files"),
}


def list_storages() -> tuple[Storage, ...]:
    """Return a storage for each installed surface that lives in files."""
    return tuple(
        _find_storage(name) for name, surface in SURFACES.items() if name not in HELD and not surface.outside
    )


def _find_storage(name: str) -> Storage:
    made: Callable[[], Storage] | None = getattr(SURFACES[name], "workspace_storage", None) or _STORAGES.get(name)
    return JsonStorage(name) if made is None else made()


class WorkspaceAdapter(FilesAdapter):
    """The files of one directory, and the sockets of this process."""

    name = "workspace"

    def __init__(self, directory: Directory, manifest: Manifest, *, hold: bool) -> None:
        from takeback.adapters.sockets import Sockets  # noqa: PLC0415 - start-up

        super().__init__(directory)
        self._storages = {storage.name: storage for storage in list_storages()}
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
        """Return the state that the files hold; `known` itself if it is the same."""
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
                notes.append(describe_left_alone(inner))
                continue
            part = storage.read(self._directory, self.places[name], known.part(name))
            images |= part.images
            broken += part.broken
            strange += part.strange
            notes += part.notes
            if part.value is not known.part(name):
                changed[name] = part.value
        self._images = images
        beside = dict.fromkeys(("", PRIVATE, *(_find_parent(place) for place in self.places.values())))
        flat = [path for place in beside for path in self._directory.own_temporaries(place)]
        self._leftovers = tuple(dict.fromkeys((*flat, *self._directory.met)))
        state = State.of({**known.parts, **changed}) if changed else known
        return Reading(state, tuple(broken), tuple(strange), tuple(dict.fromkeys(notes)))

    def render(self, before: State, after: State) -> tuple[FileChange, ...] | NotExpressible:
        """Return the changes of the files whose surfaces differ."""
        changes: list[FileChange] = []
        for name, storage in self._storages.items():
            old, new = before.part(name), after.part(name)
            if old is new:
                continue
            place = self.places[name]
            try:
                changes += storage.render(self._directory, place, self._images, old, new)
            except (CannotSplice, InputError) as fault:
                return NotExpressible.from_fault(place, fault)
        refused = ((change.path, self._why_no_place(change.path)) for change in changes)
        path, why = next(((path, why) for path, why in refused if why is not None), ("", None))
        return tuple(changes) if why is None else NotExpressible(path, f"{path}: {why}")

    def _why_no_place(self, path: str) -> str | None:
        inner = self._inner.find_above(path)
        return why_no_place(path) if inner is None else f"{describe_owner(self._directory.root, inner)}: {WAY_OUT}"

    def find_touched_files(self, before: State, after: State) -> tuple[str, ...]:
        """Return the files in which two states differ."""
        return tuple(
            path
            for name, storage in self._storages.items()
            if before.part(name) is not after.part(name)
            for path in storage.find_touched_files(self.places[name], before.part(name), after.part(name))
        )

    def means(self, path: str, image: Image | None, state: State) -> bool:
        """Return whether a file with this image would mean what the state says."""
        storage = self._storage_at(path)
        if storage is None:
            return False
        return storage.means(self.places[storage.name], path, image, state.part(storage.name))

    def _storage_at(self, path: str) -> Storage | None:
        for name, place in self.places.items():
            if path == place or path.startswith(f"{place}/"):
                return self._storages[name]
        return None

    def list_remembered_files(self) -> Iterable[tuple[str, FileImage]]:
        """Return documents, prompts and tools as last read."""
        return ((path, image) for path, image in self._images.items() if image is not None)

    def find_edit_kind(self, path: str) -> str:
        """Return what a file is to a hook that notes edits: bytes, a bare prompt, or something to understand."""
        if path.startswith(f"{self.places['files']}/"):
            return PLAIN
        image = self._images.get(path)
        own = path.startswith(f"{self.places['prompts']}/") and image is not None
        return TEXT if own and image is not None and is_bare_text(image.content) else OTHER

    def find_plain_slot(self, path: str, state: State) -> Slot | None:
        storage = self._storage_at(path)
        slot = None if storage is None else storage.find_plain_slot(self.places[storage.name], path)
        return slot if slot is not None and get_slot(state, slot) is not ABSENT else None

    def owns(self, path: str) -> bool:
        """Return whether a path belongs to a surface."""
        return self._storage_at(path) is not None

    def beginnings(self) -> tuple[FileChange, ...]:
        """Return the files and folders that a fresh workspace has for its surfaces."""
        return tuple(storage.beginning(self.places[name]) for name, storage in self._storages.items())

    def prepare(self, before: State, after: State) -> str | None:
        """Take the sockets the change needs, or say why they are unavailable."""
        return self.sockets.prepare(before.part("resources"), after.part("resources"))

    def hold(self, state: State) -> None:
        """Listen on the state's addresses, and on nothing else."""
        self.sockets.sync(state.part("resources"))

    def problems(self) -> tuple[str, ...]:
        """Return the unavailable sockets."""
        return tuple(self.sockets.problems.values())

    def close(self) -> None:
        self.sockets.close()
        super().close()


def _find_parent(place: str) -> str:
    above = str(PurePosixPath(place).parent)
    return "" if above == "." else above


def init_workspace(
    path: str | PathLike[str],
    *,
    journal: str | None = None,
    start: State | None = None,
    secret: bool = False,
    seal: bool = False,
    keys: str | PathLike[str] | None = None,
) -> Path:
    """Make a directory a workspace: a manifest, a file or directory for each surface, a journal begun.

    Files that are there already are taken as they are; `start` fills a directory that has none. A journal's URL goes
    into the manifest, so one with a password is refused; with `secret` it goes there without the password, which
    has to be given again at every opening. With `seal` the journal's contents are encrypted, as they always are on
    PostgreSQL; `keys` is where their keys go. A workspace stays as it is, if nothing that is asked contradicts it.
    """
    from takeback.adapters.init import NewHarness  # noqa: PLC0415 - start-up

    return make_workspace(path, NewHarness(journal, secret, seal, keys), start)[0]


def make_workspace(
    path: str | PathLike[str], new: NewHarness | None = None, start: State | None = None
) -> tuple[Path, bool]:
    """Make a workspace as `init_workspace` does; return also whether the directory was not one before."""
    from takeback.adapters.init import NewHarness, make_harness  # noqa: PLC0415 - start-up

    install_surfaces()
    root, new = Path(path), new or NewHarness()
    kept: list[KeptFile] = []
    made: list[WorkspaceAdapter] = []

    def begin(own: Directory, identity: str, noted: str) -> tuple[WorkspaceAdapter, Manifest]:
        manifest = Manifest(workspace=Workspace(id=identity, journal=noted))
        made.append(WorkspaceAdapter(own, manifest, hold=False))
        return made[0], replace(manifest, surfaces=made[0].places)

    def fill(adapter: WorkspaceAdapter, failing: ExitStack) -> State:
        failing.callback(_take_back_quietly, adapter, kept)
        return _fill_directory(adapter, start, kept)

    def finish() -> None:
        for file in kept:
            made[0].place.settle(file)

    fresh = make_harness(root, new, (root / MANIFEST).exists, begin, fill=fill, finish=finish)
    if not fresh:
        _require_agreement(root, None if new.journal is None else strip_password(new.journal), start)
    return root, fresh


def _require_agreement(root: Path, journal: str | None, start: State | None) -> None:
    manifest = read_manifest((root / MANIFEST).read_bytes(), str(root / MANIFEST))
    if start is not None:
        raise InputError(str(root), found="a workspace already", expected="a directory to fill with a state")
    if journal is not None and journal != manifest.workspace.journal:
        raise InputError(
            str(root),
            found=f"a workspace whose journal is {redact_url(manifest.workspace.journal)}",
            expected=f"one whose journal is {redact_url(journal)}, or none yet",
        )


def _fill_directory(adapter: WorkspaceAdapter, start: State | None, kept: list[KeptFile]) -> State:
    """Return the directory's state, with missing files made, filled with a state if one is given."""
    from takeback.adapters.init import read_unbroken  # noqa: PLC0415 - start-up
    from takeback.undo.record import list_writes_between  # noqa: PLC0415 - start-up

    kept += [
        adapter.place.put(beginning) for beginning in adapter.beginnings() if adapter.image(beginning.path) is None
    ]
    present = read_unbroken(adapter)
    if start is None:
        return present.state
    if any(change.before is not ABSENT for change in list_writes_between(present.state, start)):
        raise InputError(
            str(adapter.place.root),
            found=f"{present.state.size()} things already there",
            expected="an empty directory to fill",
            hint="leave the state out to take the directory as it is",
        )
    changes = adapter.render(present.state, start)
    if isinstance(changes, NotExpressible):
        raise HarnessError(changes.reason)
    kept += [adapter.place.put(change) for change in changes]
    return adapter.read(start).state


def _take_back_quietly(adapter: WorkspaceAdapter, kept: list[KeptFile]) -> None:
    for file in reversed(kept):
        with suppress(HarnessError):
            adapter.place.take_back(file)
