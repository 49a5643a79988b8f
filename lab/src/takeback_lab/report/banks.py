"""What a result leaves out about the bank its failures were drawn from: how many of them lie in each stratum.

The natural run beside it says so, if it is the same bank: the same accounting, and every case defective there in the
stratum it has here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from takeback.errors import TakebackError
from takeback_lab.manifest import RESULT
from takeback_lab.results import Result, read_results

STRATA: Final = ("S0", "S1", "residual")
OUTCOMES: Final = ("admissible", "defective", "inadequate")


def shown_data(run: Path, result: Result) -> Mapping[str, Any]:
    """The data of a run as a report shows it: its bank with strata, where a natural run beside it has them."""
    data: Mapping[str, Any] = result.data
    bank = data.get("bank")
    if not bank or set(STRATA) <= bank.keys():
        return data
    for path in sorted(run.parent.glob(f"natural-*/{RESULT}")):
        strata = _strata(path.parent, bank, data["tasks"])
        if strata is not None:
            return {**data, "bank": {**bank, **strata}}
    return data


def _strata(folder: Path, bank: Mapping[str, int], cases: list[Mapping[str, Any]]) -> dict[str, int] | None:
    try:
        rows = read_results(folder).data["tasks"]
    except (TakebackError, KeyError, TypeError):
        return None
    count = Counter(row["outcome"] for row in rows)
    same = bank.get("tasks") == len(rows) and all(bank.get(name) == count[name] for name in OUTCOMES)
    known = {row["id"]: row["stratum"] for row in rows if row.get("stratum")}
    if not same or any(known.get(case["id"]) != case["stratum"] for case in cases):
        return None
    found = Counter(known.values())
    return {part: found[part] for part in STRATA}
