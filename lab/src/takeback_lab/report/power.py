"""The chance that a contrast comes out significant: by the published effects, and by the observed one."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from takeback_lab.report.counting import Contrast
from takeback_lab.statistics import mcnemar_power

EFFECTS: Final = {
    "C1": {"paper": (38 / 48, 0.0), "qwen": (25 / 48, 2 / 48)},
    "C2": {"paper": (142 / 143, 0.0), "qwen": (18 / 48, 0.0)},
    "C3": {"paper": (1 / 143, 10 / 143), "qwen": (4 / 48, 1 / 48)},
}
"""Shares of discordant pairs behind the published contrasts: gpt-oss-120b's and Qwen3.8-27B's.

Qwen's are not printed for C1: of the counts that the printed interval allows, one pair."""
LEVEL: Final = 0.05
ALPHA: Final = LEVEL / len(EFFECTS)
"""What the smallest p of three has to reach under Holm."""
ENOUGH: Final = 0.9
MOST: Final = 40
"""How many pairs are tried to find how many an effect needs."""


def power_of(contrast: Contrast) -> dict[str, float]:
    """The chance of a significant exact test on so many pairs, by each effect."""
    counts = contrast.counts
    effects = {**EFFECTS.get(contrast.name, {})}
    alpha = ALPHA if contrast.name in EFFECTS else LEVEL
    if counts.pairs:
        effects["observed"] = (counts.only_new / counts.pairs, counts.only_old / counts.pairs)
    return {name: round(mcnemar_power(counts.pairs, *shares, alpha), 4) for name, shares in effects.items()}


def pairs_needed(name: str) -> dict[str, int | None]:
    """The fewest pairs that give a contrast enough power, by each published effect; None: more than were tried."""
    return {whose: _fewest(*shares) for whose, shares in EFFECTS.get(name, {}).items()}


@lru_cache
def _fewest(only_new: float, only_old: float) -> int | None:
    chances = ((pairs, mcnemar_power(pairs, only_new, only_old, ALPHA)) for pairs in range(1, MOST + 1))
    return next((pairs for pairs, chance in chances if chance >= ENOUGH), None)
