"""Each statistic against a second, independent computation: closed forms, enumeration, the other library."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from tests.support.batches import in_batches

from takeback.errors import InputError
from takeback_lab import statistics as lab
from takeback_lab.statistics.bootstrap import difference_scores, resampled_sums

COUNTS = [(k, n) for n in (1, 2, 7, 20, 40, 100) for k in range(n + 1)]


@in_batches("k, n", COUNTS)
def test_wald_is_the_formula_of_the_paper_and_agrees_with_statsmodels(k, n):
    bound = lab.wald(k, n)
    p = k / n
    assert bound.lower == max(0, p - 1.96 * math.sqrt(p * (1 - p) / n))
    low, high = proportion_confint(k, n, alpha=2 * stats.norm.sf(1.96), method="normal")
    assert (bound.lower, bound.upper) == pytest.approx((low, high), abs=1e-12)


@in_batches("k, n", COUNTS)
def test_wilson_and_clopper_pearson_agree_with_scipy(k, n):
    other = stats.binomtest(k, n)
    for ours, method in ((lab.wilson(k, n), "wilson"), (lab.clopper_pearson(k, n), "exact")):
        theirs = other.proportion_ci(0.95, method=method)
        assert (ours.lower, ours.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
        assert ours.share == k / n


def test_wilson_bound_of_all_successes_has_its_closed_form():
    z2 = stats.norm.ppf(0.975) ** 2
    assert lab.wilson(100, 100).lower == pytest.approx(100 / (100 + z2))
    assert lab.clopper_pearson(20, 20).lower == pytest.approx(0.025 ** (1 / 20))


@pytest.mark.parametrize(("k", "n"), [(0, 0), (3, 2), (-1, 4)])
def test_bounds_refuse_counts_that_are_no_counts(k, n):
    for bound in (lab.wald, lab.wilson, lab.clopper_pearson):
        with pytest.raises(InputError):
            bound(k, n)


def enumerated_mcnemar(b, c):
    """Every way the discordant pairs could have fallen; the share at least as far from even."""
    n = b + c
    if n == 0:
        return 1.0
    hits = sum(min(sum(fall), n - sum(fall)) <= min(b, c) for fall in itertools.product((0, 1), repeat=n))
    return hits / 2**n


@in_batches("b, c", [(b, c) for b in range(7) for c in range(6)])
def test_mcnemar_equals_enumeration_of_all_falls_of_the_discordant_pairs(b, c):
    p = lab.mcnemar(b, c).p_value
    assert p == pytest.approx(enumerated_mcnemar(b, c))
    if b + c:
        assert p == pytest.approx(stats.binomtest(b, b + c).pvalue)


def test_mcnemar_of_one_sided_discordance_is_a_power_of_two():
    assert lab.mcnemar(38, 0).p_value == pytest.approx(2.0**-37, rel=1e-12)
    assert lab.mcnemar(142, 0).p_value == pytest.approx(2.0**-141, rel=1e-12)


@pytest.mark.parametrize("p", [(0.01, 0.04, 0.03), (0.5,), (0.2, 0.2, 0.9, 0.001), (1e-43, 1e-12, 0.011)])
def test_holm_equals_the_step_down_definition(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    expected, running = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(p) - rank) * p[i]))
        expected[i] = running
    result = lab.holm(p)
    assert result.adjusted == pytest.approx(tuple(expected))
    assert result.rejected == tuple(value <= 0.05 for value in expected)
    assert lab.holm([]).adjusted == ()


def test_pairs_are_counted_into_the_four_joint_outcomes():
    counts = lab.pair([True, True, False, False, True], [True, False, True, False, False])
    assert counts == lab.PairedCounts(both=1, only_new=2, only_old=1, neither=1)
    assert counts.difference == pytest.approx(0.2)
    with pytest.raises(InputError, match="one outcome of each condition"):
        lab.pair([True], [True, False])


def test_exact_resampling_distribution_equals_enumeration_of_every_resample():
    scores = [1, 1, 0, -1]
    seen = {}
    for draw in itertools.product(scores, repeat=len(scores)):
        seen[sum(draw)] = seen.get(sum(draw), 0) + 1 / 4**4
    first, probability = resampled_sums({1: 2, 0: 1, -1: 1})
    assert {first + i: p for i, p in enumerate(probability) if p} == pytest.approx(seen)


def test_bootstrap_by_joint_counts_equals_resampling_the_tasks_one_by_one():
    counts = lab.PairedCounts(both=20, only_new=12, only_old=4, neither=4)
    scores = np.repeat([1, -1, 0], [12, 4, 24])
    rng = np.random.default_rng(1)
    means = scores[rng.integers(0, 40, size=(20_000, 40))].mean(axis=1)
    ours = lab.paired_bootstrap(counts, resamples=20_000, seed=2)
    assert (ours.lower, ours.upper) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=1 / 40 + 1e-9)
    assert ours.estimate == counts.difference == pytest.approx(scores.mean())


def test_bootstrap_of_a_one_sided_difference_is_the_binomial_quantile():
    counts = lab.PairedCounts(both=0, only_new=38, only_old=0, neither=10)
    quantiles = stats.binom.ppf([0.025, 0.975], 48, 38 / 48) / 48
    exact = lab.exact_interval(difference_scores(counts))
    assert (exact.lower, exact.upper) == pytest.approx(tuple(quantiles))
    drawn = lab.paired_bootstrap(counts)
    assert drawn.resamples == lab.RESAMPLES == 100_000
    assert (drawn.lower, drawn.upper) == pytest.approx(tuple(quantiles))


def test_bootstrap_repeats_under_its_seed_and_moves_under_another():
    scores = {1: 60, 0: 40, -2: 50}
    first = lab.bootstrap_mean(scores, resamples=500, seed=5)
    assert first == lab.bootstrap_mean(scores, resamples=500, seed=5)
    others = {lab.bootstrap_mean(scores, resamples=500, seed=s).lower for s in range(20)}
    assert len(others) > 1


def test_interaction_is_the_difference_of_differences_of_the_cell_shares():
    cells = {
        "D0L0": [False, False, False, True],
        "D1L0": [True, True, False, True],
        "D0L1": [True, True, True, False],
        "D1L1": [True, False, True, True],
    }
    result = lab.interaction(cells, resamples=2_000, seed=3)
    share = {name: sum(v) / 4 for name, v in cells.items()}
    assert result.estimate == pytest.approx((share["D1L1"] - share["D0L1"]) - (share["D1L0"] - share["D0L0"]))
    assert result.lower <= result.estimate <= result.upper
    assert dict(result.scores) == {-2: 1, -1: 1, 0: 1, 1: 1}
    with pytest.raises(InputError, match="D0L0, D1L0, D0L1 and D1L1"):
        lab.interaction({"D0L0": [True]})


def test_leaving_out_a_family_equals_comparing_the_others_alone():
    families = {
        "tools": lab.PairedCounts(1, 5, 0, 2),
        "config": lab.PairedCounts(3, 0, 2, 1),
        "listeners": lab.PairedCounts(0, 4, 1, 0),
    }
    results = {r.family: r for r in lab.leave_one_family_out(families)}
    assert results["tools"].tasks == 11
    assert results["tools"].difference == pytest.approx((4 - 3) / 11)
    assert results["tools"].p_value == pytest.approx(stats.binomtest(4, 7).pvalue)
    assert results["config"].difference == pytest.approx((9 - 1) / 13)
    alone = lab.leave_one_family_out({"tools": families["tools"]})
    assert (alone[0].tasks, alone[0].difference) == (0, None)


def test_unpaired_comparison_agrees_with_fisher_and_newcombe():
    result = lab.unpaired((9, 12), (3, 11))
    total, hits = math.comb(23, 12), 0.0
    for k in range(max(0, 12 - 11), 13):
        ways = math.comb(12, k) * math.comb(11, 12 - k)
        if ways <= math.comb(12, 9) * math.comb(11, 3) * (1 + 1e-9):
            hits += ways
    assert result.p_value == pytest.approx(hits / total)
    new, old = lab.wilson(9, 12), lab.wilson(3, 11)
    low = result.difference - math.hypot(new.share - new.lower, old.upper - old.share)
    high = result.difference + math.hypot(new.upper - new.share, old.share - old.lower)
    assert (result.lower, result.upper) == pytest.approx((low, high), abs=1e-6)


def test_empty_or_negative_counts_are_faults():
    for broken in ({}, {1: 0}, {1: -1, 0: 3}):
        with pytest.raises(InputError):
            lab.bootstrap_mean(broken)
    with pytest.raises(InputError):
        lab.PairedCounts(0, 0, 0, 0)
    with pytest.raises(InputError):
        lab.mcnemar(-1, 2)
