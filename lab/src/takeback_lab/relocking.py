"""Recorded runs under today's sources: replayed without a model, compared with what came out before, locked anew.

What the replies were made with (weights, runtime) stays as it was locked; the old lock is kept beside the new one.
A run that comes out otherwise is left as it is, unless its changes are accepted.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from takeback.errors import InputError, RecordingError
from takeback.repair.models import ReplayModel
from takeback.repair.models.replies import PACKED
from takeback.repair.synthesizer import Spec, make_method
from takeback_lab.engines import Here
from takeback_lab.experiment import Asked
from takeback_lab.experiments.natural import NAME as NATURAL
from takeback_lab.experiments.natural import NaturalPlan
from takeback_lab.experiments.recorded import LOCK, is_shipped, rebind_lock
from takeback_lab.lock import Lock, canonical, read_lock, write_lock
from takeback_lab.manifest import MANIFEST
from takeback_lab.protocol import CODE, freeze_lock, keep_origins
from takeback_lab.recordings import count_imported, digest_replies, pack_to_bytes
from takeback_lab.registry import experiment_named
from takeback_lab.replies import FROZEN, find_recordings
from takeback_lab.results import read_results, write_results
from takeback_lab.runner import Tick, no_tick, run_experiment

SHORT: Final = 16
"""How much of a lock's digest names a file that is kept."""


@dataclass(frozen=True, slots=True)
class Relocked:
    """What became of one recording: its locks before and after, parts and outcomes that changed, why it was left."""

    folder: Path
    experiment: str
    old: str
    new: str
    sources: tuple[str, ...] = ()
    units: int = 0
    compared: bool = False
    changed: tuple[str, ...] = ()
    left: str = ""
    grounded: bool = True
    """Whether its lock holds sources; the locks of runs under earlier prompts do not."""

    @property
    def is_left(self) -> bool:
        """Whether a run that should be under today's sources is not."""
        return bool(self.left) and self.grounded

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "recording": str(self.folder),
            "experiment": self.experiment,
            "old_lock": self.old,
            "new_lock": self.new,
            "changed_parts": list(self.sources),
            "units": self.units,
            "compared": self.compared,
            "changed_outcomes": list(self.changed),
            "left": self.left or None,
        }


def sort_recordings(folder: Path) -> list[Path]:
    """Return the frozen recordings at or below a folder, banks first; none is an error."""
    recordings = sorted(find_recordings(folder), key=lambda one: (read_lock(one / LOCK).name != NATURAL, str(one)))
    if not recordings:
        raise InputError(
            str(folder), found="no frozen recording", expected="a folder with bank.json or ran.json in it"
        )
    return recordings


def relock_recording(folder: Path, results: Path, *, accept: bool = False, tick: Tick = no_tick) -> Relocked:
    """Replay one recording and write its lock, its results and what it was frozen with anew."""
    held = read_lock(folder / LOCK)
    experiment: Any = experiment_named(held.name)
    told = Relocked(folder, held.name, held.digest, held.digest)
    if not any(part.startswith(CODE) for part in held.parts):
        return replace(told, left="its lock holds no sources", grounded=False)
    plan = experiment.plan({}, experiment.thaw_run(folder))
    bank = (
        {entry["id"]: entry for entry in plan.bank.entries} if isinstance(plan, NaturalPlan) and plan.bank else None
    )
    plan = replace(plan, bank=None) if bank is not None else plan
    model = ReplayModel(folder)
    asked = Asked(model, make_method(Spec("replay"), model), model.name)
    try:
        ran = run_experiment(experiment, plan, asked=asked, engine=Here(), tick=tick)
    except RecordingError as fault:
        return replace(told, left=f"it asks now for what was not recorded: {fault.message}")
    lock = keep_origins(ran.lock, held)
    [(name, data)] = ran.data.items()
    if bank is not None:
        changed = _compare(bank, {key: one["entry"] for key, one in ran.done.items()})
    elif (results / name / MANIFEST).exists():
        changed = _compare(_rows(read_results(results / name).data), _rows(data))
    else:
        changed = None
    parts = sorted({*lock.parts, *held.parts})
    other = tuple(part.removeprefix(CODE) for part in parts if lock.parts.get(part) != held.parts.get(part))
    told = replace(told, sources=other, units=len(ran.done), compared=changed is not None, changed=changed or ())
    if changed and not accept:
        return replace(told, left=f"{len(changed)} outcomes are others under today's sources")
    if changed or lock.digest != held.digest:
        _keep_old(folder, held, altered=bool(changed))
        experiment.freeze_run(folder, plan, ran.done, model.name)
        rebind_lock(folder, lock)
    freeze_lock(results, lock, replace=True)
    imported = count_imported(folder)
    data = {**data, "replies": digest_replies(folder), **({"imported": imported} if imported else {})}
    files = {} if is_shipped(folder) else {PACKED: pack_to_bytes(folder)}
    write_results(results / name, experiment.name, lock, data, files=files)
    return replace(told, new=lock.digest)


def _keep_old(folder: Path, held: Lock, *, altered: bool) -> None:
    """Copy the old lock beside the new one, and what was frozen with it if outcomes are others now."""
    kept = held.digest[:SHORT]
    write_lock(held, folder / f"lock-{kept}.json")
    for name in FROZEN if altered else ():
        path = folder / name
        if path.exists():
            shutil.copyfile(path, path.with_name(f"{path.stem}-{kept}.json"))


def _rows(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcomes of a result by case; those of a holdout by suite and case."""
    if "suites" in data:
        return {f"{row['id']}/{suite['name']}": row for suite in data["suites"] for row in suite["tasks"]}
    return {row["id"]: row for row in data.get("tasks", data.get("candidates", ()))}


def _compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cases that come out otherwise, or are in one of the two only."""
    return tuple(
        name
        for name in dict.fromkeys([*before, *now])
        if name not in before or name not in now or canonical(before[name]) != canonical(now[name])
    )
