"""A document of a workspace that is a link is not followed: adopting records it, undo brings the file back."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
from tests.support.changes import candidate, config, listener, middleware, routing

from takeback.adapters import init_workspace, open_workspace
from takeback.harness import Adopted, Applied, Discarded, Refused, Undone
from takeback.state import SURFACES

CHANGES = {
    "config.toml": (config("model", "opus"), "config"),
    "routing.toml": (routing("main", "opus"), "routing"),
    "middleware.toml": (middleware("limit"), "middleware"),
    "listeners.toml": (listener("on_start", "warm"), "listeners"),
}
PLACES = {
    "out of the directory": "../evil.toml",
    "nowhere": "none.toml",
    "another file of the directory": "other.toml",
}


def is_empty(harness, surface):
    plain = SURFACES[surface].write(harness.state.part(surface))
    return not any(plain.values() if isinstance(plain, dict) else plain)


@pytest.fixture(params=CHANGES)
def linked(tmp_path, request):
    """A workspace, one of its documents, and what that held."""
    root = init_workspace(tmp_path / "w")
    (tmp_path / "evil.toml").write_text('evil = "yes"\n')
    (root / "other.toml").write_text('evil = "yes"\n')
    change, surface = CHANGES[request.param]
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.apply(candidate(change)), Applied)
    return root, root / request.param, surface


@pytest.mark.parametrize("target", PLACES)
def test_a_document_replaced_by_a_link_is_adopted_and_restored(linked, target):
    root, place, surface = linked
    before = place.read_bytes()
    place.unlink()
    place.symlink_to(PLACES[target])
    with closing(open_workspace(root)) as harness:
        status = harness.status()
        assert {change.slot[0] for change in status.drift} == {surface}
        assert not status.broken
        assert any(f"{place.name}: it is a link, which is not followed" in line for line in status.problems)
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted)
        assert is_empty(harness, surface)
        assert not harness.status().drift
        assert isinstance(harness.undo(adopted.entry.id), Undone)
        assert not place.is_symlink()
        assert place.read_bytes() == before
        assert isinstance(harness.redo(adopted.entry.id), Undone)
        assert os.readlink(place) == PLACES[target]
    assert (root.parent / "evil.toml").read_text() == 'evil = "yes"\n'


def test_nothing_is_written_through_a_link_that_replaced_a_document(linked):
    root, place, surface = linked
    change = CHANGES[place.name][0]
    place.unlink()
    place.symlink_to("../evil.toml")
    with closing(open_workspace(root)) as harness:
        harness.adopt()
        refused = harness.apply(candidate(change))
        assert isinstance(refused, Refused)
        assert "not written through" in str(refused)
        assert is_empty(harness, surface)
    assert (root.parent / "evil.toml").read_text() == 'evil = "yes"\n'


def test_discard_replaces_the_link_by_the_document(linked):
    root, place, _surface = linked
    before = place.read_bytes()
    place.unlink()
    place.symlink_to("../evil.toml")
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.discard(), Discarded)
    assert not place.is_symlink()
    assert place.read_bytes() == before
