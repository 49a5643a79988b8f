"""A removal of many files is recorded and undone with little held for each of them besides its content."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.tracked_project import TrackedProject

from takeback.harness.outcomes import Undone

MANY = 1_500
FILES = {f"m/{number // 20}/{number:05d}.txt": f"{number}\n" for number in range(MANY)}
RECORDED = 3_900
"""So many bytes are held at most for each file while a removal is recorded (4,700 before); its content has
a few."""
UNDONE = 4_300
"""While it is undone (5,400 before)."""


@pytest.fixture
def removed(tmp_path: Path) -> TrackedProject:
    """Return a project in which a few files were removed and brought back, so that all is loaded, and then many."""
    project = TrackedProject(tmp_path / "project", {**FILES, "few/1": "1\n", "few/2": "2\n"})
    project.shell("rm -r few")
    project.log()
    undo(project)
    project.shell("rm -r m")
    return project


def undo(project: TrackedProject) -> None:
    with project.open() as harness:
        assert isinstance(harness.undo(), Undone)


def measure_peak(step: Callable[[], object]) -> int:
    """Return the most memory that a step takes."""
    gc.collect()
    tracemalloc.start()
    try:
        step()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_removal_of_many_files_is_recorded_and_undone_with_little_for_each(removed: TrackedProject) -> None:
    before = {path: content.encode() for path, content in FILES.items()}
    recorded = measure_peak(removed.log) // MANY
    undone = measure_peak(lambda: undo(removed)) // MANY
    there = removed.read()
    assert {path: there.get(path) for path in before} == before
    assert (recorded, undone) == (min(recorded, RECORDED), min(undone, UNDONE))
