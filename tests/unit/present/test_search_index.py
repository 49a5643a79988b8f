"""The search index, headlines, the summary since yesterday, and refused attempts."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import open_memory, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.cli.demo import write_harness
from takeback.harness.attempts import ATTEMPTS, SEARCH, read_attempts
from takeback.harness.records import draft_change
from takeback.present.attempts import record_refusals
from takeback.present.entries import Filter
from takeback.present.search_index import SearchIndex, load_headline
from takeback.present.summary import summarize_since
from takeback.state import State
from takeback.undo import Write

TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "parcel"
    root.mkdir()
    write_harness(root)
    init_clients(root)
    with open_workspace(root, hold=False) as harness:
        yield root, harness


def change_rules(root, harness, line, by):
    rules = root / "CLAUDE.md"
    rules.write_text(rules.read_text() + line + "\n")
    return harness.adopt(by=by).entry


def find(harness, text="", **fields):
    with closing(SearchIndex(harness)) as index:
        return index.find(Filter(text=text, **fields))


def test_entries_are_found_by_changed_words_and_by_author(project):
    root, harness = project
    made = change_rules(root, harness, "- never push on Fridays", "Maria Lopez")
    assert find(harness, "fridays") == [made.entry]
    assert find(harness, by="maria") == [made.entry]
    assert find(harness, "Saturdays") == []
    assert find(harness, "on push") == [made.entry]
    assert find(harness, '"on push"') == []


def test_the_headline_is_the_first_added_line(project):
    root, harness = project
    made = change_rules(root, harness, "- never push on Fridays", "Maria")
    headline = load_headline(harness, made)
    assert (headline.line, headline.count) == ("+ - never push on Fridays", "+1 −0")


def test_the_index_holds_no_secret_and_no_forgotten_value(project):
    root, harness = project
    made = change_rules(root, harness, f"the key is {TOKEN}", "Maria")
    change_rules(root, harness, "a plain word: wombat", "Maria")
    assert find(harness, "wombat")
    assert TOKEN.encode() not in (root / SEARCH).read_bytes()
    assert b"wombat" in (root / SEARCH).read_bytes()
    harness.forget_value("wombat")
    assert not (root / SEARCH).exists()
    assert find(harness, "wombat") == []
    assert find(harness, "Maria") != []
    assert b"wombat" not in (root / SEARCH).read_bytes()
    assert made.entry in find(harness, by="Maria")


def test_a_foreign_or_damaged_index_is_rebuilt(project):
    root, harness = project
    made = change_rules(root, harness, "- never push on Fridays", "Maria")
    (root / SEARCH).write_bytes(b"no database at all" * 100)
    assert find(harness, "Fridays") == [made.entry]


def test_facets_count_people_surfaces_and_evidence(project):
    root, harness = project
    change_rules(root, harness, "- one", "Maria")
    assert harness.apply(candidate(config("timeout", 7)), by="tuner").entry
    with closing(SearchIndex(harness)) as index:
        assert index.refresh()
        facets = index.count_facets()
    assert facets["by"] == {"Maria": 1, "tuner": 1}
    assert facets["surface"]["prompts"] == 1
    assert facets["grade"] == {"proved": 2}


def test_the_summary_names_what_was_loosened_since_yesterday(project):
    root, harness = project
    assert harness.append("config", "permissions.allow", "Bash(rm:*)", by="claude").entry
    change_rules(root, harness, "- one", "Maria")
    summary = summarize_since(harness)
    assert summary.describe() == "since yesterday: 2 changes, 2 authors, 1 loosened permission"
    assert "Bash(rm:*)" in summary.loosened[0][1]
    assert summary.suspect == summary.loosened[0][0]
    later = summarize_since(harness, now=datetime.now(UTC) + timedelta(days=2))
    assert later.describe() == "since yesterday: 0 changes"


def test_refusals_are_recorded_with_author_reason_and_breaking_state(project):
    root, harness = project
    record_refusals(harness)
    bad = {
        "mutation": [{"op_type": "set_config", "target": "env.KEY", "value": TOKEN}],
        "witness": [],
        "recovery": [],
    }
    assert not harness.apply(bad, by="eve", note="a key")
    (attempt,) = read_attempts(root)
    assert (attempt["by"], attempt["why"]) == ("eve", "verdict")
    assert "set_config env.KEY" in attempt["what"]
    assert attempt["state"] == {}
    assert attempt["breaks"]
    assert TOKEN not in (root / ATTEMPTS).read_text()
    assert summarize_since(harness).refused == 1
    assert (root / ATTEMPTS).stat().st_mode & 0o777 == 0o600


def test_an_aborted_change_is_not_in_the_summary():
    with open_memory(State.read({"config": {"timeout": 30}})) as harness:
        assert harness.apply(candidate(config("timeout", 60)), by="ann").entry
        write = Write(("config", "timeout"), 60, 90)
        harness.ledger.announce(draft_change("apply", [write], {"note": "in vain", "by": "bot"}))
        harness.ledger.abort("it could not be written")
        assert (summarize_since(harness).changes, summarize_since(harness).authors) == (1, ("ann",))
