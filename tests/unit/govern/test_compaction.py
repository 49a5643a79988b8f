"""Compaction: the journal gets smaller, and every record, head and undo that the policy keeps is as it was."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.raw_bytes import files_holding
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.doctor import examine_workspace
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.govern.heads import make_head, require_continuation
from takeback.govern.policy import POLICY
from takeback.govern.retention import compact
from takeback.harness.labels import draft_hold
from takeback.harness.outcomes import Undone
from takeback.undo import Gone

OLD, LIVE = "expired-value-0815", "value-in-use-4711"
DAYS = timedelta(days=30)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("one\n")
    init_clients(tmp_path, ("claude-code",))
    with closing(open_workspace(tmp_path)) as harness:
        for number in range(6):
            (tmp_path / "CLAUDE.md").write_text(f"one\n{OLD} {number}\n{'more ' * 400}{number}\n")
            assert harness.adopt() is not None
            harness.ledger.checkpoint()
        (tmp_path / "CLAUDE.md").write_text(f"one\n{LIVE}\n")
        assert harness.adopt() is not None
    return tmp_path


def later():
    return datetime.now(UTC) + timedelta(days=31)


def test_compaction_shrinks_the_file_and_keeps_every_record_and_head(root):
    with closing(open_workspace(root)) as harness:
        before = [record.digest for record in harness.journal.records()]
        head, size = make_head(harness.journal, "x"), harness.journal.measure_size()
        done = compact(harness, DAYS, later())
        assert done.record is not None
        assert done.contents > 0
        assert [record.digest for record in harness.journal.records()][: len(before)] == before
        assert require_continuation(harness.journal, head) > 0
        assert harness.journal.measure_size() < size
    assert files_holding(root / ".takeback", OLD) == []
    assert all(finding.good for finding in examine_workspace(root, None, None))
    with closing(open_workspace(root)) as harness:
        assert compact(harness, DAYS, later()).record is None


def test_compaction_plans_change_nothing_and_need_a_retention_policy(root):
    with closing(open_workspace(root)) as harness:
        last = harness.ledger.last
        assert compact(harness, DAYS, later(), dry=True).contents > 0
        assert harness.ledger.last == last
        compact(harness, None, later())
        assert isinstance(harness.undo("HEAD"), Undone)
    assert f"{OLD} 5" in (root / "CLAUDE.md").read_text()


def test_undo_after_compaction_works_for_kept_captures(root):
    with closing(open_workspace(root)) as harness:
        compact(harness, DAYS, later())
        (root / "CLAUDE.md").write_text((root / "CLAUDE.md").read_text() + "new\n")
        adopted = harness.adopt()
        assert isinstance(harness.undo("3"), Gone | Undone)
        assert isinstance(harness.undo(adopted.entry.id), Undone)
        assert harness.journal.check().whole
    assert "new" not in (root / "CLAUDE.md").read_text()
    assert (root / "CLAUDE.md").exists()


def test_a_held_entry_keeps_what_it_captured(root):
    with closing(open_workspace(root)) as harness:
        harness.journal.append([draft_hold(3, release=False)])
        harness.recover()
        done = compact(harness, DAYS, later())
        assert done.held == (3,)
        assert isinstance(harness.plan_undo("3"), Gone) is False
    assert files_holding(root / ".takeback", f"{OLD} 1")


def test_the_doctor_notices_a_content_missing_besides_compaction(root):
    with closing(open_workspace(root)) as harness:
        compact(harness, DAYS, later())
        kept = next(iter(harness.journal.contents(harness.ledger.live_values())))
    with closing(sqlite3.connect(root / ".takeback/journal.db")) as base, base:
        assert base.execute("DELETE FROM contents WHERE id = ?", (kept,)).rowcount == 1
    with closing(open_workspace(root, readonly=True)) as harness:
        assert not harness.journal.check().whole


def test_compact_reports_what_it_removed_and_the_journals_size(root):
    (root / POLICY).write_text('[retention]\ncaptures = "30d"\n')
    runner = CliRunner()
    done = runner.invoke(app, ["compact", "-C", str(root), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["done"] is True
    assert told["entries"] == []  # nothing is old yet: only states written down on the way went
    assert told["bytes_before"] > 0 < told["bytes_after"]
    again = runner.invoke(app, ["compact", "-C", str(root)])
    assert again.exit_code == 0
    assert "nothing to remove" in again.stdout
