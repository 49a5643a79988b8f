"""Bisection as an experiment: histories with a planted set of entries that breaks them, found in how many tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from takeback_lab.bisecting import LONGEST, MOST_PLANTED, SHORTEST, WAYS, search
from takeback_lab.experiment import Asked, Option
from takeback_lab.protocol import parts_of, sources
from takeback_lab.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "bisect"
HISTORIES: Final = 200
PART: Final = 20
OURS: Final = "takeback"


@dataclass(frozen=True, slots=True)
class BisectPlan:
    """How many histories, from which seed."""

    histories: int = HISTORIES
    seed: int = 0

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        del who
        own = ("takeback_lab.bisecting", "takeback_lab.random_changes")
        code = sources("takeback.state", "takeback.language", "takeback.undo", "takeback.harness", *own)
        return parts_of(seeds=[self.seed], suites={"histories": self.histories, "part": PART}, analysis=code)

    def units(self) -> dict[str, Any]:
        """Parts of a size worth sending to a worker."""
        return {
            f"part {at // PART}": {"first": at, "histories": min(PART, self.histories - at), "seed": self.seed}
            for at in range(0, self.histories, PART)
        }


class Bisect:
    """Plant one to three entries that break a history together, and find them again.

    Example: `takeback lab bisect --histories 200 --json`
    """

    name = NAME
    asks = False
    options = (
        Option("histories", "number", f"How many histories; {HISTORIES} if left out.", least=1),
        Option("seed", "number", "Seed of the histories; 0 if left out.", least=0),
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> BisectPlan:
        """As many histories from one seed."""
        del frozen
        return BisectPlan(given.get("histories", HISTORIES), given.get("seed", 0))

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> list[dict[str, Any]]:
        """Search one part of the histories."""
        del asked
        return [search(at, unit["seed"]) for at in range(unit["first"], unit["first"] + unit["histories"])]

    def data(self, plan: BisectPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """All histories."""
        del who
        rows = [row for part in done.values() for row in part]
        lengths = f"{SHORTEST} to {LONGEST} entries, 1 to {MOST_PLANTED} of them planted"
        return {NAME: {"population": f"{plan.histories} histories of {lengths}, seed {plan.seed}", "rows": rows}}

    def summary(self, plan: BisectPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """How many were found, in how many tests, by each way and by the size of the planted set."""
        del plan
        rows = data[NAME]["rows"]
        ours = _told(rows, OURS)
        return {
            "histories": len(rows),
            **ours,
            "by_planted": {
                str(size): {name: _told(some, name) for name in WAYS}
                for size in range(1, MOST_PLANTED + 1)
                if (some := [row for row in rows if row["planted"] == size])
            },
            "others": {name: _told(rows, name) for name in WAYS if name != OURS},
            "population": data[NAME]["population"],
        }

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether every planted set was found."""
        return bool(summary["found"] == summary["histories"])

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The counts in words."""
        found = f"{summary['found']} of {summary['histories']} planted sets found"
        yield f"{found}, in {summary['tests_median']} tests (median)"
        for name, told in summary["others"].items():
            yield f"  {name}: {told['found']} found, in {told['tests_median']} tests"

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """The ways beside each other, by the size of the planted set."""
        rows = []
        for size in range(1, MOST_PLANTED + 1):
            some = [row for row in data["rows"] if row["planted"] == size]
            for name in WAYS if some else ():
                told = _told(some, name)
                rows.append((str(size), name, f"{told['found']} of {len(some)}", str(told["tests_median"])))
        columns = ("planted", "way", "found", "tests (median)")
        yield Table(NAME, f"Entries that break a history: {data['population']}", columns, tuple(rows))

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """None: counts need no plot."""
        del data
        return iter(())


def _told(rows: list[dict[str, Any]], way: str) -> dict[str, Any]:
    return {
        "found": sum(row[way]["found"] for row in rows),
        "tests_median": median(row[way]["tests"] for row in rows),
        "tests_most": max(row[way]["tests"] for row in rows),
    }


EXPERIMENT = Bisect()
