"""Undo asks what the journal recorded of a file first; a document is spliced only where that does not tell."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import open_workspace
from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.clients.init import init_clients
from takeback.harness import Applied, Undone

SETTINGS = '{\n  "env": {"A": "1"},   \n  "permissions": {"allow": ["Read"]}\n}\n'


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text(SETTINGS)
    (root / "CLAUDE.md").write_text("# Rules\n")
    init_clients(root, ("claude-code",))
    return root


def spy_on_splices(monkeypatch):
    spliced = []
    plain = ClientAdapter.render
    monkeypatch.setattr(ClientAdapter, "render", lambda self, *states: spliced.append(states) or plain(self, *states))
    return spliced


def test_undo_and_redo_of_an_untouched_change_use_the_recorded_bytes(project, monkeypatch):
    with open_workspace(project, hold=False) as harness:
        made = harness.apply(candidate(config("env.B", "2")))
        assert isinstance(made, Applied)
        changed = (project / ".claude/settings.json").read_text()
        spliced = spy_on_splices(monkeypatch)
        assert isinstance(harness.undo(made), Undone)
        assert (project / ".claude/settings.json").read_text() == SETTINGS
        assert isinstance(harness.redo(made), Undone)
        assert (project / ".claude/settings.json").read_text() == changed
        assert spliced == []


def test_undo_splices_a_document_rewritten_by_hand(project, monkeypatch):
    place = project / ".claude/settings.json"
    with open_workspace(project, hold=False) as harness:
        made = harness.apply(candidate(config("env.B", "2")))
        assert isinstance(made, Applied)
        place.write_text('{"permissions": {"allow": ["Read"]}, "env": {"B": "2", "A": "1", "C": "3"}}')
        assert harness.adopt("written anew by hand") is not None
        spliced = spy_on_splices(monkeypatch)
        assert isinstance(harness.undo(made), Undone)
        assert len(spliced) == 1
        assert place.read_text() == '{"permissions": {"allow": ["Read"]}, "env": {"A": "1", "C": "3"}}'
