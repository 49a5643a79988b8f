"""The fresh holdout: how the development suite trades precision for coverage, on 100 hidden states per task.

Each task's reference mutation is given without any recovery. Repair sees the states of one development suite
only; whatever it ends with is then run on hidden states that no prompt ever heard of, the same for all suites.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError
from takeback.language import Candidate, read_program
from takeback.repair.diagnosis import Mode
from takeback.repair.loop import Repair
from takeback.state import Level, Stage, State
from takeback.verify import THRESHOLD, Trial, Trip
from takeback.verify.suites import NARROW, SUITES
from takeback_lab.experiment import Asked, Option
from takeback_lab.experiments import options
from takeback_lab.experiments.apart import APART as SET_APART
from takeback_lab.experiments.apart import CANNOT_RUN, Counting, CountingJudge
from takeback_lab.experiments.draws import at_most, draw_order, first_seed
from takeback_lab.experiments.factorial import altered
from takeback_lab.experiments.rare_states import HIDDEN, make_rare_states, make_states_judge
from takeback_lab.experiments.recorded import check_run, read_run, shipped_recording, write_run
from takeback_lab.experiments.repairs import CLOSED, TERMS, Terms, outcome_of, repair_unit, repaired, spent
from takeback_lab.hidden_states import make_hidden_states
from takeback_lab.judges import make_dev_judge
from takeback_lab.lock import make_lock
from takeback_lab.prompt_sets import FIRST
from takeback_lab.report.table import Table
from takeback_lab.tasks import Task, get, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "fresh"
DIVERSE, RARE = "diverse", "rare"
"""Whether states are perturbed as they come, or one in twenty is rare, in suites and hidden pool alike."""


@dataclass(frozen=True, slots=True)
class FreshPlan:
    """Which tasks are repaired under which development suites."""

    tasks: tuple[Task, ...]
    suites: tuple[str, ...] = tuple(SUITES)
    mode: Mode = Mode.D0
    terms: Terms = TERMS
    locked: tuple[Task, ...] = ()
    states: str = DIVERSE

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        tasks, terms = self.locked or self.tasks, self.terms
        return {
            "tasks": [task.to_json() for task in tasks],
            "seeds": [first_seed(task) for task in tasks],
            "suites": {"dev": list(self.suites), "hidden": HIDDEN, "seed": 0, **self.tell_states()},
            "prompts": terms.prompts_digest(),
            "model": {"name": who, **terms.sampling.to_json()},
            "analysis": {
                "threshold": THRESHOLD,
                "budget": terms.budget,
                "mode": self.mode.value,
                **terms.tell_counting(),
            },
            **terms.grounds(who),
        }

    def units(self) -> dict[str, Any]:
        """One unit per task and suite."""
        found = {}
        for task in self.tasks:
            start = {"mutation": list(task.reference), "witness": [], "recovery": []}
            for suite in self.suites:
                unit = repair_unit(task, start, self.mode, Level.L1, self.terms, suite=suite, **self.tell_states())
                found[f"{task.id}/{suite}"] = unit
        return found

    def tell_states(self) -> dict[str, str]:
        """Which states there are, where they are not as in the first recordings."""
        return {} if self.states == DIVERSE else {"states": self.states}

    def reached(self, keys: frozenset[str]) -> FreshPlan:
        """The plan with the tasks that are done under every suite."""
        whole = tuple(t for t in self.tasks if all(f"{t.id}/{suite}" in keys for suite in self.suites))
        return replace(self, tasks=whole, locked=self.locked or self.tasks)


class Fresh:
    """Measure dev passes, false positives, rescues and the conservatism gap of each development suite.

    With `replay` and no choice of tasks or suites, they are those of the recording.

    Example: `takeback lab fresh --synthesizer oracle --tasks 60 --json`
    """

    name = NAME
    asks = True
    default_synthesizer = "oracle"
    options = (
        Option("tasks", "number", "How many tasks, taken from each family in turn.", least=1),
        Option("suites", "text", f"Some of {', '.join(SUITES)}, separated by commas; all if left out."),
        Option("states", "text", "diverse, or rare: one state in twenty has what the mutation touches unlike usual."),
        Option("feedback", "text", "The feedback after a failed turn; D0, or as recorded."),
        options.BUDGET,
        options.PROMPT,
        options.SHOW_MUTATION,
        options.SHOW_ATTEMPT,
        CANNOT_RUN,
        options.SAMPLING,
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> FreshPlan:
        """All 300 tasks under all suites, or what a recording was made with."""
        states = given.get("states", DIVERSE)
        if states not in {DIVERSE, RARE}:
            raise InputError("--states", found=states, expected="diverse or rare")
        if frozen is not None and not {"tasks", "suites", "states"} & given.keys():
            ids = frozen.get("ran", frozen.get("tasks", ()))
            tasks, locked = (tuple(get(one) for one in some) for some in (ids, frozen.get("locked", ids)))
            terms = Terms.from_json(frozen, FIRST)
            held = frozen.get("states", DIVERSE)
            plan = FreshPlan(tasks, tuple(frozen["suites"]), Mode(frozen["mode"]), terms, locked, held)
            check_run(frozen["folder"], plan.parts(frozen["model"]))
        else:
            suites = options.read_suites(given["suites"]) if "suites" in given else tuple(SUITES)
            tasks = at_most(draw_order(load(NAME)), given.get("tasks"))
            plan = FreshPlan(tasks, suites, terms=CLOSED, states=states)
        mode = options.read_mode(given["feedback"]) if "feedback" in given else plan.mode
        return replace(plan, mode=mode, terms=altered(plan.terms, given))

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        """One task under one development suite: the development verdict, hidden passes, cost."""
        if asked is None:
            raise InputError("--synthesizer", found="nobody", expected="somebody to ask")
        task = get(unit["task"])
        nominal = State.read(task.state, task.id)
        how = Terms.from_json(unit["terms"]).cannot_run
        level, suite = Level(unit["language"]), unit["suite"]
        rare = None
        if unit.get("states") == RARE:
            mutation = read_program(list(task.reference), Stage.FORWARD, task.id)
            rare = make_rare_states(task, mutation, nominal)
        judge = make_dev_judge(suite, level, nominal) if rare is None else make_states_judge(rare.suite(suite), level)
        counting = CountingJudge(judge, how)
        found = repaired(unit, asked, task, counting.judge, nominal, isolated=True, dev=suite)
        last = found.admitted or _last_candidate(found)
        pool = rare.hidden if rare is not None else None
        hidden = _passes(last, nominal, how, pool)
        return {**outcome_of(found, counting), "dev": found.admitted is not None, "hidden": hidden}

    def data(self, plan: FreshPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """Outcomes suite by suite and task by task."""
        fields = ("dev", "hidden", "calls", "tokens", "latency_s")

        def row(task: Task, suite: str) -> dict[str, Any]:
            one = done[f"{task.id}/{suite}"]
            return {"id": task.id, "family": task.family, **{field: one[field] for field in fields}}

        data = {
            "model": who,
            "prompts": plan.terms.prompts,
            "budget": plan.terms.budget,
            "threshold": THRESHOLD,
            **plan.terms.tell_counting(),
            **plan.tell_states(),
            "locked": len(plan.locked or plan.tasks),
            "account": spent(done),
            "suites": [{"name": s, "tasks": [row(task, s) for task in plan.tasks]} for s in plan.suites],
        }
        return {options.folder_of(NAME, who): data}

    def summary(self, plan: FreshPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Each suite's counts, the paired test of Q2 against Q20, costs."""
        from takeback_lab.report.summaries import fresh_summary  # noqa: PLC0415 - loads statistics

        del plan
        [found] = data.values()
        return fresh_summary(found)

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """The holdout promises nothing."""
        del summary
        return True

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """Each suite's counts."""
        states = summary["hidden_states"]
        ran = f"{summary['tasks']} tasks of {summary['locked']} locked"
        rare = ", one state in twenty rare" if summary["states"] == RARE else ""
        yield f"{ran}, {summary['model']}, {states} hidden states each{rare}"
        fields = ("dev", "false_positive", "rescue", "hidden", "gap")
        rows = tuple(
            (name, *(f"{row[field][0]}/{row[field][1]}" for field in fields))
            for name, row in summary["suites"].items()
        )
        yield Table(NAME, "", ("suite", "dev pass", "false positive", "rescue", "hidden", "gap"), rows)
        if paired := summary["Q20_against_Q2"]:
            few = "; too few tasks for a contrast" if paired["few"] else ""
            power = f", power {paired['power'].get('observed', 0):.2f}"
            yield f"rescue, Q20 − Q2: {100 * paired['difference']:+.2f} pp, exact p = {paired['p']:.4g}{power}{few}"
        yield options.spent_line(summary["account"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """Sensitivity, hidden sample size, thresholds, costs, families, Q2 against Q20."""
        from takeback_lab.report.fresh_tables import fresh_tables  # noqa: PLC0415 - loads statistics

        return fresh_tables(data)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """False positives against conservatism, and the round trips."""
        from takeback_lab.report.figures import fresh_plots  # noqa: PLC0415 - loads matplotlib

        return fresh_plots(data)

    def freeze_run(self, folder: Path, plan: FreshPlan, done: Mapping[str, Any], who: str) -> None:
        """Write beside a recording what was run."""
        del done
        ran = {
            "model": who,
            **plan.terms.to_json(),
            "mode": plan.mode.value,
            "suites": list(plan.suites),
            **plan.tell_states(),
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


def _last_candidate(found: Repair) -> Candidate | None:
    """The last candidate that could be run at all, for judging what a strict gate turned away."""
    for turn in reversed(found.turns):
        if turn.attempt.candidate is not None and turn.verdict.splits:
            return turn.attempt.candidate
    return None


def _passes(candidate: Candidate | None, nominal: State, how: Counting, pool: tuple[State, ...] | None) -> str:
    if candidate is None:
        return "0" * HIDDEN
    trial = Trial(candidate)
    states = pool or make_hidden_states(nominal, candidate.mutation, NAME, HIDDEN, dev=NARROW)
    return "".join(_mark(trial.run(state), how) for state in states)


def _mark(trip: Trip, how: Counting) -> str:
    if not trip.passed:
        return "0"
    return "-" if trip.forward_failure and how == SET_APART else "1"


EXPERIMENT = Fresh()
