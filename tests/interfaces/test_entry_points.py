"""What another package brings through its entry points is there for every command and call, as if it were ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.support.running import op

from takeback.adapters.opener import find_adapter
from takeback.errors import InputError, JournalError
from takeback.journal import open_journal
from takeback.plugins import find_entry_points

CANDIDATE = {
    "mutation": [op("set_alarm", "night", value=7)],
    "witness": [op("capture_alarm", "night", witness_key="w")],
    "recovery": [op("restore_alarm", "night", witness_key="w")],
}
POINTS = """
[takeback.surfaces]
alarms = tests.support.ninth:Alarms
[takeback.adapters]
broken = tests.support.ninth:Nothing
[takeback.stores]
broken = tests.support.nowhere:Store
"""


@pytest.fixture
def package(tmp_path):
    """A directory with the metadata of an installed package."""
    metadata = tmp_path / "site" / "alarms-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: alarms\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(POINTS)
    (tmp_path / "candidate.json").write_text(json.dumps(CANDIDATE))
    return metadata.parent


def python(package: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(package), *sys.path))}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=package.parent, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_surface_of_another_package_is_in_the_schema(package):
    assert '"set_alarm"' in python(package, "-m", "takeback", "schema")


@pytest.mark.parametrize("command", ["verify", "oracle"])
def test_a_candidate_for_another_packages_surface_needs_no_harness(package, command):
    assert python(package, "-m", "takeback", command, "candidate.json")


@pytest.mark.parametrize(
    "call",
    [
        'takeback.verify(takeback.read_candidate(json.load(open("candidate.json")))).admitted',
        'takeback.State.read({"alarms": {"night": 7}})["alarms", "night"] == 7',
        '"set_alarm" in str(takeback.candidate_schema(takeback.Level.L0))',
    ],
)
def test_a_surface_is_available_to_every_first_python_call(package, call):
    assert python(package, "-c", f"import json, takeback; print({call})").strip() == "True"


def test_a_broken_entry_point_is_reported_by_name(package, monkeypatch):
    monkeypatch.syspath_prepend(str(package))
    with pytest.raises(InputError, match=r"the entry point broken of takeback\.adapters: .*Nothing"):
        find_adapter("broken", "a manifest")
    with pytest.raises(JournalError, match=r"the entry point broken of takeback\.stores cannot be loaded: .*nowhere"):
        open_journal("broken://here")


def names_of(group: str) -> list[str]:
    return [point.name for point in find_entry_points(group)]


def test_packages_behind_a_custom_finder_are_discovered(package, monkeypatch):
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return None

        @staticmethod
        def find_distributions(context):
            return [Distribution.at(package / "alarms-1.0.dist-info")] if context.name is None else []

    assert "alarms" not in names_of("takeback.surfaces")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert "alarms" in names_of("takeback.surfaces")


@pytest.mark.parametrize("place", ["site/alarms-1.0.dist-info", "site/alarms.egg-info", "site/alarms.egg/EGG-INFO"])
def test_packages_are_discovered_in_every_install_layout(tmp_path, monkeypatch, place):
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "METADATA").write_text("Metadata-Version: 2.1\nName: alarms\nVersion: 1.0\n")
    (tmp_path / place / "entry_points.txt").write_text(POINTS)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site"), str(tmp_path / place.rpartition("/")[0])])
    assert "alarms" in names_of("takeback.surfaces")


def test_packages_in_a_zip_archive_are_discovered(tmp_path, monkeypatch):
    with ZipFile(tmp_path / "alarms.zip", "w") as archive:
        archive.writestr("alarms-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: alarms\nVersion: 1.0\n")
        archive.writestr("alarms-1.0.dist-info/entry_points.txt", POINTS)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "alarms.zip")])
    assert "alarms" in names_of("takeback.surfaces")


def test_no_package_takes_the_name_of_an_adapter_of_ours(package, monkeypatch):
    (package / "alarms-1.0.dist-info/entry_points.txt").write_text(
        "[takeback.adapters]\nworkspace = tests.support.ninth:Alarms\n"
    )
    monkeypatch.syspath_prepend(str(package))
    assert find_adapter("workspace", "here").__module__ == "takeback.adapters.workspace"
