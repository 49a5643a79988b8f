"""The natural bank: one candidate per task from a model, and what became of each.

The defective ones are the cohort of the other experiments; the oracle says which stratum each is in, the diagnosis
which mistakes it makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError
from takeback.repair.attempt import build_attempt
from takeback.repair.diagnosis import find_defects
from takeback.repair.models import PAPER, Account, Sampling
from takeback.repair.prompts import load_prompt_set
from takeback.repair.synthesizer import read_sampling
from takeback.repair.visible import select_visible
from takeback.verify import THRESHOLD
from takeback_lab.experiment import Asked, Option
from takeback_lab.experiments import options
from takeback_lab.experiments.apart import APART, CANNOT_RUN, PASSED, apart_line, tell_apart
from takeback_lab.experiments.bank import STRATA, Bank, check_replayed, freeze_bank, load_bank, stratum_of
from takeback_lab.experiments.draws import at_most, draw_order, first_seed, round_robin, suites_of
from takeback_lab.experiments.recorded import shipped_recording
from takeback_lab.experiments.turn0 import BASE_L0, OUTCOMES, RULE, Condition, Turn0, answer, read_condition
from takeback_lab.lock import make_lock
from takeback_lab.prompt_sets import V4
from takeback_lab.protocol import check_replayable, rests_on
from takeback_lab.report.table import Table
from takeback_lab.results import BANK
from takeback_lab.tasks import FAMILIES, Task, get, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "natural"


@dataclass(frozen=True, slots=True)
class NaturalPlan:
    """Which tasks are asked, under which condition; `locked` are those that were locked before the first call."""

    tasks: tuple[Task, ...]
    locked: tuple[Task, ...]
    condition: Condition = BASE_L0
    sampling: Sampling = PAPER
    bank: Bank | None = None

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes: tasks in their order, seeds, prompts, settings."""
        condition = self.condition
        return {
            "tasks": [task.to_json() for task in self.locked],
            "seeds": [first_seed(task) for task in self.locked],
            "suites": suites_of(RULE),
            "prompts": load_prompt_set(condition.prompts).digest(*condition.prompt_files()),
            "model": {"name": who, **self.sampling.to_json()},
            "analysis": {
                "rule": RULE,
                "threshold": THRESHOLD,
                "language": condition.language.value,
                **({} if condition.cannot_run == PASSED else {"cannot_run": condition.cannot_run}),
            },
            **(rests_on(who) if condition.prompts == V4 else {}),
        }

    def units(self) -> dict[str, Any]:
        """One unit per task."""
        terms = {"condition": self.condition.to_json(), "sampling": self.sampling.to_json()}
        return {task.id: {"task": task.id, **terms} for task in self.tasks}

    def reached(self, keys: frozenset[str]) -> NaturalPlan:
        """The plan as far as its units are done."""
        return replace(self, tasks=tuple(task for task in self.tasks if task.id in keys))


class Natural:
    """Ask for one candidate per task, no rerolls: admissible, defective or inadequate, by family.

    With `replay` and no number of tasks, tasks, condition and sampling are those of the recording's bank.

    Example: `takeback lab natural --synthesizer replay --json`
    """

    name = NAME
    asks = True
    options = (
        Option("tasks", "number", "How many tasks, taken from each family in turn.", least=1),
        Option("per-family", "number", "Lock only this many tasks of each family.", least=1),
        options.LANGUAGE,
        options.PROMPT,
        CANNOT_RUN,
        options.SAMPLING,
    )
    default_synthesizer = "replay"

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> NaturalPlan:
        """All 600 tasks under L0 and plain prompts, or what a recording was made with."""
        text = given.get("sampling", "")
        if frozen is not None and not {"tasks", "per_family"} & given.keys():
            bank: Bank = frozen["bank"]
            condition = read_condition(
                given.get("language"), given.get("prompt"), bank.condition, given.get("cannot_run")
            )
            ran = tuple(get(entry["id"]) for entry in bank.entries)
            locked = tuple(get(task_id) for task_id in bank.locked)
            plan = NaturalPlan(ran, locked, bank.condition, bank.sampling, bank)
            check_replayable(bank.lock, plan.parts(bank.model))
            return replace(plan, condition=condition, sampling=read_sampling(text, bank.sampling))
        order = draw_order(load(NAME))
        locked = round_robin(order, given.get("per_family"))
        condition = read_condition(given.get("language"), given.get("prompt"), cannot_run=given.get("cannot_run"))
        return NaturalPlan(at_most(locked, given.get("tasks")), locked, condition, read_sampling(text))

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        """Ask once, judge, and say of a defective candidate which stratum it is in and what is wrong with it."""
        if asked is None or asked.model is None:
            expected = "a model: replay[:DIR], local or openai:MODEL"
            raise InputError("--synthesizer", found=asked.name if asked else "nobody", expected=expected)
        task, condition = get(unit["task"]), Condition.from_json(unit["condition"])
        entry = answer(task, asked.model, Sampling(**unit["sampling"]), condition)
        found: dict[str, Any] = {"entry": entry.to_json(), "counts": entry.counts}
        if entry.outcome == "defective":
            found |= {"stratum": stratum_of(task, build_attempt(entry.raw or {})), "mistakes": mistakes_of(entry)}
        return found

    def data(self, plan: NaturalPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """Outcome, stratum and mistakes task by task."""
        if plan.bank is not None and plan.condition == plan.bank.condition:
            check_replayed(plan.bank, who, [one["entry"] for one in done.values()])
        rows = []
        for one in done.values():
            row = {key: one["entry"][key] for key in ("id", "family", "outcome", "shortfall")}
            rows.append(
                row | {key: one[key] for key in ("stratum", "mistakes", "counts") if one.get(key) is not None}
            )
        data = {
            "model": who,
            **plan.condition.to_json(),
            "locked": len(plan.locked),
            "account": Account.of(Account(**one["entry"]["account"]) for one in done.values()).to_json(),
            "tasks": rows,
        }
        return {options.folder_of(NAME, who): data}

    def summary(self, plan: NaturalPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The bank's accounting: outcomes in all and by family, strata, mistakes, cost."""
        del plan
        [found] = data.values()
        rows = found["tasks"]
        short = [row["shortfall"] for row in rows if row["shortfall"]]
        strata = [row["stratum"] for row in rows if "stratum" in row]
        outcomes = [row["outcome"] for row in rows]
        return {
            "model": found["model"],
            "language": found["language"],
            "prompts": found["prompts"],
            "tasks": len(rows),
            **{outcome: outcomes.count(outcome) for outcome in OUTCOMES},
            "families": {
                family: {o: sum(r["outcome"] == o and r["family"] == family for r in rows) for o in OUTCOMES}
                for family in FAMILIES
            },
            "strata": {part: strata.count(part) for part in STRATA},
            "shortfalls": {name: short.count(name) for name in sorted(set(short))},
            "locked": found["locked"],
            "not_run": found["locked"] - len(rows),
            **tell_apart((row.get("counts") for row in rows), found.get("cannot_run", PASSED)),
            "account": found["account"],
        }

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """A bank promises nothing."""
        del summary
        return True

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The accounting by family."""
        under = f"{summary['language']}, prompts {summary['prompts']}"
        yield f"{summary['tasks']} tasks of {summary['locked']} locked, {summary['model']}, {under}"
        rows = [(family, *(str(summary["families"][family][outcome]) for outcome in OUTCOMES)) for family in FAMILIES]
        rows.append(("all", *(str(summary[outcome]) for outcome in OUTCOMES)))
        yield Table(NAME, "", ("family", *OUTCOMES), tuple(rows))
        parts = ", ".join(f"{part} {count}" for part, count in summary["strata"].items())
        yield f"strata of the defective: {parts}"
        if summary["cannot_run_counts"] == APART:
            yield apart_line(summary)
        yield options.spent_line(summary["account"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """Accounting, families, mistakes."""
        from takeback_lab.report.natural_tables import natural_tables  # noqa: PLC0415 - a report loads statistics

        return natural_tables(data)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """Outcome and stratum by family."""
        from takeback_lab.report.figures import natural_plots  # noqa: PLC0415 - a report loads matplotlib

        return natural_plots(data)

    def freeze_run(self, folder: Path, plan: NaturalPlan, done: Mapping[str, Any], who: str) -> None:
        """Write the bank: every entry, the tasks that were locked, the lock."""
        lock = make_lock(NAME, plan.parts(who))
        entries = tuple(one["entry"] for one in done.values())
        ids = tuple(task.id for task in plan.locked)
        freeze_bank(folder, Bank(who, plan.sampling, ids, lock, entries, plan.condition))

    def thaw_run(self, folder: Path) -> Mapping[str, Any] | None:
        """The bank beside a recording, if there is one."""
        return {"bank": load_bank(folder)} if (folder / BANK).exists() else None

    def shipped(self) -> Path:
        """The latest natural recording."""
        return shipped_recording(NAME)


def mistakes_of(entry: Turn0) -> list[str]:
    """What kinds of mistake a defective candidate makes, or why it could not be read or run."""
    if entry.verdict is None:
        return [entry.shortfall]
    attempt = build_attempt(entry.raw or {})
    seen = select_visible(entry.verdict)
    if attempt.candidate is None or seen.refusals:
        return [entry.verdict.reasons[0].code.value]
    found = dict.fromkeys(defect.kind.value for defect in find_defects(attempt.candidate, seen))
    return list(found) or ["UNSEEN_STATES"]


EXPERIMENT = Natural()
