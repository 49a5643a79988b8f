"""Making a directory with clients' files a harness: one directory of Takeback's own is added, nothing else.

What is there is taken as it is. Done again, it takes in clients that were added since.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Final

from takeback.adapters.clients import CLIENTS, build_members, build_own_member
from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.clients.client import ANY
from takeback.adapters.clients.ownership import can_read
from takeback.adapters.directory import Directory
from takeback.adapters.init import NewHarness, make_harness
from takeback.adapters.manifest import (
    HIDDEN,
    MANIFEST,
    Manifest,
    OwnDocument,
    Workspace,
    check_documents,
    write_manifest,
)
from takeback.adapters.opener import load_manifest, open_workspace
from takeback.errors import HarnessError, InputError
from takeback.harness.harness import Harness
from takeback.harness.images import FileImage
from takeback.journal.memory import MemoryStore
from takeback.state.surface import install_surfaces

PROJECT = "project"
"""The adapter of a project without a client, whose own files are tracked."""
LARGEST: Final = 1024 * 1024
"""So many bytes are looked through for a text that is a sign."""


@dataclass(frozen=True, slots=True)
class ClientInit:
    """What became of a directory."""

    root: Path
    fresh: bool
    """Whether it was not a harness before."""
    kinds: tuple[str, ...]
    added: tuple[str, ...]
    """Clients, and documents of one's own, that were not known before."""


def detect_clients(root: Path, *, user: bool = False) -> tuple[str, ...]:
    """Return the clients whose files are in a directory; a file that many read counts where nobody else reads it."""
    declared = {name: declare(user=user) for name, declare in CLIENTS.items()}
    detected = {name: client for name, client in declared.items() if any(_list_signs(root, client.signs))}
    for name, client in declared.items():
        there = [] if name in detected else list(_list_signs(root, client.weak_signs))
        if any(not any(can_read(other, path) for other in detected.values()) for path in there):
            detected[name] = client
    if user and len(detected) > 1:  # several have a file of the same name: the folder tells
        prefix = f"{root.absolute()}/"
        own = [name for name in detected if prefix.endswith(f"/{declared[name].user_folder}/")]
        return tuple(own) or tuple(detected)
    return tuple(name for name in CLIENTS if name in detected)


def list_all_signs() -> dict[str, tuple[str, ...]]:
    """Return the files and folders of a project by which each client is found."""
    declared = {name: declare() for name, declare in CLIENTS.items()}
    return {name: (*client.signs, *client.weak_signs) for name, client in declared.items()}


def _list_signs(root: Path, signs: Sequence[str]) -> Iterator[str]:
    """Yield the signs that are there, by their paths."""
    for sign in signs:
        path, _, text = sign.partition(" ")
        if ANY in path:
            yield from (str(path.relative_to(root)) for path in islice(root.glob(path), 1))
        elif os.path.lexists(root / path) and (not text or _has_text(root / path, text)):
            yield path


def _has_text(place: Path, text: str) -> bool:
    try:
        with place.open("rb") as file:
            return text.encode() in file.read(LARGEST)
    except OSError:
        return False


def find_user_folder(kind: str) -> Path:
    """Return the folder of a client's user files."""
    if kind not in CLIENTS:
        raise InputError("kind", found=kind, expected=f"one of {', '.join(CLIENTS)}")
    folder = CLIENTS[kind](user=True).user_folder
    if not folder:
        known = [name for name, declare in CLIENTS.items() if declare(user=True).user_folder]
        raise InputError("--user", found=f"{kind}, which has no such files", expected=f"one of {', '.join(known)}")
    return Path.home() / folder


def init_clients(
    path: str | PathLike[str],
    kinds: Sequence[str] = (),
    new: NewHarness | None = None,
    *,
    documents: Sequence[OwnDocument] = (),
    user: bool = False,
    tracked: bool = False,
) -> ClientInit:
    """Make a directory with clients' files a harness, of the clients that are named or else of those found there.

    With `tracked` there may be none: it is a project whose own files are tracked. `documents` are files of one's own,
    tracked beside the clients' or alone.
    """
    install_surfaces()
    root, new = Path(path), new or NewHarness()
    _require_project(root)
    wanted = tuple(dict.fromkeys(kinds or detect_clients(root, user=user)))
    members = build_members(list(wanted), user=user)
    check_documents(documents, "documents")
    _require_files(root, documents)
    if (root / HIDDEN).exists():
        return _extend_harness(root, wanted, new, documents, user=user)
    if not wanted and not documents and not tracked:
        known = ", ".join(CLIENTS)
        raise InputError(str(root), found="no client's files", expected=f"files of one of {known}, or a kind by name")

    def begin(own: Directory, identity: str, noted: str) -> tuple[ClientAdapter, Manifest]:
        name = ClientAdapter.name if wanted or documents else PROJECT
        about = Workspace(id=identity, adapter=name, journal=noted, kinds=list(wanted), user=user)
        manifest = Manifest(workspace=about, documents=list(documents))
        own_member = (build_own_member(manifest, members, "documents"),) if documents else ()
        return ClientAdapter(own, (*members, *own_member)), manifest

    if not make_harness(root, new, (root / HIDDEN).exists, begin, place=HIDDEN, mode=0o600):
        return _extend_harness(root, wanted, new, documents, user=user)
    named = (*wanted, *(document.path for document in documents))
    return ClientInit(root, fresh=True, kinds=named, added=named)


def _require_project(root: Path) -> None:
    if not root.is_dir():
        raise InputError(str(root), found="no directory", expected="a directory with a client's files")
    if (root / MANIFEST).exists():
        raise InputError(str(root), found="a workspace", expected="a directory that is not a workspace")


def _require_recorded(root: Path, harness: Harness) -> None:
    status = harness.status()
    if status.drift or status.broken:
        raise HarnessError(
            f"{root} has unrecorded changes",
            hint="'takeback adopt' records them; then run 'takeback init' again",
        )


@contextmanager
def imagine_clients(root: Path, kinds: Sequence[str]) -> Iterator[Harness]:
    """Yield a harness of some more clients over the files as they are, for previews: it exists in memory alone."""
    install_surfaces()
    _require_project(root)
    known = Manifest(workspace=Workspace(id=""))
    if (root / HIDDEN).exists():
        known = load_manifest(root)
        with closing(open_workspace(root, hold=False, readonly=True)) as harness:
            _require_recorded(root, harness)
    about = replace(known.workspace, kinds=list(dict.fromkeys((*known.workspace.kinds, *kinds))))
    manifest = replace(known, workspace=about)
    members = build_members(about.kinds, user=about.user)
    if manifest.documents:
        members = (*members, build_own_member(manifest, members, "documents"))
    with Harness(_ImaginedAdapter(Directory(root), members), MemoryStore()) as harness:
        yield harness


class _ImaginedAdapter(ClientAdapter):
    """Clients' files that are only read: nothing is noted beside them either."""

    def note(self, seq: int, digest: str) -> None:
        """Keep no note."""

    def read_noted_record(self) -> None:
        """Return no note."""


def _require_files(root: Path, documents: Sequence[OwnDocument]) -> None:
    for document in documents:
        if not (root / document.path).is_file():
            raise InputError(
                str(root / document.path),
                found="no file",
                expected="a file to track",
                hint="check the path, or make the file",
            )


def _extend_harness(
    root: Path,
    wanted: Sequence[str],
    new: NewHarness,
    documents: Sequence[OwnDocument] = (),
    *,
    user: bool,
) -> ClientInit:
    manifest = load_manifest(root)
    about = manifest.workspace
    if user != about.user:
        raise InputError(str(root), found="a harness of another scope", expected="the scope it was made with")
    came = tuple(kind for kind in wanted if kind not in about.kinds)
    paths = {document.path for document in manifest.documents}
    own = [document for document in documents if document.path not in paths]
    added = (*came, *(document.path for document in own))
    if added:
        kinds = [*about.kinds, *came]
        whole = replace(manifest, workspace=replace(about, kinds=kinds), documents=[*manifest.documents, *own])
        check_documents(whole.documents, str(root / HIDDEN))
        build_own_member(whole, build_members(kinds, user=user), str(root / HIDDEN))
        with closing(open_workspace(root, journal=new.journal, keys=new.keys, hold=False)) as harness:
            _require_recorded(root, harness)
            directory = Directory(root, tag=about.id)
            with closing(directory):
                directory.write(HIDDEN, FileImage(write_manifest(whole), 0o600))
        if whole.track is not None:
            from takeback.adapters.project_files import hand_over_files  # noqa: PLC0415 - it needs this package

            hand_over_files(root, [member.client for member in build_members(kinds, user=user)])
        with closing(open_workspace(root, journal=new.journal, keys=new.keys, hold=False)) as harness:
            harness.adopt(f"{', '.join(added)} found", by="takeback init")
    tracked = (*about.kinds, *came, *(document.path for document in (*manifest.documents, *own)))
    return ClientInit(root, fresh=False, kinds=tracked, added=added)
