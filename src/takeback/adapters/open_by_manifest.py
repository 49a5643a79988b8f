"""Opens a directory as a harness: its manifest names the adapter and the journal."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from takeback.adapters.directory import Directory, split_path
from takeback.adapters.manifest import KEYS, MANIFEST, PRIVATE, Manifest, manifest_path, read_manifest
from takeback.adapters.registry import BUILT_IN, adapter_named
from takeback.adapters.trust_gate import JournalVoucher, demand_trusted, refuse_untrusted, why_untrusted
from takeback.adapters.untracked import explain_untracked
from takeback.errors import HarnessError
from takeback.harness.adapter import Resources
from takeback.harness.harness import Harness, Verifier
from takeback.journal import open_journal
from takeback.journal.url import demand_place, shown
from takeback.state.installed import install_surfaces
from takeback.verify import verify


def demand_workspace(root: Path) -> str:
    """Return where the manifest of a workspace is; refuse a directory that is none."""
    place = manifest_path(root)
    if place is None:
        raise explain_untracked(root)
    return place


def manifest_of(root: Path) -> Manifest:
    """The manifest of a workspace."""
    place = demand_workspace(root)
    with closing(Directory(root)) as directory:
        return _manifest_in(directory, place)


def _manifest_in(directory: Directory, place: str) -> Manifest:
    image = directory.read(place)
    if image is None:
        raise HarnessError(f"{directory.root / place} vanished")
    return read_manifest(image.content, str(directory.root / place))


def open_workspace(
    path: str | PathLike[str],
    *,
    journal: str | None = None,
    keys: str | PathLike[str] | None = None,
    hold: bool = True,
    verifier: Verifier = verify,
    readonly: bool = False,
) -> Harness:
    """Open a workspace. `journal` overrides the manifest's; `hold` keeps its sockets listening in this process.

    `keys` is where a sealed journal's keys are, if not where a workspace has them. A workspace that this user neither
    made nor trusted is an `UntrustedError`. With `readonly` it can be looked at, whoever made it: nothing is
    recovered or written, and no stranger's database is connected to.
    """
    root = Path(path)
    place = demand_workspace(root)
    directory = Directory(root)
    try:
        manifest = _manifest_in(directory, place)
        if readonly:
            demand_readable(root, manifest, journal)
            return _open(directory, manifest, Opening(journal, keys, hold=False, readonly=True), verifier)
        demand_trusted(root, manifest)
        voucher = JournalVoucher(root, manifest, demanding=journal is None)
        return _open(directory, manifest, Opening(journal, keys, hold=hold, voucher=voucher), verifier)
    except BaseException:
        directory.close()
        raise


def open_own_copy(path: Path, *, keys: str | PathLike[str] | None = None) -> Harness:
    """Open a scratch copy that this process itself made of a workspace that it had opened."""
    place = demand_workspace(path)
    directory = Directory(path)
    try:
        return _open(directory, _manifest_in(directory, place), Opening(None, keys, hold=False), verify)
    except BaseException:
        directory.close()
        raise


@dataclass(frozen=True, slots=True)
class Opening:
    """How a workspace is opened."""

    journal: str | None
    keys: str | PathLike[str] | None
    hold: bool
    readonly: bool = False
    voucher: JournalVoucher | None = None
    """What the journal is asked by; None where nobody has to trust it."""


def demand_readable(root: Path, manifest: Manifest, journal: str | None) -> None:
    """Refuse what cannot be looked at without following a stranger's manifest out of its directory."""
    why = why_untrusted(root, manifest)
    if why is None:
        return
    where = journal or manifest.workspace.journal
    if "://" in where:
        raise refuse_untrusted(root, f"{why}; its journal {shown(where)} is not connected to")
    if journal is None:
        split_path(where)
        demand_no_links(root, PRIVATE, where)
    if manifest.workspace.adapter not in BUILT_IN:
        raise refuse_untrusted(root, f"{why}; its adapter {manifest.workspace.adapter!r} is not loaded")


def demand_no_links(root: Path, *paths: str) -> None:
    """Refuse paths below a directory on which links stand."""
    directory = Directory(root)
    try:
        for path in paths:
            directory.demand_plain(path)
    finally:
        directory.close()


def _open(directory: Directory, manifest: Manifest, how: Opening, verifier: Verifier) -> Harness:
    root = directory.root
    install_surfaces()
    opener = adapter_named(manifest.workspace.adapter, f"{root / MANIFEST}: workspace.adapter")
    directory.mark(manifest.workspace.id)
    where = how.journal or manifest.workspace.journal
    directory.demand_plain(PRIVATE)
    demand_place(where)
    if how.journal is None and "://" not in where:
        directory.demand_plain(where)
    place = where if "://" in where else root / where
    key_file = how.keys or root / KEYS
    store = open_journal(place, create=False, keys=key_file, readonly=how.readonly, voucher=how.voucher)
    adapter = None
    try:
        if how.journal is None and how.voucher is not None:
            how.voucher.demand_same(store)
        adapter = opener(directory, manifest, hold=how.hold)
        harness = Harness(adapter, store, verifier=verifier, about={"identity": manifest.workspace.id}, begin=False)
    except BaseException:
        if adapter is not None:
            adapter.close()
        store.close()
        raise
    if isinstance(adapter, Resources) and not how.readonly:
        adapter.hold(harness.state)
    return harness
