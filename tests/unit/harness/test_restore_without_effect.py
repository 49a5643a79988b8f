"""A restore to where things are already says so, and leaves no entry."""

from __future__ import annotations

import json

import pytest
from tests.support.changes import candidate, config
from typer.testing import CliRunner

from takeback import Stale, Unchanged, Undone, init_workspace, open_memory, open_workspace
from takeback.cli import app


def entries(harness):
    return [entry.id for entry in harness.log()]


def test_a_restore_to_the_last_entry_records_nothing():
    with open_memory() as harness:
        harness.apply(candidate(config("a", 1)))
        last = harness.apply(candidate(config("a", 2)))
        before, head = entries(harness), harness.status().head
        assert harness.restore(last) == Unchanged()
        assert (entries(harness), harness.status().head) == (before, head)


def test_a_restore_to_the_current_state_records_nothing():
    with open_memory() as harness:
        first = harness.apply(candidate(config("a", 1)))
        harness.undo(harness.apply(candidate(config("a", 2))))
        before = entries(harness)
        assert harness.restore(first) == Unchanged()
        assert entries(harness) == before
        assert isinstance(harness.restore("#1"), Undone)
        assert isinstance(harness.restore("#1"), Unchanged)


def test_a_stale_token_is_stale_even_if_nothing_would_change():
    with open_memory() as harness:
        last = harness.apply(candidate(config("a", 1)))
        assert isinstance(harness.restore(last, token="other"), Stale)


@pytest.mark.parametrize("drifted", [False, True])
def test_the_command_reports_no_difference_and_remaining_drift(tmp_path, drifted):
    root = init_workspace(tmp_path / "agent")
    with open_workspace(root) as harness:
        harness.apply(candidate(config("a", 1)))
        before = entries(harness)
    if drifted:
        (root / "config.toml").write_text("a = 2\n")
    there = (root / "config.toml").read_bytes()
    run = ["restore", "--to", "2", "--dir", str(root)]
    told = CliRunner().invoke(app, run)
    assert told.exit_code == 0, told.output
    assert "unchanged: the harness is already so" in told.output
    assert ("changes made outside Takeback stay" in " ".join(told.output.split())) is drifted
    answer = json.loads(CliRunner().invoke(app, [*run, "--json"]).stdout)
    assert (answer["result"], answer["entry"], "drift" in answer) == ("unchanged", None, drifted)
    with open_workspace(root) as harness:
        assert entries(harness) == before
    assert (root / "config.toml").read_bytes() == there
