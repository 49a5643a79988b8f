"""What a wheel would hold: every file the program reads at run time, and nothing that is not the program's.

Asks the build backend which files it would take, without building and without a network. What is looked for is what
is in the source tree, so that a new template or recording is demanded the day it is added.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "takeback"
ASSETS = {
    "the page's templates": ("web/templates", ".html"),
    "the page's scripts and styles": ("web/static", ""),
    "recorded replies": ("lab/recorded", ""),
    "tasks": ("lab/tasks/data", ""),
    "the bytes experiment's files": ("lab/bytes/corpus", ""),
    "the paper's figures": ("lab/published", ".json"),
    "prompts": ("synthesize/prompts", ""),
    "diagnoses": ("diagnose/templates", ""),
}


@pytest.fixture(scope="module")
def wheel():
    """The paths inside the wheel."""
    builder = WheelBuilder(str(ROOT))
    return {Path(one.distribution_path).as_posix() for one in builder.recurse_included_files()}


def there(folder, ending):
    found = {path for path in (PACKAGE / folder).rglob(f"*{ending}") if path.is_file()}
    return {path for path in found if "__pycache__" not in path.parts and path.suffix != ".py"}


@pytest.mark.parametrize("what", sorted(ASSETS))
def test_what_is_read_at_run_time_is_in_the_wheel(wheel, what):
    expected = there(*ASSETS[what])
    assert expected, f"{what}: nothing is in the source tree"
    missing = {path.relative_to(ROOT / "src").as_posix() for path in expected} - wheel
    assert missing == set()


def test_every_module_and_every_other_file_of_the_package_is_in_the_wheel(wheel):
    every = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path.relative_to(ROOT / "src").as_posix() for path in every} - wheel == set()


def test_nothing_else_is_in_the_wheel(wheel):
    assert {path.partition("/")[0] for path in wheel} == {"takeback"}
    assert not [path for path in wheel if path.endswith(".pyc")]


def test_the_scripts_of_others_come_with_their_notice(wheel):
    scripts = {path for path in wheel if path.endswith(".min.js")}
    assert scripts
    notice = (PACKAGE / "web" / "static" / "NOTICE.txt").read_text()
    assert all(Path(path).name in notice for path in scripts)
    assert "takeback/web/static/NOTICE.txt" in wheel
