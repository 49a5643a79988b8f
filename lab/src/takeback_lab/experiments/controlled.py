"""The controlled benchmark: candidates with one injected defect each, repaired in each feedback mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError
from takeback.language import read_candidate
from takeback.repair.diagnosis import Mode
from takeback.state import Level, State
from takeback.verify import Trial
from takeback_lab.experiment import Asked, Option
from takeback_lab.experiments import options
from takeback_lab.experiments.apart import APART, CANNOT_RUN, PASSED, apart_line, tell_apart
from takeback_lab.experiments.draws import at_most, draw_classes, first_seed, suites_of
from takeback_lab.experiments.factorial import altered
from takeback_lab.experiments.recorded import check_run, read_run, shipped_recording, write_run
from takeback_lab.experiments.repairs import TERMS, Terms, repair_unit, run_repair, spent
from takeback_lab.lock import make_lock
from takeback_lab.prompt_sets import FIRST
from takeback_lab.report.table import Table
from takeback_lab.tasks import DEFECTS, Task, get, load
from takeback_lab.tasks.library import FIRST as FIRST_EDITION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "controlled"
PAPER_MODES: Final = (Mode.NONE, Mode.GENERIC, Mode.RAW, Mode.TYPED, Mode.PRESCRIPTIVE)
MODES: Final = (*PAPER_MODES, Mode.D0, Mode.D1, Mode.COUNTEREXAMPLE, Mode.ADAPTIVE)


@dataclass(frozen=True, slots=True)
class ControlledPlan:
    """Which candidates are repaired in which modes; `locked` are the tasks that were locked, where more than run."""

    tasks: tuple[Task, ...]
    modes: tuple[Mode, ...] = MODES
    terms: Terms = TERMS
    locked: tuple[Task, ...] = ()
    edition: str = ""

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        tasks, terms = self.locked or self.tasks, self.terms
        return {
            "tasks": [task.to_json() for task in tasks],
            "seeds": [first_seed(task) for task in tasks],
            "suites": suites_of(terms.rule),
            "prompts": terms.prompts_digest(),
            "model": {"name": who, **terms.sampling.to_json()},
            "analysis": {
                "rule": terms.rule,
                "budget": terms.budget,
                "modes": [mode.value for mode in self.modes],
                **terms.tell_counting(),
            },
            **terms.grounds(who),
        }

    def units(self) -> dict[str, Any]:
        """One unit per candidate and mode."""
        found = {}
        for task in self.tasks:
            if task.controlled is None:
                raise InputError(task.id, found=task.set_name, expected="a task of the controlled set")
            for mode in self.modes:
                unit = repair_unit(task, task.controlled.candidate, mode, Level.L1, self.terms, edition=self.edition)
                found[f"{task.id}/{mode.value}"] = unit
        return found

    def reached(self, keys: frozenset[str]) -> ControlledPlan:
        """The plan with the candidates that are done in every mode."""
        whole = tuple(t for t in self.tasks if all(f"{t.id}/{mode.value}" in keys for mode in self.modes))
        return replace(self, tasks=whole, locked=self.locked or self.tasks)


class Controlled:
    """Repair candidates with one injected defect each; count how many each feedback mode repairs.

    With `replay` and no choice of candidates or modes, they are those of the recording.

    Example: `takeback lab controlled --synthesizer oracle --json`
    """

    name = NAME
    asks = True
    default_synthesizer = "oracle"
    options = (
        Option("tasks", "number", "How many candidates, drawn evenly over classes and families.", least=1),
        Option("per-defect", "number", "Only this many of each defect class.", least=1),
        Option("feedback", "text", "Feedback modes, separated by commas; all if left out."),
        options.BUDGET,
        options.RULE,
        options.PROMPT,
        options.SHOW_MUTATION,
        options.SHOW_ATTEMPT,
        CANNOT_RUN,
        options.SAMPLING,
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> ControlledPlan:
        """All 120 candidates in all modes, or what a recording was made with."""
        if frozen is not None and not {"tasks", "per_defect", "feedback"} & given.keys():
            edition = frozen.get("edition", FIRST_EDITION)
            tasks, locked = (tuple(get(task, edition) for task in frozen[name]) for name in ("ran", "locked"))
            modes = tuple(Mode(name) for name in frozen["modes"])
            plan = ControlledPlan(tasks, modes, Terms.from_json(frozen, FIRST), locked, edition)
            check_run(frozen["folder"], plan.parts(frozen["model"]))
        else:
            modes = options.read_modes(given["feedback"]) if "feedback" in given else MODES
            order = draw_classes(load(NAME))
            locked = at_most(_of_each(order, given.get("per_defect")), None)
            plan = ControlledPlan(at_most(locked, given.get("tasks")), modes, locked=locked)
        return replace(plan, terms=altered(plan.terms, given))

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        """Repair one candidate in one mode."""
        if asked is None:
            raise InputError("--synthesizer", found="nobody", expected="somebody to ask")
        return run_repair(unit, asked, any_mutation=False)

    def data(self, plan: ControlledPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """Outcomes candidate by candidate."""
        rows = []
        for task in plan.tasks:
            mine = {mode.value: done[f"{task.id}/{mode.value}"] for mode in plan.modes}
            rows.append(
                {
                    "id": task.id,
                    "family": task.family,
                    "defect": task.controlled.defect if task.controlled is not None else "",
                    "nominal_pass": passes_nominally(task),
                    "turns": {mode: one["turn"] for mode, one in mine.items()},
                    "calls": {mode: one["calls"] for mode, one in mine.items()},
                    "attempts": {mode: one["turns"] for mode, one in mine.items()},
                }
            )
        data = {
            "model": who,
            "prompts": plan.terms.prompts,
            "rule": plan.terms.rule,
            **plan.terms.tell_counting(),
            "budget": plan.terms.budget,
            "locked": len(plan.locked or plan.tasks),
            "account": spent(done),
            "candidates": rows,
        }
        return {options.folder_of(NAME, who): data}

    def summary(self, plan: ControlledPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Repairs by mode and by class, typed against D1; `nominal_pass` counts the candidates of the whole set."""
        from takeback_lab.report.summaries import controlled_contrasts  # noqa: PLC0415 - loads statistics

        [found] = data.values()
        rows = found["candidates"]
        modes = [mode.value for mode in plan.modes]

        def repaired(some: list[dict[str, Any]]) -> dict[str, int]:
            return {mode: sum(row["turns"][mode] is not None for row in some) for mode in modes}

        classes = list(dict.fromkeys(row["defect"] for row in rows))
        hidden = [row for row in rows if row["nominal_pass"]]
        return {
            "model": found["model"],
            "rule": found["rule"],
            "prompts": found["prompts"],
            "candidates": len(rows),
            "locked": found["locked"],
            "set": len(load(NAME)),
            "nominal_pass": sum(passes_nominally(task) for task in load(NAME)),
            "nominal_pass_ran": len(hidden),
            "budget": found["budget"],
            "repaired": repaired(rows),
            "repaired_nominal_pass": repaired(hidden),
            "by_defect": {name: repaired([row for row in rows if row["defect"] == name]) for name in classes},
            "contrasts": controlled_contrasts(found),
            "outcomes": [{key: row[key] for key in ("id", "defect", "nominal_pass", "turns")} for row in rows],
            "account": found["account"],
            **tell_apart(
                (one["counts"] for row in rows for some in row["attempts"].values() for one in some),
                found.get("cannot_run", PASSED),
            ),
        }

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """The benchmark promises nothing."""
        del summary
        return True

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """Repairs by mode."""
        ran, hidden = summary["candidates"], summary["nominal_pass_ran"]
        yield f"{ran} candidates of {summary['locked']} locked, {summary['model']}, B = {summary['budget']}"
        rows = tuple(
            (mode, f"{count}/{ran}", f"{summary['repaired_nominal_pass'][mode]}/{hidden}")
            for mode, count in summary["repaired"].items()
        )
        yield Table(NAME, "", ("feedback", "repaired", "of those that pass on the nominal state"), rows)
        for name, found in summary["contrasts"].items():
            alone = f"{found['only_new']} and {found['only_old']} discordant"
            few = ": too few candidates for a contrast" if found["few"] else ""
            power = f"power {found['power'].get('observed', 0):.2f}"
            yield f"{name}: {found['difference'] * 100:+.2f} pp, {alone}, p = {found['p']:.4g}, {power}{few}"
        if summary["cannot_run_counts"] == APART and summary["states"]:
            yield apart_line(summary)
        yield options.spent_line(summary["account"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """Repairs by mode and budget, and by class."""
        from takeback_lab.report.controlled_tables import controlled_tables  # noqa: PLC0415 - loads statistics

        return controlled_tables(data)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """Repairs by mode, with intervals."""
        from takeback_lab.report.figures import controlled_plots  # noqa: PLC0415 - loads matplotlib

        return controlled_plots(data)

    def freeze_run(self, folder: Path, plan: ControlledPlan, done: Mapping[str, Any], who: str) -> None:
        """Write beside a recording what was run and what had been locked."""
        del done
        ran = {
            "model": who,
            **plan.terms.to_json(),
            "edition": plan.edition,
            "modes": [mode.value for mode in plan.modes],
            "ran": [task.id for task in plan.tasks],
            "locked": [task.id for task in plan.locked or plan.tasks],
        }
        write_run(folder, ran, make_lock(NAME, plan.parts(who)))

    def thaw_run(self, folder: Path) -> Mapping[str, Any] | None:
        """What a recording was frozen with."""
        return read_run(folder, NAME)

    def shipped(self) -> Path:
        """The latest recording."""
        return shipped_recording(NAME)


def passes_nominally(task: Task) -> bool:
    """Whether a controlled candidate looks right on the state it was made for: only other states give it away."""
    if task.controlled is None:
        return False
    candidate = read_candidate(task.controlled.candidate, task.id)
    return Trial(candidate).run(State.read(task.state, task.id)).passed


def _of_each(order: tuple[Task, ...], per_defect: int | None) -> tuple[Task, ...]:
    """The first tasks of each class, in the order of the draw."""
    if per_defect is None:
        return order
    kept = {
        task.id
        for defect in DEFECTS
        for task in [t for t in order if t.controlled is not None and t.controlled.defect == defect][:per_defect]
    }
    return tuple(task for task in order if task.id in kept)


EXPERIMENT = Controlled()
