"""The lock of a run: what its parts are, where it is frozen, and when a run refuses.

`freeze_lock` writes the lock of an experiment to `<results>/locks/<name>.json` before it is run. A run whose parts
are not those that were frozen refuses. Code is frozen with the data: a part that is computed by a package holds that
package's sources.
"""

from __future__ import annotations

import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from takeback.errors import InputError, LockChanged
from takeback_lab.lock import PARTS, Lock, read_lock, write_lock
from takeback_lab.manifest import LOCK, Problem
from takeback_lab.results import find_runs

LOCKS = "locks"


def parts_of(**given: Any) -> dict[str, Any]:
    """All parts of a lock; those that do not apply are null."""
    unknown = sorted(set(given) - set(PARTS))
    if unknown:
        raise InputError("lock", found=unknown[0], expected=f"one of {', '.join(PARTS)}")
    return {part: given.get(part) for part in PARTS}


def sources(*names: str) -> dict[str, str]:
    """The SHA-256 of each source file of some modules and packages, by module, and of the Python that runs them.

    The same seed gives the same states under one minor version of Python, so that is frozen too.
    """
    found = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name in names:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise InputError("lock", found=name, expected="a module that can be imported")
        origin = Path(spec.origin)
        files = sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]
        for file in files:
            inner = file.relative_to(origin.parent).with_suffix("").as_posix() if len(files) > 1 else ""
            found[f"{name}/{inner}" if inner else name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def frozen_path(results: Path, name: str) -> Path:
    """Where the frozen lock of an experiment lies."""
    return results / LOCKS / f"{name}.json"


def freeze_lock(results: Path, lock: Lock, *, replace: bool = False) -> Lock:
    """Write a lock down before its run; another one already there is an error, or with `replace` kept beside it."""
    path = frozen_path(results, lock.name)
    if path.exists():
        if not replace:
            check_frozen(results, lock)
        held = read_lock(path)
        if held.digest != lock.digest:
            write_lock(held, path.with_name(f"{lock.name}-{held.digest[:16]}.json"))
    write_lock(lock, path)
    return lock


def check_frozen(results: Path, lock: Lock) -> None:
    """Raise `LockChanged`, naming each part that differs, if another lock of this name was frozen."""
    path = frozen_path(results, lock.name)
    if not path.exists():
        return
    held = read_lock(path)
    if held.digest != lock.digest:
        parts = sorted({*held.parts, *lock.parts})
        pairs = [(part, held.parts.get(part, ""), lock.parts.get(part, "")) for part in parts]
        raise LockChanged(lock.name, tuple(pair for pair in pairs if pair[1] != pair[2]))


def verify_locks(folder: Path) -> list[Problem]:
    """Every frozen lock below a folder that was altered, and every run under a lock not frozen for it."""
    problems = []
    frozen: dict[tuple[Path, str], set[str]] = {}
    for path in sorted(folder.rglob(f"{LOCKS}/*.json")):
        try:
            lock = read_lock(path)
        except InputError as fault:
            problems.append(Problem("lock", str(path), str(fault)))
        else:
            frozen.setdefault((path.parent.parent, lock.name), set()).add(lock.digest)
    for run in find_runs(folder):
        try:
            held = read_lock(run / LOCK)
        except InputError:
            continue
        if held.digest not in frozen.get((run.parent, held.name), {held.digest}):
            detail = f"is {held.digest}, which is none of those frozen in {run.parent / LOCKS}"
            problems.append(Problem("lock", str(run / LOCK), detail))
    return problems
