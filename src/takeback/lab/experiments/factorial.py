"""The factorial: {D0, D1} × {L0, L1} on the frozen failures, and its replication with another model.

Delivers outcomes task by task, as the report wants them; nothing is added up here. The language of a cell bounds
witness and recovery, as in the paper: a model is asked in the L0 cells whatever the locked mutation is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.diagnose import Mode, templates_digest
from takeback.errors import InputError
from takeback.lab.experiments.bank import Case, cohort, load_bank, stratified
from takeback.lab.experiments.frozen import read_frozen, write_frozen
from takeback.lab.experiments.natural import FIRST_SEED, suites_of, task_index
from takeback.lab.experiments.units import Tick, run_units
from takeback.lab.lock import Lock, make_lock
from takeback.state import Level
from takeback.synthesize.judging import recovery_judge
from takeback.synthesize.loop import Repair, Settings
from takeback.synthesize.method import Method
from takeback.synthesize.models import PAPER, Sampling
from takeback.synthesize.prompting import prompt_set

CELLS: Final = ("D0L0", "D1L0", "D0L1", "D1L1")
Results = Mapping[tuple[str, str], Repair]
"""How each task, by its id, went in each cell."""


def read_cell(name: str) -> tuple[Mode, Level]:
    """The feedback mode and language of a cell: its name is the one followed by the other, as in `adaptiveL1`."""
    try:
        return Mode(name[:-2]), Level(name[-2:])
    except ValueError:
        expected = f"a feedback mode ({', '.join(Mode)}) followed by L0 or L1"
        raise InputError("cell", found=name, expected=expected) from None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a factorial run is asked to do."""

    cases: tuple[Case, ...]
    budget: int = 4
    rule: str = "split-wald"
    cells: tuple[str, ...] = CELLS
    sampling: Sampling = PAPER

    def parts(self, model: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        return {
            "tasks": [[case.task.to_json(), case.attempt.raw, case.stratum] for case in self.cases],
            "seeds": [FIRST_SEED + task_index(case.task) for case in self.cases],
            "suites": suites_of(self.rule),
            "prompts": [prompt_set().digest(), templates_digest()],
            "model": {"name": model, **self.sampling.to_json()},
            "analysis": {"rule": self.rule, "budget": self.budget, "cells": list(self.cells)},
        }

    def lock(self, name: str, model: str) -> Lock:
        """What the run rests on, by digest."""
        return make_lock(name, self.parts(model))


def protocol(
    *,
    model: str,
    bank: Path | None = None,
    per_stratum: int | None = None,
    budget: int = 4,
    rule: str = "split-wald",
    sampling: Sampling = PAPER,
) -> dict[str, Any]:
    """What a lock of this experiment freezes."""
    cases = stratified(cohort(load_bank(bank).entries), per_stratum)
    return Plan(cases, budget=budget, rule=rule, sampling=sampling).parts(model)


def freeze(folder: Path, name: str, plan: Plan, model: str) -> None:
    """Write beside a recording what was run, as an experiment of this name."""
    ran = {
        "model": model,
        "sampling": plan.sampling.to_json(),
        "tasks": [case.task.id for case in plan.cases],
        "cells": list(plan.cells),
        "budget": plan.budget,
        "rule": plan.rule,
    }
    write_frozen(folder, ran, plan.lock(name, model))


def load_plan(folder: Path, name: str, bank: Path | None = None) -> Plan:
    """The plan that a recording was frozen with, on a frozen bank; raises `LockChanged` if it is another now."""
    cases = {case.task.id: case for case in cohort(load_bank(bank).entries)}

    def build(raw: Any) -> Plan:
        missing = [task for task in raw["tasks"] if task not in cases]
        if missing:
            raise InputError("bank", found=f"no defective {missing[0]}", expected="the bank of the recorded run")
        chosen = tuple(cases[task] for task in raw["tasks"])
        return Plan(chosen, raw["budget"], raw["rule"], tuple(raw["cells"]), Sampling(**raw["sampling"]))

    return read_frozen(folder, name, build)


def run_cell(case: Case, cell: str, method: Method, plan: Plan) -> Repair:
    """One case in one cell."""
    mode, level = read_cell(cell)
    settings = Settings(
        mode=mode,
        budget=plan.budget,
        level=level,
        seed=FIRST_SEED + task_index(case.task),
        sampling=plan.sampling,
        any_mutation=True,
    )
    return method(case.attempt, recovery_judge(plan.rule, level, case.nominal), settings, case.nominal)


def run_cells(plan: Plan, method: Method, *, workers: int = 1, tick: Tick | None = None) -> Results:
    """All cases in all cells; cases are finished one after the other."""
    units = [(case, cell) for case in plan.cases for cell in plan.cells]
    done = run_units(units, lambda unit: run_cell(unit[0], unit[1], method, plan), workers=workers, tick=tick)
    return dict(zip(((case.task.id, cell) for case, cell in units), done, strict=True))


def report_data(plan: Plan, results: Results, model: str, label: str = "") -> dict[str, Any]:
    """Outcomes task by task, in the form the report reads."""
    return {
        "label": label,
        "model": model,
        "budget": plan.budget,
        "tasks": [_task(case, plan.cells, results) for case in plan.cases],
        "gate": _gate(plan, results),
    }


def discordant(plan: Plan, results: Results, one: str = "D0L1", two: str = "D1L1") -> list[dict[str, Any]]:
    """The tasks that only one of two cells recovers: which, and what each last tried, in operations and tokens."""
    found = []
    for case in plan.cases:
        pair = {cell: results[case.task.id, cell] for cell in (one, two) if cell in plan.cells}
        won = [cell for cell, done in pair.items() if done.admitted is not None]
        if len(pair) == len((one, two)) and len(won) == 1:
            tried = {cell: _last(done) for cell, done in pair.items()}
            found.append({"id": case.task.id, "stratum": case.stratum, "winner": won[0], "tried": tried})
    return found


def turn_of(found: Repair) -> int | None:
    """The turn at which a task was admitted, from 1; None if it never was."""
    return max(1, len(found.turns)) if found.admitted is not None else None


def _last(done: Repair) -> dict[str, Any]:
    turn = done.turns[-1] if done.turns else None
    tried = turn.attempt.candidate if turn is not None else done.admitted
    return {
        "operations": len(tried.recovery) if tried is not None else None,
        "outcome": turn.outcome if turn is not None else None,
        "completion_tokens": done.account.completion_tokens,
    }


def _task(case: Case, cells: Sequence[str], results: Results) -> dict[str, Any]:
    mine = {cell: results[case.task.id, cell] for cell in cells}
    return {
        "id": case.task.id,
        "family": case.task.family,
        "stratum": case.stratum,
        "turns": {cell: turn_of(found) for cell, found in mine.items()},
        "calls": {cell: found.account.calls for cell, found in mine.items()},
    }


def _gate(plan: Plan, results: Results) -> list[dict[str, Any]]:
    responses: Counter[tuple[str, str]] = Counter()
    turned: Counter[tuple[str, str]] = Counter()
    for case in plan.cases:
        for cell in plan.cells:
            turns = results[case.task.id, cell].turns
            responses[cell, case.stratum] += len(turns)
            turned[cell, case.stratum] += sum(turn.outcome == "out_of_language" for turn in turns)
    return [
        {"cell": cell, "stratum": stratum, "rejected": turned[cell, stratum], "responses": count}
        for (cell, stratum), count in sorted(responses.items())
        if count
    ]
