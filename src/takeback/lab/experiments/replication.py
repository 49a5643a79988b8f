"""The replication: the factorial once more, with another model on the first tasks of S0 and of S1."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from takeback.lab.experiments.bank import cohort, load_bank, stratified
from takeback.lab.experiments.factorial import Plan
from takeback.synthesize.models import PAPER, Sampling

PER_STRATUM: Final = 48


def replication_plan(
    bank: Path | None, per_stratum: int = PER_STRATUM, budget: int = 4, sampling: Sampling = PAPER
) -> Plan:
    """The plan of a replication on a frozen bank, the shipped one by default."""
    chosen = stratified(cohort(load_bank(bank).entries), per_stratum)
    cases = tuple(case for case in chosen if case.stratum != "residual")
    return Plan(cases, budget=budget, sampling=sampling)


def protocol(
    *,
    model: str,
    bank: Path | None = None,
    per_stratum: int = PER_STRATUM,
    budget: int = 4,
    sampling: Sampling = PAPER,
) -> dict[str, Any]:
    """What a lock of this experiment freezes."""
    return replication_plan(bank, per_stratum, budget, sampling).parts(model)
