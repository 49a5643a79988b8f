"""Soundness as an experiment: proof against brute force, certificates and z3, in parts that any worker can do.

A part has a seed of its own, so parts add up to the same counts wherever they were done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError
from takeback.state import Level
from takeback_lab.experiment import Asked, Option
from takeback_lab.protocol import parts_of, sources
from takeback_lab.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "soundness"
LANGUAGES: Final = (Level.L1.value, Level.L2.value)
CASES: Final = 2_000
STATES: Final = 40
PART: Final = 250
APART: Final = 1_000_003
"""Seeds of two runs, each times this plus the number of a part, never meet."""
WRONG: Final = ("disagreements", "z3_disagreements", "certificate_rejected")
FEW: Final = 5


@dataclass(frozen=True, slots=True)
class SoundnessPlan:
    """How many random candidates, from which seed, each proved one on how many random states."""

    cases: int = CASES
    seed: int = 0
    states: int = STATES
    level: Level = Level.L1

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        del who
        code = sources(
            "takeback.state",
            "takeback.language",
            "takeback.runtime",
            "takeback.verify",
            "takeback.opinion",
            "takeback_lab.soundness",
        )
        drawn = {"cases": self.cases, "states": self.states, "part": PART, "language": self.level.value}
        return parts_of(seeds=[self.seed], suites=drawn, analysis=code)

    def units(self) -> dict[str, Any]:
        """Parts of a size worth sending to a worker."""
        return {
            f"part {at // PART}": {
                "cases": min(PART, self.cases - at),
                "seed": self.seed * APART + at // PART,
                "states": self.states,
                "language": self.level.value,
            }
            for at in range(0, self.cases, PART)
        }


class Soundness:
    """Check the proof on random candidates: brute force and z3 for every answer, the certificate of every proof.

    Example: `takeback lab soundness --cases 20000 --json`
    """

    name = NAME
    asks = False
    options = (
        Option("cases", "number", f"How many random candidates; {CASES} if left out.", least=1),
        Option("seed", "number", "Seed of candidates and states; 0 if left out.", least=0),
        Option("states", "number", f"Random states for each proved candidate; {STATES} if left out.", least=1),
        Option("language", "text", "Language of the candidates: L1 (with L0) or L2; L1 if left out."),
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> SoundnessPlan:
        """As many candidates from one seed."""
        del frozen
        language = given.get("language", Level.L1.value)
        if language not in LANGUAGES:
            raise InputError("--language", found=language, expected=f"one of {', '.join(LANGUAGES)}")
        return SoundnessPlan(
            given.get("cases", CASES), given.get("seed", 0), given.get("states", STATES), Level(language)
        )

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        """Check one part."""
        from takeback_lab.soundness import run_soundness  # noqa: PLC0415 - z3 comes with the extra

        del asked
        level = Level(unit["language"])
        return run_soundness(unit["cases"], seed=unit["seed"], states=unit["states"], level=level).to_json()

    def data(self, plan: SoundnessPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """All parts together; `found` keeps the first few disagreements, to look at."""
        del who
        drawn = f"{plan.cases} random candidates, seed {plan.seed}"
        total: dict[str, Any] = {"population": drawn if plan.level is Level.L1 else f"{drawn}, {plan.level.value}"}
        total["language"] = plan.level.value
        for part in done.values():
            for name, value in part.items():
                total[name] = _add(total[name], value) if name in total else value
        return {NAME: {**total, "found": total["found"][:FEW]}}

    def summary(self, plan: SoundnessPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The counts."""
        del plan
        return dict(data[NAME])

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether no answer was wrong, and none is missing but in L2, where what has none was turned away.

        What was planted must have been refuted.
        """
        turned_away = summary["undecided_not_admitted"] if summary["language"] == Level.L2.value else 0
        if summary.get("planted", 0) != summary.get("planted_refuted", 0):
            return False
        return summary["undecided"] == turned_away and not any(summary[name] for name in WRONG)

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The counts in words."""
        proved, refuted, undecided = summary["proved"], summary["refuted"], summary["undecided"]
        yield f"{summary['cases']} candidates: {proved} proved, {refuted} refuted, {undecided} undecided"
        if "with_calls" in summary:
            yield f"{summary['with_calls']} of them make calls"
        if "with_records" in summary:
            yield f"{summary['with_records']} write records of other systems"
            refuted_ones = f"{summary['planted_refuted']} of {summary['planted']}"
            yield f"{refuted_ones} planted ones, which touch what others have, were refuted"
        if undecided:
            yield (
                f"{summary['undecided_not_admitted']} of the undecided were not admitted; "
                f"brute force breaks {summary['undecided_broken']} of them"
            )
        yield (
            f"brute force on {summary['states']} states and {summary['shapes']} joint shapes: "
            f"{summary['disagreements']} disagreements; "
            f"z3 on {summary['z3_checked']} candidates: {summary['z3_disagreements']} disagreements"
        )
        yield from (f"  out of z3's scope, {many}: {why}" for why, many in summary["z3_out_of_scope"].items())
        yield (
            f"certificates: {summary['certificate_checked']} checked on {summary['certificate_states']} states, "
            f"{summary['certificate_rejected']} rejected"
        )
        yield from (f"  {found}" for found in summary["found"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """The counts as a table."""
        shown = [name for name, value in data.items() if isinstance(value, int)]
        rows = tuple((name.replace("_", " "), str(data[name])) for name in shown)
        yield Table(NAME, f"Proof against brute force and z3: {data['population']}", ("count", "ours"), rows)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """None: counts need no plot."""
        del data
        return iter(())


def _add(one: Any, two: Any) -> Any:
    """Return the sum of two counts, or of two tables of counts by name; lists follow each other."""
    if isinstance(one, dict):
        return {name: one.get(name, 0) + two.get(name, 0) for name in sorted({*one, *two})}
    return one + two


EXPERIMENT = Soundness()
