"""A copy of a harness whose journal is in PostgreSQL: noticed before it writes, and given a journal of its own."""

from __future__ import annotations

import shutil
from contextlib import closing

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.init import begin_new_journal
from takeback.adapters.opener import open_own_copy, trust_workspace
from takeback.errors import HarnessError, UntrustedError
from takeback.harness import Applied, Undone


@pytest.fixture
def copied(tmp_path, postgres_url):
    """A harness with two entries, and a copy of its directory."""
    original = init_workspace(
        tmp_path / "a", journal=f"{postgres_url}#{tmp_path.name[-30:].replace('-', '_').lower()}"
    )
    with closing(open_workspace(original)) as harness:
        harness.apply(candidate(config("one", "first")))
    shutil.copytree(original, tmp_path / "b")
    return original, tmp_path / "b"


def test_a_copy_is_noticed_before_it_writes_to_the_journal_of_the_original(copied):
    original, copy = copied
    with pytest.raises(UntrustedError, match="it is a copy of"):
        open_workspace(copy)
    with pytest.raises(HarnessError, match="has the same journal as") as caught:
        trust_workspace(copy)
    assert "--journal .takeback/journal.db" in caught.value.hint
    with closing(open_workspace(original)) as harness:
        assert isinstance(harness.apply(candidate(config("two", "second"))), Applied)


@pytest.mark.parametrize("place", [".takeback/journal.db", "another name"])
def test_a_copy_continues_with_its_own_journal(copied, postgres_url, place, tmp_path):
    original, copy = copied
    url = f"{postgres_url}#own_{tmp_path.name[-20:].replace('-', '_').lower()}"
    begin_new_journal(copy, url if place == "another name" else place)
    with closing(open_workspace(copy)) as harness:
        done = harness.apply(candidate(config("two", "of the copy")))
        assert isinstance(harness.undo(done.entry.id), Undone)
        assert harness.status().clean
    with closing(open_workspace(original)) as harness:
        assert [entry.kind for entry in harness.log()] == ["apply", "genesis"]
        assert harness.status().clean


def test_a_content_with_an_unknown_key_blocks_only_itself(copied):
    original, copy = copied
    with closing(open_own_copy(copy)) as harness:  # as a version did that knew no trust
        strange = harness.apply(candidate(config("two", "sealed with a key of the copy")))
    with closing(open_workspace(original)) as harness:
        harness.status()
        harness.adopt("what the copy did is not in these files")
        made = harness.apply(candidate(config("three", "third")))
        assert isinstance(made, Applied)
        assert isinstance(harness.undo(made.entry.id), Undone)
        assert len(list(harness.log())) >= 4
        assert not isinstance(harness.plan_undo(strange.entry.id), Applied)
