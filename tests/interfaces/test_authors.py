"""Whoever gives a command that changes something is in its entry: as said, else TAKEBACK_BY, else USER."""

from __future__ import annotations

import json

import pytest
from tests.support.terminal import run

from takeback.adapters import open_workspace

pytestmark = pytest.mark.long

AS_ANN = {"USER": "ann"}


@pytest.fixture
def agent(tmp_path):
    place = tmp_path / "agent"
    assert run("init", place).code == 0
    assert run("set", "prompt", "p", "one\n", "-C", place, **AS_ANN).code == 0
    return place


def newest(agent) -> tuple[str, str]:
    with open_workspace(agent, hold=False) as harness:
        entry = next(harness.log())
        return entry.kind, entry.by


STORY = (
    (("undo", "2"), "undo"),
    (("redo", "2"), "redo"),
    (("undo", "--last"), "undo"),
    (("redo", "--last"), "redo"),
    (("restore", "--to", "1"), "restore"),
    (("undo", "HEAD"), "undo"),
)


@pytest.mark.parametrize(("variables", "who"), [(AS_ANN, "ann"), ({"TAKEBACK_BY": "bob", **AS_ANN}, "bob"), ({}, "")])
def test_undo_redo_restore_and_discard_record_their_author(agent, variables, who):
    for words, kind in STORY:
        assert run(*words, "-C", agent, **variables).code == 0
        assert newest(agent) == (kind, who)
    (agent / "prompts/p.md").write_text("by hand\n")
    assert run("discard", "-C", agent, **variables).code == 0
    assert newest(agent) == ("discard", who)
    assert run("undo", "HEAD", "-C", agent, **variables).code == 0
    assert newest(agent) == ("discard", who)


def test_an_author_option_overrides_the_environment_and_may_be_empty(agent):
    said = {"TAKEBACK_BY": "bob", **AS_ANN}
    run("undo", "2", "--as", "eve", "-C", agent, **said)
    assert newest(agent) == ("undo", "eve")
    run("redo", "2", "--by", "", "-C", agent, **said)
    assert newest(agent) == ("redo", "")


def test_only_changes_by_command_record_an_author(agent, tmp_path):
    assert newest(agent) == ("apply", "ann")
    candidate = {"mutation": [{"op_type": "set_config", "target": "a", "value": 1}], "recovery": []}
    (tmp_path / "change.json").write_text(json.dumps(candidate))
    assert run("apply", tmp_path / "change.json", "--repair", "-C", agent, **AS_ANN).code == 0
    assert newest(agent) == ("apply", "ann")
    (agent / "prompts/p.md").write_text("by hand\n")
    assert run("adopt", "-C", agent, **AS_ANN).code == 0
    assert newest(agent) == ("adopt", "")


def test_a_salvage_records_its_author(agent, tmp_path):
    run("set", "config", "a", "1", "-C", agent)
    both = [{"op_type": "set_config", "target": name, "value": 2} for name in "ab"]
    (tmp_path / "change.json").write_text(json.dumps({"mutation": both, "recovery": []}))
    assert run("apply", tmp_path / "change.json", "--repair", "-C", agent).code == 0
    assert run("forget", "3", "--yes", "-C", agent).code == 0
    assert run("undo", "4", "--salvage", "-C", agent, **AS_ANN).code == 0
    assert newest(agent) == ("salvage", "ann")


def test_control_characters_in_an_authors_name_are_escaped(agent):
    assert run("undo", "2", "-C", agent, USER="a\x1b[31mn\nn").code == 0
    shown = run("log", "-C", agent).out
    assert "\x1b" not in shown
    assert "(by a" in shown
    assert len(shown.splitlines()) == 4
