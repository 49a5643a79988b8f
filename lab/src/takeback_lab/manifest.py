"""The manifest of a run folder: the SHA-256 of each file, and what is wrong with a folder that has one.

Knows files and digests only; what a result means is `results`' business.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from takeback.errors import InputError
from takeback_lab.lock import digest_of, read_json, read_lock

LOCK, RESULT, MANIFEST = "lock.json", "result.json", "MANIFEST.json"
SUPERSEDED, PROGRESS, REPORT = "superseded", "progress", "report"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a run folder: `kind` is missing, altered, extra or lock."""

    kind: str
    path: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.path}: {self.detail}"

    def to_json(self) -> dict[str, str]:
        """The problem as plain JSON."""
        return {"kind": self.kind, "path": self.path, "detail": self.detail}


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of a run by relative name; manifest, old runs, progress and report left out."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    kept = sorted(name.as_posix() for name in names if name.parts[0] not in (MANIFEST, SUPERSEDED, PROGRESS, REPORT))
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in kept}


def manifest_of(folder: Path, lock: str) -> dict[str, Any]:
    """The manifest of the folder as it is now; `digest` covers every file and the lock."""
    files = file_digests(folder)
    return {"lock": lock, "files": files, "digest": digest_of({"lock": lock, "files": files})}


def problems_of(folder: Path, *, name: str = "") -> list[Problem]:
    """What is wrong with one run; `name` is the digest a superseded run is kept under."""
    try:
        manifest = read_json(folder / MANIFEST)
        files, lock, digest = dict(manifest["files"]), str(manifest["lock"]), str(manifest["digest"])
    except (InputError, KeyError, TypeError, ValueError) as fault:
        kind = "altered" if (folder / MANIFEST).exists() else "missing"
        return [Problem(kind, str(folder / MANIFEST), f"no readable manifest: {fault}")]
    problems = []
    if digest != digest_of({"lock": lock, "files": files}):
        problems.append(Problem("altered", str(folder / MANIFEST), "its digest is not that of what it lists"))
    if name and name != digest:
        problems.append(Problem("altered", str(folder), f"kept as {name}, but its manifest says {digest}"))
    return problems + _against(folder, files) + _lock_problems(folder, lock)


def _against(folder: Path, listed: dict[str, str]) -> list[Problem]:
    present = file_digests(folder)
    problems = []
    for file in sorted({*listed, *present}):
        path = str(folder / file)
        if file not in present:
            problems.append(Problem("missing", path, "listed in the manifest, not there"))
        elif file not in listed:
            problems.append(Problem("extra", path, "not listed in the manifest"))
        elif listed[file] != present[file]:
            problems.append(Problem("altered", path, f"sha256 {present[file]}, the manifest says {listed[file]}"))
    return problems


def _lock_problems(folder: Path, lock: str) -> list[Problem]:
    """The lock, the result and the manifest must name one lock, and each carry its own digest."""
    problems = []
    if (folder / LOCK).exists():
        try:
            held = read_lock(folder / LOCK)
            if held.digest != lock:
                problems.append(Problem("lock", str(folder / LOCK), f"is {held.digest}, the manifest says {lock}"))
        except InputError as fault:
            problems.append(Problem("lock", str(folder / LOCK), str(fault)))
    if (folder / RESULT).exists():
        problems += _result_problems(folder / RESULT, lock)
    return problems


def _result_problems(path: Path, lock: str) -> list[Problem]:
    try:
        raw = dict(read_json(path))
        digest = raw.pop("digest", None)
        own = digest_of(raw)
    except (InputError, TypeError, ValueError) as fault:
        return [Problem("altered", str(path), str(fault))]
    problems = []
    if digest != own:
        problems.append(Problem("altered", str(path), f"says digest {digest}, its content gives {own}"))
    if raw.get("lock") != lock:
        problems.append(Problem("lock", str(path), f"ran under {raw.get('lock')}, the manifest says {lock}"))
    return problems
