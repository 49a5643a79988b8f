"""A session reads what is there once and rests on that, yet nobody's edit in the meantime is lost or overlooked."""

from __future__ import annotations

import json

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import open_workspace
from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.clients.init import init_clients
from takeback.harness import Adopted, Applied, RefusalReason, Refused, Undone
from takeback.harness.entry_log import load_entry_writes, rebuild_state_before


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "project/.claude").mkdir(parents=True)
    place = tmp_path / "project/.claude/settings.json"
    write(place, A="1")
    init_clients(place.parent.parent, ("claude-code",))
    return place


@pytest.fixture
def harness(settings):
    with open_workspace(settings.parent.parent, hold=False) as found:
        yield found


def write(place, **env):
    place.write_text(json.dumps({"env": env}))


def values(place):
    return json.loads(place.read_text())["env"]


@pytest.fixture
def readings(monkeypatch):
    found = []
    plain = ClientAdapter.read
    monkeypatch.setattr(ClientAdapter, "read", lambda self, known: found.append(known) or plain(self, known))
    return found


def test_a_session_reads_the_files_once(harness, readings):
    with harness.session():
        harness.preview(candidate(config("env.B", "2")))
        assert harness.status().clean
        assert isinstance(harness.apply(candidate(config("env.B", "2"))), Applied)
    assert len(readings) == 1


def test_an_unrelated_edit_during_a_session_stays(harness, settings):
    with harness.session():
        write(settings, A="1", C="by hand")
        assert isinstance(harness.apply(candidate(config("env.B", "2"))), Applied)
    assert values(settings) == {"A": "1", "B": "2", "C": "by hand"}
    assert [change.slot for change in harness.status().drift] == [("config", "env", "C")]


def test_a_conflicting_edit_during_a_session_blocks_the_change(harness, settings):
    with harness.session():
        write(settings, A="by hand")
        refused = harness.apply(candidate(config("env.A", "2")))
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.DRIFT
    assert values(settings) == {"A": "by hand"}


def test_an_edit_during_a_session_is_seen_by_an_undo(harness, settings):
    made = harness.apply(candidate(config("env.B", "2")))
    with harness.session():
        write(settings, A="1", B="2", C="by hand")
        assert isinstance(harness.undo(made), Undone)
    assert values(settings) == {"A": "1", "C": "by hand"}


def test_a_new_session_reads_the_files_again(harness, settings):
    with harness.session():
        assert harness.status().clean
    write(settings, A="1", C="by hand")
    with harness.session():
        assert not harness.status().clean


def test_a_second_change_in_a_session_starts_from_the_first(harness, settings):
    with harness.session():
        assert isinstance(harness.apply(candidate(config("env.B", "2"))), Applied)
        assert isinstance(harness.apply(candidate(config("env.B", "3"))), Applied)
    assert values(settings) == {"A": "1", "B": "3"}
    assert harness.status().clean


def test_results_carry_writes_and_the_state_before(harness, settings):
    made = harness.apply(candidate(config("env.B", "2")))
    assert isinstance(made, Applied)
    assert (made.writes, made.before) == (
        load_entry_writes(harness, made.entry),
        rebuild_state_before(harness, made.entry),
    )
    undone = harness.undo(made)
    assert isinstance(undone, Undone)
    assert [one.slot for one in undone.writes] == [one.slot for one in load_entry_writes(harness, undone.entry)]
    assert undone.before == rebuild_state_before(harness, undone.entry)
    write(settings, A="by hand")
    adopted = harness.adopt()
    assert isinstance(adopted, Adopted)
    assert [(one.slot, one.after) for one in adopted.writes] == [
        (one.slot, one.after) for one in load_entry_writes(harness, adopted.entry)
    ]
    assert adopted.before == rebuild_state_before(harness, adopted.entry)
