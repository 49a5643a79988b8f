"""Admission rules at their edges, with bounds worked out apart from the code."""

from __future__ import annotations

from math import isclose

import pytest

from takeback.verify import RULES, THRESHOLD, compute_wald_lower, compute_wilson_lower


@pytest.mark.parametrize(
    ("passed", "of", "bound"),
    [(20, 20, 1.0), (19, 20, 0.85448), (18, 20, 0.76852), (0, 20, 0.0), (1, 20, 0.0), (100, 100, 1.0), (0, 0, 0.0)],
)
def test_the_wald_bound_is_the_papers(passed, of, bound):
    assert isclose(compute_wald_lower(passed, of), bound, abs_tol=5e-6)


@pytest.mark.parametrize(
    ("passed", "of", "bound"),
    [
        (40, 40, 0.91238),
        (39, 40, 0.87119),
        (38, 40, 0.83496),
        (37, 40, 0.80136),
        (100, 100, 0.96301),
        (92, 100, 0.85002),
        (91, 100, 0.83774),
        (0, 40, 0.0),
        (0, 0, 0.0),
    ],
)
def test_the_wilson_bound_is_the_textbooks(passed, of, bound):
    assert isclose(compute_wilson_lower(passed, of), bound, abs_tol=2e-5)


def _admits(rule: str, dev: tuple, iid: tuple, ood: tuple) -> bool:
    return RULES[rule].decide({"dev": dev, "iid": iid, "ood": ood}, THRESHOLD).admitted


@pytest.mark.parametrize(
    ("iid", "ood", "admitted"),
    [(20, 20, True), (19, 20, True), (20, 19, True), (19, 19, True), (18, 20, False), (20, 18, False)],
)
def test_split_wald_takes_nineteen_of_twenty_on_each_side_and_not_eighteen(iid, ood, admitted):
    assert _admits("split-wald", (10, 10), (iid, 20), (ood, 20)) is admitted


@pytest.mark.parametrize(
    ("iid", "ood", "admitted"), [(20, 20, True), (19, 20, True), (20, 19, True), (19, 19, False), (18, 20, False)]
)
def test_pooled_wilson_takes_one_failure_of_forty_and_not_two(iid, ood, admitted):
    assert _admits("pooled-wilson", (10, 10), (iid, 20), (ood, 20)) is admitted


@pytest.mark.parametrize(
    ("iid", "ood", "admitted"), [(50, 50, True), (46, 46, True), (46, 45, False), (50, 41, False)]
)
def test_hidden_wilson_takes_eight_failures_of_a_hundred_and_not_nine(iid, ood, admitted):
    assert _admits("hidden-wilson", (10, 10), (iid, 50), (ood, 50)) is admitted


@pytest.mark.parametrize("rule", RULES)
def test_one_dev_state_that_fails_is_enough_to_reject(rule):
    size = RULES[rule].iid
    decision = RULES[rule].decide({"dev": (9, 10), "iid": (size, size), "ood": (size, size)}, THRESHOLD)
    assert not decision.admitted
    assert decision.shortfalls == ("dev: 9 of 10 states pass, all must",)


@pytest.mark.parametrize("rule", RULES)
def test_no_hidden_states_admit_nothing(rule):
    assert not _admits(rule, (10, 10), (0, 0), (0, 0))


def test_a_split_without_states_is_no_evidence_for_split_wald():
    assert not _admits("split-wald", (10, 10), (20, 20), (0, 0))


def test_the_threshold_is_the_papers_and_counts_as_reached_when_equal():
    assert THRESHOLD == 0.85
    counts = {"dev": (1, 1), "iid": (20, 20), "ood": (20, 20)}
    assert RULES["split-wald"].decide(counts, 1.0).admitted


def test_a_shortfall_says_the_counts_the_bound_and_the_threshold():
    decision = RULES["split-wald"].decide({"dev": (10, 10), "iid": (18, 20), "ood": (20, 20)}, THRESHOLD)
    assert decision.shortfalls == ("iid: 18 of 20 pass, Wald lower bound 0.76852 is below 0.85",)
    assert decision.bounds["ood"] == 1.0
