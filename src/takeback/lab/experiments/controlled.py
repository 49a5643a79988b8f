"""The controlled benchmark: candidates with one injected defect each, repaired in every feedback mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.diagnose import Mode, templates_digest
from takeback.errors import InputError
from takeback.lab.experiments.factorial import turn_of
from takeback.lab.experiments.frozen import read_frozen, write_frozen
from takeback.lab.experiments.natural import FIRST_SEED, suites_of, task_index
from takeback.lab.experiments.units import Tick, run_units
from takeback.lab.lock import Lock, make_lock
from takeback.lab.tasks import DEFECTS, Task, get, load
from takeback.lab.tasks.library import FIRST
from takeback.state import Level, State
from takeback.synthesize.attempt import attempt_from
from takeback.synthesize.judging import judge_for
from takeback.synthesize.loop import Repair, Settings
from takeback.synthesize.method import Method
from takeback.synthesize.models import PAPER, Sampling
from takeback.synthesize.prompting import prompt_set

PAPER_MODES: Final = (Mode.NONE, Mode.GENERIC, Mode.RAW, Mode.TYPED, Mode.PRESCRIPTIVE)
MODES: Final = (*PAPER_MODES, Mode.D0, Mode.D1, Mode.COUNTEREXAMPLE, Mode.ADAPTIVE)
Results = Mapping[tuple[str, Mode], Repair]
"""How each candidate, by its task's id, went in each mode."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a controlled run is asked to do; `locked` are the tasks that were locked, where more than are run."""

    tasks: tuple[Task, ...]
    modes: tuple[Mode, ...] = MODES
    budget: int = 4
    rule: str = "split-wald"
    level: Level = Level.L1
    sampling: Sampling = PAPER
    locked: tuple[Task, ...] = ()

    def parts(self, model: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        tasks = self.locked or self.tasks
        return {
            "tasks": [task.to_json() for task in tasks],
            "seeds": [FIRST_SEED + task_index(task) for task in tasks],
            "suites": suites_of(self.rule),
            "prompts": [prompt_set().digest(), templates_digest()],
            "model": {"name": model, **self.sampling.to_json()},
            "analysis": {"rule": self.rule, "budget": self.budget, "modes": [mode.value for mode in self.modes]},
        }

    def lock(self, model: str) -> Lock:
        """What the run rests on, by digest."""
        return make_lock("controlled", self.parts(model))


def protocol(
    *,
    model: str,
    per_defect: int | None = None,
    budget: int = 4,
    rule: str = "split-wald",
    sampling: Sampling = PAPER,
) -> dict[str, Any]:
    """What a lock of this experiment freezes."""
    return Plan(by_defect(per_defect), budget=budget, rule=rule, sampling=sampling).parts(model)


def freeze(folder: Path, plan: Plan, model: str) -> None:
    """Write beside a recording what was run and what had been locked."""
    ran = {
        "model": model,
        "sampling": plan.sampling.to_json(),
        "ran": [task.id for task in plan.tasks],
        "modes": [mode.value for mode in plan.modes],
        "budget": plan.budget,
        "rule": plan.rule,
        "locked": [task.id for task in plan.locked or plan.tasks],
    }
    write_frozen(folder, ran, plan.lock(model))


def load_plan(folder: Path) -> Plan:
    """The plan that a recording was frozen with; raises `LockChanged` if what was locked is another now."""

    def build(raw: Any) -> Plan:
        edition = raw.get("edition", FIRST)
        tasks, locked = (tuple(get(task, edition) for task in raw[name]) for name in ("ran", "locked"))
        modes, sampling = tuple(Mode(name) for name in raw["modes"]), Sampling(**raw["sampling"])
        return Plan(tasks, modes, raw["budget"], raw["rule"], sampling=sampling, locked=locked)

    return read_frozen(folder, "controlled", build)


def by_defect(per_defect: int | None = None) -> tuple[Task, ...]:
    """The first tasks of each defect class, class by class in turn so that any prefix is balanced."""
    rows = [
        [task for task in load("controlled") if task.controlled is not None and task.controlled.defect == defect]
        for defect in DEFECTS
    ]
    longest = max(len(row) for row in rows) if per_defect is None else per_defect
    return tuple(row[at] for at in range(longest) for row in rows if at < len(row))


def run_one(task: Task, mode: Mode, method: Method, plan: Plan) -> Repair:
    """One candidate in one feedback mode."""
    if task.controlled is None:
        raise InputError(task.id, found=task.set_name, expected="a task of the controlled set")
    nominal = State.read(task.state, task.id)
    settings = Settings(
        mode=mode,
        budget=plan.budget,
        level=plan.level,
        seed=FIRST_SEED + task_index(task),
        sampling=plan.sampling,
    )
    return method(
        attempt_from(task.controlled.candidate), judge_for(plan.rule, plan.level, nominal), settings, nominal
    )


def run_modes(plan: Plan, method: Method, *, workers: int = 1, tick: Tick | None = None) -> Results:
    """All candidates in all modes."""
    units = [(task, mode) for task in plan.tasks for mode in plan.modes]
    done = run_units(units, lambda unit: run_one(unit[0], unit[1], method, plan), workers=workers, tick=tick)
    return dict(zip(((task.id, mode) for task, mode in units), done, strict=True))


def report_data(plan: Plan, results: Results, label: str = "") -> dict[str, Any]:
    """Outcomes candidate by candidate, in the form the report reads."""
    return {
        "label": label,
        "budget": plan.budget,
        "candidates": [
            {
                "id": task.id,
                "defect": task.controlled.defect if task.controlled is not None else "",
                "turns": {mode.value: turn_of(results[task.id, mode]) for mode in plan.modes},
            }
            for task in plan.tasks
        ],
    }
