"""Begins to track a project's own files: what is refused, whose files are whose, and the first look.

Refused are the home folder and what is above it, folders of many projects, and, unless it is wanted, a project of
very many files. Files that a client's adapter owns stay with it. Only `.takeback/` is added.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from takeback.adapters.clients.client import ANY, Client
from takeback.adapters.directory import Directory
from takeback.adapters.manifest import KEYS, PRIVATE, find_manifest_path
from takeback.adapters.opener import load_manifest
from takeback.errors import HarnessError, InputError
from takeback.harness.images import FileImage
from takeback.track.capture import begin_tracking
from takeback.track.database import TRACK, TrackError, make_key_file
from takeback.track.git import Repository, find_git_top
from takeback.track.rules import Rules, read_settings
from takeback.track.scan import Scan
from takeback.track.store import TrackStore

MOST_FILES: Final = 200_000
MOST_BYTES: Final = 1 << 30
MANY_PROJECTS: Final = 2
SIGNS: Final = (".git", "pyproject.toml", "package.json", "Cargo.toml", "go.mod", "pom.xml", "takeback.toml", PRIVATE)
"""What makes a folder a project."""
SEAL: Final = "track.key"


def require_one_project(root: Path, home: Path) -> None:
    """Refuse a folder that is no project: the home folder, what is above it, a folder of many projects."""
    project, own = Path(os.path.realpath(root)), Path(os.path.realpath(home))
    if project == own or project in own.parents:
        given = "your home folder" if project == own else f"a folder that holds your home folder {own}"
        raise InputError(
            str(root), found=given, expected="the folder of one project", hint="run it in the project: cd PROJECT"
        )
    if any((project / sign).exists() for sign in SIGNS) or find_git_top(str(project)):
        return
    try:
        below = [entry for entry in os.scandir(project) if entry.is_dir(follow_symlinks=False)]
    except OSError as fault:
        raise InputError(str(root), found=fault.strerror, expected="a folder that can be read") from None
    projects = sorted(
        entry.name for entry in below if any(os.path.lexists(os.path.join(entry.path, sign)) for sign in SIGNS)
    )
    if len(projects) >= MANY_PROJECTS:
        shown = ", ".join(projects[:3])
        raise InputError(
            str(root),
            found=f"a folder of {len(projects)} projects ({shown})",
            expected="the folder of one project",
            hint=f"run it in each: cd {projects[0]} && takeback init --track",
        )


def require_bounded(root: Path, environment: Mapping[str, str], *, large: bool) -> None:
    """Refuse a project of very many files, or of very much to store, unless that is wanted; says what is large."""
    place = os.path.realpath(root)
    settings = read_settings(load_manifest(root).track or {}) if find_manifest_path(root) else {}
    with TemporaryDirectory() as scratch:
        rules = Rules(settings, Repository(place, environment, os.path.join(scratch, "empty")))
        with closing(Scan(place, rules, 0, {}, lambda _: b"", lambda _: b"")) as scan:
            files, stored, largest = scan.measure()
    if large or (files <= MOST_FILES and stored <= MOST_BYTES):
        return
    shown = ", ".join(f"{name} ({count:,})" for count, name in largest)
    raise InputError(
        str(root),
        found=f"{files:,} files, {stored / (1 << 30):.1f} GiB to store; most are in {shown}",
        expected=f"at most {MOST_FILES:,} files and {MOST_BYTES >> 30} GiB",
        hint="leave folders out with .gitignore, or give --large",
    )


def list_owned(clients: Iterable[Client]) -> tuple[list[str], list[str]]:
    """Return the paths and the patterns of the files that clients' adapters own, from their declarations."""
    paths: list[str] = []
    patterns: list[str] = []
    for client in clients:
        for document in client.documents:
            start, star, end = document.path.partition(ANY)
            patterns += [f"{start}**/*{end}"] if star else []
            paths += [] if star else [document.path]
        patterns += [f"{texts.folder}/**/*{texts.ending}" for texts in client.texts]
        patterns += [f"{skills.folder}/**" for skills in client.skills]
        for scripts in client.scripts:
            patterns += [f"{scripts.folder}/**/*{ending}" for ending in scripts.endings or ("",)]
        (patterns if client.nested else paths).extend(client.instructions)
    return sorted(set(paths)), sorted(set(patterns))


def start_tracking(
    root: Path,
    clients: Iterable[Client],
    environment: Mapping[str, str],
    *,
    remembered: Iterable[str] = (),
    sealed: bool = False,
    keys: str | os.PathLike[str] | None = None,
) -> bool:
    """Take the project's own files in, and say so in its manifest; whether they were not tracked before.

    `remembered` are files that a client's adapter knows beyond its declarations; `keys` is where a sealed journal's
    keys are.
    """
    manifest = load_manifest(root)
    place = os.path.realpath(root)
    paths, patterns = list_owned(clients)
    if manifest.track is not None and (root / TRACK).exists():
        with TrackStore.open(place, environment) as store:
            store.set_owned({*paths, *remembered}, patterns)
        return False
    settings = read_settings(manifest.track or {})
    seal = str(Path(keys or root / KEYS).absolute().parent / SEAL)
    if sealed or settings["secrets"] == "keep":
        make_key_file(seal)
    owned = (sorted({*paths, *remembered}), patterns)
    try:
        anew = manifest.track is not None
        begin_tracking(place, settings, environment, owned=owned, sealed=sealed, seal=seal, anew=anew)
    except (TrackError, OSError) as fault:
        raise HarnessError(f"the project's files cannot be tracked: {fault}") from fault
    if manifest.track is None:
        _mark_tracked(root)
    with TrackStore.open(place, environment) as store:
        store.note_manifest()
    return True


def hand_over_files(root: Path, clients: Iterable[Client]) -> None:
    """Say that files belong to clients that came later; they are no longer tracked beside."""
    paths, patterns = list_owned(clients)
    with TrackStore.open(root) as store:
        store.set_owned({*paths, *store.owned[0]}, {*patterns, *store.owned[1]})


def _mark_tracked(root: Path) -> None:
    """Add the table to the manifest, and leave the rest of it as it is."""
    path = find_manifest_path(root)
    with closing(Directory(root, tag=load_manifest(root).workspace.id)) as directory:
        image = None if path is None else directory.read(path)
        if path is None or image is None:
            raise HarnessError(f"{root}: the manifest vanished", hint="run init again")
        directory.write(path, FileImage(image.content.rstrip() + b"\n\n[track]\n", image.mode))
