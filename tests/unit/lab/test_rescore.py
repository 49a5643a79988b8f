"""Rescoring: every recorded decision again under another rule, from the counts that were kept."""

from __future__ import annotations

from typing import Any

import pytest

from takeback.errors import InputError
from takeback_lab.rescore import rescored


def counts(dev: int, iid: int, ood: int) -> dict[str, list[int]]:
    return {"dev": [dev, 10], "iid": [iid, 20], "ood": [ood, 20]}


def turn(outcome: str, kept: dict[str, list[int]] | None) -> dict[str, Any]:
    return {"outcome": outcome, "counts": kept}


def factorial(*attempts: dict[str, Any]) -> dict[str, Any]:
    return {"rule": "split-wald", "tasks": [{"id": "a", "attempts": {"D0L1": list(attempts)}}]}


def test_nineteen_of_twenty_twice_passes_split_wald_and_not_pooled_wilson() -> None:
    found = rescored("factorial", factorial(turn("admitted", counts(10, 19, 19))), "pooled-wilson")
    assert found["admitted"] == {"D0L1": {"recorded": 1, "rescored": 0}}
    assert [(one["case"], one["turn"]) for one in found["changed"]] == [("a", 1)]


@pytest.mark.parametrize(("iid", "ood"), [(20, 20), (20, 19), (19, 20)])
def test_rescoring_changes_nothing_where_the_rules_agree(iid: int, ood: int) -> None:
    raw = factorial(turn("wrong_shape", None), turn("admitted", counts(10, iid, ood)))
    found = rescored("factorial", raw, "pooled-wilson")
    assert (found["changed"], found["evaluations"]) == ([], 1)


def test_a_turn_the_other_rule_would_admit_counts_as_a_change() -> None:
    raw = factorial(turn("BOUND_TOO_LOW", counts(10, 18, 20)), turn("admitted", counts(10, 20, 20)))
    found = rescored("factorial", raw, "pooled-wilson")
    assert [(one["turn"], found["admitted"]["D0L1"]) for one in found["changed"]] == []
    dev = rescored("factorial", factorial(turn("BOUND_TOO_LOW", counts(9, 20, 20))), "pooled-wilson")
    assert dev["changed"] == []


def test_a_natural_run_is_rescored_at_turn_0() -> None:
    rows = [
        {"id": "a", "outcome": "admissible", "counts": counts(10, 20, 20)},
        {"id": "b", "outcome": "defective", "counts": counts(3, 0, 0)},
        {"id": "c", "outcome": "inadequate"},
    ]
    found = rescored("natural", {"tasks": rows}, "pooled-wilson")
    assert (found["evaluations"], found["admitted"]) == (2, {"turn 0": {"recorded": 1, "rescored": 1}})


def test_unknown_rules_and_runs_with_their_own_criterion_are_refused() -> None:
    with pytest.raises(InputError, match="--rule"):
        rescored("factorial", factorial(), "mood")
    with pytest.raises(InputError, match="experiment"):
        rescored("fresh", {"suites": []}, "pooled-wilson")
