"""Making a directory a harness of an adapter that another package brings: a manifest that names it, a journal begun.

What is there is taken as it is. `takeback init --kind NAME` does it; done again it is harmless.
"""

from __future__ import annotations

from contextlib import ExitStack
from os import PathLike
from pathlib import Path

from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import HEAD
from takeback.adapters.making import (
    demand_own,
    identity_of,
    locked,
    make_private,
    noted_journal,
    opened_journal,
    quietly_unlinked,
)
from takeback.adapters.manifest import KEYS, MANIFEST, Manifest, Workspace, manifest_path, write_manifest
from takeback.adapters.open_by_manifest import manifest_of
from takeback.adapters.registry import BUILT_IN, adapter_named, adapter_names
from takeback.adapters.trust_gate import record_trust
from takeback.errors import HarnessError, InputError
from takeback.harness.harness import Harness
from takeback.harness.images import FileImage
from takeback.state import State
from takeback.state.installed import install_surfaces


def other_adapters() -> tuple[str, ...]:
    """The names of adapters that other packages bring."""
    return tuple(name for name in adapter_names() if name not in BUILT_IN)


def init_adapter(
    path: str | PathLike[str],
    name: str,
    *,
    journal: str | None = None,
    secret: bool = False,
    seal: bool = False,
    keys: str | PathLike[str] | None = None,
) -> tuple[Path, bool]:
    """Make a directory a harness of the adapter with a name; also whether it was none before."""
    install_surfaces()
    opener = adapter_named(name, "adapter")
    root, noted = Path(path), noted_journal(journal, secret=secret)
    with ExitStack() as leaving, ExitStack() as failing:
        directory = locked(root, leaving, failing)
        if manifest_path(root) is not None:
            failing.pop_all()
            there = manifest_of(root).workspace.adapter
            if there != name:
                raise InputError(str(root), found=f"a harness of the adapter {there!r}", expected=f"one of {name!r}")
            return root, False
        make_private(directory, failing)
        remote = "://" in noted
        place = str(journal) if remote else root / noted
        store = opened_journal(place, Path(keys or root / KEYS), failing, seal=seal)
        leaving.callback(store.close)
        identity = identity_of(directory, None if remote else store, failing)
        manifest = Manifest(workspace=Workspace(id=identity, adapter=name, journal=noted))
        own = Directory(root, tag=identity)
        adapter = opener(own, manifest, hold=False)
        leaving.callback(adapter.close)
        demand_own(store, identity)
        present = adapter.read(State())
        for fault in present.broken:
            raise HarnessError(fault.message, where=fault.where, hint="mend the file, then run init again")
        failing.callback(quietly_unlinked, root / HEAD)
        Harness(adapter, store, start=present, about={"identity": identity})
        record_trust(root, manifest, store)
        own.write(MANIFEST, FileImage(write_manifest(manifest)))
        failing.pop_all()
    return root, True
