"""Making a workspace: all of it, or nothing that was not there before.

The journal is begun before the manifest is written, and the manifest makes the workspace: a process killed in
between leaves no workspace, and doing it again finishes it.
"""

from __future__ import annotations

import uuid
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path

from takeback.errors import HarnessError, InputError
from takeback.harness.directory import Directory, FileImage
from takeback.harness.documents import DOCUMENTS
from takeback.harness.folders import FOLDERS
from takeback.harness.harness import Harness
from takeback.harness.ledger import Ledger
from takeback.harness.manifest import MANIFEST, PRIVATE, Manifest, Surfaces, Workspace, write_manifest
from takeback.harness.workspace import HEAD, KEYS, WorkspaceBinding
from takeback.journal import Store, open_journal
from takeback.journal.url import without_password
from takeback.state import State

LOCAL = f"{PRIVATE}/journal.db"
BEGINNING = 2
"""Records of a journal that is begun and no more."""


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
    PostgreSQL; `keys` is where their keys go.
    """
    root = Path(path)
    noted = without_password(journal) if journal is not None else LOCAL
    if journal is not None and noted != journal and not secret:
        raise InputError(
            "the journal's URL",
            found="a password in it",
            expected="a URL that can be written into the manifest",
            hint="give the whole URL in TAKEBACK_JOURNAL, or keep the password in a pgpass file",
        )
    key_file = Path(keys) if keys is not None else root / KEYS
    with ExitStack() as leaving, ExitStack() as failing:
        _make_root(root, failing)
        directory = Directory(root)
        _lay_out(directory, Surfaces(), failing)
        store = _journal(
            journal if journal is not None and "://" in journal else root / noted, failing, seal, key_file
        )
        leaving.callback(store.close)
        identity = _identity(store, own=journal is None)
        manifest = Manifest(workspace=Workspace(id=identity, journal=noted), surfaces=Surfaces())
        binding = WorkspaceBinding(directory, manifest, hold=False)
        leaving.callback(binding.close)
        present = binding.read(State())
        if start is not None:
            if present.size():
                raise InputError(
                    str(root),
                    found=f"{present.size()} things already there",
                    expected="an empty directory to fill",
                    hint="leave the state out to take the directory as it is",
                )
            failing.callback(binding.write, start, present)
            binding.write(present, start)
            present = binding.read(start)
        failing.callback(directory.remove, HEAD)
        Harness(binding, store, start=present, about={"identity": identity})
        directory.write(MANIFEST, FileImage(write_manifest(manifest).encode()))
        failing.pop_all()
    return root


def _make_root(root: Path, failing: ExitStack) -> None:
    """Make the directory and those above it, unless it is there."""
    if (root / MANIFEST).exists():
        raise InputError(str(root), found=f"a {MANIFEST}", expected="a directory that is no workspace yet")
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


def _lay_out(directory: Directory, surfaces: Surfaces, failing: ExitStack) -> None:
    places = surfaces.model_dump()

    def make(place: str) -> None:
        for made in directory.make_directory(place):
            failing.callback(directory.remove_directory, made)

    directory.demand_plain(PRIVATE)
    make(PRIVATE)
    (directory.root / PRIVATE).chmod(0o700)  # the journal holds captured contents as they are
    for document in DOCUMENTS:
        place = places[document.surface]
        if directory.read(place) is None:
            directory.write(place, FileImage(document.heading.encode()))
            failing.callback(directory.remove, place)
    for folder in FOLDERS:
        make(places[folder.surface])


def _journal(place: Path | str, failing: ExitStack, seal: bool, keys: Path) -> Store:
    fresh = (
        [] if isinstance(place, str) else [place.with_name(place.name + end) for end in ("", "-wal", "-shm", ".lock")]
    )
    for path in (*fresh, keys):
        if not path.exists():
            failing.callback(path.unlink, missing_ok=True)
    return open_journal(place, seal=seal, keys=keys)


def _identity(store: Store, *, own: bool) -> str:
    """A new identity, or that of a beginning which a killed process left in the place of our own journal."""
    ledger = Ledger(store)
    identity = ledger.identity if own and ledger.last == BEGINNING else uuid.uuid4().hex
    ledger.demand_identity(identity)
    return identity
