"""Where the units of a run are done: in this process, on threads, in worker processes, or on Ray.

One form for all: a work function and its arguments by key go in, results come out by key as they are finished. A
worker that dies is replaced and its unit done again, a bounded number of times: its death is never a result. A fault
that the work itself raises ends the run.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import Any, Final, Protocol

from takeback.errors import InputError, MissingExtraError
from takeback_lab.errors import WorkerLost

Work = Callable[[Any], Any]
FinishedUnits = Iterator[tuple[str, Any]]
ENGINES: Final = ("local", "ray")
TRIES: Final = 3
AHEAD: Final = 2
"""Units under way for each worker: enough to keep it busy, few enough that a fault leaves little undone."""


class UnitEngine(Protocol):
    """Does the same work on many arguments."""

    def each(self, work: Work, units: Mapping[str, Any]) -> FinishedUnits:
        """The result of each unit, with its key, as they are finished."""
        ...


@dataclass(frozen=True, slots=True)
class Here:
    """One after the other, in this process."""

    def each(self, work: Work, units: Mapping[str, Any]) -> FinishedUnits:
        """The result of each unit, in order."""
        for key, unit in units.items():
            yield key, work(unit)


@dataclass(frozen=True, slots=True)
class Threads:
    """Several at once in this process: for units that wait for a model."""

    workers: int

    def each(self, work: Work, units: Mapping[str, Any]) -> FinishedUnits:
        """The result of each unit as it is finished; after a fault, those under way are waited for."""
        with ThreadPoolExecutor(self.workers) as pool:
            yield from _drained(pool, work, units, self.workers, {})


@dataclass(frozen=True, slots=True)
class Processes:
    """Several at once, each in a process of its own: for units that compute."""

    workers: int

    def each(self, work: Work, units: Mapping[str, Any]) -> FinishedUnits:
        """The result of each unit as it is finished; a worker that dies has its units done again.

        A death takes all units with it that were under way, whichever was at fault. Each of them is done alone then,
        so that one unit's deaths are never counted against another.
        """
        left, deaths = dict(units), Counter[str]()
        while left:
            alone = next((key for key in left if deaths[key]), None)
            these = dict(left) if alone is None else {alone: left[alone]}
            running: dict[Future[Any], str] = {}
            try:
                with ProcessPoolExecutor(min(self.workers, len(these)), mp_context=get_context("spawn")) as pool:
                    for key, result in _drained(pool, work, these, self.workers, running):
                        del left[key]
                        yield key, result
            except BrokenProcessPool:
                deaths.update(running.values())
                if alone is not None and deaths[alone] >= TRIES:
                    raise WorkerLost(f"a worker process died {TRIES} times", where=alone) from None


@dataclass(frozen=True, slots=True)
class OnRay:
    """On Ray: on the cluster at `address`, or on one started on this machine with as many workers.

    Workers import Takeback as it is installed on their machine.
    """

    workers: int
    address: str | None = None

    def each(self, work: Work, units: Mapping[str, Any]) -> FinishedUnits:
        """The result of each unit as it is finished; a lost worker's units are done again elsewhere."""
        ray = _ray()
        started = not ray.is_initialized()
        if started:
            self._start(ray)
        try:
            yield from self._each(ray, partial(ray.remote(max_retries=TRIES - 1)(_apply).remote, work), units)
        finally:
            if started:
                ray.shutdown()

    def _start(self, ray: Any) -> None:
        """Join the cluster, or start one here; a busy machine can be too slow for Ray's own patience."""
        here = {"num_cpus": self.workers, "include_dashboard": False}
        for left in range(TRIES - 1, -1, -1):
            try:
                ray.init(
                    address=self.address,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **({} if self.address else here),
                )
            except Exception as fault:  # noqa: BLE001 - Ray raises bare ones where a node is slow to start
                ray.shutdown()
                if not left:
                    hint = "try again on a quieter machine, name a running cluster in RAY_ADDRESS, or --engine local"
                    raise WorkerLost(f"Ray could not be reached or started ({fault})", hint=hint) from None
            else:
                return

    def _each(self, ray: Any, begin: Callable[[Any], Any], units: Mapping[str, Any]) -> FinishedUnits:
        left = iter(units.items())
        running: dict[Any, str] = {}
        while True:
            for key, unit in islice(left, AHEAD * self.workers - len(running)):
                running[begin(unit)] = key
            if not running:
                return
            ready, _ = ray.wait(list(running), num_returns=1)
            for ref in ready:
                key = running.pop(ref)
                try:
                    yield key, ray.get(ref)
                except ray.exceptions.RayTaskError as fault:
                    raise fault.cause from None
                except ray.exceptions.RayError as fault:
                    raise WorkerLost(f"a Ray worker died {TRIES} times ({type(fault).__name__})", where=key) from None


def _apply(work: Work, unit: Any) -> Any:
    """What a Ray worker is given: it takes functions only, and work may be more."""
    return work(unit)


def _ray() -> Any:
    try:
        import ray  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise MissingExtraError("ray is not installed", hint="pip install 'takeback[scale]'") from None
    return ray


def _drained(
    pool: Executor, work: Work, units: Mapping[str, Any], workers: int, running: dict[Future[Any], str]
) -> FinishedUnits:
    """The result of each unit as it is finished; `running` holds those that are under way, also after a fault."""
    left = iter(units.items())
    try:
        while True:
            for key, unit in islice(left, AHEAD * workers - len(running)):
                running[pool.submit(work, unit)] = key
            if not running:
                return
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda one: one.exception() is not None):
                result = future.result()
                yield running.pop(future), result
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise


def engine_named(name: str, workers: int, *, waiting: bool = False, address: str | None = None) -> UnitEngine:
    """The engine of that name; `waiting` units ask models and share this process, others compute.

    `address` is that of a Ray cluster; without one, Ray is started on this machine.
    """
    if name == "ray":
        return OnRay(workers, address)
    if name != "local":
        raise InputError("--engine", found=name, expected=f"one of {', '.join(ENGINES)}")
    if workers <= 1:
        return Here()
    return Threads(workers) if waiting else Processes(workers)
