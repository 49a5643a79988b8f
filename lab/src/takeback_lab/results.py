"""Results of one run in a folder: written with their lock and a manifest, superseded ones kept apart.

A run folder holds `lock.json`, `result.json`, other files of the run, and `MANIFEST.json` with the SHA-256 of
each. Writing over a run first copies it to `superseded/<digest>/`. Only complete runs are written: one that broke off
leaves its progress, and no result.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from takeback.canonical import write_pretty
from takeback.errors import InputError
from takeback_lab.lock import Lock, digest_of, read_json, write_lock, write_whole
from takeback_lab.manifest import (
    LOCK,
    MANIFEST,
    PROGRESS,
    REPORT,
    RESULT,
    SUPERSEDED,
    Problem,
    file_digests,
    manifest_of,
    problems_of,
)

RAN, BANK = "ran.json", "bank.json"
"""What is beside a recording that was frozen."""
COMPLETE = "complete"
"""The status of every result; files say it so that readers need not guess."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run folder says: its data, the digest of the lock it ran under, and that of the result itself."""

    experiment: str
    lock: str
    data: Any
    digest: str

    def to_json(self) -> dict[str, Any]:
        """The result as it is written to `result.json`."""
        return {**_body(self.experiment, self.lock, self.data), "digest": self.digest}


def _body(experiment: str, lock: str, data: object) -> dict[str, Any]:
    return {"experiment": experiment, "status": COMPLETE, "lock": lock, "data": data, "reason": ""}


def write_results(
    folder: Path, experiment: str, lock: Lock, data: object, *, files: Mapping[str, bytes] | None = None
) -> Result:
    """Record a complete run: its data, its lock, and further files by relative name."""
    if data is None:
        raise InputError("result", found="no data", expected="data of a complete run")
    digest = digest_of(_body(experiment, lock.digest, data), "result")
    return _write(folder, lock, Result(experiment, lock.digest, data, digest), files or {})


def _write(folder: Path, lock: Lock, result: Result, files: Mapping[str, bytes]) -> Result:
    for name in files:
        _check_name(folder, name)
    if _same_run(folder, result, files):
        return result
    old = supersede(folder)
    write_lock(lock, folder / LOCK)
    for name, content in files.items():
        write_whole(folder / name, content)
    write_whole(folder / RESULT, _pretty(result.to_json()))
    for name in old - {LOCK, RESULT, *files}:
        (folder / name).unlink()
    write_whole(folder / MANIFEST, _pretty(manifest_of(folder, lock.digest)))
    return result


def _same_run(folder: Path, result: Result, files: Mapping[str, bytes]) -> bool:
    """Whether the folder already holds this very run, so that there is nothing to supersede."""
    if problems_of(folder) or read_json(folder / RESULT)["digest"] != result.digest:
        return False
    held = file_digests(folder)
    return all(held.get(name) == hashlib.sha256(content).hexdigest() for name, content in files.items())


def _pretty(value: object) -> bytes:
    return (write_pretty(value, sort_keys=True) + "\n").encode()


def _check_name(folder: Path, name: str) -> None:
    reserved = name in (LOCK, RESULT, MANIFEST) or Path(name).parts[:1] in (
        (SUPERSEDED,),
        (PROGRESS,),
        (REPORT,),
    )
    if reserved or not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise InputError(f"file {name}", found="a reserved name or a path out of the folder", expected="another name")


def supersede(folder: Path) -> set[str]:
    """Copy a finished run to `superseded/<digest>/`; the names its manifest lists. Nothing is deleted.

    A run whose files are not those of its manifest is kept as `superseded/unverified-<digest>/`.
    """
    if not (folder / MANIFEST).exists():
        return set()
    names = file_digests(folder)
    listed = read_json(folder / MANIFEST)
    sound = not problems_of(folder)
    target = folder / SUPERSEDED / (listed["digest"] if sound else f"unverified-{digest_of(names)}")
    if not target.exists():
        part = target.with_name(target.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        for name in [*names, MANIFEST]:
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, part / name)
        part.rename(target)
    return set(listed["files"]) & set(names) if sound else set()


def read_results(folder: Path) -> Result:
    """Read a run, refusing one whose files are not those of its manifest."""
    problems = problems_of(folder)
    if problems:
        raise InputError(
            str(folder),
            found="; ".join(map(str, problems)),
            expected="a run folder as it was written",
            hint="`takeback lab verify` lists every problem.",
        )
    raw = read_json(folder / RESULT)
    if raw.get("status") != COMPLETE:
        raise InputError(str(folder / RESULT), found=f"status {raw.get('status')}", expected=COMPLETE)
    return Result(raw["experiment"], raw["lock"], raw["data"], raw["digest"])


def find_runs(folder: Path) -> tuple[Path, ...]:
    """The run folders at or below a folder, superseded ones left out, in order of their path.

    A recording that was frozen has a lock too, but neither manifest nor result.
    """
    found = {path.parent for name in (MANIFEST, RESULT, LOCK) for path in folder.rglob(name)}
    found = {one for one in found if not ((one / RAN).exists() or (one / BANK).exists())}
    return tuple(sorted(run for run in found if SUPERSEDED not in run.relative_to(folder).parts))


def verify_results(folder: Path) -> list[Problem]:
    """Every problem of every run at or below a folder: missing, altered, extra, or under another lock."""
    if not folder.is_dir():
        raise InputError(str(folder), found="no such folder", expected="a folder of results")
    runs = find_runs(folder)
    if not runs and not any(next(folder.rglob(name), None) for name in (RAN, BANK)):
        return [Problem("missing", str(folder), "no run here: no MANIFEST.json, result.json or lock.json")]
    problems = []
    for run in runs:
        problems += problems_of(run)
        kept = run / SUPERSEDED
        for old in sorted(kept.iterdir()) if kept.is_dir() else []:
            if not old.name.startswith("unverified-"):
                problems += problems_of(old, name=old.name)
    return problems
