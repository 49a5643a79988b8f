"""`takeback run` in a tracked project: what a command did to the project's own files is an entry, and comes back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.interfaces.test_run_command import image, overlay, state
from tests.support.forked import run_text
from tests.support.terminal import environment
from tests.support.tracked_project import TrackedProject

from takeback.harness.outcomes import Undone
from takeback.present.entries import summarize_entry

__all__ = ["overlay", "state"]
SECRET = "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
FILES = {
    "CLAUDE.md": "# Rules\nUse tabs.\n",
    ".gitignore": "*.o\n",
    "src/a.py": "one\ntwo\nthree\n",
    **{f"big/{number // 100}/{number}.txt": f"{number}\n" * 3 for number in range(1_100)},
}


@pytest.fixture
def project(tmp_path: Path) -> TrackedProject:
    return TrackedProject(tmp_path.resolve() / "project", FILES)


def run(project: TrackedProject, line: str, *options: str, code: int = 0) -> dict:
    words = ["run", "--json", "-C", str(project.root), *options, "--", "sh", "-c", line]
    ended = run_text(words, environment(), cwd=project.root)
    assert ended.returncode == code, ended.stderr
    answer: dict = json.loads(ended.stdout)
    return answer


def undo(project: TrackedProject, *numbers: int) -> None:
    with project.open() as harness:
        done = harness.undo(*map(str, numbers))
        assert isinstance(done, Undone), done


def test_a_removed_folder_of_a_thousand_files_is_restored_byte_for_byte(
    project: TrackedProject,
) -> None:
    os.symlink("0/1.txt", project.root / "big/link")
    os.chmod(project.root / "big/0/2.txt", 0o700)
    before = image(project.root)
    answer = run(project, "rm -rf big", "--keep", "--by", "Ada")
    assert (answer["result"], answer["untracked"], answer["warnings"]) == ("kept", [], [])
    assert len(answer["recorded"]) == 1_101
    assert not (project.root / "big").exists()
    entry = project.log()[-1]
    assert answer["entries"] == [{"seq": entry.seq, "id": entry.id}]
    assert (entry.by, entry.origin["client"], entry.origin["tool"]) == ("Ada", "takeback run", "run")
    assert entry.origin["exit_code"] == "0"
    assert summarize_entry(entry, str).startswith("run: sh -c 'rm -rf big' · 1101 files +0 −3301")
    undo(project, entry.seq)
    assert image(project.root) == before


def test_a_hand_edit_before_the_run_is_not_in_the_commands_entry(project: TrackedProject) -> None:
    (project.root / "src/a.py").write_text("one\nby hand\nthree\n")
    answer = run(project, "echo four >> src/a.py; echo new > src/new.py", "--keep")
    assert sorted(answer["recorded"]) == ["src/a.py", "src/new.py"]
    undo(project, answer["entry"]["seq"])
    assert (project.root / "src/a.py").read_text() == "one\nby hand\nthree\n"
    assert not (project.root / "src/new.py").exists()


def test_client_and_tracked_files_are_two_entries_undone_together(
    project: TrackedProject,
) -> None:
    before = image(project.root)
    answer = run(project, "sed -i s/tabs/spaces/ CLAUDE.md && sed -i s/two/2/ src/a.py", "--keep")
    assert sorted(answer["recorded"]) == ["CLAUDE.md", "src/a.py"]
    assert len(answer["entries"]) == 2
    undo(project, *(entry["seq"] for entry in answer["entries"]))
    assert image(project.root) == before


def test_untracked_files_are_reported_and_secrets_are_not_stored(project: TrackedProject) -> None:
    answer = run(project, f"echo {SECRET} > .env; echo x > a.o; echo new > src/new.py", "--keep")
    assert answer["recorded"] == ["src/new.py"]
    assert sorted(answer["untracked"]) == [".env", "a.o"]
    assert any(line.startswith(".env: ") and "cannot be undone" in line for line in answer["warnings"])
    entry = project.log()[-1]
    assert SECRET not in json.dumps(entry.to_json())
    for place in (project.root / ".takeback").rglob("*"):
        assert not place.is_file() or SECRET.encode() not in place.read_bytes(), place


def test_a_dropped_run_makes_no_entry(project: TrackedProject) -> None:
    before = image(project.root)
    assert run(project, "rm -rf big src", "--drop")["result"] == "dropped"
    assert image(project.root) == before
    assert project.log() == []
