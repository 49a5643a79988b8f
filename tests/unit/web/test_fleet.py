"""A fleet: every journal of one real PostgreSQL as a row, also without its directory, and never with a password."""

from __future__ import annotations

import psycopg
import pytest
from starlette.testclient import TestClient
from tests.support.changes import candidate, config
from tests.unit.web.conftest import BASE, HOST, words

from takeback.adapters import open_workspace
from takeback.adapters.workspace.adapter import init_workspace
from takeback.errors import InputError, JournalError
from takeback.journal.postgres import JournalFleet
from takeback.state import State
from takeback.web.security import Session
from takeback.web.server import make_app
from takeback.web.shelf import HarnessShelf

START = {"config": {"timeout": 30}}


@pytest.fixture
def fleet(postgres_url, tmp_path):
    """A database of its own with two workspaces' journals; its URL and their directories."""
    name = f"fleet_{tmp_path.name[-20:].replace('-', '_').lower()}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{name}"')
    before, _, query = postgres_url.partition("?")
    url = f"{before.rpartition('/')[0]}/{name}?{query}"
    roots = []
    for agent in ("billing", "search"):
        root = tmp_path / agent
        init_workspace(root, journal=f"{url}#{agent}", start=State.read(START))
        with open_workspace(root, hold=False) as harness:
            assert harness.apply(candidate(config("timeout", 60)), note="slower", by="ann").entry
        roots.append(root)
    return url, roots


class Page:
    """A page of a shelf, asked by the session's own browser."""

    def __init__(self, *places):
        self.shelf = HarnessShelf.of(places)
        session = Session()
        self.client = TestClient(make_app(self.shelf, session, [HOST]), base_url=BASE, raise_server_exceptions=False)
        self.client.get(f"/open?link={session.link}")

    def get(self, path):
        return self.client.get(path)


@pytest.fixture
def opened():
    pages = []

    def opening(*places):
        pages.append(Page(*places))
        return pages[-1]

    yield opening
    for page in pages:
        page.shelf.close()


def row(told, name):
    return told.partition(f" {name} ")[2].split(" directory not given")[0]


def test_each_journal_is_a_row_without_directory_or_key(fleet, opened):
    url, roots = fleet
    told = words(opened(url).get("/"))
    with open_workspace(roots[0], hold=False) as harness:
        head = harness.ledger.head[:10]
    assert "billing directory not given good unknown none" in told
    assert 'slower: config["timeout"] ann, ' in told
    assert f"UTC 2 {head}" in told
    assert "search directory not given good unknown none" in told
    assert "Drift is known only if the directory is given" in told


def test_new_journals_and_changes_appear_at_the_next_look(fleet, opened, tmp_path):
    url, roots = fleet
    page = opened(url)
    assert "newcomer" not in words(page.get("/"))
    init_workspace(tmp_path / "third", journal=f"{url}#newcomer", start=State.read(START))
    with open_workspace(roots[0], hold=False) as harness:
        bad = candidate(config("timeout", 5)).to_json() | {"recovery": []}
        assert harness.apply(bad, force=True, note="in haste").forced
        told = words(page.get("/"))
        assert "newcomer directory not given good unknown none" in told
        assert "billing directory not given good unknown 1 in haste" in told
        harness.undo()
    assert "billing directory not given good unknown none took back #3" in words(page.get("/"))


def test_a_given_directory_joins_its_row_and_shows_drift(fleet, opened):
    url, roots = fleet
    page = opened(url, roots[1])
    (roots[1] / "config.toml").write_text("timeout = 7\n")
    answer = page.get("/")
    told = words(answer)
    assert told.count("slower") == 2
    assert f"search {roots[1]} good 1 changed none" in told
    assert 'href="/1/drift"' in answer.text
    assert "billing directory not given" in told
    assert page.get("/1/").status_code == 200


def test_the_entries_of_a_journal_are_shown_from_its_records_alone(fleet, opened):
    url, _ = fleet
    page = opened(url)
    answer = page.get("/fleet/1/takeback_billing")
    told = words(answer)
    assert '#2 slower: config["timeout"] apply by ann proved reversible live' in told
    assert "contents are sealed" in told
    assert "checkbox" not in answer.text
    for path in ("/fleet/1/takeback_nobody", "/fleet/1/public", "/fleet/2/takeback_billing", "/1/"):
        assert page.get(path).status_code == 404


def test_one_tampered_journal_needs_attention_and_hides_no_other(fleet, opened):
    url, _ = fleet
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TRIGGER records_guard ON takeback_search.records")
        connection.execute("UPDATE takeback_search.records SET payload = '{}' WHERE seq = 3")
    told = words(opened(url).get("/"))
    assert "billing directory not given good" in told
    assert "search directory not given needs attention journal record 3 was altered" in told


def test_a_journal_that_was_cut_short_after_it_was_read_needs_attention(fleet, opened):
    url, _ = fleet
    page = opened(url)
    page.get("/")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TRIGGER records_guard ON takeback_search.records")
        connection.execute("DELETE FROM takeback_search.records WHERE seq > 2")
    for _ in range(2):
        told = words(page.get("/"))
        assert "search directory not given needs attention it ends at record 2, but went to record 4" in told


def test_a_record_that_is_missing_needs_attention(fleet, opened):
    url, _ = fleet
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TRIGGER records_guard ON takeback_search.records")
        connection.execute("DELETE FROM takeback_search.records WHERE seq = 2")
    assert "needs attention record 3 does not follow record 1" in words(opened(url).get("/"))


def test_a_schema_that_is_no_journal_is_not_listed(fleet, opened):
    url, _ = fleet
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA takeback_notes")
        connection.execute("CREATE TABLE takeback_notes.records (a int)")
    assert "notes" not in words(opened(url).get("/"))


def test_a_url_that_names_a_journal_lists_only_that(fleet, opened):
    url, _ = fleet
    told = words(opened(f"{url}#search").get("/"))
    assert "search directory not given" in told
    assert "billing" not in told


def test_no_password_is_shown_or_logged(fleet, opened):
    url, _ = fleet
    secret = "s3cret-of-the-database"
    with_password = url.replace("postgres:@", f"postgres:{secret}@")
    assert secret in with_password
    page = opened(with_password)
    for path in ("/", "/fleet/1/takeback_billing"):
        answer = page.get(path)
        assert answer.status_code == 200
        assert secret not in answer.text
        assert "postgresql://postgres@" in words(answer)
    for broken in ("s3cret-of-the-database", "s3cret%2Dof", "s3cret/with/slashes", "s3cret%zz"):
        with pytest.raises(JournalError) as told:
            JournalFleet(f"postgresql://ann:{broken}@127.0.0.1:1/db").schemas()
        assert "s3cret" not in str(told.value)
        assert told.value.__context__ is None


def test_an_unreachable_server_is_reported_and_reconnected(fleet, opened):
    url, _ = fleet
    page = opened(url)
    page.get("/")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert "billing directory not given good" in words(page.get("/"))
    page.shelf.fleets[0].fleet._connection.close()
    page.shelf.fleets[0].fleet._place = JournalFleet("postgresql://127.0.0.1:1/db")._place
    told = words(page.get("/"))
    assert "could not be reached: Connection refused" in told


def test_an_unsupported_url_is_refused(opened):
    with pytest.raises(InputError, match="a directory, or postgresql"):
        opened("mysql://host/db")


def test_an_unreadable_directory_is_a_row_with_its_reason(tmp_path, opened):
    good, bad = tmp_path / "good", tmp_path / "bad"
    for root in (good, bad):
        init_workspace(root, start=State.read(START))
    (bad / ".takeback" / "journal.db").write_bytes(b"no database at all" * 100)
    page = opened(good, bad)
    told = words(page.get("/"))
    assert f"good {good} good none none" in told
    assert f"bad {bad} needs attention" in told
    with pytest.raises(JournalError):
        opened(bad)
    with pytest.raises(InputError):
        opened(good, tmp_path / "nowhere")
