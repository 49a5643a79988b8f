"""The contract audit: are undeclared effects caught, and is anything else taken for one?

Three times the same mutations: with a contract that leaves out something truly affected, with a complete
contract, and as a control under nondeterminism. What is affected is worked out apart from the runtime
(`truth`). Every third mutation runs on a state it has already changed, so that only its trace shows its effects.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from takeback.lab.experiments import nondeterminism, truth
from takeback.lab.experiments.cohort import Case, reference_cases
from takeback.lab.experiments.truth import Place
from takeback.lab.pool import Tick, no_tick, run_units
from takeback.lab.progress import Progress
from takeback.lab.protocol import parts_of, sources
from takeback.language import Candidate
from takeback.runtime import forward
from takeback.state import Contract, State
from takeback.synthesize import invert
from takeback.verify import Code, Verdict, verify

TASKS: Final = 300
SET: Final = "natural"
CHUNK: Final = 50
TRACE_ONLY: Final = 3
"""Every so many mutations write what is there already."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The audit of one mutation: was the omission caught, and what alarmed without cause."""

    id: str
    caught: bool
    omitted: tuple[str, ...]
    trace_only: bool
    complete: tuple[str, ...]
    nondeterminism: tuple[str, ...]


def cohort(tasks: int = TASKS) -> tuple[Case, ...]:
    """As many reference mutations, families in equal parts."""
    return reference_cases((SET,), tasks)


def protocol(*, tasks: int = TASKS, seed: int = 0) -> dict[str, Any]:
    """What a lock of this experiment freezes."""
    experiment = "takeback.lab.experiments"
    modules = (f"{experiment}.contract_audit", f"{experiment}.truth", f"{experiment}.nondeterminism")
    return parts_of(
        tasks=[case.to_json() for case in cohort(tasks)],
        seeds=[seed],
        analysis=sources(
            "takeback.state",
            "takeback.language",
            "takeback.runtime",
            "takeback.verify",
            "takeback.synthesize.oracle",
            *modules,
        ),
    )


def audit(case: Case, at: int, seed: int = 0) -> Audit:
    """Audit one mutation; `at` is its place in the cohort."""
    rng = random.Random(f"{seed}/{case.id}")
    mutation, nominal = case.program(), case.nominal()
    trace_only = at % TRACE_ONLY == TRACE_ONLY - 1
    if trace_only:
        nominal = forward(mutation, nominal)[0]
    after = forward(mutation, nominal)[0]
    true = truth.affected(nominal.write(), after.write(), case.mutation)
    built = invert(mutation, nominal)
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


def leave_out(true: set[Place], rng: random.Random) -> tuple[set[Place], set[str]]:
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


def _with(candidate: Candidate, places: set[Place]) -> Candidate:
    contract = Contract.read(sorted(map(truth.address, places)), "contract")
    return Candidate(candidate.mutation, candidate.witness, candidate.recovery, contract)


def _verdict(candidate: Candidate, state: State) -> Verdict:
    return verify(candidate, rule="exact", nominal=state)


def _uncovered(verdict: Verdict) -> set[str]:
    """The addresses that the verdict says the contract omits; none unless that is a reason of it."""
    if not any(reason.code is Code.CONTRACT_INCOMPLETE for reason in verdict.reasons):
        return set()
    return {str(one) for split in verdict.splits.values() for trip in split.trips for one in trip.uncovered}


def audit_chunk(unit: tuple[int, tuple[Case, ...], int]) -> list[dict[str, Any]]:
    """Audit several mutations: the work of one worker process at a time."""
    first, cases, seed = unit
    found = (audit(case, first + at, seed) for at, case in enumerate(cases))
    return [
        {
            "id": one.id,
            "caught": one.caught,
            "omitted": list(one.omitted),
            "trace_only": one.trace_only,
            "complete": list(one.complete),
            "nondeterminism": list(one.nondeterminism),
        }
        for one in found
    ]


def run(
    cases: Sequence[Case], seed: int = 0, *, workers: int = 1, finished: Progress | None = None, tick: Tick = no_tick
) -> list[dict[str, Any]]:
    """Audit all mutations; one row each."""
    starts = range(0, len(cases), CHUNK)
    units = {cases[at].id: (at, tuple(cases[at : at + CHUNK]), seed) for at in starts}
    done = run_units(audit_chunk, units, workers=workers, finished=finished, tick=tick)
    return [row for rows in done.values() for row in rows]


def report_data(rows: Sequence[dict[str, Any]], label: str) -> dict[str, Any]:
    """The result as the report reads it."""
    of = len(rows)
    return {
        "label": label,
        "incomplete": [sum(row["caught"] for row in rows), of],
        "complete": [sum(bool(row["complete"]) for row in rows), of],
        "nondeterminism": [sum(bool(row["nondeterminism"]) for row in rows), of],
    }


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The three counts, and every case that came out wrong."""
    data = report_data(rows, "")
    (caught, of), (complete, _), (control, _) = data["incomplete"], data["complete"], data["nondeterminism"]
    return {
        "incomplete": {"caught": caught, "of": of, "by_trace_only": sum(row["trace_only"] for row in rows)},
        "complete": {"false_alarms": complete, "of": of},
        "nondeterminism": {"false_alarms": control, "of": of},
        "wrong": [row for row in rows if not row["caught"] or row["complete"] or row["nondeterminism"]],
    }
