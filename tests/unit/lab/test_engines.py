"""Engines: the same results wherever units run, a dead worker's unit done again, a fault of the work ends the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.fault_server import Act, FaultServer

from takeback.errors import InputError, ServiceFault
from takeback_lab.commands.lab.wrapper import Running, conduct
from takeback_lab.engines import Here, OnRay, Processes, Threads, UnitEngine, engine_named
from takeback_lab.errors import WorkerLost
from takeback_lab.registry import experiment_named
from takeback_lab.runner import run_experiment

UNITS = {f"unit {n}": n for n in range(12)}


def square(n: int) -> int:
    return n * n


def dies_once(folder: Path, n: int) -> int:
    """Kill the worker the first time unit 3 is done, and square every other time."""
    mark = folder / "died"
    if n == 3 and not mark.exists():
        mark.touch()
        os._exit(9)
    return n * n


def dies_here_and_there(folder: Path, n: int) -> int:
    """Kill the worker the first time each of five units is done: more deaths than any one unit may have."""
    mark = folder / str(n)
    if n % 2 and n < 10 and not mark.exists():
        mark.touch()
        os._exit(9)
    return n * n


def dies_at_three(n: int) -> int:
    if n == 3:
        os._exit(9)
    return n * n


def dies_always(n: int) -> int:
    os._exit(9)
    return n


def fails(n: int) -> int:
    if n == 3:
        raise ServiceFault("the endpoint is down")
    return n


@pytest.fixture(scope="module")
def ray() -> OnRay:
    pytest.importorskip("ray").cloudpickle.register_pickle_by_value(sys.modules[__name__])
    return OnRay(2)


@pytest.mark.parametrize("engine", [Here(), Threads(3), Processes(2)], ids=["here", "threads", "processes"])
def test_every_engine_gives_each_unit_its_result(engine: UnitEngine) -> None:
    assert dict(engine.each(square, UNITS)) == {key: n * n for key, n in UNITS.items()}


@pytest.mark.parametrize("engine", [Here(), Threads(3), Processes(2)], ids=["here", "threads", "processes"])
def test_a_fault_of_the_work_ends_the_run_as_that_fault(engine: UnitEngine) -> None:
    with pytest.raises(ServiceFault, match="the endpoint is down"):
        dict(engine.each(fails, UNITS))


def test_the_unit_of_a_dead_worker_is_repeated(tmp_path: Path) -> None:
    assert dict(Processes(2).each(partial(dies_once, tmp_path), UNITS)) == {key: n * n for key, n in UNITS.items()}
    assert (tmp_path / "died").exists()


def test_a_unit_that_kills_every_worker_stops_the_run_and_is_not_a_result() -> None:
    with pytest.raises(WorkerLost, match="died 3 times"):
        dict(Processes(1).each(dies_always, {"unit": 1}))


def test_deaths_of_different_units_do_not_add_up(tmp_path: Path) -> None:
    done = dict(Processes(2).each(partial(dies_here_and_there, tmp_path), UNITS))
    assert done == {key: n * n for key, n in UNITS.items()}
    assert len(list(tmp_path.iterdir())) == 5


def test_the_error_names_the_unit_that_kills_its_workers() -> None:
    with pytest.raises(WorkerLost, match="unit 3: a worker process died 3 times"):
        dict(Processes(2).each(dies_at_three, UNITS))


def test_a_fault_stops_further_units_from_starting() -> None:
    begun: list[int] = []

    def work(n: int) -> int:
        begun.append(n)
        return fails(n)

    with pytest.raises(ServiceFault):
        dict(Threads(2).each(work, {str(n): n for n in range(50)}))
    assert len(begun) < 12


@pytest.mark.slow
def test_a_real_ray_matches_processes_and_repeats_a_lost_unit(ray: OnRay, tmp_path: Path) -> None:
    assert dict(ray.each(partial(dies_once, tmp_path), UNITS)) == {key: n * n for key, n in UNITS.items()}
    assert (tmp_path / "died").exists()
    with pytest.raises(ServiceFault, match="the endpoint is down"):
        dict(ray.each(fails, UNITS))


@pytest.mark.slow
def test_a_unit_that_kills_every_worker_of_a_real_ray_stops_the_run(ray: OnRay) -> None:
    with pytest.raises(WorkerLost, match="died 3 times"):
        dict(ray.each(dies_always, {"unit": 1}))


class SlowToStart:
    """A Ray whose first nodes time out during startup, which Ray says with a bare exception."""

    def __init__(self, times: int) -> None:
        self.left, self.stopped = times, 0

    def init(self, **_: object) -> None:
        if self.left:
            self.left -= 1
            raise Exception("The current node timed out during startup.")  # noqa: TRY002

    def shutdown(self) -> None:
        self.stopped += 1


def test_a_slow_ray_is_restarted_and_then_reported() -> None:
    slow = SlowToStart(2)
    OnRay(1)._start(slow)
    assert (slow.left, slow.stopped) == (0, 2)
    with pytest.raises(WorkerLost, match="timed out during startup"):
        OnRay(1)._start(SlowToStart(3))


def test_ray_runs_without_telemetry_and_keeps_a_given_niceness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"RAY_worker_niceness": "5"})
    with pytest.raises(WorkerLost):
        conduct_on_ray(monkeypatch)
    assert os.environ == {"RAY_worker_niceness": "5", "RAY_USAGE_STATS_ENABLED": "0"}


def conduct_on_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a run on a Ray that never starts."""
    never = SimpleNamespace(is_initialized=lambda: False, init=SlowToStart(9).init, shutdown=lambda: None)
    monkeypatch.setattr("takeback_lab.engines._ray", lambda: never)
    conduct(experiment_named("soundness"), {"cases": 1}, Running(engine="ray", as_json=True))


def test_rays_messages_do_not_reach_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def get(ref: Any) -> Any:
        sys.stdout.write("(raylet) A worker died or was killed")
        return ref()

    talkative = SimpleNamespace(
        is_initialized=lambda: True,
        remote=lambda **_: lambda work: SimpleNamespace(remote=lambda *words: partial(work, *words)),
        wait=lambda refs, **_: (refs[:1], refs[1:]),
        get=get,
        exceptions=SimpleNamespace(RayTaskError=KeyError, RayError=KeyError),
    )
    monkeypatch.setattr("takeback_lab.engines._ray", lambda: talkative)
    conduct(experiment_named("soundness"), {"cases": 1}, Running(engine="ray", as_json=True))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "A worker died" in shown.err


@pytest.mark.parametrize("name", ["WorkerCrashedError", "ObjectLostError", "OutOfMemoryError", "NodeDiedError"])
def test_no_ray_failure_counts_as_a_result(name: str) -> None:
    exceptions = pytest.importorskip("ray.exceptions")
    words = ("ab" * 14, "", "") if name == "ObjectLostError" else ("",)
    fault = getattr(exceptions, name)(*words)

    def get(_: object) -> object:
        raise fault

    scripted = SimpleNamespace(exceptions=exceptions, get=get, wait=lambda refs, **_: (refs[:1], refs[1:]))
    with pytest.raises(WorkerLost, match=name):
        dict(OnRay(1)._each(scripted, lambda unit: unit, {"unit": 1}))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "given"), [("soundness", {"cases": 600}), ("oracle", {"tasks": 60})])
def test_an_experiment_on_a_real_ray_equals_the_one_here(ray: OnRay, name: str, given: dict[str, Any]) -> None:
    experiment = experiment_named(name)
    plan = experiment.plan(given)
    assert run_experiment(experiment, plan, engine=ray).data == run_experiment(experiment, plan).data


def test_an_engine_is_chosen_by_name_and_kind_of_unit() -> None:
    assert engine_named("local", 1) == Here()
    assert engine_named("local", 3) == Processes(3)
    assert engine_named("local", 3, waiting=True) == Threads(3)
    assert engine_named("ray", 4, address="auto") == OnRay(4, "auto")
    with pytest.raises(InputError, match="one of local, ray"):
        engine_named("abacus", 1)


@pytest.mark.slow
def test_a_run_that_asks_is_the_same_on_a_real_ray_replayed_or_with_an_endpoint(tmp_path: Path) -> None:
    pytest.importorskip("ray")

    def run(*words: object, **environment: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "takeback", "lab", *map(str, words), "--json"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=300
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    replayed = ("factorial", "--synthesizer", "replay:first", "--workers", 2, "--engine")
    assert run(*replayed, "ray") == run(*replayed, "local")
    with FaultServer([Act(text=json.dumps({"witness": [], "recovery": [], "contract": ["config"]}))]) as server:
        environment = {"TAKEBACK_BASE_URL": server.base_url, "XDG_CONFIG_HOME": str(tmp_path)}
        asked = (
            "controlled",
            "--tasks",
            2,
            "--feedback",
            "D1",
            "--budget",
            2,
            "--synthesizer",
            "openai:m",
            "--workers",
            2,
        )
        found = [
            run(*asked, "--record", tmp_path / engine, "--engine", engine, **environment)
            for engine in ("local", "ray")
        ]
    costs = [one.pop("account") for one in found]
    assert found[0] == found[1]
    assert costs[0]["calls"] == costs[1]["calls"] == 4
