"""What depends on what, asked of a journal that is opened again: the answer, and that asking changes nothing."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config, socket

from takeback.adapters import open_memory
from takeback.harness import Undone
from takeback.harness.dependencies import find_dependencies


@pytest.mark.parametrize("again", [False, True], ids=["as begun", "opened again"])
def test_undoing_a_release_is_blocked_by_the_later_allocation(tmp_path, again):
    stored = tmp_path / "journal.db"
    harness = open_memory(journal=stored)
    harness.apply(candidate(socket("first", 9100)))
    moved = harness.apply(candidate(socket("first", 9101))).entry
    other = harness.apply(candidate(socket("other", 9102))).entry
    claims = harness.apply(candidate(socket("second", 9100))).entry
    if again:
        harness.close()
        harness = open_memory(journal=stored)
    with harness:
        assert [number for number, _ in find_dependencies(harness.ledger, claims.number)] == [moved.number]
        assert find_dependencies(harness.ledger, other.number) == ()
        assert isinstance(harness.undo(other), Undone)
        assert sorted(harness.state.write()["resources"]) == ["first", "second"]


@pytest.mark.parametrize("again", [False, True], ids=["as begun", "opened again"])
def test_a_list_in_place_of_a_list_that_one_change_appended_to_is_not_its_item(tmp_path, again):
    stored = tmp_path / "journal.db"
    harness = open_memory(journal=stored)
    first = harness.apply(candidate(config("new", ["read"])), force=True).entry
    append = {"op_type": "append_config", "target": "new", "value": "write"}
    unset = {"op_type": "unset_config", "target": "new"}
    second = harness.apply(candidate(append, unset, config("new.list", ["run"])), force=True).entry
    if again:
        harness.close()
        harness = open_memory(journal=stored)
    with harness:
        assert isinstance(harness.undo(first), Undone)
        assert harness.state.write()["config"] == {"new": {"list": ["run"]}}
        assert isinstance(harness.undo(second), Undone)
        assert harness.state.write().get("config", {}) == {}
