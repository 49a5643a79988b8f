"""The conformance suite of bindings on real servers, with a probe in full: what is claimed of their guards is so."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing, contextmanager

import pytest
from tests.support.record_subjects import DEAD, make_subject

pytest.importorskip("sqlalchemy")

from takeback.adapters.bindings import sql
from takeback.adapters.bindings.conformance import CHECKS
from takeback.adapters.conformance import NotProvidedFor
from takeback.adapters.variables import use_variables
from takeback_lab import servers

pytestmark = pytest.mark.external


@contextmanager
def start_sqlite(directory):
    with closing(sqlite3.connect(directory / "memory.db")) as at:
        at.execute(servers.TABLE)
    variables = {"EXTERNAL_SQLITE": f"sqlite:///{directory}/memory.db"}
    yield servers.RunningServer("sqlite", servers.make_row_settings("EXTERNAL_SQLITE"), variables)


@contextmanager
def start_kinto_over_postgres():
    with servers.start_postgres() as database, servers.start_kinto(database) as server:
        yield server


STARTS = {
    "postgresql": (servers.start_postgres, "atomic"),
    "sqlite": (None, "atomic"),
    "etcd": (servers.start_etcd, "atomic"),
    "redis": (servers.start_redis, "atomic"),
    "radicale": (servers.start_radicale, "atomic"),
    "kinto": (start_kinto_over_postgres, "checked"),
}


@pytest.fixture(scope="module", params=STARTS)
def subject(request, tmp_path_factory):
    start, guard = STARTS[request.param]
    with ExitStack() as stack:
        try:
            opened = start_sqlite(tmp_path_factory.mktemp("rows")) if start is None else start()
            server = stack.enter_context(opened)
        except servers.NotToBeHad as reason:
            pytest.skip(f"{request.param}: {reason}")
        use_variables({**server.variables, "NOWHERE_DB": DEAD["sql"]})
        yield make_subject(server.settings, guard)
        for engine in sql._ENGINES.values():
            engine.dispose()
        sql._ENGINES.clear()
        use_variables({})


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_real_server_conforms(check, subject):
    try:
        check(subject)
    except NotProvidedFor as reason:
        pytest.skip(str(reason))
