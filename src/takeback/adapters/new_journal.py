"""Begins another journal for a harness: a copy whose original keeps writing to the one that both name.

The files stay as they are and are the new journal's first state. What belonged to the former journal is kept beside
the new one under another name.
"""

from __future__ import annotations

import uuid
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path

from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import HEAD
from takeback.adapters.making import demand_own, locked, noted_journal, opened_journal
from takeback.adapters.manifest import KEYS, MANIFEST, PRIVATE, Manifest, manifest_path, write_manifest
from takeback.adapters.open_by_manifest import demand_no_links, manifest_of
from takeback.adapters.registry import adapter_named
from takeback.adapters.trust_gate import record_trust
from takeback.errors import InputError
from takeback.harness.harness import Harness
from takeback.harness.images import FileImage
from takeback.journal.url import shown
from takeback.state.installed import install_surfaces

FORMER = ".former"
"""Ending of the names of files that belonged to the former journal."""


def begin_new_journal(
    root: Path, journal: str, *, secret: bool = False, keys: str | PathLike[str] | None = None
) -> Manifest:
    """Give a harness a journal of its own, and record it as this user's; returns its manifest."""
    install_surfaces()
    former, noted = manifest_of(root), noted_journal(journal, secret=secret)
    if noted == former.workspace.journal:
        raise InputError("--journal", found=f"{shown(journal)}, which it has already", expected="another journal")
    demand_no_links(root, PRIVATE)
    identity = uuid.uuid4().hex
    about = former.workspace.model_copy(update={"id": identity, "journal": noted})
    manifest = former.model_copy(update={"workspace": about})
    opener = adapter_named(about.adapter, f"{root / MANIFEST}: workspace.adapter")
    with ExitStack() as leaving, ExitStack() as failing:
        locked(root, leaving, failing)
        _set_aside(root, HEAD, failing)
        if keys is None:
            for ending in ("", "-wal", "-shm"):
                _set_aside(root, f"{KEYS}{ending}", failing)
        place = journal if "://" in journal else root / noted
        store = opened_journal(place, Path(keys or root / KEYS), failing, seal=False)
        leaving.callback(store.close)
        demand_own(store, identity)
        directory = Directory(root, tag=identity)
        adapter = opener(directory, manifest, hold=False)
        leaving.callback(adapter.close)
        Harness(adapter, store, about={"identity": identity})
        record_trust(root, manifest, store)
        there = manifest_path(root) or MANIFEST
        image = directory.read(there)
        directory.write(there, FileImage(write_manifest(manifest), 0o644 if image is None else image.mode))
        failing.pop_all()
    return manifest


def _set_aside(root: Path, path: str, failing: ExitStack) -> None:
    """Give a file of the former journal another name; it gets its own back if the new journal cannot be begun."""
    place = root / path
    if place.exists():
        aside = place.with_name(place.name + FORMER)
        place.replace(aside)
        failing.callback(_bring_back, aside, place)


def _bring_back(aside: Path, place: Path) -> None:
    with suppress(OSError):
        aside.replace(place)
