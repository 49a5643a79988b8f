"""The new files of a large undo lie in a folder of Takeback's own until they are put in place."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.support.tracked_project import TrackedProject

from takeback.adapters.directory import Directory
from takeback.adapters.file_replacement import ASIDE, AsideFolder, sweep_aside
from takeback.journal.failpoint import arm_failpoints

FILES = {f"m/{number % 3}/{number}.txt": f"{number}\n" for number in range(90)}
TAG = "t" * 12


def undo_and_watch(project: TrackedProject) -> set[str]:
    """Undo the call's entry; return the folders in which its new files were written, two names deep."""
    places: set[str] = set()

    def watch(reached: str) -> None:
        if reached == "file.temp.written":
            for folder, _, names in os.walk(project.root):
                for name in names:
                    if name.startswith(".takeback-tmp-"):
                        places.add("/".join(Path(folder).relative_to(project.root).parts[:2]))

    with arm_failpoints(watch), project.open() as harness:
        harness.undo("2")
    return places - {".takeback"}  # where its own notes are written


def test_files_that_come_back_are_written_in_a_folder_of_takebacks_own(tmp_path: Path) -> None:
    project = TrackedProject(tmp_path / "project", FILES)
    before = project.read()
    project.shell("rm -r m")
    assert undo_and_watch(project) == {f".takeback/{ASIDE}"}
    assert project.read() == before
    assert not (project.root / ".takeback" / ASIDE).exists()


def test_a_folder_that_hands_its_group_on_gets_its_files_made_in_it(tmp_path: Path) -> None:
    project = TrackedProject(tmp_path / "project", FILES)
    before = project.read()
    project.shell("rm m/*/*")
    for folder in (project.root / "m").iterdir():
        folder.chmod(0o2755)
    assert undo_and_watch(project) == {"m/0", "m/1", "m/2"}
    assert project.read() == before


def test_a_file_system_without_such_marks_is_written_to_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = TrackedProject(tmp_path / "project", FILES)
    before = project.read()
    project.shell("rm -r m")

    def refuse(*_: object) -> None:
        raise OSError(25, "Inappropriate ioctl for device")

    monkeypatch.setattr("takeback.adapters.file_replacement.fcntl.ioctl", refuse)
    with project.open() as harness:
        assert harness.undo("2")
    assert project.read() == before


def test_files_have_the_modes_and_owners_that_they_had(tmp_path: Path) -> None:
    project = TrackedProject(tmp_path / "project", {**FILES, "run.sh": "#!/bin/sh\n"})
    (project.root / "run.sh").chmod(0o755)
    project.look()
    owner = (project.root / "run.sh").stat().st_uid
    project.shell("rm -r m run.sh")
    with project.open() as harness:
        harness.undo("HEAD")
    status = (project.root / "run.sh").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o755, owner)


def test_a_folder_where_a_link_was_put_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "project/.takeback").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project/.takeback" / ASIDE).symlink_to(tmp_path / "elsewhere")
    directory = Directory(tmp_path / "project", tag=TAG)
    staging = AsideFolder(directory)
    assert staging.find_for(directory.descriptor) is None
    staging.close()
    sweep_aside(directory)
    directory.close()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (tmp_path / "project/.takeback" / ASIDE).is_symlink()


def test_what_a_killed_process_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".takeback").mkdir()
    directory = Directory(tmp_path, tag=TAG)
    staging = AsideFolder(directory)
    folder = staging.find_for(directory.descriptor)
    assert folder is not None
    left = os.open(directory.temporary_name(), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=folder)
    os.close(left)
    (tmp_path / ".takeback" / ASIDE / "mine").write_text("not Takeback's")
    sweep_aside(directory)
    directory.close()
    assert os.listdir(tmp_path / ".takeback" / ASIDE) == ["mine"]
