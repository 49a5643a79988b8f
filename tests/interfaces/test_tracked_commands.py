"""Commands in a tracked project: `discard` and `adopt` say that files are recorded, `doctor` looks at them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from pathlib import Path

import pytest
from tests.support.tracked_project import TrackedProject

from takeback.adapters.clients.init import init_clients
from takeback.adapters.manifest import find_manifest_path, read_manifest
from takeback.errors import InputError
from takeback.track.database import TRACK

FILES = {"CLAUDE.md": "# notes\n", "src/a.py": "one\ntwo\n", "docs/x.md": "x\n", "empty": "", "ü.txt": "ü\n"}


@pytest.fixture
def project(tmp_path: Path) -> TrackedProject:
    return TrackedProject(tmp_path / "project", FILES)


def examine(project: TrackedProject, *options: str) -> tuple[int, list[dict]]:
    told = project.command("doctor", "--json", *options)
    found: dict = json.loads(told.stdout)
    return told.exit_code, [one for one in found["findings"] if one["check"] == "track"]


@pytest.mark.parametrize("path", ["src/a.py", "./src/a.py", "src", "docs/x.md"])
def test_discarding_a_tracked_file_suggests_the_undo_of_its_entry(project: TrackedProject, path: str) -> None:
    project.shell("echo three >> src/a.py; rm docs/x.md")
    before = project.read()
    told = project.command("discard", path)
    assert isinstance(told.exception, InputError)
    named = path.removeprefix("./")
    assert f"'takeback undo --path {named}'" in told.exception.hint
    assert project.read() == before
    assert project.command("undo", "--path", named).exit_code == 0
    assert (project.root / "src/a.py").read_text() == "one\ntwo\n"


def test_discarding_an_unknown_file_is_an_error(project: TrackedProject) -> None:
    told = project.command("discard", "nowhere.py")
    assert "a file of this harness" in str(told.exception)


def test_adopt_lists_recorded_tracked_files(project: TrackedProject) -> None:
    (project.root / "src/a.py").write_text("one\nby hand\n")
    told = project.command("adopt")
    assert told.exit_code == 0
    assert "recorded: #2  found changed · 1 file +1 −1" in told.stdout
    assert "nothing to adopt" in project.command("adopt").stdout
    (project.root / "src/a.py").write_text("one\nagain\n")
    raw = json.loads(project.command("adopt", "--json").stdout)
    assert (raw["result"], [entry["files"] for entry in raw["entries"]]) == ("recorded", [["src/a.py"]])


def test_doctor_reports_tracking_and_reads_every_content(project: TrackedProject) -> None:
    (project.root / ".env").write_text("TOKEN=abc\n")
    os.symlink("src/a.py", project.root / "link")
    project.shell("echo new > src/new.py")
    code, found = examine(project, "--deep")
    assert code == 0
    assert all(one["good"] for one in found)
    told = " ".join(one["detail"] for one in found)
    assert "1 capture waiting" in told or "2 captures waiting" in told
    assert "1 secret" in told
    assert "the last known contents of 6 files can be had without the working tree" in told
    assert "abc" not in told


def test_doctor_names_lost_contents_and_a_working_way_out(project: TrackedProject) -> None:
    project.run("rm -rf .git")
    (project.root / "src/a.py").write_text("changed\n")
    project.look()
    project.command("status")
    with sqlite3.connect(project.root / TRACK) as database:
        database.execute("DELETE FROM contents")
        database.execute("DELETE FROM frames")
        (facts,) = database.execute("SELECT count(*) FROM facts").fetchone()
    database.close()
    assert facts
    code, found = examine(project, "--deep")
    assert code == 1
    (bad,) = [one for one in found if not one["good"]]
    assert "src/a.py" in bad["detail"]
    assert f"mv {TRACK} {TRACK}.old" in bad["detail"]
    (project.root / TRACK).rename(project.root / f"{TRACK}.old")
    project.command("status")
    assert examine(project, "--deep")[0] == 0


@pytest.mark.parametrize("size", [0, 100, 6000])
def test_doctor_reports_a_truncated_database_and_a_new_one_is_made(project: TrackedProject, size: int) -> None:
    project.shell("echo new > src/new.py")
    project.log()
    for ending in ("-wal", "-shm"):
        (project.root / f"{TRACK}{ending}").unlink(missing_ok=True)
    os.truncate(project.root / TRACK, size)
    code, found = examine(project)
    assert code == 1
    assert [one["good"] for one in found] == [False]
    assert "made anew" in found[0]["detail"]
    assert examine(project, "--deep")[0] == 0
    assert project.command("undo", "2").exit_code == 0
    assert not (project.root / "src/new.py").exists()


def test_doctor_reports_a_missing_database(project: TrackedProject) -> None:
    (project.root / TRACK).unlink()
    code, found = examine(project)
    assert (code, [one["good"] for one in found]) == (1, [False])
    assert "is not there" in found[0]["detail"]
    assert examine(project)[0] == 0


def test_adding_a_client_later_keeps_the_project_tracked(project: TrackedProject) -> None:
    (project.root / "AGENTS.md").write_text("# Rules\n")
    project.command("adopt")
    init_clients(project.root, ("codex",))
    path = find_manifest_path(project.root)
    assert path is not None
    manifest = read_manifest((project.root / path).read_bytes(), path)
    assert (manifest.track, manifest.documents) == ({}, [])
    project.log()
    (project.root / "AGENTS.md").write_text("# Other rules\n")
    assert project.look() == 0
    with project.open() as harness:
        assert harness.status().drift


def test_doctor_does_not_count_recorded_changes_that_are_proved_as_without_recovery(project: TrackedProject) -> None:
    project.shell("echo three >> src/a.py")
    project.shell("echo KEY=1 > .env")  # what a secret holds is not kept: it is not proved
    assert [entry.grade == "proved" for entry in project.log()] == [True, False]
    told = json.loads(project.command("doctor", "--deep", "--json").stdout)
    (found,) = [one["detail"] for one in told["findings"] if one["check"] == "recoveries"]
    assert "1 without an admitted recovery" in found
    assert "1 of the project's files, proved when they were recorded" in found


def test_forget_names_tracked_files_that_still_hold_the_value(
    project: TrackedProject,
) -> None:
    project.shell("echo hunter-2-token >> src/a.py; echo hunter-2-token > never-edited.txt")
    planned = json.loads(project.command("forget", "--value", "hunter-2-token", "--json").stdout)
    assert planned["standing"] == ["never-edited.txt", "src/a.py"]
    told = project.command("forget", "--value", "hunter-2-token", "--yes")
    assert "still in the file: src/a.py" in told.stdout
    assert "remove it there, then forget it again" in told.stdout
    project.shell("sed -i /hunter/d src/a.py never-edited.txt")
    project.command("forget", "--value", "hunter-2-token", "--yes")
    said = project.command("forget", "--value", "hunter-2-token", "--json")
    found = json.loads(said.stdout)
    assert (found["standing"], found["places"]) == ([], [])
    assert "still in the file" not in said.stdout
    project.log()
    stored = b"".join(path.read_bytes() for path in (project.root / ".takeback").rglob("*") if path.is_file())
    assert b"hunter-2-token" not in stored


def test_an_undo_names_files_whose_content_was_not_kept(project: TrackedProject) -> None:
    project.shell("echo KEY=1 > .env && echo x >> src/a.py")
    reason = "a secret by its name: seen, not kept"
    for words in (("undo", "2", "--plan"), ("undo", "2"), ("redo", "2")):
        told = " ".join(project.command(*words).output.split())
        assert "stays as it is: .env, which" in told
        assert reason in told
    asked = project.command("undo", "2", "--json")
    assert json.loads(asked.output)["unkept"] == [{"entry": 2, "path": ".env", "why": reason}]
    assert (project.root / ".env").read_text() == "KEY=1\n"


def test_show_describes_a_call_its_time_and_irreversible_files(project: TrackedProject) -> None:
    project.shell("echo KEY=1 > .env && echo x >> src/a.py")
    told = project.command("show", "2").output
    assert "cannot be taken back: .env (a secret by its name: seen, not kept)" in told
    assert "Bash: echo" in told
    assert re.search(r"began 20\d\d-\d\d-\d\dT\d\d:", told)


def test_an_undo_by_path_omits_files_that_were_not_kept(project: TrackedProject) -> None:
    project.shell("echo KEY=1 > .env && echo x >> src/a.py && echo y > other.txt")
    told = project.command("undo", "--path", "src/**", "--plan").output
    assert "also changed other.txt, which does not match" in told
