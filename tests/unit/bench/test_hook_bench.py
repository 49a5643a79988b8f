"""The benchmark of hooks runs whole processes and says what it measured."""

from __future__ import annotations

import os
import sys

import pytest

from takeback_lab.bench.hook import measure


@pytest.mark.long
def test_every_kind_of_call_is_measured_beside_pythons_own_start():
    result = measure({**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, rounds=1)
    assert set(result["calls"]) == {"before settings", "before instructions", "before other files", "after an edit"}
    assert result["median_ms"] == result["calls"]["before settings"]["median_ms"]
    assert 0 < result["python_share"] < 1
    for row in result["calls"].values():
        assert 0 < row["median_ms"] <= row["p95_ms"]
