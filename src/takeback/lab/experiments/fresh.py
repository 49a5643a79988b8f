"""The fresh holdout: how the development suite trades precision for coverage, on 100 hidden states a task.

Each task's reference mutation is given without any recovery. Repair sees the states of one development suite
only; whatever it ends with is then run on hidden states that no prompt ever heard of, the same for all suites.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.counterfactual import SUITES, hidden_states
from takeback.diagnose import Mode, templates_digest
from takeback.lab.experiments.frozen import read_frozen, write_frozen
from takeback.lab.experiments.natural import FIRST_SEED, round_robin, task_index
from takeback.lab.experiments.units import Tick, run_units
from takeback.lab.lock import Lock, make_lock
from takeback.lab.tasks import Task, get, load
from takeback.language import Candidate
from takeback.state import Level, State
from takeback.synthesize.attempt import attempt_from
from takeback.synthesize.judging import dev_judge
from takeback.synthesize.loop import Repair, Settings
from takeback.synthesize.method import Method
from takeback.synthesize.models import PAPER, Sampling
from takeback.synthesize.prompting import prompt_set
from takeback.verify import THRESHOLD, Trial

HIDDEN: Final = 100
APART: Final = "Q10-narrow"
"""Hidden states made apart from this suite are apart from every suite, so one pool serves all of them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a fresh run is asked to do."""

    tasks: tuple[Task, ...]
    suites: tuple[str, ...] = tuple(SUITES)
    budget: int = 4
    mode: Mode = Mode.D0
    level: Level = Level.L1
    sampling: Sampling = PAPER

    def parts(self, model: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        return {
            "tasks": [task.to_json() for task in self.tasks],
            "seeds": [FIRST_SEED + task_index(task) for task in self.tasks],
            "suites": {"dev": list(self.suites), "hidden": HIDDEN, "seed": 0},
            "prompts": [prompt_set().digest(), templates_digest()],
            "model": {"name": model, **self.sampling.to_json()},
            "analysis": {"threshold": THRESHOLD, "budget": self.budget, "mode": self.mode.value},
        }

    def lock(self, model: str) -> Lock:
        """What the run rests on, by digest."""
        return make_lock("fresh", self.parts(model))


def protocol(
    *, model: str, per_family: int | None = None, budget: int = 4, sampling: Sampling = PAPER
) -> dict[str, Any]:
    """What a lock of this experiment freezes."""
    return Plan(fresh_tasks(per_family), budget=budget, sampling=sampling).parts(model)


def freeze(folder: Path, plan: Plan, model: str) -> None:
    """Write beside a recording what was run."""
    ran = {
        "model": model,
        "sampling": plan.sampling.to_json(),
        "tasks": [task.id for task in plan.tasks],
        "suites": list(plan.suites),
        "budget": plan.budget,
        "mode": plan.mode.value,
    }
    write_frozen(folder, ran, plan.lock(model))


def load_plan(folder: Path) -> Plan:
    """The plan that a recording was frozen with; raises `LockChanged` if it is another now."""

    def build(raw: Any) -> Plan:
        tasks, suites = tuple(get(task) for task in raw["tasks"]), tuple(raw["suites"])
        return Plan(tasks, suites, raw["budget"], Mode(raw["mode"]), sampling=Sampling(**raw["sampling"]))

    return read_frozen(folder, "fresh", build)


def fresh_tasks(per_family: int | None = None) -> tuple[Task, ...]:
    """The first fresh tasks of each family, in turn."""
    return round_robin(load("fresh"), per_family)


def run_one(task: Task, suite: str, method: Method, plan: Plan) -> dict[str, Any]:
    """One task under one development suite: the development verdict, hidden passes, cost."""
    nominal = State.read(task.state, task.id)
    start = attempt_from({"mutation": list(task.reference), "witness": [], "recovery": []})
    settings = Settings(
        mode=plan.mode,
        budget=plan.budget,
        level=plan.level,
        seed=FIRST_SEED + task_index(task),
        sampling=plan.sampling,
        isolated=True,
    )
    found = method(start, dev_judge(suite, plan.level, nominal), settings, nominal)
    last = found.admitted or _last_candidate(found)
    return {
        "id": task.id,
        "family": task.family,
        "dev": found.admitted is not None,
        "hidden": _passes(last, nominal),
        "calls": found.account.calls,
        "tokens": found.account.completion_tokens,
        "latency_s": found.account.latency_s,
    }


def run_fresh(
    plan: Plan, method: Method, *, label: str = "", workers: int = 1, tick: Tick | None = None
) -> dict[str, Any]:
    """All tasks under all suites, in the form the report reads."""
    units = [(task, suite) for task in plan.tasks for suite in plan.suites]
    done = run_units(units, lambda unit: run_one(unit[0], unit[1], method, plan), workers=workers, tick=tick)
    rows: dict[str, list[dict[str, Any]]] = {suite: [] for suite in plan.suites}
    for (_, suite), row in zip(units, done, strict=True):
        rows[suite].append(row)
    return {
        "label": label,
        "budget": plan.budget,
        "threshold": THRESHOLD,
        "suites": [{"name": suite, "tasks": rows[suite]} for suite in plan.suites],
    }


def _last_candidate(found: Repair) -> Candidate | None:
    """The last candidate that could be run at all, for judging what a strict gate turned away."""
    for turn in reversed(found.turns):
        if turn.attempt.candidate is not None and turn.verdict.splits:
            return turn.attempt.candidate
    return None


def _passes(candidate: Candidate | None, nominal: State) -> str:
    if candidate is None:
        return "0" * HIDDEN
    trial = Trial(candidate)
    states = hidden_states(nominal, candidate.mutation, "fresh", HIDDEN, dev=APART)
    return "".join("1" if trial.run(state).passed else "0" for state in states)
