"""Recorded runs under another rule of admission: every decision again, from the counts that were kept, no new call.

A turn that the rule would have admitted ends the repair there; a turn that the recorded rule admitted and this one
does not has no turns after it, so that the case counts as not rescued.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from takeback.errors import InputError
from takeback.verify import RULES, THRESHOLD


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One recorded decision: on what, with which counts, and what was decided."""

    case: str
    cell: str
    turn: int
    counts: Mapping[str, tuple[int, int]]
    admitted: bool


def evaluations(experiment: str, data: Mapping[str, Any], *, together: bool = False) -> Iterator[Evaluation]:
    """Every candidate that ran, with its decision; candidates that never ran have no counts to decide on."""
    if experiment == "natural":
        for row in data["tasks"]:
            if row.get("counts") is not None:
                counts = _pairs(row["counts"], together=together)
                yield Evaluation(row["id"], "", 0, counts, row["outcome"] == "admissible")
        return
    rows = data.get("candidates", data.get("tasks"))
    if rows is None or experiment == "fresh":
        expected = "natural, factorial, conventional, replication or controlled"
        raise InputError("experiment", found=experiment, expected=expected)
    for row in rows:
        for cell, turns in row.get("attempts", {}).items():
            for number, turn in enumerate(turns, start=1):
                if turn["counts"] is not None:
                    counts = _pairs(turn["counts"], together=together)
                    yield Evaluation(row["id"], cell, number, counts, turn["outcome"] == "admitted")


def _pairs(counts: Mapping[str, Any], *, together: bool) -> dict[str, tuple[int, int]]:
    """The counts as a rule takes them; with `together`, states that were set apart count as passed again."""
    found = {}
    for name, (passed, of, *idle) in counts.items():
        back = sum(idle) if together else 0
        found[name] = (int(passed) + back, int(of) + back)
    return found


def rescored(experiment: str, data: Mapping[str, Any], rule: str, *, together: bool = False) -> dict[str, Any]:
    """Both rules' decisions: how many agree, which differ, and what each cell comes to under either."""
    if rule not in RULES:
        raise InputError("--rule", found=rule, expected=f"one of {', '.join(RULES)}")
    changed: list[dict[str, Any]] = []
    then: dict[str, set[str]] = {}
    now: dict[str, set[str]] = {}
    total = 0
    for one in evaluations(experiment, data, together=together):
        total += 1
        decided = RULES[rule].decide(one.counts, THRESHOLD).admitted
        for admitted, found in ((one.admitted, then), (decided, now)):
            found.setdefault(one.cell, set()).update({one.case} if admitted else ())
        if decided != one.admitted:
            changed.append({"case": one.case, "cell": one.cell, "turn": one.turn, "counts": dict(one.counts)})
    return {
        "experiment": experiment,
        "recorded_rule": data.get("rule", "split-wald"),
        "rule": rule,
        "evaluations": total,
        "changed": changed,
        "admitted": {cell or "turn 0": {"recorded": len(then[cell]), "rescored": len(now[cell])} for cell in then},
    }
