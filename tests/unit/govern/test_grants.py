"""A journal in PostgreSQL with real roles of the server: it refuses itself what the policy does not let a role do."""

from __future__ import annotations

import itertools
from contextlib import closing

import psycopg
import pytest
from typer.testing import CliRunner

from takeback.adapters.opener import open_workspace
from takeback.adapters.workspace.adapter import init_workspace
from takeback.cli import app
from takeback.errors import DeniedError, JournalError, TakebackError
from takeback.govern.grants import grant_rights, list_rights
from takeback.govern.policy import POLICY, read_policy
from takeback.harness.outcomes import Applied, Undone
from takeback.journal import Draft, make_leaf, open_journal
from takeback.state import State

counter = itertools.count()
POLICY_TEXT = """
[roles.owner]
may = "*"
who = ["database:postgres"]
[roles.writer]
may = ["read", "propose", "apply"]
who = ["database:{writer}", "database:{other}"]
[roles.chief]
may = ["read", "propose", "apply", "undo-others", "forget"]
who = ["database:{chief}"]
[roles.reader]
may = ["read"]
who = ["database:{reader}"]
"""


class World:
    def __init__(self, root, url, number):
        self.root, self.schema = root, f"grants{number}"
        self.names = {kind: f"{kind}{number}" for kind in ("writer", "other", "chief", "reader", "stranger")}
        with psycopg.connect(url, autocommit=True) as connection:
            for name in self.names.values():
                connection.execute(f"CREATE ROLE {name} LOGIN")
        self._url = url
        init_workspace(root, journal=self.url(), start=State.read({"config": {"a": 1}}))
        (root / POLICY).write_text(POLICY_TEXT.format(**self.names))

    def url(self, kind=""):
        return f"{self._url.replace('postgres:@', f'{self.names[kind]}:@') if kind else self._url}#{self.schema}"

    def open(self, kind=""):
        return open_workspace(self.root, journal=self.url(kind))

    def connect(self, kind):
        return psycopg.connect(self.url(kind).partition("#")[0], autocommit=True)

    def grant(self):
        with closing(self.open()) as harness:
            return grant_rights(harness.journal, list_rights(read_policy(self.root)))


@pytest.fixture
def world(postgres_url, tmp_path):
    made = World(tmp_path / "agent", postgres_url, next(counter))
    made.grant()
    return made


def test_a_role_makes_and_takes_back_its_own_changes_and_signs_them(world):
    with closing(world.open("writer")) as harness:
        done = harness.set("config", "a", 2)
        assert isinstance(done, Applied)
        assert done.entry.by == f"database:{world.names['writer']}"
        assert isinstance(harness.undo("HEAD"), Undone)
        assert harness.journal.check().whole


def test_a_reader_reads_and_the_server_lets_it_write_nothing(world):
    with closing(world.open("reader")) as harness:
        assert harness.journal.readonly
        assert harness.state.write()["config"] == {"a": 1}
        with pytest.raises(DeniedError):
            harness.set("config", "a", 2)
    with world.connect("reader") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"INSERT INTO takeback_{world.schema}.about VALUES ('x', 'y')")


def test_a_stranger_sees_nothing(world):
    with pytest.raises(TakebackError):
        world.open("stranger")
    with world.connect("stranger") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM takeback_{world.schema}.records")


def add(world, kind, draft):
    """Add a record past Takeback's own check, as a program of one's own could."""
    with closing(open_journal(world.url(kind), keys=world.root / ".takeback/journal.keys")) as store:
        return store.append([draft])


def by(world, kind):
    return {"by": f"database:{world.names[kind]}"}


def test_the_server_refuses_kinds_of_records_that_no_verb_lets_a_role_add(world):
    for kind in ("forget", "hold", "label", "discard", "genesis"):
        with pytest.raises(JournalError, match="row-level security"):
            add(world, "writer", Draft(kind, {"contents": [], **by(world, "writer")}))


def test_the_server_refuses_entries_signed_as_someone_else(world):
    leaf = {"before": [make_leaf(1)], "after": [make_leaf(2)]}
    with pytest.raises(JournalError, match="row-level security"):
        add(world, "writer", Draft("apply", by(world, "chief"), leaf))
    with pytest.raises(JournalError, match="row-level security"):
        add(world, "writer", Draft("apply", {}, leaf))
    with pytest.raises(JournalError, match="row-level security"):
        add(world, "writer", Draft("apply", {**by(world, "writer"), "forced": True}, leaf))


def test_only_a_permitted_role_undoes_entries_of_others(world):
    with closing(world.open("writer")) as harness:
        entry = harness.set("config", "a", 2).entry
    with closing(world.open("other")) as harness, pytest.raises(DeniedError):
        harness.undo(entry.id)
    undo = {"off": [entry.entry], "on": [], "slots": []}
    with pytest.raises(JournalError, match="row-level security"):
        add(world, "other", Draft("undo", {**undo, **by(world, "other")}))
    with closing(world.open("chief")) as harness:
        assert isinstance(harness.undo(entry.id), Undone)


def test_only_the_owner_can_change_or_delete_records_and_contents(world):
    for kind in ("writer", "chief"):
        with world.connect(kind) as connection:
            for statement in ("UPDATE {}.records SET kind = 'apply'", "DELETE FROM {}.records"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.format(f"takeback_{world.schema}"))
    with world.connect("writer") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"DELETE FROM takeback_{world.schema}.contents")


def test_only_a_permitted_role_can_forget(world):
    with closing(world.open("writer")) as harness:
        entry = harness.set("config", "b", "secret-4711").entry
        harness.undo("HEAD")
        with pytest.raises(DeniedError):
            harness.forget(entry.id)
    with closing(world.open("chief")) as harness:
        assert harness.forget(entry.id).record is not None
        assert harness.journal.check().whole


def test_rights_are_taken_away_again_when_the_policy_no_longer_gives_them(world):
    (world.root / POLICY).write_text('[roles.owner]\nmay = "*"\nwho = ["database:postgres"]\n')
    world.grant()
    with pytest.raises(TakebackError):
        world.open("writer")
    with world.connect("writer") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM takeback_{world.schema}.records")


def test_only_the_owner_grants_and_a_plan_prints_the_statements(world):
    with closing(world.open("chief")) as harness, pytest.raises(JournalError, match="owner"):
        grant_rights(harness.journal, list_rights(read_policy(world.root)))
    runner = CliRunner()
    line = ["grants", "-C", str(world.root), "--journal", world.url()]
    shown = runner.invoke(app, [*line, "--plan"])
    assert shown.exit_code == 0, shown.output
    assert "ENABLE ROW LEVEL SECURITY" in shown.output
    done = runner.invoke(app, line)
    assert done.exit_code == 0, done.output
    assert world.names["writer"] in done.output
