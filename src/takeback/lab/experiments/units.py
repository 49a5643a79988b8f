"""Running the units of an experiment: in order or on several threads, with a tick for each that is done.

A unit asks models through a recording, so a run that stops (an outage, a kill) is started again and goes on
without repeating a finished call. The first fault ends the run once the units under way have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

Unit = TypeVar("Unit")
Done = TypeVar("Done")
Tick = Callable[[], None]


def run_units(
    units: Sequence[Unit], run: Callable[[Unit], Done], *, workers: int = 1, tick: Tick | None = None
) -> list[Done]:
    """The result of each unit, in the order of the units."""

    def one(unit: Unit) -> Done:
        done = run(unit)
        if tick is not None:
            tick()
        return done

    if workers <= 1:
        return [one(unit) for unit in units]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(one, unit) for unit in units]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    for future in futures:
        if not future.cancelled() and (fault := future.exception()) is not None:
            raise fault
    return [future.result() for future in futures]
