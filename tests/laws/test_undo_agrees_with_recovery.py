"""Random histories of admitted changes on a stored journal: both roads back agree, whatever recoveries capture."""

from __future__ import annotations

import random

import pytest

from takeback import Applied, InputError, Undone, open_memory, oracle
from takeback.harness.doctor import examine_harness
from takeback.language import NoInverse
from takeback.language.program import read_program
from takeback.state import Stage
from takeback_lab.random_changes import FOCI, random_base, random_op

CHAINS = FOCI[6]


def changed(harness, rng):
    """A random change with the oracle's recovery; of the chain, half of the time with one that restores it whole."""
    focus = rng.choice((*FOCI, CHAINS, CHAINS, CHAINS))
    raw = [random_op(rng, harness.state, focus) for _ in range(rng.choice((1, 1, 2)))]
    found = oracle(read_program(raw, Stage.FORWARD, "mutation"))
    assert not isinstance(found, NoInverse)
    if {op.kind.surface for op in found.mutation} != {"middleware"} or rng.random() < 0.5:
        return found
    whole = {"target": "*", "witness_key": "w"}
    return {
        "mutation": [op.to_json() for op in found.mutation],
        "witness": [{"op_type": "capture_middleware", **whole}],
        "recovery": [{"op_type": "restore_middleware", **whole}],
        "contract": ["middleware"],
    }


def toggled(harness, rng):
    entries = [entry for entry in harness.log() if entry.kind == "apply"]
    if not entries:
        return
    try:
        match rng.choice(("undo", "undo", "undo", "redo", "restore")):
            case "undo":
                harness.undo(*rng.sample(entries, rng.choice((1, min(2, len(entries))))), cascade=rng.random() < 0.5)
            case "redo":
                harness.redo()
            case _:
                harness.restore(rng.choice(entries))
    except InputError:  # undone already, or nothing to bring back
        return


@pytest.mark.parametrize("seed", range(12))
def test_undo_and_recovery_agree_after_random_changes_undos_and_reopenings(tmp_path, seed):
    rng = random.Random(seed)
    stored, base = tmp_path / "journal.db", random_base(rng)
    harness = open_memory(base, journal=stored)
    made = 0
    for _ in range(14):
        if rng.random() < 0.6:
            made += isinstance(harness.apply(changed(harness, rng)), Applied)
        else:
            toggled(harness, rng)
        if rng.random() < 0.3:
            harness.close()
            harness = open_memory(journal=stored)
    with harness:
        assert made
        bad = [finding for finding in examine_harness(harness, deep=True) if not finding.good]
        assert bad == []
        assert isinstance(harness.restore("#1"), Undone)
        assert harness.state == base
