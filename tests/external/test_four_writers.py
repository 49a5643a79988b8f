"""200 changes are made and taken back while four writers write other fields of the same rows."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

pytest.importorskip("sqlalchemy")

from tests.external.postgres import open_postgres

from takeback.adapters.bindings import sql
from takeback.adapters.variables import use_variables
from takeback.state import unregister
from takeback.state.surface import SURFACES
from takeback.state.surfaces.external import EXTERNAL
from takeback_lab.bench.external import measure

pytestmark = pytest.mark.external


@pytest.fixture(params=["postgresql", "sqlite"])
def database(request):
    """The name of a kind of database, and the URL of a server of it."""
    with nullcontext() if request.param == "sqlite" else open_postgres() as url:
        yield request.param, url
    sql._ENGINES.clear()
    use_variables({})
    if EXTERNAL in SURFACES:
        unregister(EXTERNAL)


def test_two_hundred_changes_are_taken_back_and_nothing_of_four_writers_is_lost(database):
    kind, url = database
    result = measure(changes=200, postgres=url)
    assert (result["database"], result["takeback"]["steps"]) == (kind, 400)
    assert (result["takeback"]["wrong"], result["takeback"]["their_writes_lost"]) == (0, 0)
    assert result["takeback"]["their_writes"] > 0
    assert result["naive"]["their_writes_lost"] > 100
