"""Conventional repair under L0: the paper's four verifier-guided modes and regeneration, on the frozen failures."""

from __future__ import annotations

from typing import Final

from takeback_lab.experiments.factorial import Factorial
from takeback_lab.experiments.repairs import TERMS

CELLS: Final = ("genericL0", "rawL0", "typedL0", "prescriptiveL0", "noneL0")


class Conventional(Factorial):
    """Repair the defective cohort in L0 as is usual: generic, raw, typed, prescriptive feedback, and regeneration.

    With `replay` and no choice of cases or cells, they are those of the recording.

    Example: `takeback lab conventional --synthesizer oracle --json`
    """

    name = "conventional"
    cells = CELLS
    terms = TERMS


EXPERIMENT = Conventional()
