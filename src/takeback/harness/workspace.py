"""A workspace: a directory whose files are the harness.

Config, routing, middleware and listeners are TOML files that people edit; prompts are Markdown, tools JSON,
sandboxed files themselves; sockets are real. `open_workspace` opens one, finishing what a killed process left;
`takeback.harness.founding` makes one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from takeback.errors import HarnessError, InputError
from takeback.harness.directory import Directory, FileImage
from takeback.harness.documents import DOCUMENTS, Document
from takeback.harness.folders import FOLDERS
from takeback.harness.harness import Harness, Verifier
from takeback.harness.manifest import MANIFEST, PRIVATE, Manifest, read_manifest
from takeback.harness.sockets import Sockets
from takeback.journal import open_journal
from takeback.state import SURFACES, State
from takeback.verify import verify

HEAD = f"{PRIVATE}/HEAD"
"""How far the journal has come, noted apart from it: tells when the journal was cut or replaced by an old copy."""
KEYS = f"{PRIVATE}/journal.keys"
"""Keys of a sealed journal: apart from the journal, so that a copy of that is worth nothing without them."""
NOTED = re.compile(rb"(\d{1,18}) ([0-9a-f]{64})\n")


class WorkspaceBinding:
    """The files of one directory, and the sockets of this process."""

    durable = True

    def __init__(self, directory: Directory, manifest: Manifest, *, hold: bool) -> None:
        self._directory = directory
        self._places: dict[str, str] = manifest.surfaces.model_dump()
        self._read_before: dict[str, tuple[bytes, Any]] = {}
        self._strange: tuple[str, ...] = ()
        self.sockets = Sockets(hold=hold)

    def read(self, known: State) -> State:
        """What the files say; `known` itself if that is the same."""
        parts = {document.surface: self._document(document, known) for document in DOCUMENTS}
        strange: list[str] = []
        for folder in FOLDERS:
            parts[folder.surface], odd = folder.read(self._directory, self._places[folder.surface])
            strange += odd
        self._strange = tuple(strange)
        changed = {
            name: part
            for name, part in parts.items()
            if next(SURFACES[name].differing(known.part(name), part), None) is not None
        }
        return State.of({**known.parts, **changed}) if changed else known

    def _document(self, document: Document, known: State) -> Any:
        place = self._places[document.surface]
        image = self._directory.read(place)
        content = b"" if image is None else image.content
        part = known.part(document.surface)
        before = self._read_before.get(place)
        if before is not None and before[0] == content and before[1] is part:
            return part
        value = document.read(self._text(content, place), str(self._directory.root / place), part)
        if next(SURFACES[document.surface].differing(part, value), None) is None:
            self._read_before[place] = (content, part)
            return part
        return value

    def _text(self, content: bytes, place: str) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError:
            where = str(self._directory.root / place)
            raise InputError(where, found="bytes that are not UTF-8", expected="UTF-8 text") from None

    def prepare(self, before: State, after: State) -> str | None:
        """Take the sockets the change needs, or say why they cannot be had."""
        return self.sockets.prepare(before.part("resources"), after.part("resources"))

    def write(self, before: State, after: State) -> None:
        """Change the files of surfaces that differ, then the sockets."""
        for document in DOCUMENTS:
            one, two = before.part(document.surface), after.part(document.surface)
            if one is not two:
                place = self._places[document.surface]
                image = self._directory.read(place) or FileImage(document.heading.encode())
                where = str(self._directory.root / place)
                old = self._text(image.content, place)
                if next(SURFACES[document.surface].differing(document.read(old, where, one), one), None) is not None:
                    raise HarnessError(f"{where} was changed by someone else just now")
                text = document.write(old, one, two, where).encode()
                if text != image.content:
                    self._directory.write(place, FileImage(text, image.mode))
        for folder in FOLDERS:
            one, two = before.part(folder.surface), after.part(folder.surface)
            if one is not two:
                folder.write(self._directory, self._places[folder.surface], one, two)
        self.sockets.sync(after.part("resources"))

    def leftovers(self) -> tuple[str, ...]:
        """Temporary files of a killed process."""
        return self._directory.leftovers()

    def sweep(self) -> tuple[str, ...]:
        """Remove them."""
        return self._directory.sweep()

    def problems(self) -> tuple[str, ...]:
        """Files that are not ours where ours should be, and sockets that cannot be had."""
        return (*self._strange, *self.sockets.problems.values())

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
        """Let the sockets and the directory go."""
        self.sockets.close()
        self._directory.close()


def demand_workspace(root: Path) -> None:
    """Refuse a directory that is no workspace."""
    if not (root / MANIFEST).is_file():
        raise InputError(
            str(root), found=f"no {MANIFEST}", expected="a workspace", hint="'takeback init DIR' makes one"
        )


def open_workspace(
    path: str | PathLike[str],
    *,
    journal: str | None = None,
    keys: str | PathLike[str] | None = None,
    hold: bool = True,
    verifier: Verifier = verify,
) -> Harness:
    """Open a workspace. `journal` overrides the manifest's; `hold` keeps its sockets listening in this process.

    `keys` is where a sealed journal's keys are, if not beside the workspace's own.
    """
    root = Path(path)
    demand_workspace(root)
    directory = Directory(root)
    image = directory.read(MANIFEST)
    if image is None:
        raise HarnessError(f"{root / MANIFEST} vanished")
    manifest = read_manifest(image.content.decode(errors="replace"), str(root / MANIFEST))
    where = journal or manifest.workspace.journal
    if journal is None and "://" not in where:
        directory.demand_plain(where)
    place = where if "://" in where else root / where
    store = open_journal(place, create=False, keys=keys or root / KEYS)
    binding = WorkspaceBinding(directory, manifest, hold=hold)
    about = {"identity": manifest.workspace.id}
    try:
        harness = Harness(binding, store, verifier=verifier, about=about, begin=False)
    except BaseException:
        binding.close()
        store.close()
        raise
    binding.sockets.sync(harness.state.part("resources"))
    return harness
