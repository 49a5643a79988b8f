"""Making a directory a harness: all of it, or nothing that was not there before.

One process at a time, by a lock on the directory itself. Everything is in place before the manifest is written, and
the manifest makes the harness: a process killed in between leaves none, and doing it again finishes it.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
import uuid
from contextlib import ExitStack, suppress
from pathlib import Path

from takeback.adapters.directory import Directory
from takeback.adapters.manifest import MANIFEST, PRIVATE
from takeback.adapters.trust_gate import demand_private_folder_is_own, record_trust
from takeback.adapters.trust_record import MARK, forget_record
from takeback.errors import HarnessError, InputError, MissingKeysError
from takeback.harness.images import FileImage
from takeback.harness.ledger import Ledger
from takeback.journal import Store, open_journal
from takeback.journal.url import without_password

LOCAL = f"{PRIVATE}/journal.db"
IDENTITY = f"{PRIVATE}/id"
"""The identity of a harness in the making: a journal begun for it is known again when init is repeated."""
IGNORE = f"{PRIVATE}/.gitignore"
BEGINNING = 2
"""Records of a journal that is begun and no more."""
LOCK_SECONDS = 60.0
POLL = 0.02
_HEX = re.compile(rb"[0-9a-f]{32}\n")


def noted_journal(journal: str | None, *, secret: bool) -> str:
    """A journal as the manifest names it: without a password, which is refused unless it is known to be `secret`."""
    noted = LOCAL if journal is None else without_password(journal)
    if journal is not None and noted != journal and not secret:
        raise InputError(
            "the journal's URL",
            found="a password in it",
            expected="a URL that can be written into the manifest",
            hint="give the whole URL in TAKEBACK_JOURNAL, or keep the password in a pgpass file",
        )
    return noted


def locked(root: Path, leaving: ExitStack, failing: ExitStack) -> Directory:
    """The directory, made if need be, with every other process that would make it a workspace kept out."""
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
            failing.callback(quietly_removed, place)


def quietly_removed(place: Path) -> None:
    """Remove an empty directory, if that can be."""
    with suppress(OSError):
        place.rmdir()


def quietly_unlinked(place: Path) -> None:
    """Remove a file, if that can be."""
    with suppress(OSError):
        place.unlink()


def quietly_distrusted(root: Path) -> None:
    """Forget that a directory is this user's, if that can be."""
    with suppress(OSError):
        forget_record(str(root))
    quietly_unlinked(root / PRIVATE / MARK)


def make_private(directory: Directory, failing: ExitStack) -> None:
    """Takeback's own directory: readable by its owner only, out of sight of git, and recorded as this user's."""
    demand_private_folder_is_own(directory)
    for made in directory.make(PRIVATE, 0o700):
        failing.callback(quietly_removed, directory.root / made)
    with directory.open((PRIVATE,)) as fd:
        if fd is not None:
            os.fchmod(fd, 0o700)  # the journal holds captured contents as they are
    failing.callback(quietly_distrusted, directory.root)
    record_trust(directory.root)
    for left in directory.own_temporaries(PRIVATE):
        quietly_unlinked(directory.root / left)
    if directory.read(IGNORE) is None:
        directory.write(IGNORE, FileImage(b"*\n"))
        failing.callback(quietly_unlinked, directory.root / IGNORE)


def identity_of(directory: Directory, own: Store | None, failing: ExitStack) -> str:
    """A new identity, or that of a beginning which a killed process left: written down, or in our own journal."""
    image = directory.read(IDENTITY)
    if image is not None and _HEX.fullmatch(image.content):
        return image.content.decode().strip()
    identity = (Ledger(own).identity if own is not None else "") or uuid.uuid4().hex
    directory.write(IDENTITY, FileImage(f"{identity}\n".encode(), 0o600))
    failing.callback(quietly_unlinked, directory.root / IDENTITY)
    return identity


def opened_journal(place: Path | str, keys: Path, failing: ExitStack, *, seal: bool) -> Store:
    """The journal, with the files that are made for it removed if the harness is not made."""
    files = (place, keys) if isinstance(place, Path) else (keys,)
    for path in [one.with_name(one.name + end) for one in files for end in ("", "-wal", "-shm", ".lock", ".new")]:
        if not path.exists():
            failing.callback(quietly_unlinked, path)
    try:
        return open_journal(place, seal=seal, keys=keys)
    except MissingKeysError as fault:
        raise HarnessError(
            f"the journal {without_password(str(place))} belongs to another workspace",
            hint="give each workspace a journal of its own: a path, or a URL that ends in #name",
        ) from fault


def demand_own(store: Store, identity: str) -> None:
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
