"""A PostgreSQL of a test's own; a test is skipped, with the reason, where none can be had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from takeback.adapters.bindings import sql
from takeback.adapters.variables import use_variables
from takeback_lab import servers


@contextmanager
def open_postgres() -> Iterator[str]:
    """Yield the URL of a server, which ends behind the test with all that was connected to it."""
    try:
        with servers.start_postgres() as server:
            yield server.variables["EXTERNAL_POSTGRES"]
            for engine in sql._ENGINES.values():
                engine.dispose()
    except servers.NotToBeHad as reason:
        pytest.skip(str(reason))
    finally:
        sql._ENGINES.clear()
        use_variables({})
