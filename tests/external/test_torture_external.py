"""Torture on PostgreSQL, etcd and a mail sink: nothing goes wrong, and it would notice if something did."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("sqlalchemy")

from takeback.adapters.bindings import keyvalue, sql
from takeback.adapters.variables import use_variables
from takeback.harness import external
from takeback.harness.calls_steps import COMPENSATE, CallSteps, ProgramAnswer
from takeback.harness.file_transaction import FileTransaction
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


def find_harm(folder, first_seed):
    """Return whether one of a few runs finds a planted fault: the other writer must meet the field just then."""
    for seed in range(first_seed, first_seed + 5):
        place = folder / str(seed)
        place.mkdir()
        outcome = torture_external(place, kills=40, seed=seed, race=(2, 2))
        if outcome.foreign_writes_lost + outcome.wrong_ends > 0:
            return True
    return False


def test_blind_row_writes_are_detected(tmp_path, monkeypatch):
    begin = TorturedRecords.begin

    def begin_and_spoil(self, *given):
        begin(self, *given)  # a probe would find the fault out, and nothing would be written
        monkeypatch.setattr(sql, "is_as_known", lambda *_, **__: True)

    monkeypatch.setattr(TorturedRecords, "begin", begin_and_spoil)
    assert find_harm(tmp_path, first_seed=2)


def test_unconditional_key_writes_are_detected(tmp_path, monkeypatch):
    def careless(self, change):
        seen = self.look(change.name)
        body = None if change.wanted is None else {**(seen.body if seen else {}), **change.wanted}
        self.swap(change.name, self.look(change.name), body)

    monkeypatch.setattr(keyvalue.EtcdBinding, "put", careless)
    assert find_harm(tmp_path, first_seed=3)


def test_a_repeated_call_is_detected(tmp_path, monkeypatch):
    monkeypatch.setattr(CallSteps, "_ask", lambda *_: ProgramAnswer(False, ""))
    found = torture_external(tmp_path, kills=40, seed=4, race=(2, 2))
    assert found.calls_made_twice > 0


def test_a_missing_correction_is_detected(tmp_path, monkeypatch):
    attach = CallSteps.attach

    def attach_and_forget(self, draft, writes):
        whole = attach(self, draft, writes)
        rows = [row for row in whole.payload.get("steps", ()) if row[0] != COMPENSATE]
        return replace(whole, payload={**whole.payload, "steps": rows}) if rows else draft

    monkeypatch.setattr(CallSteps, "attach", attach_and_forget)
    found = torture_external(tmp_path, kills=40, seed=5, race=(2, 2))
    assert found.wrong_ends > 0
    assert any("mails that stand" in text for text in found.examples)


def test_a_recovery_without_its_records_is_detected(tmp_path, monkeypatch):
    monkeypatch.setattr(external, "complete_outside", lambda *_: ())
    found = torture_external(tmp_path, kills=40, seed=6, race=(2, 2))
    assert found.wrong_ends > 0


def test_an_aborted_change_that_leaves_records_is_detected(tmp_path, monkeypatch):
    def roll_back_files_only(self):
        self._done.clear()
        FileTransaction.roll_back(self)

    monkeypatch.setattr(external.RecordTransaction, "roll_back", roll_back_files_only)
    monkeypatch.setattr(external.RecordTransaction, "inspect_leftovers", FileTransaction.inspect_leftovers)
    found = torture_external(tmp_path, kills=40, seed=7, race=(2, 2))
    assert found.wrong_ends > 0
