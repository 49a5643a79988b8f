"""A track database that is deleted or spoilt: the journal loses nothing, and nothing unknown is written over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.tracked_project import ENVIRONMENT, TrackedProject

from takeback.harness.outcomes import Undone
from takeback.track.capture import FAILED, Call, begin_tracking, capture_found
from takeback.track.database import SETUP, TRACK, make_key_file
from takeback.track.store import TrackStore

LINES = "".join(f"line {number}\n" for number in range(12))
FILES = {"CLAUDE.md": "# notes\n", "src/a.py": LINES, "src/b.py": "b\n", "docs/x.md": "x\n"}


@pytest.fixture
def project(tmp_path: Path) -> TrackedProject:
    made = TrackedProject(tmp_path / "project", FILES)
    made.shell("sed -i 's/line 3$/LINE 3/' src/a.py")
    made.shell("rm docs/x.md; echo new > src/new.py")
    assert len(made.log()) == 2
    return made


def lose(project: TrackedProject) -> None:
    for ending in ("", "-wal", "-shm"):
        (project.root / f"{TRACK}{ending}").unlink(missing_ok=True)


def undo(project: TrackedProject, *names: str) -> object:
    with project.open() as harness:
        return harness.undo(*names)


def test_recorded_entries_are_undone_without_the_database(project: TrackedProject) -> None:
    lose(project)
    assert isinstance(undo(project, "2"), Undone)
    assert isinstance(undo(project, "3"), Undone)
    assert project.read() == {path: text.encode() for path, text in FILES.items()}


def test_changes_made_while_the_database_was_lost_are_noticed(project: TrackedProject) -> None:
    lose(project)
    text = (project.root / "src/a.py").read_text()
    (project.root / "src/a.py").write_text(text.replace("line 9", "by hand"))
    (project.root / "src/new.py").unlink()
    (project.root / "docs").mkdir(exist_ok=True)
    (project.root / "docs/x.md").write_text("mine\n")
    (found,) = project.log()[2:]
    assert found.files == ("docs/x.md", "src/a.py", "src/new.py")
    assert "begins anew" in found.note
    assert isinstance(undo(project, "2"), Undone)
    assert (project.root / "src/a.py").read_text() == LINES.replace("line 9", "by hand")
    before = project.read()
    undo(project, "3")
    assert project.read()["docs/x.md"] == b"mine\n"
    assert project.read()["src/a.py"] == before["src/a.py"]


def test_an_unknown_file_counts_as_present_from_the_start(project: TrackedProject) -> None:
    lose(project)
    (project.root / "src/b.py").write_text("changed meanwhile\n")
    (project.root / "src/other.py").write_text("mine\n")
    project.log()
    project.shell("echo more >> src/b.py; echo more >> src/other.py")
    newest = project.log()[-1]
    assert isinstance(undo(project, newest.id), Undone)
    assert (project.root / "src/b.py").read_text() == "changed meanwhile\n"
    assert (project.root / "src/other.py").read_text() == "mine\n"


def test_an_undo_never_deletes_a_file_that_it_does_not_know(project: TrackedProject) -> None:
    lose(project)
    (project.root / "src/new.py").write_text("quite another thing\n")
    undo(project, "3")
    assert (project.root / "src/new.py").exists()
    kept = (project.root / "src/new.py").read_text()
    assert "quite another thing" in kept


def test_a_clients_files_stay_with_the_client_after_the_loss(project: TrackedProject) -> None:
    lose(project)
    project.look()
    (project.root / "CLAUDE.md").write_text("# other notes\n")
    assert project.look() == 0
    with project.open() as harness:
        assert [change.slot[0] for change in harness.status().drift] == ["prompts"]


def test_a_sealed_project_stays_sealed_after_the_loss(tmp_path: Path) -> None:
    root = tmp_path / "sealed"
    root.mkdir()
    (root / "a.txt").write_text("quite a secret\n")
    (root / ".takeback").mkdir()
    seal = tmp_path / "track.key"
    make_key_file(str(seal))
    begin_tracking(str(root), {}, ENVIRONMENT, sealed=True, seal=str(seal))
    for ending in ("", "-wal", "-shm"):
        (root / f"{TRACK}{ending}").unlink(missing_ok=True)
    (root / "a.txt").write_text("quite another secret\n")
    capture_found(str(root), Call(""), ENVIRONMENT)
    with TrackStore.open(root) as store:
        assert store.stats().sealed
        assert store.check_contents() == (1, [])


def test_without_its_setup_a_hook_refuses_and_a_command_starts_over(project: TrackedProject) -> None:
    lose(project)
    (project.root / SETUP).unlink()
    text = (project.root / "src/a.py").read_text()
    (project.root / "src/a.py").write_text(text.replace("line 9", "by hand"))
    told = capture_found(str(project.root), Call(""), ENVIRONMENT)
    assert told.said[0].startswith(FAILED)
    assert not (project.root / TRACK).exists()
    assert [entry.files for entry in project.log()[2:]] == [("src/a.py",)]
    assert isinstance(undo(project, "2"), Undone)
    assert (project.root / "src/a.py").read_text() == LINES.replace("line 9", "by hand")
    (project.root / "CLAUDE.md").write_text("# other notes\n")
    assert project.look() == 0


@pytest.mark.parametrize("how", ["deleted", "cut off", "no database", "empty"])
def test_captures_continue_after_the_database_was_lost(project: TrackedProject, how: str) -> None:
    place = project.root / TRACK
    if how == "deleted":
        lose(project)
    elif how == "cut off":
        os.truncate(place, 5000)
    else:
        lose(project)
        place.write_bytes(b"" if how == "empty" else b"no database at all, and longer than its header" * 9)
    project.shell("sed -i 's/line 5$/LINE 5/' src/a.py")
    newest = project.log()[-1]
    assert newest.origin["tool"] == "Bash"
    assert isinstance(undo(project, newest.id), Undone)
    assert (project.root / "src/a.py").read_text() == LINES.replace("line 3", "LINE 3")
    assert isinstance(undo(project, "2"), Undone)
    assert (project.root / "src/a.py").read_text() == LINES
