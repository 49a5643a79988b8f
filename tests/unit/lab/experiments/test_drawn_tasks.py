"""Experiments take fewer tasks by one seeded draw, evenly over families and strata, never the first of a list."""

from collections import Counter

import pytest

from takeback.errors import InputError
from takeback_lab.experiments import contract_audit, factorial, fresh, oracle, replication, snapshots, stability
from takeback_lab.experiments.bank import cohort, load_bank
from takeback_lab.experiments.draws import draw_order
from takeback_lab.experiments.recorded import PLAIN, recorded_folder
from takeback_lab.tasks import FAMILIES, load


@pytest.mark.parametrize(
    ("taken", "sets"),
    [
        (lambda given: oracle.EXPERIMENT.plan(given).cases, ("natural", "fresh")),
        (lambda given: stability.EXPERIMENT.plan(given).cases, ("natural", "fresh")),
        (lambda given: contract_audit.EXPERIMENT.plan(given).cases, ("natural",)),
        (lambda given: snapshots.EXPERIMENT.plan(given).tasks, ("fresh",)),
    ],
    ids=["oracle", "stability", "contract-audit", "snapshots"],
)
def test_tasks_are_drawn_by_seed_evenly_over_families(taken, sets):
    every = [task for name in sets for task in load(name)]
    chosen = taken({"tasks": 60})
    assert [one.id for one in chosen] == [task.id for task in draw_order(every)[:60]]
    assert Counter(one.family for one in chosen) == dict.fromkeys(FAMILIES, 10)
    assert taken({"tasks": 24}) == chosen[:24]


@pytest.fixture(scope="module")
def failures():
    return cohort(load_bank(recorded_folder() / PLAIN / "natural").entries)


def test_failures_are_drawn_by_seed_alternating_strata_and_families(failures):
    chosen = factorial.chosen_cases(failures, {"tasks": 24})
    assert Counter(case.stratum for case in chosen) == {"S0": 12, "S1": 12}
    assert Counter(case.family for case in chosen if case.stratum == "S1") == dict.fromkeys(
        ("middleware", "listeners", "resources", "multi"), 3
    )
    assert chosen != failures[:24]
    assert factorial.chosen_cases(failures, {"tasks": 12}) == chosen[:12]
    assert factorial.chosen_cases(failures, {"per_stratum": 12}) == chosen
    assert factorial.chosen_cases(failures, {"draw": "S0=24,S1=36"})[:24] == chosen
    assert factorial.chosen_cases(failures, {}) == failures


def test_a_replay_of_a_draw_takes_fewer_of_its_cases():
    experiment = factorial.EXPERIMENT
    recorded = experiment.plan({}, experiment.thaw_run(recorded_folder() / PLAIN / "factorial"))
    bank = recorded_folder() / PLAIN / "natural"
    assert experiment.plan({"tasks": 10, "bank": bank}).cases == recorded.cases[:10]


def test_a_replication_draws_equal_numbers_of_s0_and_s1():
    plan = replication.EXPERIMENT.plan({"per_stratum": 6})
    assert Counter(case.stratum for case in plan.cases) == {"S0": 6, "S1": 6}


@pytest.mark.parametrize("given", [{"draw": "S0=2,S0=3"}, {"draw": "S0=2", "per_stratum": 1}, {"draw": "S0=²"}])
def test_a_contradictory_draw_is_refused(failures, given):
    with pytest.raises(InputError, match="--draw"):
        factorial.chosen_cases(failures, given)


def test_the_fresh_holdout_accepts_one_feedback_mode():
    with pytest.raises(InputError, match="--feedback"):
        fresh.EXPERIMENT.plan({"feedback": "D0,D1"})
