"""Recordings of runs with a model: where the shipped ones lie, and what was run, kept beside the replies.

`ran.json` says what a run did and holds the digest of its replies, `lock.json` what it was locked under. A recording
whose replies are not those that were frozen is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

from takeback.canonical import write_pretty
from takeback.errors import InputError, RecordingError
from takeback.repair.models.replies import read_lines
from takeback_lab.lock import Lock, digest_of, read_json, read_lock, write_lock, write_whole
from takeback_lab.protocol import check_replayable
from takeback_lab.recordings import digest_replies, has_recording
from takeback_lab.results import BANK, RAN

LOCK: Final = "lock.json"
DIGEST: Final = "digest"
FIRST: Final = "first"
"""The folder of the runs under the first prompts."""
PLAIN: Final = "plain"
"""The folder of the runs in L0 under plain prompts."""
EDITIONS: Final = (PLAIN, FIRST)
"""Earlier recordings, the later ones first: replayed where a later one has not been recorded."""


def recorded_folder() -> Path:
    """The folder of all recordings that come with Takeback."""
    return Path(str(resources.files("takeback_lab").joinpath("recorded")))


def shipped_recording(name: str) -> Path:
    """The recording of an experiment that comes with Takeback: the latest that was made."""
    return next(iter(shipped_recordings(name)), recorded_folder() / EDITIONS[-1] / name)


def shipped_recordings(name: str) -> tuple[Path, ...]:
    """Return every recording of an experiment that comes with Takeback, the latest first."""
    base = recorded_folder()
    folders = (base / name, *(base / edition / name for edition in EDITIONS))
    return tuple(folder for folder in folders if has_recording(folder))


def is_shipped(folder: Path) -> bool:
    """Whether a recording is one that comes with Takeback, so that no result needs a copy of it."""
    return folder.resolve().is_relative_to(recorded_folder().resolve())


def first_runs() -> tuple[Path, ...]:
    """The recordings of proposals and repairs under the first prompts, in L1: what `propose` and `evolve` replay."""
    return tuple(recorded_folder() / FIRST / name for name in ("natural", "factorial"))


def write_run(folder: Path, ran: Mapping[str, Any], lock: Lock) -> None:
    """Write down what was run, `model` among it, with the digest of its replies and the lock it was run under."""
    body = {**ran, "replies": digest_replies(folder) if has_recording(folder) else None, "lock": lock.digest}
    write_frozen(folder / RAN, body)
    write_lock(lock, folder / LOCK)


def write_frozen(path: Path, body: Mapping[str, Any]) -> None:
    """Write what is frozen, with a digest over all of it."""
    write_whole(path, (write_pretty({**body, DIGEST: _digest(body, path)}, indent=1) + "\n").encode())


def read_run(folder: Path, name: str) -> dict[str, Any] | None:
    """What a recording of the experiment called `name` was frozen with; None if it was not."""
    path = folder / RAN
    if not path.exists():
        return None
    raw, lock = read_json(path), read_lock(folder / LOCK)
    if lock.name != name:
        raise InputError(str(folder), found=f"a recording of {lock.name}", expected=f"one of {name}")
    if not isinstance(raw, dict) or not isinstance(raw.get("model"), str):
        raise InputError(str(path), found="another form", expected="what a run was frozen with")
    check_frozen_file(path, raw, lock)
    check_replies(folder, raw["model"], raw.get("replies"))
    return {**raw, "folder": str(folder)}


def rebind_lock(folder: Path, lock: Lock) -> None:
    """Put what was frozen in a folder under another lock, if it is under another."""
    if read_lock(folder / LOCK).digest == lock.digest:
        return
    path = next(folder / name for name in (BANK, RAN) if (folder / name).exists())
    raw = read_json(path)
    write_frozen(path, {**{name: value for name, value in raw.items() if name != DIGEST}, "lock": lock.digest})
    write_lock(lock, folder / LOCK)


def check_frozen_file(path: Path, raw: Mapping[str, Any], lock: Lock) -> None:
    """Refuse what was frozen if anything of it was altered since, or if it is beside another lock."""
    for name, wanted in ((DIGEST, _digest(raw, path)), ("lock", lock.digest)):
        if raw.get(name) != wanted:
            raise InputError(
                f"{path}: {name}",
                found=str(raw.get(name)),
                expected=f"{wanted}: it was altered since",
                hint="freeze it anew from its replies: 'takeback lab collect NAME --record DIR --to DIR2'",
            )


def _digest(raw: Mapping[str, Any], path: Path) -> str:
    return digest_of({name: value for name, value in raw.items() if name != DIGEST}, path.name)


def check_replies(folder: Path, model: str, digest: str | None) -> None:
    """Refuse a recording of another model, or one whose replies are not those that were frozen."""
    others = {str(line.request.get("model")) for line in read_lines(folder)} - {model}
    if others:
        raise RecordingError(f"replies of {others.pop()}, but it was frozen for {model}", where=str(folder))
    if digest is not None and digest != (found := digest_replies(folder)):
        raise RecordingError(
            f"its replies give {found}, not {digest}, which they gave when it was frozen", where=str(folder)
        )


def check_run(folder: str, parts: Mapping[str, Any]) -> None:
    """Raise `LockChanged` if what a frozen run rests on is another now."""
    check_replayable(read_lock(Path(folder) / LOCK), parts)
