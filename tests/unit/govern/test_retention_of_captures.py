"""Retention and holds: what is too old goes, what is in use, held or needed by younger entries stays."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.raw_bytes import files_holding
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.doctor import examine_workspace
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.errors import InputError
from takeback.govern.policy import POLICY, read_policy
from takeback.govern.retention import retain
from takeback.harness.labels import draft_hold, list_held
from takeback.harness.outcomes import Undone
from takeback.undo import Gone

OLD, LIVE = "expired-value-0815", "value-in-use-4711"
DAYS = timedelta(days=30)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("one\n")
    init_clients(tmp_path, ("claude-code",))
    with closing(open_workspace(tmp_path)) as harness:
        for text in (f"one\n{OLD}\n", "one\ntwo\n", f"one\ntwo\n{LIVE}\n"):
            (tmp_path / "CLAUDE.md").write_text(text)
            assert harness.adopt() is not None
    return tmp_path


def later():
    return datetime.now(UTC) + timedelta(days=31)


def test_expired_captures_are_gone_from_every_file(root):
    with closing(open_workspace(root)) as harness:
        assert retain(harness, DAYS, later()).record is not None
    assert files_holding(root / ".takeback", OLD) == []
    assert LIVE in (root / "CLAUDE.md").read_text()
    assert all(finding.good for finding in examine_workspace(root, None, None))


def test_retention_removes_nothing_early_and_a_plan_changes_nothing(root):
    with closing(open_workspace(root)) as harness:
        assert retain(harness, DAYS, datetime.now(UTC)).contents == 0
        last = harness.ledger.last
        assert retain(harness, DAYS, later(), dry=True).contents > 0
        assert harness.ledger.last == last
    assert files_holding(root / ".takeback", OLD)


def test_undo_reports_expired_captures_and_works_for_new_entries(root):
    with closing(open_workspace(root)) as harness:
        retain(harness, DAYS, later())
        assert isinstance(harness.undo("2"), Gone | Undone)
        (root / "CLAUDE.md").write_text((root / "CLAUDE.md").read_text() + "new\n")
        adopted = harness.adopt()
        assert isinstance(harness.undo(adopted.entry.id), Undone)
    assert "new" not in (root / "CLAUDE.md").read_text()
    assert files_holding(root / ".takeback", OLD) == []


def test_a_held_entry_keeps_its_captures_and_refuses_to_be_forgotten_until_released(root):
    with closing(open_workspace(root)) as harness:
        harness.journal.append([draft_hold(2, release=False)])
        harness.recover()
        done = retain(harness, DAYS, later())
        assert done.held == (2,)
        assert files_holding(root / ".takeback", OLD)
        with pytest.raises(InputError, match="held"):
            harness.forget("2")
        with pytest.raises(InputError, match="held"):
            harness.forget_value(OLD)
        harness.journal.append([draft_hold(2, release=True)])
        harness.recover()
        assert list_held(harness.journal) == set()
        retain(harness, DAYS, later())
    assert files_holding(root / ".takeback", OLD) == []


@pytest.mark.parametrize(
    "text", ["[retention]\ncaptures = 30", "[retention]\nfiles = '3d'", "[roles]", "=", "retention = 1"]
)
def test_an_invalid_retention_policy_is_refused(tmp_path, text):
    (tmp_path / ".takeback").mkdir()
    (tmp_path / POLICY).write_text(text)
    with pytest.raises(InputError):
        read_policy(tmp_path)


def test_without_a_policy_everything_is_kept(tmp_path):
    assert read_policy(tmp_path).captures is None


def test_the_log_shows_when_an_entry_becomes_irreversible(root):
    (root / POLICY).write_text('[retention]\ncaptures = "30d"\n')
    with closing(open_workspace(root)) as harness:
        harness.journal.append([draft_hold(2, release=False)])
        harness.recover()
    entries = json.loads(CliRunner().invoke(app, ["log", "--json", "--dir", str(root)]).stdout)["entries"]
    told = {entry["seq"]: entry.get("irreversible_from") for entry in entries}
    assert told[2] is None
    made = datetime.fromisoformat(next(entry["at"] for entry in entries if entry["seq"] == 3))
    assert made + DAYS - datetime.fromisoformat(told[3]) < timedelta(minutes=1)
