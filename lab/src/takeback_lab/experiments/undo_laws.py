"""The laws of undo as an experiment: random histories, in parts that any worker can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from takeback_lab.experiment import Asked, Option
from takeback_lab.protocol import parts_of, sources
from takeback_lab.report.table import Table
from takeback_lab.undo_laws import LawFindings, check_history

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "undo-laws"
HISTORIES: Final = 2_000
PART: Final = 100
FEW: Final = 5


@dataclass(frozen=True, slots=True)
class LawsPlan:
    """How many random histories, from which seed."""

    histories: int = HISTORIES
    seed: int = 0

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        del who
        here = "takeback_lab"
        laws = (f"{here}.undo_laws", f"{here}.law_world", f"{here}.naive", f"{here}.random_changes")
        code = sources("takeback.state", "takeback.language", "takeback.undo", "takeback.harness", *laws)
        return parts_of(seeds=[self.seed], suites={"histories": self.histories, "part": PART}, analysis=code)

    def units(self) -> dict[str, Any]:
        """Parts of a size worth sending to a worker."""
        return {
            f"part {at // PART}": {"first": at, "histories": min(PART, self.histories - at), "seed": self.seed}
            for at in range(0, self.histories, PART)
        }


class UndoLaws:
    """Undo and redo random sets in random order, and compare each result with a naive replay.

    Example: `takeback lab undo-laws --histories 2000 --json`
    """

    name = NAME
    asks = False
    options = (
        Option("histories", "number", f"How many random histories; {HISTORIES} if left out.", least=1),
        Option("seed", "number", "Seed of the histories; 0 if left out.", least=0),
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> LawsPlan:
        """As many histories from one seed."""
        del frozen
        return LawsPlan(given.get("histories", HISTORIES), given.get("seed", 0))

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        """Check one part."""
        del asked
        found = LawFindings()
        for at in range(unit["first"], unit["first"] + unit["histories"]):
            check_history(at, unit["seed"], found)
        return asdict(found)

    def data(self, plan: LawsPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """All parts together; `examples` keeps the first few violations."""
        del who
        total: dict[str, Any] = {"population": f"{plan.histories} random histories, seed {plan.seed}"}
        for part in done.values():
            for name, value in part.items():
                total[name] = total[name] + value if name in total else value
        kinds = sorted(set(total["kinds"]))
        return {NAME: {**total, "kinds": kinds, "examples": total["examples"][:FEW]}}

    def summary(self, plan: LawsPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The counts."""
        del plan
        return dict(data[NAME])

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether no law was broken."""
        return not summary["violations"] and not summary["blocked_not_minimal"]

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The counts in words."""
        done = ", ".join(f"{summary[name]} {name}" for name in ("changes", "undos", "redos", "blocked"))
        wrong = f"{summary['violations']} violations, {summary['blocked_not_minimal']} not minimal"
        yield f"{summary['histories']} histories, {done}: {wrong}"
        yield from (f"  ! {text}" for text in summary["examples"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """The counts as a table."""
        shown = [name for name, value in data.items() if isinstance(value, int)]
        rows = tuple((name.replace("_", " "), str(data[name])) for name in shown)
        yield Table(NAME, f"Undo against naive replay: {data['population']}", ("count", "ours"), rows)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """None: counts need no plot."""
        del data
        return iter(())


EXPERIMENT = UndoLaws()
