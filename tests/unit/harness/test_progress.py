"""Long work tells whoever listens how many are done, of how many: restore, doctor, adopt."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from tests.support.changes import candidate, config, file

from takeback import Adopted, Undone, init_workspace, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.progress import listener, track_progress

FILES = 7


@contextmanager
def listening():
    """What is told while the block runs: the counts of each thing, in order."""
    heard: dict[str, list[tuple[int, int]]] = {}
    token = listener.set(lambda what, done, of: heard.setdefault(what, []).append((done, of)))
    try:
        yield heard
    finally:
        listener.reset(token)


@pytest.fixture
def agent(tmp_path):
    root = tmp_path / "agent"
    init_workspace(root)
    with open_workspace(root) as harness:
        first = harness.apply(candidate(config("a", 1))).entry
        for number in range(FILES):
            harness.apply(candidate(file(f"d/{number}", "x\n")))
    return root, first


def test_a_restore_counts_the_entries_it_plans_and_the_files_it_writes(agent):
    root, first = agent
    with open_workspace(root) as harness, listening() as heard:
        assert isinstance(harness.restore(first), Undone)
    assert heard["entries looked at"] == heard["entries planned"] == [(done, FILES) for done in range(FILES + 1)]
    done, of = heard["files written"][-1]
    assert done == of >= FILES
    assert [one for one, _ in heard["files written"]] == list(range(of + 1))


def test_doctor_counts_records_contents_and_recoveries(agent):
    root, _ = agent
    with listening() as heard:
        assert all(finding.good for finding in examine_workspace(root, deep=True))
    for what in ("records checked", "contents checked", "records replayed"):
        done, of = heard[what][-1]
        assert done == of > FILES
    assert heard["entries compared"][0] == (0, FILES + 1)


def test_adopt_counts_the_files_it_takes_in_and_the_contents_it_stores(agent):
    root, _ = agent
    for number in range(FILES):
        (root / "files" / "d" / str(number)).write_text("by hand\n")
    with open_workspace(root) as harness, listening() as heard:
        assert isinstance(harness.adopt(), Adopted)
    assert heard["files taken in"][-1] == (FILES, FILES)
    done, of = heard["contents stored"][-1]
    assert done == of


def test_progress_without_a_listener_wraps_nothing():
    items = [1, 2]
    assert track_progress("items", items, 2) is items
