"""The factorial: {D0, D1} × {L0, L1} on the frozen failures, and its replication with another model.

Delivers outcomes task by task, as the report wants them; nothing is added up here. A mutation that L0 cannot say
has no admissible recovery in L0, so its L0 cells are decided by the gate and no model is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.diagnose import Mode, templates_digest
from takeback.lab.experiments.bank import Case, cohort, load_bank, stratified
from takeback.lab.experiments.judging import judge_for
from takeback.lab.experiments.natural import FIRST_SEED, task_index
from takeback.lab.experiments.units import Tick, run_units
from takeback.lab.lock import Lock, make_lock
from takeback.state import Level
from takeback.synthesize.loop import Repair, Settings
from takeback.synthesize.method import Method
from takeback.synthesize.prompting import prompt_set

CELLS: Final = {
    "D0L0": (Mode.D0, Level.L0),
    "D1L0": (Mode.D1, Level.L0),
    "D0L1": (Mode.D0, Level.L1),
    "D1L1": (Mode.D1, Level.L1),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a factorial run is asked to do."""

    cases: tuple[Case, ...]
    budget: int = 4
    rule: str = "split-wald"
    max_tokens: int = 2048

    def parts(self, model: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        return {
            "tasks": [[case.task.to_json(), case.attempt.raw, case.stratum] for case in self.cases],
            "seeds": [FIRST_SEED + task_index(case.task) for case in self.cases],
            "suites": {"dev": "Q10", "iid": 20, "ood": 20, "seed": 0},
            "prompts": [prompt_set().digest(), templates_digest()],
            "model": {"name": model, "temperature": 0.2, "top_p": 0.95, "max_tokens": self.max_tokens},
            "analysis": {"rule": self.rule, "budget": self.budget, "cells": list(CELLS)},
        }

    def lock(self, name: str, model: str) -> Lock:
        """What the run rests on, by digest."""
        return make_lock(name, self.parts(model))


def protocol(
    *, model: str, bank: Path | None = None, per_stratum: int | None = None, budget: int = 4, rule: str = "split-wald"
) -> dict[str, Any]:
    """What a lock of this experiment freezes."""
    return Plan(stratified(cohort(load_bank(bank).entries), per_stratum), budget=budget, rule=rule).parts(model)


def run_cell(case: Case, cell: str, method: Method, plan: Plan) -> Repair:
    """One case in one cell."""
    mode, level = CELLS[cell]
    settings = Settings(
        mode=mode,
        budget=plan.budget,
        level=level,
        seed=FIRST_SEED + task_index(case.task),
        max_tokens=plan.max_tokens,
    )
    return method(case.attempt, judge_for(plan.rule, level, case.nominal), settings, case.nominal)


def run_factorial(
    plan: Plan, method: Method, model: str, *, label: str = "", workers: int = 1, tick: Tick | None = None
) -> dict[str, Any]:
    """All cases in all cells, in the form the report reads; cases are finished one after the other."""
    units = [(case, cell) for case in plan.cases for cell in CELLS]
    done = run_units(units, lambda unit: run_cell(unit[0], unit[1], method, plan), workers=workers, tick=tick)
    results = dict(zip(((case.task.id, cell) for case, cell in units), done, strict=True))
    return {
        "label": label,
        "model": model,
        "budget": plan.budget,
        "tasks": [_task(case, results) for case in plan.cases],
        "gate": _gate(plan.cases, results),
    }


def turn_of(found: Repair) -> int | None:
    """The turn at which a task was admitted, from 1; None if it never was."""
    return max(1, len(found.turns)) if found.admitted is not None else None


def _task(case: Case, results: dict[tuple[str, str], Repair]) -> dict[str, Any]:
    mine = {cell: results[case.task.id, cell] for cell in CELLS}
    return {
        "id": case.task.id,
        "family": case.task.family,
        "stratum": case.stratum,
        "turns": {cell: turn_of(found) for cell, found in mine.items()},
        "calls": {cell: found.account.calls for cell, found in mine.items()},
    }


def _gate(cases: Sequence[Case], results: dict[tuple[str, str], Repair]) -> list[dict[str, Any]]:
    responses: Counter[tuple[str, str]] = Counter()
    turned: Counter[tuple[str, str]] = Counter()
    for case in cases:
        for cell in CELLS:
            turns = results[case.task.id, cell].turns
            responses[cell, case.stratum] += len(turns)
            turned[cell, case.stratum] += sum(turn.outcome == "out_of_language" for turn in turns)
    return [
        {"cell": cell, "stratum": stratum, "rejected": turned[cell, stratum], "responses": count}
        for (cell, stratum), count in sorted(responses.items())
        if count
    ]
