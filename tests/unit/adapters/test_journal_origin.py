"""`doctor` says where a journal came from: made here, trusted here, or neither."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from takeback.adapters.clients.init import init_clients
from takeback.adapters.doctor import back_up_journal, examine_workspace, return_journal
from takeback.adapters.opener import open_workspace, trust_workspace
from takeback.adapters.trust_record import list_records


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "agent"
    root.mkdir()
    (root / "CLAUDE.md").write_text("one\n")
    init_clients(root, ("claude-code",))
    return root


def told(root):
    (finding,) = [finding for finding in examine_workspace(root) if finding.check == "trust"]
    return finding.good, finding.detail


def test_doctor_distinguishes_made_copied_and_trusted_journals(root, tmp_path):
    today = datetime.now(UTC).date().isoformat()[:7]
    good, detail = told(root)
    assert good
    assert detail.startswith(f"made on this machine on {today}")
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    good, detail = told(copy)
    assert not good
    assert "not trusted: it is a copy of" in detail
    trust_workspace(copy)
    good, detail = told(copy)
    assert good
    assert detail.startswith(f"from elsewhere, trusted on this machine on {today}")


def test_a_restored_backup_still_counts_as_made_here(root, tmp_path):
    back_up_journal(root, tmp_path / "backup.db")
    (root / "CLAUDE.md").write_text("two\n")
    with closing(open_workspace(root)) as harness:
        harness.adopt()
    return_journal(root, tmp_path / "backup.db")
    assert told(root)[1].startswith("made on this machine on")


def test_doctor_names_a_trust_record_of_an_older_version(root):
    ((place, record),) = [
        (place, record) for place, record in list_records() if record["path"] == str(root.resolve())
    ]
    del record["since"]
    Path(place).write_text(json.dumps(record))
    assert told(root) == (True, "made or trusted on this machine, before Takeback noted which")
