"""The benchmark of tracking runs, small, and nothing is lost in it."""

from __future__ import annotations

import os

import pytest

from takeback_lab.bench.track import measure


@pytest.mark.long
def test_every_figure_is_there_and_no_content_is_lost():
    result = measure(os.environ, (100, 200), rounds=1, calls=100)
    for name in ("record_ratio", "record_pair_ratio", "init_ratio", "init_seeded_ratio", "scan_ratio"):
        assert result[name] > 0, name
    assert result["sizes"]["100"]["files"] == 100
    assert result["growth"]["files"] == 2.0
    assert 5 < result["hook_mb"] < 150
    assert result["calls"]["lost"] == 0
    assert result["calls"]["faults"] == []
    assert result["calls"]["killed"] == 2
    assert result["removal"]["files"] == 200
    assert result["formatter"]["files"] == 30
