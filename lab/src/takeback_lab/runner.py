"""One runner for every experiment: lock, resume, do the units, add up, write down.

Where results go to a folder, a lock that was frozen there is held to, finished units are kept and not done again,
and the result carries the hash of every reply it rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from takeback_lab.engines import Here, UnitEngine
from takeback_lab.experiment import Asked, Experiment
from takeback_lab.lock import Lock, make_lock
from takeback_lab.progress import Progress, progress_path
from takeback_lab.protocol import check_frozen, keep_origins
from takeback_lab.registry import experiment_named
from takeback_lab.results import write_results

Tick = Callable[[int, int], None]
"""Told how many units are finished, of how many."""


def no_tick(done: int, of: int) -> None:
    """Show nothing."""
    del done, of


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a run: its lock, the results of its units, its data by folder, the digest of each result."""

    lock: Lock
    done: Mapping[str, Any]
    data: Mapping[str, dict[str, Any]]
    written: Mapping[str, str] = field(default_factory=dict)


def run_experiment(
    experiment: Experiment[Any],
    plan: Any,
    *,
    asked: Asked | None = None,
    engine: UnitEngine | None = None,
    results: Path | None = None,
    tick: Tick = no_tick,
    files: Callable[[], Mapping[str, bytes]] = dict,
    replies: Callable[[], Mapping[str, Any]] = dict,
    held: Lock | None = None,
) -> Ran:
    """Run a plan to its end, or on from where an earlier run of it stopped.

    `files` and `replies` are looked at when the units are done: what to keep beside the result, and what it says of
    the replies it rests on (their digest, how many were imported). `held` is the lock of a replayed recording.
    """
    who = asked.name if asked is not None else ""
    lock = keep_origins(make_lock(experiment.name, plan.parts(who)), held)
    if results is not None:
        check_frozen(results, lock)
    kept = Progress(progress_path(results, lock), lock) if results is not None else nullcontext()
    with kept as finished:
        done = do_units(experiment, plan, asked, engine or Here(), finished, tick)
    data = experiment.data(plan, done, who)
    heard = replies()
    if heard:
        data = {folder: {**one, **heard} for folder, one in data.items()}
    written = {}
    if results is not None:
        for folder, one in data.items():
            made = write_results(results / folder, experiment.name, lock, one, files=files())
            written[folder] = made.digest
        progress_path(results, lock).unlink()
    return Ran(lock, done, data, written)


def do_units(
    experiment: Experiment[Any],
    plan: Any,
    asked: Asked | None,
    engine: UnitEngine,
    finished: Progress | None,
    tick: Tick = no_tick,
) -> dict[str, Any]:
    """The result of each unit by key, in the order of the units; those in `finished` are taken from there."""
    units = plan.units()
    done = {key: finished[key] for key in units if finished is not None and key in finished}
    waiting = {key: unit for key, unit in units.items() if key not in done}
    tick(len(done), len(units))
    work = partial(experiment.run, asked=asked) if asked is not None else partial(do_unit, experiment.name)
    for key, result in engine.each(work, waiting):
        if finished is not None:
            finished.record(key, result)
        done[key] = result if finished is None else finished[key]
        tick(len(done), len(units))
    return {key: done[key] for key in units}


def do_unit(name: str, unit: Any) -> Any:
    """One unit of an experiment that asks nobody, found by name: what a worker on any machine is given."""
    return experiment_named(name).run(unit, None)
