"""Torture on PostgreSQL, etcd and a mail sink: nothing goes wrong, and it would notice if something did."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy")

from takeback.adapters.bindings import keyvalue, sql
from takeback.adapters.variables import use_variables
from takeback.state import unregister
from takeback.state.surface import SURFACES
from takeback.state.surfaces.calls import CALLS
from takeback.state.surfaces.external import EXTERNAL
from takeback_lab import servers
from takeback_lab.torture_external import torture_external
from takeback_lab.torture_records import TorturedRecords

pytestmark = pytest.mark.external


@pytest.fixture(autouse=True)
def surfaces():
    try:
        servers.find_program("etcd")
    except servers.NotToBeHad as reason:
        pytest.skip(str(reason))
    yield
    for engine in sql._ENGINES.values():
        engine.dispose()
    sql._ENGINES.clear()
    use_variables({})
    for name in (CALLS, EXTERNAL):
        if name in SURFACES:
            unregister(name)


def test_kills_at_every_boundary_lose_and_repeat_no_write(tmp_path):
    found = torture_external(tmp_path, kills=30, seed=1, race=(2, 10))
    assert (found.wrong_ends, found.calls_made_twice, found.foreign_writes_lost) == (0, 0, 0), found.examples
    assert found.systems == ["postgresql", "etcd", "mail"]
    assert found.to_json()["missed"] == []
    assert found.their_writes > 100
    assert found.mails_sent == found.corrections_sent > 0


def test_blind_row_writes_are_detected(tmp_path, monkeypatch):
    begin = TorturedRecords.begin

    def begin_and_spoil(self, *given):
        begin(self, *given)  # a probe would find the fault out, and nothing would be written
        monkeypatch.setattr(sql, "is_as_known", lambda *_, **__: True)

    monkeypatch.setattr(TorturedRecords, "begin", begin_and_spoil)
    found = torture_external(tmp_path, kills=40, seed=2, race=(2, 2))
    assert found.foreign_writes_lost + found.wrong_ends > 0


def test_unconditional_key_writes_are_detected(tmp_path, monkeypatch):
    def careless(self, change):
        seen = self.look(change.name)
        body = None if change.wanted is None else {**(seen.body if seen else {}), **change.wanted}
        self.swap(change.name, self.look(change.name), body)

    monkeypatch.setattr(keyvalue.EtcdBinding, "put", careless)
    found = torture_external(tmp_path, kills=40, seed=3, race=(2, 2))
    assert found.foreign_writes_lost + found.wrong_ends > 0
