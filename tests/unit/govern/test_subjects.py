"""Subjects: what is labelled goes together, with its copies, or is held together."""

from __future__ import annotations

import base64
import json
import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.raw_bytes import files_holding
from typer.testing import CliRunner

from takeback.adapters import init_workspace
from takeback.adapters.clients.init import init_clients
from takeback.adapters.doctor import back_up_journal, examine_workspace, return_journal
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.errors import InputError
from takeback.govern.retention import retain
from takeback.harness.labels import compile_pattern, draft_hold, draft_label, list_held, list_labels, matches_address
from takeback.harness.outcomes import Undone

SECRET, COPY, OTHER = "alice@example.org-0815", "see alice@example.org-0815", "bob@example.org-4711"
ADDRESS = 'config["env.USER_42*"]'
DAYS = timedelta(days=30)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("one\n")
    init_clients(tmp_path, ("claude-code",))
    with closing(open_workspace(tmp_path)) as harness:
        harness.set("config", "env.USER_42_MAIL", SECRET)
        harness.set("config", "env.OTHER", OTHER)
        harness.set("config", "env.NOTE", COPY)
        harness.set("config", "env.USER_42_MAIL", "gone")
        harness.set("config", "env.NOTE", "nothing")
    return tmp_path


def note(harness, *drafts):
    harness.journal.append(list(drafts))
    harness.recover()


def test_a_subject_is_forgotten_with_its_copies_and_nothing_else(root):
    with closing(open_workspace(root)) as harness:
        note(harness, draft_label("user:42", slots=ADDRESS))
        assert harness.forget_subject("user:42", dry=True).contents > 0
        assert files_holding(root / ".takeback", SECRET)
        assert harness.forget_subject("user:42").record is not None
    assert files_holding(root / ".takeback", SECRET) == []
    assert files_holding(root / ".takeback", OTHER)
    assert all(finding.good for finding in examine_workspace(root, None, None))
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.undo("3"), Undone)
    assert OTHER not in (root / ".claude/settings.json").read_text()


def test_a_labelled_entry_is_forgotten_with_what_it_captured(root):
    with closing(open_workspace(root)) as harness:
        note(harness, draft_label("user:42", entry=2))
        assert harness.forget_subject("user:42").record is not None
    assert files_holding(root / ".takeback", SECRET) == []
    assert files_holding(root / ".takeback", OTHER)


def test_a_labelled_address_covers_later_records(root):
    with closing(open_workspace(root)) as harness:
        note(harness, draft_label("user:7", slots='config["env.USER_7"]'))
        harness.set("config", "env.USER_7", "carol@example.org")
        harness.forget_subject("user:7")
        harness.set("config", "env.MORE", "more")
    assert "carol@example.org" in (root / ".claude/settings.json").read_text()
    assert files_holding(root / ".takeback", "carol@example.org") == []
    assert all(finding.good for finding in examine_workspace(root, None, None))


def test_a_held_subject_stops_retention_and_refuses_every_forget_until_released(root):
    later = datetime.now(UTC) + timedelta(days=31)
    with closing(open_workspace(root)) as harness:
        note(harness, draft_label("user:42", slots=ADDRESS), draft_hold(None, subject="user:42", release=False))
        assert list_held(harness.journal) == {2, 5}
        assert set(retain(harness, DAYS, later).held) == {2, 5}
        assert files_holding(root / ".takeback", SECRET)
        for forget in (
            lambda: harness.forget_subject("user:42"),
            lambda: harness.forget("2"),
            lambda: harness.forget_value(SECRET),
        ):
            with pytest.raises(InputError, match="held"):
                forget()
        note(harness, draft_hold(None, subject="user:42", release=True))
        harness.forget_subject("user:42")
    assert files_holding(root / ".takeback", SECRET) == []


def test_retention_and_forgetting_leave_no_byte_in_any_file_or_backup(root):
    old = "expired-value-0815"
    with closing(open_workspace(root)) as harness:
        for text in (old, "new"):
            harness.set("config", "env.AGED", text)
        harness.set("config", "env.CODED", base64.b64encode(SECRET.encode()).decode())
        harness.set("config", "env.CODED", "nothing")
        note(harness, draft_label("user:42", slots=ADDRESS))
        assert files_holding(root / ".takeback", old)
        assert files_holding(root / ".takeback", SECRET)
        harness.forget_subject("user:42")
        assert files_holding(root / ".takeback", SECRET) == []
        assert files_holding(root / ".takeback", old)
        retain(harness, DAYS, datetime.now(UTC) + timedelta(days=31))
        for gone in (old, SECRET):
            assert files_holding(root / ".takeback", gone) == []  # while it is open: with its write-ahead log
    back_up_journal(root, root / "backup.db", None, None)
    for gone in (old, SECRET):
        assert files_holding(root, gone) == []
    assert all(finding.good for finding in examine_workspace(root, None, None))


def test_a_value_shared_with_a_held_entry_is_not_forgotten(root):
    with closing(open_workspace(root)) as harness:
        note(harness, draft_hold(2, release=False))
        with pytest.raises(InputError, match="held"):
            harness.forget("5")  # its value before is what entry 2 wrote
    assert files_holding(root / ".takeback", SECRET)


def test_a_removed_label_no_longer_selects_anything(root):
    with closing(open_workspace(root)) as harness:
        note(harness, draft_label("user:42", entry=2), draft_label("user:42", entry=2, remove=True))
        assert list_labels(harness.journal) == {}
        with pytest.raises(InputError, match="labelled"):
            harness.forget_subject("user:42")


def test_the_commands_label_list_hold_and_forget(root):
    def invoke(*words):
        return CliRunner().invoke(app, [*words, "--dir", str(root), "--json"])

    def run(*words):
        done = invoke(*words)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    told = run("label", "3", ADDRESS, "--subject", "user:42")
    assert told["subjects"] == {"user:42": {"entries": [3], "addresses": [ADDRESS]}}
    assert run("label") == told
    assert run("hold", "--subject", "user:42")["held"] == [2, 3, 5]
    assert "held" in str(invoke("forget", "--subject", "user:42", "--yes").exception)
    run("hold", "--subject", "user:42", "--release")
    assert run("forget", "--subject", "user:42")["done"] is False
    assert run("forget", "--subject", "user:42", "--yes")["done"] is True
    assert files_holding(root / ".takeback", SECRET) == []
    for wrong in (("label", "2"), ("label", "nowhere[x]", "--subject", "a"), ("label", "2", "--subject", "a b")):
        assert isinstance(invoke(*wrong).exception, InputError)


@pytest.mark.parametrize(
    ("pattern", "address", "named"),
    [
        ('config["users.42"]', 'config["users.42"]', True),
        ('config["users.42"]', 'config["users.42.mail"]', True),
        ('config["users.42"]', 'config["users"]', True),
        ('config["users.42"]', 'config["users.421"]', False),
        ('config["users.42*"]', 'config["users.421"]', True),
        ('files["people/42/*"]', 'files["people/42/a.txt"]', True),
        ('files["people/42/*"]', 'files["people/43/a.txt"]', False),
        ("prompts*", 'prompts["x"]', True),
    ],
)
def test_a_pattern_matches_an_address_its_contents_and_its_containers(pattern, address, named):
    assert matches_address(compile_pattern(pattern), pattern, address) is named


def test_forgetting_also_erases_backups_and_replaced_journals(root, tmp_path_factory):
    away = tmp_path_factory.mktemp("away")
    back_up_journal(root, away / "first.db")
    return_journal(root, away / "first.db")  # the journal that was there is kept beside it
    back_up_journal(root, away / "second.db")
    copies = [*(root / ".takeback").glob("journal-replaced-*.db"), away / "first.db", away / "second.db"]
    assert [files_holding(place.parent, SECRET) != [] for place in copies] == [True] * 3
    with closing(open_workspace(root)) as harness:
        note(harness, draft_label("user:42", slots=ADDRESS))
        done = harness.forget_subject("user:42")
    assert done.lingering == ""
    assert files_holding(root / ".takeback", SECRET) == files_holding(away, SECRET) == []
    assert sorted(place.name for place in away.iterdir()) == ["first.db", "second.db"]
    assert return_journal(root, away / "second.db").done
    assert all(finding.good for finding in examine_workspace(root, None, None))


def test_a_moved_backup_is_reported_once_as_not_erased(root, tmp_path_factory):
    away = tmp_path_factory.mktemp("away")
    back_up_journal(root, away / "old.db")
    (away / "old.db").rename(away / "moved.db")
    with closing(open_workspace(root)) as harness:
        assert "old.db is not there any more" in harness.forget("5").lingering
        assert harness.forget("2").lingering == ""
    assert files_holding(away, SECRET)


def test_another_file_at_a_backups_path_is_left_alone(root, tmp_path_factory):
    away = tmp_path_factory.mktemp("away")
    back_up_journal(root, away / "copy.db")
    for text in ("not a journal\n", None):
        (away / "copy.db").unlink()
        if text is None:
            other = tmp_path_factory.mktemp("other")
            init_workspace(other / "w")
            shutil.copy(other / "w/.takeback/journal.db", away / "copy.db")
        else:
            (away / "copy.db").write_text(text)
        before = (away / "copy.db").read_bytes()
        with closing(open_workspace(root)) as harness:
            harness.forget("5" if text else "2")
        assert (away / "copy.db").read_bytes() == before
