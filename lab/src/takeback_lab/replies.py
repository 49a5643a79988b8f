"""Whether replies are those that a result or a frozen recording rests on, and the recording is as it was frozen.

A result carries the digest of the replies it rests on, a frozen recording that of its own. A reply that was altered
gives another digest, whatever else was made to fit it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from takeback.errors import TakebackError
from takeback_lab.experiments.recorded import EDITIONS, check_frozen_file, recorded_folder
from takeback_lab.lock import read_json, read_lock
from takeback_lab.manifest import LOCK, RESULT, SUPERSEDED, Problem
from takeback_lab.protocol import LOCKS, frozen_path
from takeback_lab.recordings import digest_replies, has_recording
from takeback_lab.results import BANK, RAN, find_runs

FROZEN = (BANK, RAN)


def find_recordings(folder: Path) -> tuple[Path, ...]:
    """The frozen recordings at or below a folder, in order of their path; also those whose replies are gone."""
    found = {path.parent for name in FROZEN for path in folder.rglob(name)}
    return tuple(sorted(one for one in found if SUPERSEDED not in one.relative_to(folder).parts))


def verify_recording_locks(folder: Path) -> list[Problem]:
    """Return every frozen recording below a folder whose lock is not among those that were frozen above it."""
    problems = []
    for one in find_recordings(folder):
        try:
            held = read_lock(one / LOCK)
        except TakebackError:
            continue
        above = [one, *one.parents]
        inside = above[: above.index(folder) + 1] if folder in above else []
        results = next((parent for parent in inside if (parent / LOCKS).is_dir()), None)
        if results is None:
            continue
        path = frozen_path(results, held.name)
        if not path.exists():
            detail = f"no lock there, although others are; {one.name} was frozen under {held.digest}"
            problems.append(Problem("missing", str(path), detail))
        elif held.digest not in _read_digests(results / LOCKS):
            detail = f"is {held.digest}, which is none of those frozen in {results / LOCKS}"
            problems.append(Problem("lock", str(one / LOCK), detail))
    return problems


def _read_digests(folder: Path) -> set[str]:
    digests = set()
    for path in sorted(folder.glob("*.json")):
        try:
            digests.add(read_lock(path).digest)
        except TakebackError:
            continue
    return digests


def verify_replies(folder: Path) -> list[Problem]:
    """Every recording and result at or below a folder whose replies are not those it was made with."""
    problems = [problem for one in find_recordings(folder) for problem in _recording_problems(one)]
    known: set[str] | None = None
    for run in find_runs(folder):
        wanted = _rests_on(run)
        if wanted is None:
            continue
        if has_recording(run):
            problems += _compared(run, wanted, str(run / RESULT))
            continue
        known = _shipped() if known is None else known
        if wanted not in known:
            detail = f"rests on replies {wanted}, which are neither beside it nor among the shipped recordings"
            problems.append(Problem("missing", str(run / RESULT), detail))
    return problems


def _recording_problems(folder: Path) -> list[Problem]:
    frozen = next(folder / name for name in FROZEN if (folder / name).exists())
    try:
        lock = read_lock(folder / LOCK)
    except TakebackError as fault:
        return [Problem("lock", str(folder / LOCK), str(fault))]
    try:
        raw = dict(read_json(frozen))
        wanted = raw["replies"]
        check_frozen_file(frozen, raw, lock)
    except (TakebackError, KeyError, TypeError, ValueError) as fault:
        return [Problem("altered", str(frozen), str(fault))]
    if wanted is None:
        if not has_recording(folder):
            return []
        return [Problem("altered", str(frozen), "no digest of the replies beside it; freeze it anew")]
    return _compared(folder, wanted, str(frozen))


def _compared(folder: Path, wanted: Any, says: str) -> list[Problem]:
    try:
        found = digest_replies(folder)
    except TakebackError as fault:
        return [Problem("altered", str(folder), str(fault))]
    if found == wanted:
        return []
    return [Problem("altered", str(folder), f"its replies give {found}, {says} says {wanted}")]


def _rests_on(run: Path) -> str | None:
    try:
        data = dict(read_json(run / RESULT))["data"]
    except (TakebackError, KeyError, TypeError, ValueError):
        return None
    wanted = data.get("replies") if isinstance(data, dict) else None
    return wanted if isinstance(wanted, str) else None


def _shipped() -> set[str]:
    base = recorded_folder()
    folders = [
        one
        for parent in (base, *(base / edition for edition in EDITIONS))
        if parent.is_dir()
        for one in parent.iterdir()
    ]
    return {digest_replies(one) for one in folders if has_recording(one)}
