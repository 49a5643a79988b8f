"""Suite sensitivity without a model: which development suite lets a defective candidate pass, what strictness costs.

The candidates are the controlled benchmark's, each with one injected defect. `rare` draws states in which what the
mutation touches is there, or missing, unlike in the nominal state only once in twenty, so that a recovery may fail a
development state and still meet the hidden criterion. A state on which the mutation cannot run counts apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from takeback.language import read_candidate
from takeback.state import State
from takeback.verify import THRESHOLD, Trial, Trip
from takeback.verify.rules import compute_wilson_lower
from takeback.verify.suites import NARROW, SUITES, make_dev_states
from takeback_lab.experiment import Asked
from takeback_lab.experiments import options
from takeback_lab.experiments.apart import APART, CANNOT_RUN, read_counting
from takeback_lab.experiments.draws import at_most, draw_classes
from takeback_lab.experiments.rare_states import EVERY, HIDDEN, POOL, make_rare_states
from takeback_lab.hidden_states import make_hidden_states
from takeback_lab.protocol import JUDGING, digest_sources, parts_of, sources
from takeback_lab.report.table import Table
from takeback_lab.tasks import Task, get, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "sensitivity"
PASS, FAIL, IDLE = "1", "0", "-"
REGIMES: Final = ("diverse", "rare")


@dataclass(frozen=True, slots=True)
class SensitivityPlan:
    """Which candidates are run, and how a state counts on which the mutation cannot run."""

    tasks: tuple[Task, ...]
    apart: bool = True

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        del who
        code = sources(
            "takeback.verify",
            "takeback.state",
            "takeback.runtime",
            "takeback_lab.experiments.rare_states",
            "takeback_lab.experiments.sensitivity",
        )
        parts = parts_of(
            tasks=[task.to_json() for task in self.tasks],
            suites={"dev": list(SUITES), "hidden": HIDDEN, "rare": EVERY, "pool": POOL},
            analysis={"threshold": THRESHOLD, "cannot_run_apart": self.apart, "code": code},
        )
        return parts | digest_sources(*JUDGING)

    def units(self) -> dict[str, Any]:
        """One unit per candidate."""
        return {task.id: task.id for task in self.tasks}


class Sensitivity:
    """Run the 120 defective candidates under every development suite and on hidden states; no model is asked.

    Example: `takeback lab sensitivity --json`
    """

    name = NAME
    asks = False
    options = (
        options.TASKS,
        CANNOT_RUN,
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> SensitivityPlan:
        """All 120 candidates."""
        del frozen
        how = read_counting(given.get("cannot_run", APART))
        return SensitivityPlan(at_most(draw_classes(load("controlled")), given.get("tasks")), how == APART)

    def run(self, unit: str, asked: Asked | None) -> dict[str, Any]:
        """What becomes of one candidate on every state: passed, failed, or the mutation could not run."""
        del asked
        task = get(unit)
        candidate = read_candidate(task.controlled.candidate if task.controlled is not None else None, task.id)
        nominal = State.read(task.state, task.id)
        trial = Trial(candidate)
        hidden = make_hidden_states(nominal, candidate.mutation, "fresh", POOL, dev=NARROW)[:HIDDEN]
        found = {suite: make_dev_states(nominal, candidate.mutation, suite) for suite in SUITES}
        marks = {suite: _marks(trial, states) for suite, states in found.items()}
        seen: dict[str, Any] = {"diverse": {"dev": marks, "hidden": _marks(trial, hidden)}}
        if (rare := make_rare_states(task, candidate.mutation, nominal)) is not None:
            dev = {suite: _marks(trial, rare.suite(suite)) for suite in SUITES if suite != NARROW}
            seen["rare"] = {"dev": dev, "hidden": _marks(trial, rare.hidden)}
        return {"id": task.id, "defect": task.controlled.defect if task.controlled else "", **seen}

    def data(self, plan: SensitivityPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """Outcomes candidate by candidate."""
        del who
        population = f"{len(plan.tasks)} defective candidates"
        return {NAME: {"population": population, "apart": plan.apart, "candidates": list(done.values())}}

    def summary(self, plan: SensitivityPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """By regime and suite: development passes, false positives, the conservatism gap."""
        del plan
        rows, apart = data[NAME]["candidates"], data[NAME]["apart"]
        return {
            "candidates": len(rows),
            "cannot_run_counts": "apart" if apart else "passed",
            "cannot_run": _count_marks(rows, IDLE),
            "states": _count_marks(rows, PASS + FAIL + IDLE),
            **{regime: _by_suite([row[regime] for row in rows if regime in row], apart=apart) for regime in REGIMES},
        }

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether the largest suite lets no defective candidate pass that fails hidden states."""
        return not summary["diverse"]["Q20"]["false_positive"][0]

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """Both regimes, suite by suite."""
        yield f"{summary['candidates']} defective candidates, no model"
        yield from _tables(summary)
        stuck, of, rule = summary["cannot_run"], summary["states"], summary["cannot_run_counts"]
        yield f"on {stuck} of {of} states the mutation cannot run; they count {rule}"

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """Both regimes, suite by suite."""
        return _tables(self.summary(SensitivityPlan(()), {NAME: dict(data)}))

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """None: a table says it."""
        del data
        return iter(())


def _marks(trial: Trial, states: Sequence[State]) -> str:
    return "".join(_mark(trial.run(state)) for state in states)


def _mark(trip: Trip) -> str:
    if not trip.passed:
        return FAIL
    return IDLE if trip.forward_failure else PASS


def _counts(marks: str, *, apart: bool) -> tuple[int, int]:
    """How many states pass, of how many that count."""
    stuck = marks.count(IDLE)
    return marks.count(PASS) + (0 if apart else stuck), len(marks) - (stuck if apart else 0)


def _by_suite(rows: Sequence[Mapping[str, Any]], *, apart: bool) -> dict[str, dict[str, list[int]]]:
    suites = rows[0]["dev"] if rows else ()
    found = {}
    for suite in suites:
        passes = [
            (len(set(_counts(row["dev"][suite], apart=apart))) == 1, _meets(row["hidden"], apart)) for row in rows
        ]
        dev = [hidden for through, hidden in passes if through]
        turned = [hidden for through, hidden in passes if not through]
        found[suite] = {
            "dev": [len(dev), len(rows)],
            "false_positive": [len(dev) - sum(dev), len(dev)],
            "gap": [sum(turned), len(turned)],
        }
    return found


def _meets(marks: str, apart: bool) -> bool:
    passed, of = _counts(marks, apart=apart)
    return bool(of) and compute_wilson_lower(passed, of) >= THRESHOLD


def _count_marks(rows: Sequence[Mapping[str, Any]], which: str) -> int:
    texts = [text for row in rows for text in (row["diverse"]["dev"]["Q20"], row["diverse"]["hidden"])]
    return sum(text.count(mark) for text in texts for mark in which)


def _tables(summary: Mapping[str, Any]) -> Iterator[Table]:
    for regime in REGIMES:
        rows = tuple(
            (suite, *(f"{k}/{n}" for k, n in (row["dev"], row["false_positive"], row["gap"])))
            for suite, row in summary[regime].items()
        )
        title = f"{summary['candidates']} defective candidates, {regime} states"
        yield Table(f"{NAME}-{regime}", title, (f"{regime} suite", "dev pass", "false positive", "gap"), rows)


EXPERIMENT = Sensitivity()
