"""Solvability: which mutations of a cohort can be taken back in L0, in L1, or in neither.

The recovery is the oracle's, one pass and no search. A task is recovered in a language if the language has that
recovery and it is admitted: by `split-wald` on 10 development and 20 + 20 hidden states as in the paper, or by
`proof` for every state. S0 is recovered in L0, S1 in L1 only, residual in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.counterfactual import suites
from takeback.errors import InputError, ProgramTooLarge
from takeback.lab.experiments.cohort import Case, bank_cases, reference_cases
from takeback.lab.pool import Tick, no_tick, run_units
from takeback.lab.progress import Progress
from takeback.lab.protocol import parts_of, sources
from takeback.language import Candidate, gate
from takeback.state import Level
from takeback.synthesize import invert
from takeback.verify import prove, verify_on

SAMPLED: Final = "split-wald"
PROOF: Final = "proof"
RULES: Final = (SAMPLED, PROOF)
DEV, IID, OOD = "Q10", 20, 20
SPLITS: Final = ("dev",) * 10 + ("iid",) * IID + ("ood",) * OOD
SETS: Final = ("natural", "fresh")
CHUNK: Final = 30


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case: in which languages it is recovered, and its round trips (empty: by proof)."""

    id: str
    family: str
    l0: bool
    l1: bool
    passes: str = ""

    @property
    def stratum(self) -> str:
        """S0, S1 or residual."""
        return "S0" if self.l0 else "S1" if self.l1 else "residual"


def cohort(sets: Iterable[str] = SETS, bank: Path | None = None, tasks: int | None = None) -> tuple[Case, ...]:
    """The cases to audit: a frozen bank's defective candidates, or the reference mutations of task sets."""
    return reference_cases(sets, tasks) if bank is None else bank_cases(bank, tasks)


def protocol(
    *, sets: Iterable[str] = SETS, bank: Path | None = None, tasks: int | None = None, seeds: Sequence[int] = (0,)
) -> dict[str, Any]:
    """What a lock of this experiment freezes."""
    return parts_of(
        tasks=[case.to_json() for case in cohort(sets, bank, tasks)],
        seeds=list(seeds),
        suites={"dev": DEV, "iid": IID, "ood": OOD, "code": sources("takeback.counterfactual", "takeback.state")},
        analysis={
            "rules": list(RULES),
            "code": sources(
                "takeback.language",
                "takeback.runtime",
                "takeback.verify",
                "takeback.synthesize.oracle",
                "takeback.lab.experiments.oracle",
            ),
        },
    )


def audit(case: Case, rule: str, seed: int = 0) -> Outcome:
    """Build the oracle's recovery for one mutation and try it; what L1 cannot say or proof cannot decide is residual.

    The same round trips decide both languages: which of them has the recovery is the gate's business.
    """
    nominal = case.nominal()
    candidate = invert(case.program(), nominal)
    if rule not in RULES:
        raise InputError("rule", found=rule, expected=f"one of {', '.join(RULES)}")
    if gate(candidate, Level.L1):
        return Outcome(case.id, case.family, l0=False, l1=False)
    passes = ""
    if rule == PROOF:
        admitted = _proved(candidate)
    else:
        made = suites(nominal, candidate.mutation, seed=seed, dev=DEV, iid=IID, ood=OOD)
        verdict = verify_on(candidate, made, level=Level.L1, rule=SAMPLED)
        admitted = verdict.admitted
        passes = "".join("1" if trip.passed else "0" for split in verdict.splits.values() for trip in split.trips)
    return Outcome(case.id, case.family, admitted and not gate(candidate, Level.L0), admitted, passes)


def _proved(candidate: Candidate) -> bool:
    try:
        return prove(candidate, level=Level.L1).admitted
    except ProgramTooLarge:
        return False


def audit_chunk(unit: tuple[tuple[Case, ...], str, int]) -> list[dict[str, Any]]:
    """Audit several cases: the work of one worker process at a time."""
    cases, rule, seed = unit
    found = (audit(case, rule, seed) for case in cases)
    return [{"id": one.id, "family": one.family, "L0": one.l0, "L1": one.l1, "passes": one.passes} for one in found]


def run(
    cases: Sequence[Case],
    rule: str,
    seed: int = 0,
    *,
    workers: int = 1,
    finished: Progress | None = None,
    tick: Tick = no_tick,
) -> tuple[Outcome, ...]:
    """Audit a cohort under one rule."""
    units = {f"{rule}/{seed}/{part[0].id}": (part, rule, seed) for part in chunks(cases)}
    done = run_units(audit_chunk, units, workers=workers, finished=finished, tick=tick)
    return tuple(
        Outcome(row["id"], row["family"], row["L0"], row["L1"], row["passes"])
        for rows in done.values()
        for row in rows
    )


def chunks(cases: Sequence[Case]) -> list[tuple[Case, ...]]:
    """The cases in parts of a size worth sending to a worker."""
    return [tuple(cases[at : at + CHUNK]) for at in range(0, len(cases), CHUNK)]


def report_data(outcomes: Sequence[Outcome], label: str) -> dict[str, Any]:
    """The result as the report reads it; round trips are shown as a matrix where states were run."""
    tasks = [{"id": one.id, "family": one.family, "L0": one.l0, "L1": one.l1} for one in outcomes]
    data: dict[str, Any] = {"label": label, "tasks": tasks}
    if any(one.passes for one in outcomes):
        rows = [{"id": one.id, "family": one.family, "passes": one.passes or "-" * len(SPLITS)} for one in outcomes]
        data["matrix"] = {"splits": list(SPLITS), "rows": rows}
    return data


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Counts in all and by family, and the id of each task that no language recovers."""
    families = dict.fromkeys(one.family for one in outcomes)
    return {
        **_counts(outcomes),
        "families": {name: _counts([one for one in outcomes if one.family == name]) for name in families},
        "unrecovered": [one.id for one in outcomes if not one.l1],
    }


def _counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    strata = Counter(one.stratum for one in outcomes)
    return {
        "tasks": len(outcomes),
        "L0": sum(one.l0 for one in outcomes),
        "L1": sum(one.l1 for one in outcomes),
        **{name: strata[name] for name in ("S0", "S1", "residual")},
    }
