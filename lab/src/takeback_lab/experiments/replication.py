"""The replication: the factorial once more, with another model on some cases of S0 and of S1, drawn by seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from takeback_lab.experiment import Option
from takeback_lab.experiments import options
from takeback_lab.experiments.factorial import CellsPlan, Factorial

PER_STRATUM: Final = 48


class Replication(Factorial):
    """Repeat the factorial with another model on a frozen subset: as many cases of S0 and of S1.

    With `replay` and no number of cases, they are those of the recording.

    Example: `takeback lab replication --synthesizer openai:MODEL --per-stratum 48 --record DIR`
    """

    name = "replication"
    options = (
        Option(
            "per-stratum", "number", f"How many of each stratum, drawn by seed; {PER_STRATUM} if left out.", least=1
        ),
        options.BUDGET,
        options.BANK,
        options.PROMPT,
        options.SAMPLING,
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> CellsPlan:
        """As many of each stratum, without the residual ones."""
        if frozen is not None and "per_stratum" not in given:
            return super().plan(given, frozen)
        plan = super().plan({"per_stratum": PER_STRATUM, **given}, frozen)
        return replace(plan, cases=tuple(case for case in plan.cases if case.stratum != "residual"))


EXPERIMENT = Replication()
