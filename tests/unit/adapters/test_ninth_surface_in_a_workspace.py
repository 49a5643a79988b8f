"""A ninth surface goes all the way through a workspace: file, journal, undo, drift, discard, doctor, log."""

from __future__ import annotations

import json

import pytest
from tests.support.changes import candidate, config
from tests.support.ninth import Alarms
from tests.support.running import op

from takeback.adapters import MemoryAdapter, init_workspace, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.adapters.workspace.folder_storage import TextStorage
from takeback.errors import InputError
from takeback.harness import Applied, Discarded, Harness, RefusalReason, Undone
from takeback.harness.entry_log import iter_entries
from takeback.journal import open_journal
from takeback.language import read_candidate
from takeback.state import State, register, surface, unregister

NIGHT = {
    "mutation": [op("set_alarm", "night", value=7)],
    "witness": [op("capture_alarm", "night", witness_key="w")],
    "recovery": [op("restore_alarm", "night", witness_key="w")],
}


@pytest.fixture
def alarms():
    register(Alarms())
    yield
    unregister("alarms")


@pytest.fixture
def root(alarms, tmp_path):
    return init_workspace(tmp_path / "agent")


def test_a_new_surface_is_applied_written_undone_and_examined(root):
    harness = open_workspace(root)
    done = harness.apply(read_candidate(NIGHT))
    assert isinstance(done, Applied)
    assert json.loads((root / "alarms.json").read_text()) == {"night": 7}
    again = open_workspace(root)
    assert again.state.write() == {"alarms": {"night": 7}}
    assert again.status().clean
    assert next(view.addresses for view in iter_entries(again)) == ('alarms["night"]',)
    assert all(finding.good for finding in examine_workspace(root, deep=True))
    assert isinstance(again.undo(done.entry.id), Undone)
    assert (root / "alarms.json").read_text() == "{}\n"
    assert again.status().clean


def test_a_new_surfaces_file_is_spliced_adopted_and_discarded(root):
    harness = open_workspace(root)
    (root / "alarms.json").write_text('{"late":   23 ,\n   "early":5}')
    adopted = harness.adopt()
    harness.apply(read_candidate(NIGHT))
    assert (root / "alarms.json").read_text() == '{"late":   23 ,\n   "early":5,\n   "night": 7}'
    (root / "alarms.json").write_text("{")
    assert harness.status().broken[0].path == "alarms.json"
    assert isinstance(harness.discard(["alarms.json"]), Discarded)
    assert (root / "alarms.json").read_text() == '{"late":   23 ,\n   "early":5,\n   "night": 7}'
    harness.undo(adopted.entry.id)
    assert harness.state.write() == {"alarms": {"night": 7}}


def test_a_surface_may_define_its_own_storage(tmp_path):
    class Folder(Alarms):
        def workspace_storage(self):
            return _Hours("alarms", "alarms", ".hour")

    class _Hours(TextStorage):
        def decode(self, raw, where):
            return int(super().decode(raw, where))

    register(Folder())
    try:
        root = init_workspace(tmp_path / "agent")
        open_workspace(root).apply(read_candidate(NIGHT))
        assert (root / "alarms/night.hour").read_text() == "7"
        assert open_workspace(root).status().clean
    finally:
        unregister("alarms")


def test_an_older_workspace_gets_the_new_surfaces_file_on_first_change(tmp_path):
    root = init_workspace(tmp_path / "agent")
    register(Alarms())
    try:
        harness = open_workspace(root)
        assert harness.status().clean
        entry = harness.apply(read_candidate(NIGHT)).entry
        assert json.loads((root / "alarms.json").read_text()) == {"night": 7}
        harness.undo(entry.id)
        assert not (root / "alarms.json").exists()
    finally:
        unregister("alarms")


def test_a_manifest_with_a_missing_surface_opens_with_a_problem(tmp_path):
    register(Alarms())
    root = init_workspace(tmp_path / "agent")
    unregister("alarms")
    harness = open_workspace(root)
    assert harness.status().problems == ("the surface 'alarms' is not installed: alarms.json is left alone",)
    assert isinstance(harness.apply(candidate(config("a", 1))), Applied)
    assert (root / "alarms.json").read_text() == "{}\n"


def test_an_adapter_that_does_not_store_a_surface_refuses_before_anything_happens(alarms):
    class Few(MemoryAdapter):
        name = "few"
        surfaces = frozenset({"config"})

    asked = []
    harness = Harness(Few(), open_journal(":memory:"), start=State(), verifier=asked.append)
    refused = harness.apply(read_candidate(NIGHT), force=True)
    assert (refused.why, refused.message) == (
        RefusalReason.UNSTORED,
        "this harness (few) does not store alarms; it stores config",
    )
    assert asked == []
    assert harness.ledger.last == 2


def test_surfaces_of_other_packages_load_from_entry_points(monkeypatch):
    class Point:
        name = "alarms"

        @staticmethod
        def load():
            return Alarms

    monkeypatch.setattr(surface, "entry_points", lambda group: [Point] if group == "takeback.surfaces" else [])
    surface.install_surfaces.cache_clear()
    try:
        assert surface.install_surfaces() == ("alarms",)
        assert read_candidate(NIGHT).mutation[0].kind.surface == "alarms"
        assert surface.install_surfaces() == ("alarms",)
    finally:
        unregister("alarms")
        surface.install_surfaces.cache_clear()


class Broken:
    """An entry point whose package is at fault."""

    name = "clocks"

    def __init__(self, gives):
        self.gives = gives

    def load(self):
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (ImportError("no module named clocks"), "ImportError: no module named clocks"),
        (RuntimeError("out of order"), "RuntimeError: out of order"),
        (lambda needed: None, "TypeError"),
        (7, "found int, expected a Surface"),
        (dict, "found dict, expected a Surface"),
    ],
)
def test_a_broken_surface_is_reported_each_time_and_others_register_once(monkeypatch, gives, said):
    class Point:
        name = "another-name-than-the-surface-has"
        load = staticmethod(lambda: Alarms)

    monkeypatch.setattr(surface, "entry_points", lambda group: [Point, Broken(gives)])
    surface.install_surfaces.cache_clear()
    for _ in range(2):
        with pytest.raises(InputError, match=f"the entry point clocks of takeback.surfaces: .*{said}"):
            surface.install_surfaces()
    monkeypatch.setattr(surface, "entry_points", lambda group: [Point])
    try:
        assert surface.install_surfaces() == ("alarms",)
        surface.install_surfaces.cache_clear()
        assert surface.install_surfaces() == ()
    finally:
        unregister("alarms")
        surface.install_surfaces.cache_clear()
