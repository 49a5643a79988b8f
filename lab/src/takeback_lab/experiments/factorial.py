"""The factorial: {D0, D1} × {L0, L1} on the frozen failures.

Delivers outcomes case by case, as the report wants them. The language of a cell bounds witness and recovery, as in
the paper: a model is asked in the L0 cells whatever the locked mutation is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError, TakebackError
from takeback.repair.prompts import ALL_SHOWN
from takeback.repair.synthesizer import read_sampling
from takeback_lab.errors import LockChanged
from takeback_lab.experiment import Asked, Option
from takeback_lab.experiments import options
from takeback_lab.experiments.apart import APART, CANNOT_RUN, PASSED, apart_line, read_counting, tell_apart
from takeback_lab.experiments.bank import STRATA, Failure, cohort, drawn, load_bank
from takeback_lab.experiments.draws import at_most, first_seed, suites_of
from takeback_lab.experiments.recorded import check_run, read_run, shipped_recording, shipped_recordings, write_run
from takeback_lab.experiments.repairs import CLOSED, TERMS, Terms, read_cell, repair_unit, run_repair, spent
from takeback_lab.experiments.turn0 import STYLES
from takeback_lab.lock import make_lock
from takeback_lab.prompt_sets import FIRST, V4
from takeback_lab.report.table import Table
from takeback_lab.results import BANK
from takeback_lab.tasks import get

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS: Final = ("D0L0", "D1L0", "D0L1", "D1L1")


@dataclass(frozen=True, slots=True)
class CellsPlan:
    """Which failures are repaired in which cells; `locked` are those that were locked, where more than are run."""

    cases: tuple[Failure, ...]
    cells: tuple[str, ...] = CELLS
    terms: Terms = TERMS
    locked: tuple[Failure, ...] = ()
    bank: Mapping[str, Any] | None = None
    wanted: Mapping[str, int] = field(default_factory=dict)
    """How many of each stratum were asked for, where a number was."""

    def notes(self) -> tuple[str, ...]:
        """Return what is to be said before anybody is asked: strata with fewer cases than were wanted."""
        return tuple(
            f"{stratum}: {there} of {count} wanted, which is all that the bank has; the run takes these"
            for stratum, (there, count) in self.tell_short().items()
        )

    def tell_short(self) -> dict[str, list[int]]:
        """Return the strata that have fewer cases than were wanted: how many there are, how many were wanted."""
        there: Counter[str] = Counter(case.stratum for case in self.locked or self.cases)
        return {name: [there[name], count] for name, count in self.wanted.items() if there[name] < count}

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        cases, terms = self.locked or self.cases, self.terms
        return {
            "tasks": [case.to_json() for case in cases],
            "seeds": [first_seed(case.task) for case in cases],
            "suites": suites_of(terms.rule),
            "prompts": terms.prompts_digest(),
            "model": {"name": who, **terms.sampling.to_json()},
            "analysis": {
                "rule": terms.rule,
                "budget": terms.budget,
                "cells": list(self.cells),
                **terms.tell_counting(),
            },
            **terms.grounds(who),
        }

    def units(self) -> dict[str, Any]:
        """One unit per case and cell; cases are finished one after the other."""
        return {
            f"{case.id}/{cell}": repair_unit(case.task, case.candidate, *read_cell(cell), self.terms)
            for case in self.cases
            for cell in self.cells
        }

    def reached(self, keys: frozenset[str]) -> CellsPlan:
        """The plan with the cases of which every cell is done."""
        whole = tuple(case for case in self.cases if all(f"{case.id}/{cell}" in keys for cell in self.cells))
        return replace(self, cases=whole, locked=self.locked or self.cases)


class Factorial:
    """Cross diagnosis (D0, D1) with language (L0, L1) on the defective cohort; contrasts, p-values, gate.

    With `replay` and no choice of cases or cells, they are those of the recording.

    Example: `takeback lab factorial --synthesizer replay --json`
    """

    name = "factorial"
    asks = True
    cells: tuple[str, ...] = CELLS
    terms = CLOSED
    default_synthesizer = "oracle"
    options: tuple[Option, ...] = (
        Option("tasks", "number", "How many cases, drawn by seed: strata in turn, families in turn.", least=1),
        Option("per-stratum", "number", "How many of each stratum, drawn by seed.", least=1),
        Option(
            "draw",
            "text",
            "How many of each stratum, drawn by seed, such as S0=24,S1=36; all there are if fewer.",
        ),
        Option("cells", "text", "Cells, such as D0L0,adaptiveL1; the paper's if left out."),
        options.BUDGET,
        options.RULE,
        options.BANK,
        options.PROMPT,
        options.SHOW_MUTATION,
        options.SHOW_ATTEMPT,
        CANNOT_RUN,
        options.SAMPLING,
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> CellsPlan:
        """The whole cohort in all cells, or what a recording was made with."""
        if frozen is not None and not {"tasks", "per_stratum", "draw", "cells"} & given.keys():
            plan = _plan_recorded(frozen, given.get("bank"))
        else:
            failures, accounting = next(_read_failures(given.get("bank"), frozen))
            cells = tuple(part.strip() for part in given["cells"].split(",")) if "cells" in given else self.cells
            for cell in cells:
                read_cell(cell)
            cases = chosen_cases(failures, given)
            plan = CellsPlan(cases, cells, self.terms, bank=accounting, wanted=_wanted(given))
        return replace(plan, terms=altered(plan.terms, given))

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        """Repair one case in one cell."""
        if asked is None:
            raise InputError("--synthesizer", found="nobody", expected="somebody to ask")
        return run_repair(unit, asked, any_mutation=True)

    def data(self, plan: CellsPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """Outcomes case by case."""
        data = {
            "model": who,
            "prompts": plan.terms.prompts,
            "rule": plan.terms.rule,
            **plan.terms.tell_counting(),
            "budget": plan.terms.budget,
            "locked": len(plan.locked or plan.cases),
            "bank": dict(plan.bank or {}),
            "account": spent(done),
            "tasks": [_row(case, plan.cells, done) for case in plan.cases],
            "gate": _gate(plan, done),
        }
        return {options.folder_of(self.name, who): data}

    def summary(self, plan: CellsPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Rescues by cell and stratum, the contrasts, what the gate turned away."""
        from takeback_lab.report.summaries import factorial_summary  # noqa: PLC0415 - loads statistics

        [found] = data.values()
        counts = (one["counts"] for row in found["tasks"] for some in row["attempts"].values() for one in some)
        summary = {**factorial_summary(found, self.name), **tell_apart(counts, found.get("cannot_run", PASSED))}
        return {**summary, "fewer_than_wanted": plan.tell_short()}

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """A factorial promises nothing."""
        del summary
        return True

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """Rescues by cell, and the contrasts."""
        yield f"{summary['cases']} cases of {summary['locked']} locked, {summary['model']}, B = {summary['budget']}"
        if summary["cases"]:
            rows = tuple((cell, *(f"{k}/{n}" for k, n in parts.values())) for cell, parts in summary["cells"].items())
            yield Table(self.name, "", ("cell", "all", "S0", "S1"), rows)
        for name, found in summary["contrasts"].items():
            difference, p, adjusted = found["difference"], found["p"], found["p_holm"]
            few = f" (n = {found['n']}: too few cases for a contrast)" if found["few"] else f" (n = {found['n']})"
            yield f"{name}: {difference * 100:+.2f} pp, p = {p:.4g}, Holm p = {adjusted:.4g}{few}"
        if summary["account"]["calls"]:
            for name, found in summary["contrasts"].items():
                power = ", ".join(f"{whose} {chance:.2f}" for whose, chance in found["power"].items())
                yield f"{name}: power {power}{_tell_needed(found['needed'])}"
        if summary["cannot_run_counts"] == APART and summary["states"]:
            yield apart_line(summary)
        yield options.spent_line(summary["account"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """Rescue, budgets, contrasts, efficiency, yield, families, gate, discordant cases, cost."""
        from takeback_lab.report.factorial_tables import factorial_tables  # noqa: PLC0415 - loads statistics

        return factorial_tables(data, self.name)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """Rescue by budget."""
        from takeback_lab.report.figures import factorial_plots  # noqa: PLC0415 - loads matplotlib

        return factorial_plots(data, self.name)

    def freeze_run(self, folder: Path, plan: CellsPlan, done: Mapping[str, Any], who: str) -> None:
        """Write beside a recording what was run."""
        del done
        ran = {
            "model": who,
            **plan.terms.to_json(),
            "cells": list(plan.cells),
            "ran": [case.id for case in plan.cases],
            "locked": [case.id for case in plan.locked or plan.cases],
            "cases": [[case.id, case.candidate, case.stratum] for case in plan.locked or plan.cases],
            "bank": dict(plan.bank or {}),
        }
        write_run(folder, ran, make_lock(self.name, plan.parts(who)))

    def thaw_run(self, folder: Path) -> Mapping[str, Any] | None:
        """What a recording was frozen with."""
        return read_run(folder, self.name)

    def shipped(self) -> Path:
        """The latest recording."""
        return shipped_recording(self.name)


def _tell_needed(needed: Mapping[str, int | None]) -> str:
    """How many pairs the published effects need, where that was found."""
    known = ", ".join(f"{whose} {count}" for whose, count in needed.items() if count is not None)
    return f"; pairs needed for 0.9: {known}" if known else ""


def _plan_recorded(frozen: Mapping[str, Any], bank: Path | None) -> CellsPlan:
    """Return what a recording was made with, on the first bank whose cases are those that its lock holds."""
    first: TakebackError | None = None
    for failures, accounting in _read_failures(bank, frozen):
        known = {failure.id: failure for failure in failures}
        ids = frozen.get("ran", frozen.get("tasks", ()))
        try:
            cases, locked = _found(ids, known), _found(frozen.get("locked", ids), known)
            plan = CellsPlan(cases, tuple(frozen["cells"]), Terms.from_json(frozen, FIRST), locked, accounting)
            check_run(frozen["folder"], plan.parts(frozen["model"]))
        except (InputError, LockChanged) as fault:
            first = first or fault
            continue
        return plan
    raise first or InputError("bank", found="none", expected="the bank of the recorded run")


def _read_failures(
    bank: Path | None, frozen: Mapping[str, Any] | None
) -> Iterator[tuple[tuple[Failure, ...], Mapping[str, Any]]]:
    """Yield the failures to repair with the accounting of their bank: of a named bank, or as a run was frozen with.

    A run that was frozen before runs held their cases may have them from the bank beside it, or from any that ships.
    """
    if bank is None and frozen is not None and "cases" in frozen:
        cases = tuple(Failure(get(name), candidate, stratum) for name, candidate, stratum in frozen["cases"])
        yield cases, frozen["bank"]
        return
    beside = _bank_beside(frozen)
    shipped = shipped_recordings("natural") or (shipped_recording("natural"),)
    for folder in (bank,) if bank is not None else (beside, *shipped) if beside is not None else shipped:
        chosen = load_bank(folder)
        yield cohort(chosen.entries), chosen.accounting()


def _wanted(given: Mapping[str, Any]) -> dict[str, int]:
    """Return how many cases of each stratum the options name."""
    if "draw" in given:
        return {stratum: count for stratum, count in read_draw(given["draw"]).items() if count is not None}
    return dict.fromkeys(("S0", "S1"), given["per_stratum"]) if "per_stratum" in given else {}


def _bank_beside(frozen: Mapping[str, Any] | None) -> Path | None:
    """The bank that a recorded run was made on: the one beside it, where there is one."""
    beside = Path(frozen["folder"]).with_name("natural") if frozen is not None else None
    return beside if beside is not None and (beside / BANK).exists() else None


def _found(ids: Any, known: Mapping[str, Failure]) -> tuple[Failure, ...]:
    missing = [name for name in ids if name not in known]
    if missing:
        raise InputError("bank", found=f"no defective {missing[0]}", expected="the bank of the recorded run")
    return tuple(known[name] for name in ids)


def chosen_cases(failures: Sequence[Failure], given: Mapping[str, Any]) -> tuple[Failure, ...]:
    """The cases that options name, drawn by seed; the whole cohort in the bank's order where they name none."""
    if "draw" in given and "per_stratum" in given:
        raise InputError("--draw", found="--per-stratum besides", expected="one of the two")
    if "draw" in given:
        return at_most(drawn(failures, read_draw(given["draw"])), given.get("tasks"))
    if not {"tasks", "per_stratum"} & given.keys():
        return tuple(failures)
    return at_most(drawn(failures, dict.fromkeys(STRATA, given.get("per_stratum"))), given.get("tasks"))


def read_draw(text: str) -> dict[str, int | None]:
    """How many of each stratum to draw, as in `S0=24,S1=36`."""
    found: dict[str, int | None] = {}
    for part in text.split(","):
        stratum, _, count = part.strip().partition("=")
        if stratum not in {"S0", "S1"} or stratum in found or not count.isdecimal() or not int(count):
            raise InputError("--draw", found=part, expected="numbers of S0 and S1 cases, such as S0=24,S1=36")
        found[stratum] = int(count)
    return found


def altered(terms: Terms, given: Mapping[str, Any]) -> Terms:
    """The terms with the options that were given; the others stay as they are, such as those of a recording."""
    prompt = given.get("prompt")
    if prompt is not None and prompt not in STYLES:
        raise InputError("--prompt", found=prompt, expected=f"one of {', '.join(STYLES)}")
    prompts = STYLES[prompt] if prompt else terms.prompts
    base = terms.shown if prompts == V4 else ALL_SHOWN
    return Terms(
        options.read_budget(given, terms.budget),
        options.read_rule(given, terms.rule),
        read_sampling(given.get("sampling", ""), terms.sampling),
        prompts,
        options.read_shown(given, base),
        read_counting(given.get("cannot_run", terms.cannot_run)),
    )


def _row(case: Failure, cells: tuple[str, ...], done: Mapping[str, Any]) -> dict[str, Any]:
    mine = {cell: done[f"{case.id}/{cell}"] for cell in cells}
    return {
        "id": case.id,
        "family": case.family,
        "stratum": case.stratum,
        "turns": {cell: one["turn"] for cell, one in mine.items()},
        "calls": {cell: one["calls"] for cell, one in mine.items()},
        "tokens": {cell: one["tokens"] for cell, one in mine.items()},
        "latency_s": {cell: one["latency_s"] for cell, one in mine.items()},
        "recovery": {cell: one["recovery"] for cell, one in mine.items()},
        "attempts": {cell: one["turns"] for cell, one in mine.items()},
    }


def _gate(plan: CellsPlan, done: Mapping[str, Any]) -> list[dict[str, Any]]:
    responses: Counter[tuple[str, str]] = Counter()
    turned: Counter[tuple[str, str]] = Counter()
    for case in plan.cases:
        for cell in plan.cells:
            turns = done[f"{case.id}/{cell}"]["turns"]
            responses[cell, case.stratum] += len(turns)
            turned[cell, case.stratum] += sum(turn["outcome"] == "out_of_language" for turn in turns)
    return [
        {"cell": cell, "stratum": stratum, "rejected": turned[cell, stratum], "responses": count}
        for (cell, stratum), count in sorted(responses.items())
        if count
    ]


EXPERIMENT = Factorial()
