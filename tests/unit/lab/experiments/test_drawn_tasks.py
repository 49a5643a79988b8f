"""Experiments that need no model take fewer tasks by the same seeded draw as those that ask one."""

from collections import Counter

import pytest

from takeback.lab.experiments import contract_audit, oracle, snapshots, stability
from takeback.lab.experiments.draws import draw_order
from takeback.lab.tasks import FAMILIES, load


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
def test_so_many_tasks_are_drawn_by_seed_evenly_over_families(taken, sets):
    every = [task for name in sets for task in load(name)]
    chosen = taken({"tasks": 60})
    assert [one.id for one in chosen] == [task.id for task in draw_order(every)[:60]]
    assert Counter(one.family for one in chosen) == dict.fromkeys(FAMILIES, 10)
    assert taken({"tasks": 24}) == chosen[:24]
