"""Making a workspace: all of it, or nothing that was not there before.

One process at a time, by a lock on the directory itself. Everything is in place before the manifest is written, and
the manifest makes the workspace: one that is killed in between leaves a directory that is not a workspace, and
doing it again finishes it.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
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
from takeback.adapters.manifest import KEYS, MANIFEST, Manifest, Workspace, read_manifest, write_manifest
from takeback.adapters.place import KeptFile
from takeback.adapters.trust_gate import record_trust
from takeback.adapters.workspace.adapter import WorkspaceAdapter
from takeback.errors import HarnessError, InputError
from takeback.harness.adapter import Unsayable
from takeback.harness.harness import Harness
from takeback.harness.images import FileImage
from takeback.journal.url import shown
from takeback.state import State
from takeback.state.installed import install_surfaces
from takeback.undo.merge import bring_forward


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
    return make_workspace(path, journal=journal, start=start, secret=secret, seal=seal, keys=keys)[0]


def make_workspace(
    path: str | PathLike[str],
    *,
    journal: str | None = None,
    start: State | None = None,
    secret: bool = False,
    seal: bool = False,
    keys: str | PathLike[str] | None = None,
) -> tuple[Path, bool]:
    """As `init_workspace`; also whether the directory was not a workspace before."""
    install_surfaces()
    root = Path(path)
    noted = noted_journal(journal, secret=secret)
    with ExitStack() as leaving, ExitStack() as failing:
        if _is_workspace(root):
            _demand_agreement(root, None if journal is None else noted, start)
            return root, False
        directory = locked(root, leaving, failing)
        if _is_workspace(root):
            failing.pop_all()
            _demand_agreement(root, None if journal is None else noted, start)
            return root, False
        make_private(directory, failing)
        own_journal = journal is None or "://" not in journal
        place = root / noted if own_journal else journal or ""
        store = opened_journal(place, Path(keys or root / KEYS), failing, seal=seal)
        leaving.callback(store.close)
        identity = identity_of(directory, store if own_journal else None, failing)
        manifest = Manifest(workspace=Workspace(id=identity, journal=noted))
        own = Directory(root, tag=identity)
        adapter = WorkspaceAdapter(own, manifest, hold=False)
        leaving.callback(adapter.close)
        demand_own(store, identity)
        kept: list[KeptFile] = []
        failing.callback(_quietly_taken_back, adapter, kept)
        present = _filled(adapter, start, kept)
        failing.callback(quietly_unlinked, root / HEAD)
        Harness(adapter, store, start=present, about={"identity": identity})
        whole = manifest.model_copy(update={"surfaces": adapter.places})
        record_trust(root, whole, store)
        own.write(MANIFEST, FileImage(write_manifest(whole)))
        failing.pop_all()
        for one in kept:
            adapter.place.settle(one)
    return root, True


def _is_workspace(root: Path) -> bool:
    return (root / MANIFEST).exists()


def _demand_agreement(root: Path, journal: str | None, start: State | None) -> None:
    """Refuse to make a workspace again otherwise than it is."""
    manifest = read_manifest((root / MANIFEST).read_bytes(), str(root / MANIFEST))
    if start is not None:
        raise InputError(str(root), found="a workspace already", expected="a directory to fill with a state")
    if journal is not None and journal != manifest.workspace.journal:
        raise InputError(
            str(root),
            found=f"a workspace whose journal is {shown(manifest.workspace.journal)}",
            expected=f"one whose journal is {shown(journal)}, or none yet",
        )


def _filled(adapter: WorkspaceAdapter, start: State | None, kept: list[KeptFile]) -> State:
    """What is in the directory, with the files that are missing; filled with a state if one is given."""
    kept += [adapter.place.put(one) for one in adapter.beginnings() if adapter.image(one.path) is None]
    present = adapter.read(State())
    for fault in present.broken:
        raise HarnessError(fault.message, where=fault.where, hint="mend the file, then run init again")
    if start is None:
        return present.state
    target, foreign = bring_forward(present.state, State(), start)
    if foreign or target != start:
        raise InputError(
            str(adapter.place.root),
            found=f"{present.state.size()} things already there",
            expected="an empty directory to fill",
            hint="leave the state out to take the directory as it is",
        )
    changes = adapter.render(present.state, start)
    if isinstance(changes, Unsayable):
        raise HarnessError(changes.reason)
    kept += [adapter.place.put(change) for change in changes]
    return adapter.read(start).state


def _quietly_taken_back(adapter: WorkspaceAdapter, kept: list[KeptFile]) -> None:
    for one in reversed(kept):
        with suppress(HarnessError):
            adapter.place.take_back(one)
