"""From a protocol to a run under its lock: what is frozen, where, and when a run refuses.

`freeze` writes the lock of an experiment to `<results>/locks/<name>.json` before it is run. `open_run` takes
the lock's parts as they are now: where a lock was frozen and a part of it has changed, the run refuses. Code is
frozen with the data: a part that is computed by a package holds that package's sources.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from takeback.errors import InputError, LockChanged
from takeback.lab.lock import PARTS, Lock, make_lock, read_lock, write_lock
from takeback.lab.progress import Progress, progress_path
from takeback.lab.results import write_results

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


def protocol_parts(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that the experiment called `name` would lock with these options."""
    module = f"takeback.lab.experiments.{name.replace('-', '_')}"
    if not name.replace("-", "").isalpha() or find_spec(module) is None:
        raise InputError("experiment", found=name, expected="the name of an experiment, such as oracle or snapshots")
    protocol = getattr(import_module(module), "protocol", None)
    if protocol is None:
        raise InputError("experiment", found=name, expected="an experiment that has a protocol to lock")
    takes = signature(protocol).parameters
    unknown = [option for option in options if option not in takes]
    if unknown:
        raise InputError(f"options of {name}", found=unknown[0], expected=f"some of {', '.join(takes)}")
    needed = [option for option, one in takes.items() if one.default is one.empty and option not in options]
    if needed:
        raise InputError(f"options of {name}", found=f"no {needed[0]}", expected=f"one, given with --{needed[0]}")
    parts: dict[str, Any] = protocol(**options)
    return parts


def frozen_path(results: Path, name: str) -> Path:
    """Where the frozen lock of an experiment lies."""
    return results / LOCKS / f"{name}.json"


def freeze(results: Path, lock: Lock, *, replace: bool = False) -> Lock:
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


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is under way: where it writes (None: nowhere), its lock, and what is finished."""

    results: Path | None
    lock: Lock
    finished: Progress | None

    def record(self, folder: str, experiment: str, data: Any) -> None:
        """Write the data of an experiment to a run folder of the results, if there are any."""
        if self.results is not None:
            write_results(self.results / folder, experiment, self.lock, data)


@contextmanager
def open_run(results: Path | None, name: str, parts: Mapping[str, Any]) -> Iterator[Run]:
    """Begin or go on with a run; raises `LockChanged` if a part is not as it was frozen.

    What was finished is forgotten when the block ends well: from then on the results count.
    """
    lock = make_lock(name, parts)
    if results is None:
        yield Run(None, lock, None)
        return
    check_frozen(results, lock)
    with Progress(progress_path(results, lock), lock) as finished:
        yield Run(results, lock, finished)
    finished.path.unlink()
