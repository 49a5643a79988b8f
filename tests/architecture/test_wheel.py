"""What the two wheels hold: every file the program reads at run time, and nothing that is not the program's.

Asks the build backend which files it would take, without building and without a network. What is looked for is what
is in the source tree, so that a new template or recording is demanded the day it is added.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
HOMES = {"takeback": ROOT, "takeback_lab": ROOT / "lab"}
ASSETS = {
    "the page's templates": ("takeback", "web/templates", ".html"),
    "the page's scripts and styles": ("takeback", "web/static", ""),
    "prompts": ("takeback", "repair/prompt_files", ""),
    "diagnoses": ("takeback", "repair/templates", ""),
    "recorded replies": ("takeback_lab", "recorded", ""),
    "tasks": ("takeback_lab", "tasks/data", ""),
    "the bytes experiment's files": ("takeback_lab", "bytes/corpus", ""),
    "the paper's figures": ("takeback_lab", "published", ".json"),
    "the lab's templates": ("takeback_lab", "pages/templates", ".html"),
    "older prompts": ("takeback_lab", "prompt_files", ""),
    "older diagnoses": ("takeback_lab", "templates", ""),
}


def package(name):
    return HOMES[name] / "src" / name


@pytest.fixture(scope="module")
def wheels():
    """The paths inside each wheel."""
    return {
        name: {Path(one.distribution_path).as_posix() for one in WheelBuilder(str(home)).recurse_included_files()}
        for name, home in HOMES.items()
    }


def there(name, folder, ending):
    found = {path for path in (package(name) / folder).rglob(f"*{ending}") if path.is_file()}
    return {path for path in found if "__pycache__" not in path.parts and path.suffix != ".py"}


@pytest.mark.parametrize("what", sorted(ASSETS))
def test_files_read_at_run_time_are_in_the_wheel(wheels, what):
    name, *rest = ASSETS[what]
    expected = there(name, *rest)
    assert expected, f"{what}: nothing is in the source tree"
    assert {path.relative_to(HOMES[name] / "src").as_posix() for path in expected} - wheels[name] == set()


@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_module_and_every_other_file_of_the_package_is_in_the_wheel(wheels, name):
    every = {path for path in package(name).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path.relative_to(HOMES[name] / "src").as_posix() for path in every} - wheels[name] == set()


@pytest.mark.parametrize("name", sorted(HOMES))
def test_nothing_else_is_in_the_wheel(wheels, name):
    assert {path.partition("/")[0] for path in wheels[name]} == {name}
    assert not [path for path in wheels[name] if path.endswith(".pyc")]


def test_the_scripts_of_others_come_with_their_notice(wheels):
    scripts = {path for path in wheels["takeback"] if path.endswith(".min.js")}
    assert scripts
    notice = (package("takeback") / "web" / "static" / "NOTICE.txt").read_text()
    assert all(Path(path).name in notice for path in scripts)
    assert "takeback/web/static/NOTICE.txt" in wheels["takeback"]
