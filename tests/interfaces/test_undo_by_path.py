"""An undo by path says what else it takes back, and with --only takes back just the files that match."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.tracked_project import TrackedProject

from takeback.errors import InputError

LINES = "".join(f"line {number}\n" for number in range(12))
FILES = {"CLAUDE.md": "# notes\n", "src/a.py": LINES, "docs/x.md": "one\n", "docs/y.md": "why\n"}


@pytest.fixture
def project(tmp_path: Path) -> TrackedProject:
    made = TrackedProject(tmp_path / "project", FILES)
    made.shell("sed -i 's/line 3$/LINE 3/' src/a.py; echo two >> docs/x.md; rm docs/y.md")
    made.shell("sed -i 's/line 9$/LINE 9/' src/a.py")
    return made


def test_a_plan_by_path_names_the_other_files_of_its_entries(project: TrackedProject) -> None:
    told = project.command("undo", "--path", "src", "--plan")
    assert told.exit_code == 0
    assert "#2 also changed docs/x.md and docs/y.md, which do not match" in told.stderr
    assert "#3" not in told.stderr
    raw = json.loads(project.command("undo", "--path", "src", "--plan", "--json").stdout)
    assert len(raw["warnings"]) == 1


def test_undo_by_path_restores_only_matching_files_and_can_be_undone(project: TrackedProject) -> None:
    before = project.read()
    plan = json.loads(project.command("undo", "--path", "docs/**", "--only", "--plan", "--json").stdout)
    assert {change["address"] for change in plan["changes"]} == {'files["docs/x.md"]', 'files["docs/y.md"]'}
    stale = project.command("undo", "--path", "docs/**", "--only", "--token", "0" * 24)
    assert stale.exit_code == 1
    assert project.read() == before
    done = project.command("undo", "--path", "docs/**", "--only", "--token", plan["token"])
    assert done.exit_code == 0, done.stderr
    assert project.read() == {**before, "docs/x.md": b"one\n", "docs/y.md": b"why\n"}
    newest = project.log()[-1]
    assert newest.files == ("docs/x.md", "docs/y.md")
    assert [entry.status for entry in project.log()[:2]] == ["live", "live"]
    assert project.command("undo", newest.id).exit_code == 0
    assert project.read() == before


def test_undo_of_an_entry_by_path_restores_only_matching_files(project: TrackedProject) -> None:
    done = project.command("undo", "2", "--path", "src/a.py", "--only")
    assert done.exit_code == 0, done.stderr
    assert (project.root / "src/a.py").read_text() == LINES.replace("line 9", "LINE 9")
    assert not (project.root / "docs/y.md").exists()


def test_a_moved_file_is_matched_by_its_current_path(tmp_path: Path) -> None:
    project = TrackedProject(tmp_path / "other", FILES)
    project.edit("src/a.py", "line 2\n", "second\n")
    project.shell("mkdir lib && mv src/a.py lib/renamed.py")
    plan = project.command("undo", "2", "--plan")
    assert 'files["lib/renamed.py"]' in plan.stdout
    assert "src/a.py" not in plan.stdout
    raw = json.loads(project.command("undo", "2", "--plan", "--json").stdout)
    assert [change["address"] for change in raw["changes"]] == ['files["lib/renamed.py"]']
    assert "moved from lib/renamed.py to src/a.py" in project.command("undo", "3", "--plan").stdout
    done = json.loads(project.command("undo", "2", "--json").stdout)
    assert [change["address"] for change in done["changes"]] == ['files["lib/renamed.py"]']
    assert "warnings" not in json.loads(project.command("undo", "--path", "lib", "--plan", "--json").stdout)


def test_a_file_is_not_restored_over_an_unmatched_one(tmp_path: Path) -> None:
    project = TrackedProject(tmp_path / "other", FILES)
    project.shell("mv src/a.py src/b.py")
    project.shell("echo fresh > src/a.py")
    before = project.read()
    with project.open() as harness:
        moved = {pair for entry in harness.log() for pair in entry.moved}
    assert moved == {("src/a.py", "src/b.py")}
    refused = project.command("undo", "2", "3", "--path", "src/b.py", "--only")
    assert isinstance(refused.exception, InputError)
    assert "where another file stands" in str(refused.exception)
    assert project.read() == before
    assert project.command("undo", "2", "3").exit_code == 0
    assert (project.root / "src/a.py").read_text() == LINES


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("2", "--only"), "--only without --path"),
        (("--path", "src", "--only", "--cascade"), "--only with"),
        (("--path", "nowhere", "--only"), "no live change that matches"),
        (("2", "--path", "nowhere", "--only"), "no file that matches"),
        (("2", "--path", "src"), "entries and a filter"),
    ],
)
def test_contradictory_path_options_are_refused(project: TrackedProject, words: tuple[str, ...], said: str) -> None:
    before = project.read()
    told = project.command("undo", *words)
    assert isinstance(told.exception, InputError)
    assert said in str(told.exception)
    assert project.read() == before
