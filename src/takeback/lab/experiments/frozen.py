"""What a run with a model did, kept beside its recording: it replays without being told, under the same lock."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from takeback.errors import InputError
from takeback.lab.lock import Lock, check, read_json, read_lock, write_lock, write_whole

RAN: Final = "ran.json"
LOCK: Final = "lock.json"


class Locked(Protocol):
    """A plan that can say what a lock of it freezes."""

    def parts(self, model: str) -> dict[str, Any]:
        """The parts of the lock, for a model."""
        ...


Ran = TypeVar("Ran")


def write_frozen(folder: Path, ran: Mapping[str, Any], lock: Lock) -> None:
    """Write down what was run, `model` among it, and the lock it was run under."""
    write_whole(folder / RAN, (json.dumps(ran, indent=1) + "\n").encode("utf-8"))
    write_lock(lock, folder / LOCK)


def read_frozen(folder: Path, build: Callable[[Any], tuple[Ran, Locked]]) -> Ran:
    """What was run; `build` reads it and what was locked. Raises `LockChanged` if that is another now."""
    path = folder / RAN
    raw = read_json(path)
    try:
        ran, locked = build(raw)
        model = str(raw["model"])
    except (KeyError, TypeError, ValueError):
        raise InputError(str(path), found="another form", expected="what a run was frozen with") from None
    check(read_lock(folder / LOCK), locked.parts(model))
    return ran
