"""Runs the units of an experiment, in worker processes if asked, each one once.

A unit has a key and an argument; `work` turns the argument into JSON. Units that are already in the progress
file are taken from there. A fault in a unit ends the run; what is finished stays finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

from takeback.lab.progress import Progress

Unit = TypeVar("Unit")
Tick = Callable[[int, int], None]
"""Told how many units are finished, of how many."""


def no_tick(done: int, of: int) -> None:
    """Show nothing."""
    del done, of


def run_units(
    work: Callable[[Unit], Any],
    units: Mapping[str, Unit],
    *,
    workers: int = 1,
    finished: Progress | None = None,
    tick: Tick = no_tick,
) -> dict[str, Any]:
    """Return the result of each unit by key, in the order of the units."""
    results = {key: finished[key] for key in units if finished is not None and key in finished}
    waiting = {key: unit for key, unit in units.items() if key not in results}
    tick(len(results), len(units))

    def settle(key: str, result: Any) -> None:
        results[key] = result
        if finished is not None:
            finished.record(key, result)
        tick(len(results), len(units))

    if workers <= 1 or len(waiting) <= 1:
        for key, unit in waiting.items():
            settle(key, work(unit))
    else:
        _in_processes(work, waiting, workers, settle)
    return {key: results[key] for key in units}


def _in_processes(
    work: Callable[[Unit], Any], waiting: Mapping[str, Unit], workers: int, settle: Callable[[str, Any], None]
) -> None:
    """Keep every worker busy with two units at a time, so that a fault leaves little unrecorded."""
    left = iter(waiting.items())
    with ProcessPoolExecutor(min(workers, len(waiting)), mp_context=get_context("spawn")) as pool:
        running: dict[Future[Any], str] = {}
        try:
            while True:
                for key, unit in islice(left, 2 * workers - len(running)):
                    running[pool.submit(work, unit)] = key
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    settle(running.pop(future), future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
