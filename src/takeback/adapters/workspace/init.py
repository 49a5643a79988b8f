"""Making a workspace: all of it, or nothing that was not there before.

One process at a time, by a lock on the directory itself. Everything is in place before the manifest is written, and
the manifest makes the workspace: a process killed in between leaves no workspace, and doing it again finishes it.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
import uuid
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path

from takeback.adapters.directory import Directory
from takeback.adapters.manifest import KEYS, MANIFEST, PRIVATE, Manifest, Workspace, read_manifest, write_manifest
from takeback.adapters.place import Kept
from takeback.adapters.workspace.adapter import HEAD, WorkspaceAdapter
from takeback.errors import HarnessError, InputError, MissingKeysError
from takeback.harness.adapter import Unsayable
from takeback.harness.harness import Harness
from takeback.harness.images import FileImage
from takeback.harness.ledger import Ledger
from takeback.journal import Store, open_journal
from takeback.journal.url import without_password
from takeback.state import State
from takeback.state.installed import install_surfaces
from takeback.undo.merge import bring_forward

LOCAL = f"{PRIVATE}/journal.db"
IDENTITY = f"{PRIVATE}/id"
"""The identity of a workspace in the making: a journal begun for it is known again when init is repeated."""
IGNORE = f"{PRIVATE}/.gitignore"
BEGINNING = 2
"""Records of a journal that is begun and no more."""
LOCK_SECONDS = 60.0
POLL = 0.02
_HEX = re.compile(rb"[0-9a-f]{32}\n")


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
    """As `init_workspace`; also whether the directory was no workspace before."""
    install_surfaces()
    root = Path(path)
    noted = without_password(journal) if journal is not None else LOCAL
    if journal is not None and noted != journal and not secret:
        raise InputError(
            "the journal's URL",
            found="a password in it",
            expected="a URL that can be written into the manifest",
            hint="give the whole URL in TAKEBACK_JOURNAL, or keep the password in a pgpass file",
        )
    with ExitStack() as leaving, ExitStack() as failing:
        if _is_workspace(root):
            _demand_agreement(root, None if journal is None else noted, start)
            return root, False
        directory = _locked(root, leaving, failing)
        if _is_workspace(root):
            failing.pop_all()
            _demand_agreement(root, None if journal is None else noted, start)
            return root, False
        _make_private(directory, failing)
        own_journal = journal is None or "://" not in journal
        place = root / noted if own_journal else journal or ""
        store = _journal(place, Path(keys or root / KEYS), failing, seal=seal)
        leaving.callback(store.close)
        identity = _identity(directory, store if own_journal else None, failing)
        manifest = Manifest(workspace=Workspace(id=identity, journal=noted))
        own = Directory(root, tag=identity)
        adapter = WorkspaceAdapter(own, manifest, hold=False)
        leaving.callback(adapter.close)
        _demand_own(store, identity)
        kept: list[Kept] = []
        failing.callback(_quietly_taken_back, adapter, kept)
        present = _filled(adapter, start, kept)
        failing.callback(_quietly_unlinked, root / HEAD)
        Harness(adapter, store, start=present, about={"identity": identity})
        whole = manifest.model_copy(update={"surfaces": adapter.places})
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
            found=f"a workspace whose journal is {manifest.workspace.journal}",
            expected=f"one whose journal is {journal}, or none yet",
        )


def _locked(root: Path, leaving: ExitStack, failing: ExitStack) -> Directory:
    """The directory, made if need be, with every other process that would make it a workspace kept out."""
    deadline = time.monotonic() + LOCK_SECONDS
    while time.monotonic() < deadline:
        _make_root(root, failing)
        try:
            directory = Directory(root)
        except HarnessError:
            if root.exists():
                raise
            continue
        with suppress(BlockingIOError):
            fcntl.flock(directory.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(root), os.fstat(directory.descriptor)):
                    leaving.callback(directory.close)
                    return directory
        directory.close()
        time.sleep(POLL)
    raise HarnessError(f"another process has been making {root} a workspace for {LOCK_SECONDS:.0f} s")


def _make_root(root: Path, failing: ExitStack) -> None:
    """Make the directory and those above it, unless it is there."""
    for place in (*reversed(root.absolute().parents), root.absolute()):
        try:
            place.mkdir()
        except FileExistsError:
            if not place.is_dir():
                raise InputError(str(place), found="a file", expected="a directory, or nothing yet") from None
        except OSError as error:
            if not place.is_dir():
                raise HarnessError(f"cannot make the directory {place}: {error.strerror}") from error
        else:
            failing.callback(_quietly_removed, place)


def _quietly_removed(place: Path) -> None:
    with suppress(OSError):
        place.rmdir()


def _quietly_unlinked(place: Path) -> None:
    with suppress(OSError):
        place.unlink()


def _make_private(directory: Directory, failing: ExitStack) -> None:
    """Takeback's own directory: readable by its owner only, out of sight of git."""
    directory.demand_plain(PRIVATE)
    for made in directory.make(PRIVATE, 0o700):
        failing.callback(_quietly_removed, directory.root / made)
    with directory.open((PRIVATE,)) as fd:
        if fd is not None:
            os.fchmod(fd, 0o700)  # the journal holds captured contents as they are
    for left in directory.own_temporaries(PRIVATE):
        _quietly_unlinked(directory.root / left)
    if directory.read(IGNORE) is None:
        directory.write(IGNORE, FileImage(b"*\n"))
        failing.callback(_quietly_unlinked, directory.root / IGNORE)


def _identity(directory: Directory, own: Store | None, failing: ExitStack) -> str:
    """A new identity, or that of a beginning which a killed process left: written down, or in our own journal."""
    image = directory.read(IDENTITY)
    if image is not None and _HEX.fullmatch(image.content):
        return image.content.decode().strip()
    identity = (Ledger(own).identity if own is not None else "") or uuid.uuid4().hex
    directory.write(IDENTITY, FileImage(f"{identity}\n".encode(), 0o600))
    failing.callback(_quietly_unlinked, directory.root / IDENTITY)
    return identity


def _journal(place: Path | str, keys: Path, failing: ExitStack, *, seal: bool) -> Store:
    """The journal, with the files that are made for it removed if the workspace is not made."""
    files = (place, keys) if isinstance(place, Path) else (keys,)
    for path in [one.with_name(one.name + end) for one in files for end in ("", "-wal", "-shm", ".lock", ".new")]:
        if not path.exists():
            failing.callback(_quietly_unlinked, path)
    try:
        return open_journal(place, seal=seal, keys=keys)
    except MissingKeysError as fault:
        raise HarnessError(
            f"the journal {without_password(str(place))} belongs to another workspace",
            hint="give each workspace a journal of its own: a path, or a URL that ends in #name",
        ) from fault


def _demand_own(store: Store, identity: str) -> None:
    """Refuse a journal that was begun for another workspace, or that has come further than its beginning."""
    ledger = Ledger(store)
    ledger.demand_identity(identity)
    if ledger.last > BEGINNING:
        raise InputError(
            store.location,
            found=f"a journal with {ledger.last} records but no {MANIFEST}",
            expected="a journal that is not begun",
            hint=f"put {MANIFEST} back from a copy",
        )


def _filled(adapter: WorkspaceAdapter, start: State | None, kept: list[Kept]) -> State:
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


def _quietly_taken_back(adapter: WorkspaceAdapter, kept: list[Kept]) -> None:
    for one in reversed(kept):
        with suppress(HarnessError):
            adapter.place.take_back(one)
