"""Opens a directory as a harness: its manifest names the adapter and the journal."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from takeback.adapters.directory import Directory
from takeback.adapters.manifest import KEYS, MANIFEST, PRIVATE, Manifest, manifest_path, read_manifest
from takeback.adapters.registry import adapter_named
from takeback.adapters.untracked import explain_untracked
from takeback.errors import HarnessError
from takeback.harness.adapter import Resources
from takeback.harness.harness import Harness, Verifier
from takeback.journal import open_journal
from takeback.journal.url import demand_place
from takeback.state.installed import install_surfaces
from takeback.verify import verify


def demand_workspace(root: Path) -> None:
    """Refuse a directory that is not a workspace."""
    if manifest_path(root) is None:
        raise explain_untracked(root)


def manifest_of(root: Path) -> Manifest:
    """The manifest of a workspace."""
    demand_workspace(root)
    place = manifest_path(root) or MANIFEST
    directory = Directory(root)
    try:
        image = directory.read(place)
    finally:
        directory.close()
    if image is None:
        raise HarnessError(f"{root / place} vanished")
    return read_manifest(image.content, str(root / place))


def open_workspace(
    path: str | PathLike[str],
    *,
    journal: str | None = None,
    keys: str | PathLike[str] | None = None,
    hold: bool = True,
    verifier: Verifier = verify,
) -> Harness:
    """Open a workspace. `journal` overrides the manifest's; `hold` keeps its sockets listening in this process.

    `keys` is where a sealed journal's keys are, if not where a workspace has them.
    """
    install_surfaces()
    root = Path(path)
    manifest = manifest_of(root)
    opener = adapter_named(manifest.workspace.adapter, f"{root / MANIFEST}: workspace.adapter")
    directory = Directory(root, tag=manifest.workspace.id)
    where = journal or manifest.workspace.journal
    try:
        directory.demand_plain(PRIVATE)
        demand_place(where)
        if journal is None and "://" not in where:
            directory.demand_plain(where)
        place = where if "://" in where else root / where
        store = open_journal(place, create=False, keys=keys or root / KEYS)
    except BaseException:
        directory.close()
        raise
    adapter = None
    try:
        adapter = opener(directory, manifest, hold=hold)
        harness = Harness(adapter, store, verifier=verifier, about={"identity": manifest.workspace.id}, begin=False)
    except BaseException:
        (directory if adapter is None else adapter).close()
        store.close()
        raise
    if isinstance(adapter, Resources):
        adapter.hold(harness.state)
    return harness
