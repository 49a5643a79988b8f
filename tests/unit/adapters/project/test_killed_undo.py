"""An undo of tracked files that is killed anywhere is finished or given up by the next command; nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.tracked_project import TrackedProject

from takeback.adapters.file_replacement import ASIDE
from takeback.journal.failpoint import arm_failpoints

FILES = {"a.txt": "".join(f"{number}\n" for number in range(9)), "d/b.txt": "b\n", "d/e/c.txt": "c\n", "g.txt": "g\n"}


def die_at(project: TrackedProject, boundary: int) -> bool:
    """Undo entry 2 in a process that ends at one boundary; tell whether it came so far."""
    child = os.fork()
    if child == 0:
        seen = 0

        def probe(_: str) -> None:
            nonlocal seen
            seen += 1
            if seen == boundary:
                os._exit(9)

        try:
            with arm_failpoints(probe), project.open() as harness:
                harness.undo("2")
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def list_temporaries(project: TrackedProject) -> list[str]:
    staged = [str(path) for path in (project.root / ".takeback" / ASIDE).rglob("*")]
    return [path for path in project.read() if ".takeback-tmp-" in path] + staged


def check_kills(project: TrackedProject, before: dict[str, bytes], boundaries: range) -> int:
    """Kill an undo at boundaries, look, and bring things back as they were; return how many kills there were."""
    kills, after = 0, project.read()
    for boundary in boundaries:
        if not die_at(project, boundary):
            break
        kills += 1
        entries = project.log()  # which finishes the undo, or gives it up
        done = project.read()
        assert done in (before, after), f"killed at {boundary}"
        assert list_temporaries(project) == []
        undone = [entry.seq for entry in entries if entry.status == "undone"]
        assert undone == ([2] if done == before else [])
        assert {entry.kind for entry in entries} <= {"adopt", "undo", "redo"}
        if done == before:
            with project.open() as harness:
                assert harness.redo("2")
        assert project.read() == after
    return kills


def test_an_undo_of_a_few_files_survives_a_kill_anywhere(tmp_path: Path) -> None:
    project = TrackedProject(tmp_path / "project", FILES)
    before = project.read()
    project.shell("sed -i 's/^4$/four/' a.txt && rm -r d && echo new > n.txt && mkdir h && mv g.txt h/g.txt")
    assert check_kills(project, before, range(1, 200)) > 15


@pytest.mark.long
def test_an_undo_of_many_files_survives_a_kill_anywhere(tmp_path: Path) -> None:
    many = {f"m/{number % 7}/{number}.txt": f"{number}\n" for number in range(80)}
    project = TrackedProject(tmp_path / "project", many)
    before = project.read()
    project.shell("rm -r m/1 m/2 m/3 && for f in m/4/*; do echo x >> $f; done && echo y > m/new && rm -r m/5 m/6 m/0")
    assert check_kills(project, before, range(1, 400, 13)) > 10
