"""The lock of a run: what its parts are, where it is frozen, and when a run refuses.

`freeze_lock` writes the lock of an experiment to `<results>/locks/<name>.json` before it is run. A run whose parts
are not those that were frozen refuses. Code is frozen with the data: a part that is computed by a package holds that
package's sources.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from takeback.errors import InputError
from takeback_lab.errors import LockChanged
from takeback_lab.lock import PARTS, Lock, check, digest_of, read_lock, write_lock
from takeback_lab.manifest import LOCK, SUPERSEDED, Problem
from takeback_lab.models.weights import QWEN, SMOL
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


CODE: Final = "code."
"""How parts begin that hold sources: a replay does not refuse over them, `lab verify` names what changed."""
ORIGINS: Final = ("weights", "runtime")
"""Parts that hold what the model was made of: a replay needs neither."""
STATE: Final = (
    "address",
    "chain",
    "chain_surface",
    "contract",
    "file",
    "file_paths",
    "harness_state",
    "keyed_surface",
    "operation",
    "part_slots",
    "parts",
    "pmap",
    "surface",
    "text",
    "tree",
    "tree_surface",
    "values",
)
"""The modules of the state that candidates of L0 and L1 run through; a test watches which do."""
RESTS_ON: Final = {
    "diagnosis": ("takeback.repair.diagnosis", "takeback.repair.visible"),
    "synthesis": (
        "takeback.repair.loop",
        "takeback.repair.prompts",
        "takeback.repair.attempt",
        "takeback.repair.oracle",
        "takeback_lab.judges",
    ),
    "verifier": (
        "takeback.verify",
        "takeback.runtime",
        "takeback.shrink",
        "takeback.sequences",
        "takeback.language",
        "takeback.state.surfaces",
        *(f"takeback.state.{name}" for name in STATE),
    ),
    "generators": ("takeback.verify.suites", "takeback_lab.hidden_states", "takeback_lab.experiments.draws"),
    "tasks": ("takeback_lab.tasks",),
}


JUDGING: Final = ("verifier", "generators", "synthesis", "tasks")
"""What a run without a model rests on that judges candidates on generated states."""


@cache
def digest_sources(*only: str) -> dict[str, str]:
    """The digest of what each part of a run rests on, or some: its sources, and the data of tasks."""
    found: dict[str, Any] = {name: sources(*modules) for name, modules in RESTS_ON.items()}
    data = sorted(Path(str(resources.files("takeback_lab.tasks"))).rglob("*.json"))
    found["tasks"] |= {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in data}
    return {f"{CODE}{name}": digest_of(part) for name, part in found.items() if not only or name in only}


def rests_on(who: str) -> dict[str, Any]:
    """What a lock holds beside the plan: sources, the weights of the model called `who`, the build that runs it."""
    weights = next((one.sha256 for one in (QWEN, SMOL) if Path(one.filename).stem == who), None)
    try:
        build = f"xllamacpp {version('xllamacpp')}" if weights is not None else None
    except PackageNotFoundError:
        build = None
    return {**digest_sources(), "weights": weights, "runtime": build}


def check_replayable(lock: Lock, parts: Mapping[str, Any]) -> None:
    """Raise `LockChanged` if a recording's plan is another now; sources, weights and runtime may be others."""
    plan = {name: part for name, part in parts.items() if not is_ground(name)}
    held = {name: part for name, part in lock.parts.items() if not is_ground(name)}
    check(Lock(lock.name, held, lock.digest), plan)


def keep_origins(lock: Lock, held: Lock | None) -> Lock:
    """Return the lock of a replay, with what its answers were made with (weights, runtime) as it was locked then."""
    if held is None:
        return lock
    origins = {name: held.parts[name] for name in ORIGINS if name in held.parts and name in lock.parts}
    parts = {**lock.parts, **origins}
    return Lock(lock.name, parts, digest_of({"name": lock.name, "parts": parts}))


def is_ground(part: str) -> bool:
    """Tell whether a part of a lock holds what a run rests on, not what it does."""
    return part.startswith(CODE) or part in ORIGINS


def find_outdated(folder: Path) -> list[Problem]:
    """Every run and frozen recording below a folder whose sources are not today's, with the parts that changed."""
    now = {name: digest_of(part) for name, part in digest_sources().items()}
    found = []
    for path in sorted(folder.rglob(LOCK)):
        try:
            held = read_lock(path)
        except InputError:
            continue
        changed = [name.removeprefix(CODE) for name in now if held.parts.get(name, now[name]) != now[name]]
        if changed and SUPERSEDED not in path.relative_to(folder).parts:
            detail = f"{held.name} was run under other sources: {', '.join(changed)}"
            found.append(Problem("outdated", str(path.parent), detail))
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
        if (run.parent / LOCKS).is_dir() and not frozen_path(run.parent, held.name).exists():
            detail = f"no lock there, although others are; {run.name} was run under {held.digest}"
            problems.append(Problem("missing", str(frozen_path(run.parent, held.name)), detail))
        if held.digest not in frozen.get((run.parent, held.name), {held.digest}):
            detail = f"is {held.digest}, which is none of those frozen in {run.parent / LOCKS}"
            problems.append(Problem("lock", str(run / LOCK), detail))
    return problems
