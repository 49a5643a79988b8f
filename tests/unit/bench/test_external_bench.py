"""Changes of rows are taken back without loss beside writers of other fields; restored whole rows lose theirs."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy")

from takeback.adapters.bindings import sql
from takeback.adapters.variables import use_variables
from takeback.state import unregister
from takeback.state.surface import SURFACES
from takeback.state.surfaces.external import EXTERNAL
from takeback_lab.bench.external import measure


@pytest.fixture(autouse=True)
def surface():
    yield
    sql._ENGINES.clear()
    use_variables({})
    if EXTERNAL in SURFACES:
        unregister(EXTERNAL)


@pytest.mark.long
def test_undo_keeps_foreign_writes_that_a_naive_restore_loses():
    result = measure(changes=8)
    assert (result["changes"], result["takeback"]["steps"]) == (8, 16)
    assert (result["takeback"]["wrong"], result["takeback"]["their_writes_lost"]) == (0, 0)
    assert result["takeback"]["their_writes"] > 0
    assert result["naive"]["their_writes_lost"] > 0
