"""A journal of any layout but the present one is refused, left as it is, and the way on works."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from tests.support.changes import candidate, config
from typer.testing import CliRunner

from takeback.adapters import init_workspace, open_workspace
from takeback.cli import app
from takeback.errors import JournalCorruptError, JournalError
from takeback.journal import open_journal
from takeback.journal.sql import CURRENT


def number(path, version):
    """Let a journal say that it has another layout."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE schema_version SET version = ?", (version,))


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "journal.db"
    open_journal(place).close()
    return place


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    ("version", "way"), [(1, "never released"), (CURRENT - 1, "never released"), (CURRENT + 1, "the newer Takeback")]
)
def test_a_journal_of_another_layout_is_refused_and_left_as_it_is(path, version, way, readonly):
    number(path, version)
    before = path.read_bytes()
    with pytest.raises(JournalError) as caught:
        open_journal(path, readonly=readonly)
    assert not isinstance(caught.value, JournalCorruptError)
    assert f"{path} has layout {version}" in caught.value.message
    assert f"layout {CURRENT} only" in caught.value.message
    assert way in caught.value.hint
    assert path.read_bytes() == before


def test_a_journal_that_names_no_layout_is_damaged(path):
    number(path, 0)
    with pytest.raises(JournalCorruptError, match="does not say which layout it has"):
        open_journal(path)


def test_the_named_migration_keeps_the_files_and_the_old_journal(tmp_path):
    root = init_workspace(tmp_path / "agent")
    with closing(open_workspace(root)) as harness:
        harness.apply(candidate(config("one", 1)))
    number(root / ".takeback/journal.db", CURRENT - 1)
    settings = (root / "config.toml").read_bytes()
    away = tmp_path / "away"
    for command in (
        ["leave", "-C", str(root), "--export", str(away), "--yes"],
        ["init", str(root), "--kind", "workspace"],
    ):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    with closing(open_workspace(root)) as harness:
        assert harness.state.write() == {"config": {"one": 1}}
        assert harness.status().clean
    assert (root / "config.toml").read_bytes() == settings
    assert list(away.rglob("journal.db"))
