"""Solvability: which mutations of a cohort can be taken back in L0, in L1, in L2 where asked for, or in none.

The recovery is the oracle's, one pass and no search. A task is recovered in a language if the language has that
recovery and it is admitted: by `split-wald` on 10 development and 20 + 20 hidden states as in the paper, or by
`proof` for every state. S0 is recovered in L0, S1 in L1 but not L0, S2 in L2 only, residual in none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError, ProgramTooLarge
from takeback.language import Candidate, gate
from takeback.repair import invert_mutation
from takeback.state import Level
from takeback.verify import VerifyOptions, prove, verify_on
from takeback.verify.suites import make_suites
from takeback_lab.experiment import Asked, Option
from takeback_lab.experiments import options
from takeback_lab.experiments.cohort import Case, bank_cases, reference_cases
from takeback_lab.protocol import JUDGING, digest_sources, parts_of, sources
from takeback_lab.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "oracle"
SAMPLED: Final = "split-wald"
PROOF: Final = "proof"
RULES: Final = (SAMPLED, PROOF)
DEV, IID, OOD = "Q10", 20, 20
SPLITS: Final = ("dev",) * 10 + ("iid",) * IID + ("ood",) * OOD
SETS: Final = ("natural", "fresh")
CHUNK: Final = 30
LEVELS: Final = (Level.L1, Level.L2)


@dataclass(frozen=True, slots=True)
class OracleOutcome:
    """What became of one case: in which languages it is recovered, and its round trips (empty: by proof)."""

    id: str
    family: str
    l0: bool
    l1: bool
    passes: str = ""
    l2: bool = False
    """Whether L2 recovers it; False where it was not asked for."""

    @property
    def stratum(self) -> str:
        """S0, S1, S2 or residual."""
        return _stratum({"L0": self.l0, "L1": self.l1, "L2": self.l2})


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """Which mutations are audited, under which rules and seeds; `population` says where they come from."""

    cases: tuple[Case, ...]
    population: str
    rules: tuple[str, ...] = RULES
    seeds: tuple[int, ...] = (0,)
    level: Level = Level.L1

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        del who
        parts = parts_of(
            tasks=[case.to_json() for case in self.cases],
            seeds=list(self.seeds),
            suites={"dev": DEV, "iid": IID, "ood": OOD, "code": sources("takeback.verify.suites", "takeback.state")},
            analysis={
                "rules": list(RULES),
                "language": self.level.value,
                "code": sources(
                    "takeback.language",
                    "takeback.runtime",
                    "takeback.verify",
                    "takeback.repair.oracle",
                    "takeback_lab.experiments.oracle",
                ),
            },
        )
        return parts | digest_sources(*JUDGING)

    def units(self) -> dict[str, Any]:
        """Parts of the cohort of a size worth sending to a worker, under each rule and seed."""
        parts = [self.cases[at : at + CHUNK] for at in range(0, len(self.cases), CHUNK)]
        return {
            f"{rule}/{seed}/{part[0].id}": {
                "cases": [case.to_json() for case in part],
                "rule": rule,
                "seed": seed,
                "language": self.level.value,
            }
            for rule in self.rules
            for seed in self.seeds
            for part in parts
        }


def read_population(given: Mapping[str, Any]) -> tuple[tuple[Case, ...], str]:
    """The mutations to audit: a frozen bank's defective candidates, or the reference mutations of task sets."""
    bank: Path | None = given.get("bank")
    sets = tuple(given.get("set", SETS))
    if bank is not None:
        cases = bank_cases(bank, given.get("tasks"))
        return cases, f"{len(cases)} defective candidates of the bank {bank.name}"
    cases = reference_cases(sets, given.get("tasks"))
    kind = "defective candidates of the shipped bank" if sets == ("bank",) else "reference mutations"
    return cases, f"{len(cases)} {kind}: {' and '.join(sets)}"


def audit(case: Case, rule: str, seed: int = 0, level: Level = Level.L1) -> OracleOutcome:
    """Build the oracle's recovery for one mutation and try it; what `level` cannot say, or fails, is residual.

    The same round trips decide all languages: which of them has the recovery is the gate's business.
    """
    nominal = case.nominal()
    candidate = invert_mutation(case.program(), nominal)
    if rule not in RULES:
        raise InputError("rule", found=rule, expected=f"one of {', '.join(RULES)}")
    if gate(candidate, level):
        return OracleOutcome(case.id, case.family, l0=False, l1=False)
    passes = ""
    if rule == PROOF:
        admitted = _proved(candidate, level)
    else:
        made = make_suites(nominal, candidate.mutation, seed=seed, dev=DEV, iid=IID, ood=OOD)
        verdict = verify_on(candidate, made, VerifyOptions(rule=SAMPLED, level=level))
        admitted = verdict.admitted
        passes = "".join("1" if trip.passed else "0" for split in verdict.splits.values() for trip in split.trips)
    l0, l1 = (admitted and not gate(candidate, narrow) for narrow in (Level.L0, Level.L1))
    return OracleOutcome(case.id, case.family, l0, l1, passes, l2=admitted and level is Level.L2)


def _proved(candidate: Candidate, level: Level) -> bool:
    try:
        return prove(candidate, level=level).admitted
    except ProgramTooLarge:
        return False


def audit_unit(unit: Mapping[str, Any]) -> list[OracleOutcome]:
    """Audit the cases of a unit."""
    level = Level(unit["language"])
    return [audit(Case.from_json(case), unit["rule"], unit["seed"], level) for case in unit["cases"]]


class Oracle:
    """Audit the solvability of a cohort with the oracle's recoveries, on samples and by proof side by side.

    Example: `takeback lab oracle --set natural --rule proof --json`
    """

    name = NAME
    asks = False
    options = (
        options.SETS,
        Option("bank", "path", "A frozen bank: take its defective candidates instead."),
        Option("rule", "texts", f"Admission rules, each a result of its own; {' and '.join(RULES)} if left out."),
        Option("language", "text", "The widest language that may recover a task: L1 or L2; L1 if left out."),
        options.TASKS,
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> AuditPlan:
        """The cohort under both rules."""
        del frozen
        rules = tuple(given.get("rule", RULES))
        for rule in rules:
            if rule not in RULES:
                raise InputError("--rule", found=rule, expected=f"one of {', '.join(RULES)}")
        level = given.get("language", Level.L1.value)
        if level not in {one.value for one in LEVELS}:
            raise InputError("--language", found=level, expected=" or ".join(one.value for one in LEVELS))
        return AuditPlan(*read_population(given), rules, level=Level(level))

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> list[dict[str, Any]]:
        """Audit one part of the cohort."""
        del asked
        return [
            {"id": one.id, "family": one.family, "L0": one.l0, "L1": one.l1, "passes": one.passes}
            | ({"L2": one.l2} if unit["language"] == Level.L2 else {})
            for one in audit_unit(unit)
        ]

    def data(self, plan: AuditPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """One result per rule; round trips are kept as a matrix where states were run."""
        del who
        found = {}
        for rule in plan.rules:
            rows = [row for key, part in done.items() if key.startswith(f"{rule}/") for row in part]
            tasks = [{name: row[name] for name in ("id", "family", "L0", "L1", "L2") if name in row} for row in rows]
            one: dict[str, Any] = {"population": plan.population, "rule": rule, "tasks": tasks}
            if any(row["passes"] for row in rows):
                shown = [{**row, "passes": row["passes"] or "-" * len(SPLITS)} for row in rows]
                cells = [{name: row[name] for name in ("id", "family", "passes")} for row in shown]
                one["matrix"] = {"splits": list(SPLITS), "rows": cells}
            found[f"{NAME}-{rule}"] = one
        return found

    def summary(self, plan: AuditPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Counts in all and by family, and the id of each task that no language recovers."""
        rules = {one["rule"]: _counted(one["tasks"], plan.level) for one in data.values()}
        return {"cohort": plan.population, "tasks": len(plan.cases), "language": plan.level.value, "rules": rules}

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether the widest language asked for recovers every task under every rule."""
        return not any(counts["unrecovered"] for counts in summary["rules"].values())

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The strata by family under each rule."""
        yield str(summary["cohort"])
        level = Level(summary["language"])
        columns = ("tasks", *_columns(level))
        for rule, counts in summary["rules"].items():
            rows = [*counts["families"].items(), ("all", counts)]
            cells = tuple((family, *(str(row[column]) for column in columns)) for family, row in rows)
            yield Table(NAME, "", (rule, *columns), cells)
            if level is Level.L2:
                yield f"recovered in {level.value} under {rule}: {counts[level.value]}/{counts['tasks']}"
            yield from (f"  not recovered: {task}" for task in counts["unrecovered"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """Recovered under L0 and L1, strata by family."""
        from takeback_lab.report.cohort_tables import oracle_tables  # noqa: PLC0415 - loads the paper's figures

        return oracle_tables(data)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """Strata by family, round trips."""
        from takeback_lab.report.figures import oracle_plots  # noqa: PLC0415 - loads matplotlib

        return oracle_plots(data)


def _columns(level: Level) -> tuple[str, ...]:
    """What is counted: tasks by language and by stratum."""
    inside = level is Level.L2
    return ("L0", "L1", *["L2"][:inside], "S0", "S1", *["S2"][:inside], "residual")


def _stratum(row: Mapping[str, Any]) -> str:
    return "S0" if row["L0"] else "S1" if row["L1"] else "S2" if row.get("L2") else "residual"


def _counted(rows: Sequence[Mapping[str, Any]], level: Level) -> dict[str, Any]:
    families = dict.fromkeys(row["family"] for row in rows)
    return {
        **_counts(rows, level),
        "families": {name: _counts([row for row in rows if row["family"] == name], level) for name in families},
        "unrecovered": [row["id"] for row in rows if _stratum(row) == "residual"],
    }


def _counts(rows: Sequence[Mapping[str, Any]], level: Level) -> dict[str, int]:
    found = Counter(_stratum(row) for row in rows)
    found.update(name for row in rows for name in ("L0", "L1", "L2") if row.get(name))
    return {"tasks": len(rows), **{name: found[name] for name in _columns(level)}}


EXPERIMENT = Oracle()
