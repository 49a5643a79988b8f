"""Makes a directory a harness: all of it, or nothing that was not there before.

One process at a time, by a lock on the directory itself. Everything is in place before the manifest is
written, and the manifest makes the harness: a process killed in between leaves none, and doing it again
finishes it. Files that are there stay as they are, also where a harness gets another journal.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from takeback.adapters.directory import Directory
from takeback.adapters.last_look import HEAD
from takeback.adapters.manifest import (
    KEYS,
    MANIFEST,
    PRIVATE,
    Manifest,
    Workspace,
    find_manifest_path,
    write_manifest,
)
from takeback.adapters.opener import (
    BUILT_IN,
    attach_policy,
    find_adapter,
    list_adapter_names,
    load_manifest,
    require_no_links,
)
from takeback.adapters.roots import LOCAL
from takeback.adapters.trust import MADE, record_trust, require_own_private_folder
from takeback.adapters.trust_record import MARK, forget_record
from takeback.errors import HarnessError, InputError, MissingKeysError
from takeback.harness.adapter import Adapter, Reading
from takeback.harness.attempts import POLICY
from takeback.harness.harness import Harness
from takeback.harness.images import FileImage
from takeback.harness.ledger import Ledger
from takeback.journal import Store, open_journal
from takeback.journal.url import redact_url, strip_password
from takeback.state import State
from takeback.state.surface import install_surfaces

IDENTITY = f"{PRIVATE}/id"
"""The identity of a harness in the making: a journal begun for it is known again when init is repeated."""
IGNORE = f"{PRIVATE}/.gitignore"
BEGINNING = 2
"""Records of a journal that is begun and no more."""
LOCK_SECONDS = 60.0
POLL = 0.02
_HEX = re.compile(rb"[0-9a-f]{32}\n")


def name_journal_safely(journal: str | None, *, secret: bool) -> str:
    """Return a journal's URL for the manifest, without a password; refuse one unless it is known as `secret`."""
    noted = LOCAL if journal is None else strip_password(journal)
    if journal is not None and noted != journal and not secret:
        raise InputError(
            "the journal's URL",
            found="a password",
            expected="a URL that can be written into the manifest",
            hint="pass the whole URL in TAKEBACK_JOURNAL, or keep the password in a pgpass file",
        )
    return noted


def lock_directory(root: Path, leaving: ExitStack, failing: ExitStack) -> Directory:
    """Return the directory, made if necessary, locked against other processes that would make it a workspace."""
    deadline = time.monotonic() + LOCK_SECONDS
    while time.monotonic() < deadline:
        make_root(root, failing)
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


def make_root(root: Path, failing: ExitStack) -> None:
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
            failing.callback(remove_if_empty, place)


def remove_if_empty(place: Path) -> None:
    """Remove an empty directory, if that can be."""
    with suppress(OSError):
        place.rmdir()


def unlink_if_present(place: Path) -> None:
    """Remove a file, if that can be."""
    with suppress(OSError):
        place.unlink()


def distrust_if_possible(root: Path) -> None:
    """Forget that a directory is this user's, if that can be."""
    with suppress(OSError):
        forget_record(str(root))
    unlink_if_present(root / PRIVATE / MARK)


def make_private(directory: Directory, failing: ExitStack, policy: bytes | None = None) -> None:
    """Make Takeback's own directory: private to its owner, hidden from git, and recorded as this user's.

    A `policy` is there before anything is captured.
    """
    require_own_private_folder(directory)
    for made in directory.make(PRIVATE, 0o700):
        failing.callback(remove_if_empty, directory.root / made)
    with directory.open((PRIVATE,)) as fd:
        if fd is not None:
            os.fchmod(fd, 0o700)  # the journal holds captured contents as they are
    failing.callback(distrust_if_possible, directory.root)
    record_trust(directory.root)
    for left in directory.own_temporaries(PRIVATE):
        unlink_if_present(directory.root / left)
    if directory.read(IGNORE) is None:
        directory.write(IGNORE, FileImage(b"*\n"))
        failing.callback(unlink_if_present, directory.root / IGNORE)
    if policy is not None:
        directory.write(POLICY, FileImage(policy, 0o600))
        failing.callback(unlink_if_present, directory.root / POLICY)


def choose_identity(directory: Directory, own: Store | None, failing: ExitStack) -> str:
    """Return a new identity, or the one that a killed process left in its file or in our own journal."""
    image = directory.read(IDENTITY)
    if image is not None and _HEX.fullmatch(image.content):
        return image.content.decode().strip()
    identity = (Ledger(own).identity if own is not None else "") or uuid.uuid4().hex
    directory.write(IDENTITY, FileImage(f"{identity}\n".encode(), 0o600))
    failing.callback(unlink_if_present, directory.root / IDENTITY)
    return identity


def open_journal_for_init(place: Path | str, keys: Path, failing: ExitStack, *, seal: bool) -> Store:
    """Open the journal; remove the files made for it if the harness is not made."""
    files = (place, keys) if isinstance(place, Path) else (keys,)
    for path in [file.with_name(file.name + end) for file in files for end in ("", "-wal", "-shm", ".lock", ".new")]:
        if not path.exists():
            failing.callback(unlink_if_present, path)
    try:
        return open_journal(place, seal=seal, keys=keys)
    except MissingKeysError as fault:
        raise HarnessError(
            f"the journal {strip_password(str(place))} belongs to another workspace",
            hint="give each workspace a journal of its own: a path, or a URL that ends in #name",
        ) from fault


def require_unused_journal(store: Store, identity: str) -> None:
    """Refuse a journal that was begun for another workspace, or that has come further than its beginning."""
    ledger = Ledger(store)
    ledger.require_identity(identity)
    if ledger.last > BEGINNING:
        raise InputError(
            store.location,
            found=f"a journal with {ledger.last} records but no {MANIFEST}",
            expected="an empty journal",
            hint=f"put {MANIFEST} back from a copy",
        )


def list_other_adapters() -> tuple[str, ...]:
    """Return the names of adapters from other packages."""
    return tuple(name for name in list_adapter_names() if name not in BUILT_IN)


@dataclass(frozen=True, slots=True)
class NewHarness:
    """What people choose of a harness that is to be made."""

    journal: str | None = None
    secret: bool = False
    """Whether the journal's password may be left out of the manifest."""
    seal: bool = False
    keys: str | PathLike[str] | None = None
    policy: bytes | None = None


def read_unbroken(adapter: Adapter, failing: ExitStack | None = None) -> Reading:
    """Return what is there already; refuse it where a part of it cannot be read."""
    del failing
    present = adapter.read(State())
    for fault in present.broken:
        raise HarnessError(fault.message, where=fault.where, hint="repair the file, then run 'takeback init' again")
    return present


def make_harness(
    root: Path,
    new: NewHarness,
    is_one: Callable[[], bool],
    begin: Callable[[Directory, str, str], tuple[Adapter, Manifest]],
    *,
    place: str = MANIFEST,
    mode: int = 0o644,
    fill: Callable[[Any, ExitStack], Reading | State] = read_unbroken,
    finish: Callable[[], None] = lambda: None,
) -> bool:
    """Make a directory a harness, unless it is one; whether it was none.

    `begin` returns the adapter and the manifest for an identity and a journal, `fill` what is there at the beginning;
    `finish` is called when all is done. Whatever `failing` was told is undone if the harness is not made.
    """
    noted = name_journal_safely(new.journal, secret=new.secret)
    if is_one():
        return False
    with ExitStack() as leaving, ExitStack() as failing:
        directory = lock_directory(root, leaving, failing)
        if is_one():
            failing.pop_all()
            return False
        make_private(directory, failing, new.policy)
        remote = new.journal is not None and "://" in new.journal
        where = str(new.journal) if remote else root / noted
        store = open_journal_for_init(where, Path(new.keys or root / KEYS), failing, seal=new.seal)
        leaving.callback(store.close)
        identity = choose_identity(directory, None if remote else store, failing)
        own = Directory(root, tag=identity)
        adapter, manifest = begin(own, identity, noted)
        leaving.callback(adapter.close)
        require_unused_journal(store, identity)
        present = fill(adapter, failing)
        failing.callback(unlink_if_present, root / HEAD)
        attach_policy(root, store)
        Harness(adapter, store, start=present, about={"identity": identity})
        record_trust(root, manifest, store, how=MADE)
        own.write(place, FileImage(write_manifest(manifest), mode))
        failing.pop_all()
        finish()
    return True


def init_adapter(path: str | PathLike[str], name: str, new: NewHarness | None = None) -> tuple[Path, bool]:
    """Make a directory a harness of the adapter with a name; also whether it was none before."""
    install_surfaces()
    opener, root = find_adapter(name, "adapter"), Path(path)

    def begin(own: Directory, identity: str, noted: str) -> tuple[Adapter, Manifest]:
        manifest = Manifest(workspace=Workspace(id=identity, adapter=name, journal=noted))
        return opener(own, manifest, hold=False), manifest

    fresh = make_harness(root, new or NewHarness(), lambda: find_manifest_path(root) is not None, begin)
    there = name if fresh else load_manifest(root).workspace.adapter
    if there != name:
        raise InputError(str(root), found=f"a harness of the adapter {there!r}", expected=f"one of {name!r}")
    return root, fresh


FORMER = ".former"
"""Ending of the names of files that belonged to the former journal."""


def begin_new_journal(
    root: Path, journal: str, *, secret: bool = False, keys: str | PathLike[str] | None = None
) -> Manifest:
    """Give a harness a journal of its own, and record it as this user's; returns its manifest."""
    install_surfaces()
    former, noted = load_manifest(root), name_journal_safely(journal, secret=secret)
    if noted == former.workspace.journal:
        raise InputError(
            "--journal", found=f"{redact_url(journal)}, which it already has", expected="another journal"
        )
    require_no_links(root, PRIVATE)
    identity = uuid.uuid4().hex
    about = replace(former.workspace, id=identity, journal=noted)
    manifest = replace(former, workspace=about)
    opener = find_adapter(about.adapter, f"{root / MANIFEST}: workspace.adapter")
    with ExitStack() as leaving, ExitStack() as failing:
        lock_directory(root, leaving, failing)
        _set_aside(root, HEAD, failing)
        if keys is None:
            for ending in ("", "-wal", "-shm"):
                _set_aside(root, f"{KEYS}{ending}", failing)
        place = journal if "://" in journal else root / noted
        store = open_journal_for_init(place, Path(keys or root / KEYS), failing, seal=False)
        leaving.callback(store.close)
        require_unused_journal(store, identity)
        directory = Directory(root, tag=identity)
        adapter = opener(directory, manifest, hold=False)
        leaving.callback(adapter.close)
        attach_policy(root, store)
        Harness(adapter, store, about={"identity": identity})
        record_trust(root, manifest, store, how=MADE)
        there = find_manifest_path(root) or MANIFEST
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
