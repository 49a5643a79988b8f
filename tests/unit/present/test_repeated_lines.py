"""Lines that an undo brings back beside the same of a later entry are said to stand there twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.tracked_project import TrackedProject

TEXT = "first\n\nsame\nsame\nhelper = 1\n\nlast\n"


@pytest.fixture
def project(tmp_path: Path) -> TrackedProject:
    return TrackedProject(tmp_path / "project", {"a.txt": TEXT})


def remove(project: TrackedProject, line: str) -> None:
    text = (project.root / "a.txt").read_text()
    (project.root / "a.txt").write_text(text.replace(line, "", 1))
    project.look()


def test_an_undo_reports_lines_that_come_back_twice(project: TrackedProject) -> None:
    remove(project, "helper = 1\n\n")
    (project.root / "a.txt").write_text(TEXT)
    project.look()
    said = 'of files["a.txt"] come back beside the same, which #3 wrote later and which stays'
    assert said in " ".join(project.command("undo", "2", "--plan").output.split())
    told = json.loads(project.command("undo", "2", "--json").output)
    assert [(one["slot"], one["lines"], one["entry"]) for one in told["twice"]] == [('files["a.txt"]', 2, 3)]
    lines = (project.root / "a.txt").read_text().splitlines()
    assert lines.count("helper = 1") == 2
    assert lines[told["twice"][0]["line"] - 1 :][:2] in (["helper = 1", ""], ["", "helper = 1"])


def test_a_line_that_always_existed_twice_is_not_reported(project: TrackedProject) -> None:
    remove(project, "same\n")
    remove(project, "last\n")
    told = json.loads(project.command("undo", "2", "--json").output)
    assert told["twice"] == []
    assert (project.root / "a.txt").read_text() == TEXT.replace("last\n", "")


def test_a_repeated_blank_line_is_not_reported(project: TrackedProject) -> None:
    (project.root / "a.txt").write_text(TEXT.replace("first\n\n", "first\n"))
    project.look()
    (project.root / "a.txt").write_text(TEXT)
    project.look()
    assert json.loads(project.command("undo", "2", "--json").output)["twice"] == []
