"""Every binding keeps the one contract: rows of SQLite and records over HTTP, whatever their server guards."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from tests.support.record_server import serve_records
from tests.support.record_subjects import DEAD, make_subject

pytest.importorskip("sqlalchemy")

from takeback.adapters.bindings import http, sql
from takeback.adapters.bindings.conformance import CHECKS, examine_binding
from takeback.adapters.variables import use_variables
from takeback_lab.servers import TABLE, make_row_settings

SMALL = (2, 5)
"""A race for every day; `make test-external` runs it in full."""


@pytest.fixture
def rows(tmp_path):
    with closing(sqlite3.connect(tmp_path / "memory.db")) as at:
        at.execute(TABLE)
    use_variables({"ROWS": f"sqlite:///{tmp_path}/memory.db", "NOWHERE_DB": DEAD["sql"]})
    yield make_row_settings("ROWS")
    for engine in sql._ENGINES.values():
        engine.dispose()
    sql._ENGINES.clear()
    use_variables({})


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sqlite_rows_conform(check, rows):
    check(make_subject(rows, race=SMALL))


def test_http_records_conform():
    with serve_records() as server:
        report = examine_binding(make_subject({"kind": "http", "base": server.base}, race=SMALL))
    assert {one.outcome for one in report.outcomes} == {"passed"}, report


def test_checks_that_need_conditions_are_left_out_where_a_server_ignores_them():
    with serve_records(heeds=False) as server:
        report = examine_binding(make_subject({"kind": "http", "base": server.base}, "none"))
    assert report.conforms, report
    left_out = {one.check for one in report.outcomes if one.outcome == "left out"}
    assert left_out == {
        "makes_a_record_once",
        "refuses_stale_writes_and_removals",
        "removes_and_does_not_write_on_nothing",
        "loses_nothing_while_others_write",
    }


def test_the_suite_reports_the_faults_of_a_careless_binding(monkeypatch):
    whole = http.HttpBinding.swap
    careless = lambda self, name, known, body: whole(self, name, self.look(name), body)  # noqa: E731
    monkeypatch.setattr(http.HttpBinding, "swap", careless)
    with serve_records() as server:
        report = examine_binding(make_subject({"kind": "http", "base": server.base}, race=SMALL))
    failed = {one.check for one in report.outcomes if one.outcome == "failed"}
    assert failed >= {"makes_a_record_once", "refuses_stale_writes_and_removals", "guards_as_its_probe_says"}
    assert not report.conforms
