"""What a run with a model did, kept beside its recording: it replays without being told, under the same lock."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from takeback.errors import InputError, RecordingError
from takeback.lab.lock import Lock, check, read_json, read_lock, write_lock, write_whole
from takeback.synthesize.models.recording import read_lines

RAN: Final = "ran.json"
LOCK: Final = "lock.json"


class Locked(Protocol):
    """A plan that can say what a lock of it freezes."""

    def parts(self, model: str) -> dict[str, Any]:
        """The parts of the lock, for a model."""
        ...


Ran = TypeVar("Ran", bound=Locked)


def write_frozen(folder: Path, ran: Mapping[str, Any], lock: Lock) -> None:
    """Write down what was run, `model` among it, and the lock it was run under."""
    write_whole(folder / RAN, (json.dumps(ran, indent=1) + "\n").encode("utf-8"))
    write_lock(lock, folder / LOCK)


def read_frozen(folder: Path, name: str, build: Callable[[Any], Ran]) -> Ran:
    """What was run as the experiment called `name`. Raises `LockChanged` if what it rests on is another now."""
    path = folder / RAN
    raw, lock = read_json(path), read_lock(folder / LOCK)
    if lock.name != name:
        raise InputError(str(folder), found=f"a recording of {lock.name}", expected=f"one of {name}")
    try:
        ran, model = build(raw), str(raw["model"])
    except (KeyError, TypeError, ValueError):
        raise InputError(str(path), found="another form", expected="what a run was frozen with") from None
    others = {str(line.request.get("model")) for line in read_lines(folder)} - {model}
    if others:
        raise RecordingError(f"replies of {others.pop()}, but {RAN} says {model}", where=str(folder))
    check(lock, ran.parts(model))
    return ran
