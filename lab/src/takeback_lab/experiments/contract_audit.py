"""The contract audit: are undeclared effects caught, and is anything else taken for one?

Three times the same mutations: with a contract that leaves out something truly affected, with a complete
contract, and as a control under nondeterminism. What is affected is worked out apart from the runtime
(`truth`). Every third mutation of each family runs on a state it has already changed, so that only its trace shows
its effects.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from takeback.language import Candidate
from takeback.repair import invert_mutation
from takeback.runtime import run_forward
from takeback.state import Contract, State
from takeback.verify import Code, Verdict, verify
from takeback_lab.experiment import Asked, Option
from takeback_lab.experiments import nondeterminism, truth
from takeback_lab.experiments.cohort import Case, reference_cases
from takeback_lab.experiments.truth import TruthPath
from takeback_lab.protocol import JUDGING, digest_sources, parts_of, sources
from takeback_lab.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "contract-audit"
TASKS: Final = 300
SET: Final = "natural"
CHUNK: Final = 50
TRACE_ONLY: Final = 3
"""Every so many mutations of a family write what is there already."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The audit of one mutation: was the omission caught, and what alarmed without cause."""

    id: str
    caught: bool
    omitted: tuple[str, ...]
    trace_only: bool
    complete: tuple[str, ...]
    nondeterminism: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContractPlan:
    """Which mutations are audited; every one once, with the seed of what is left out of its contract."""

    cases: tuple[Case, ...]
    seed: int = 0

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        del who
        here = "takeback_lab.experiments"
        parts = parts_of(
            tasks=[case.to_json() for case in self.cases],
            seeds=[self.seed],
            analysis=sources(
                "takeback.state",
                "takeback.language",
                "takeback.runtime",
                "takeback.verify",
                "takeback.repair.oracle",
                f"{here}.contract_audit",
                f"{here}.truth",
                f"{here}.nondeterminism",
            ),
        )
        return parts | digest_sources(*JUDGING)

    def units(self) -> dict[str, Any]:
        """Parts of the cohort of a size worth sending to a worker."""
        alone = self.trace_only()
        return {
            self.cases[at].id: {
                "cases": [case.to_json() for case in self.cases[at : at + CHUNK]],
                "trace_only": alone[at : at + CHUNK],
                "seed": self.seed,
            }
            for at in range(0, len(self.cases), CHUNK)
        }

    def trace_only(self) -> list[bool]:
        """Which cases run on a state they have already changed: every third of a family, families out of step."""
        seen = Counter({family: at for at, family in enumerate(dict.fromkeys(case.family for case in self.cases))})
        chosen = []
        for case in self.cases:
            chosen.append(seen[case.family] % TRACE_ONLY == TRACE_ONLY - 1)
            seen[case.family] += 1
        return chosen


def audit(case: Case, seed: int = 0, *, trace_only: bool = False) -> Audit:
    """Audit one mutation, with `trace_only` on a state that it has already changed."""
    rng = random.Random(f"{seed}/{case.id}")
    mutation, nominal = case.program(), case.nominal()
    if trace_only:
        nominal = run_forward(mutation, nominal)[0]
    after = run_forward(mutation, nominal)[0]
    true = truth.affected(nominal.write(), after.write(), case.mutation)
    built = invert_mutation(mutation, nominal)
    listed, omitted = leave_out(true, rng)
    with_all = _with(built, true)
    refused = _verdict(_with(built, listed), nominal)
    return Audit(
        case.id,
        caught=bool(omitted) and _uncovered(refused) == omitted,
        omitted=tuple(sorted(omitted)),
        trace_only=trace_only,
        complete=tuple(str(reason.message) for reason in _verdict(with_all, nominal).reasons),
        nondeterminism=tuple(nondeterminism.alarms(with_all, nominal, rng)),
    )


def leave_out(true: set[TruthPath], rng: random.Random) -> tuple[set[TruthPath], set[str]]:
    """A contract without at least one affected place, and the addresses it fails to cover.

    Neighbours are listed in its stead: a longer name, a place below it, another surface.
    """
    chosen = rng.sample(sorted(true), rng.randint(1, len(true)))
    listed = {
        place for place in true if not any(truth.covers(place, one) or truth.covers(one, place) for one in chosen)
    }
    for surface, *path in chosen:
        decoys = [(surface, *path[:-1], f"{path[-1]}_2"), (surface, f"unrelated_{rng.randrange(100)}")]
        if surface in {"config", "files"}:
            decoys.append((surface, *path, "below"))
        listed.add(rng.choice(decoys))
    omitted = {truth.address(place) for place in true if not any(truth.covers(one, place) for one in listed)}
    return listed, omitted


def _with(candidate: Candidate, places: set[TruthPath]) -> Candidate:
    contract = Contract.read(sorted(map(truth.address, places)), "contract")
    return Candidate(candidate.mutation, candidate.witness, candidate.recovery, contract)


def _verdict(candidate: Candidate, state: State) -> Verdict:
    return verify(candidate, rule="exact", nominal=state)


def _uncovered(verdict: Verdict) -> set[str]:
    """The addresses that the verdict says the contract omits; none unless that is a reason of it."""
    if not any(reason.code is Code.CONTRACT_INCOMPLETE for reason in verdict.reasons):
        return set()
    return {str(one) for split in verdict.splits.values() for trip in split.trips for one in trip.uncovered}


class ContractAudit:
    """Audit incomplete and complete contracts, and controls in which only volatile things vary.

    Example: `takeback lab contract-audit --json`
    """

    name = NAME
    asks = False
    options = (
        Option(
            "tasks", "number", f"How many mutations, the same number from each family; {TASKS} if left out.", least=1
        ),
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> ContractPlan:
        """As many reference mutations, families in equal parts."""
        del frozen
        return ContractPlan(reference_cases((SET,), given.get("tasks", TASKS)))

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> list[dict[str, Any]]:
        """Audit the mutations of one part."""
        del asked
        pairs = zip(unit["cases"], unit["trace_only"], strict=True)
        return [asdict(audit(Case.from_json(case), unit["seed"], trace_only=alone)) for case, alone in pairs]

    def data(self, plan: ContractPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """The three counts, and every case that came out wrong."""
        del who
        rows = [row for part in done.values() for row in part]
        of = len(rows)
        data = {
            "population": f"{len(plan.cases)} reference mutations: {SET}",
            "incomplete": [sum(row["caught"] for row in rows), of],
            "complete": [sum(bool(row["complete"]) for row in rows), of],
            "nondeterminism": [sum(bool(row["nondeterminism"]) for row in rows), of],
            "by_trace_only": sum(row["trace_only"] for row in rows),
            "wrong": [row for row in rows if not row["caught"] or row["complete"] or row["nondeterminism"]],
        }
        return {NAME: data}

    def summary(self, plan: ContractPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The same, with names."""
        del plan
        found = data[NAME]
        (caught, of), (complete, _), (control, _) = (
            found[name] for name in ("incomplete", "complete", "nondeterminism")
        )
        return {
            "cohort": found["population"],
            "incomplete": {"caught": caught, "of": of, "by_trace_only": found["by_trace_only"]},
            "complete": {"false_alarms": complete, "of": of},
            "nondeterminism": {"false_alarms": control, "of": of},
            "wrong": found["wrong"],
        }

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether every omission was caught and nothing else alarmed."""
        return not summary["wrong"]

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The three counts."""
        incomplete, complete, control = (summary[name] for name in ("incomplete", "complete", "nondeterminism"))
        yield f"incomplete contracts caught            {incomplete['caught']}/{incomplete['of']}"
        yield f"false alarms on complete contracts     {complete['false_alarms']}/{complete['of']}"
        yield f"false alarms under nondeterminism      {control['false_alarms']}/{control['of']}"
        yield from (f"  wrong: {row}" for row in summary["wrong"])

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """The three counts beside the paper's."""
        from takeback_lab.report.cohort_tables import audit_tables  # noqa: PLC0415 - loads the paper's figures

        return audit_tables(data)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """None: three counts need no plot."""
        del data
        return iter(())


EXPERIMENT = ContractAudit()
