"""The contents of many removed files are read when they are needed: none is held for long, and each comes back."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.tracked_project import TrackedProject

from takeback.adapters.project.captured_contents import CapturedContents
from takeback.errors import HarnessError
from takeback.harness.outcomes import Undone
from takeback.track.store import FileFacts

MANY = 1_200
LINES = 900
ODD: dict[str, str | bytes] = {
    "m/empty": "",
    "m/image": b"\x00\xff\xfe" * 40,
    "m/mac": "one\rtwo\r",
    "m/open": "no end",
}
FILES: dict[str, str | bytes] = {
    **{f"m/{number // 20}/{number:05d}.txt": f"{number // 3}, of three\n" * LINES for number in range(MANY)},
    **ODD,
}
RECORDED = 7_500
UNDONE = 5_500
"""So many bytes are held at most for each file of 12,000 while a removal is recorded (9,000 if all are held), and
while it is undone (7,400)."""


@pytest.fixture
def project(tmp_path: Path) -> TrackedProject:
    project = TrackedProject(tmp_path / "project", {**FILES, "few/1": "1\n"})
    project.shell("rm -r few")
    project.log()
    undo(project)
    project.shell("rm -r m")
    return project


def undo(project: TrackedProject) -> None:
    with project.open() as harness:
        assert isinstance(harness.undo(), Undone)


def as_bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def measure_peak(step: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        step()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_contents_are_not_held_and_come_back_byte_for_byte(project: TrackedProject) -> None:
    recorded = measure_peak(project.log) // MANY
    undone = measure_peak(lambda: undo(project)) // MANY
    there = project.read()
    assert {path: there.get(path) for path in FILES} == {path: as_bytes(content) for path, content in FILES.items()}
    assert (recorded, undone) == (min(recorded, RECORDED), min(undone, UNDONE))


def test_the_lines_of_what_went_are_counted(project: TrackedProject) -> None:
    entry = project.log()[-1]
    assert dict(entry.stat or {}) == {"files": len(FILES), "added": 0, "removed": MANY * LINES + 3}


def test_what_comes_back_can_be_removed_brought_back_and_forgotten_in_one_process(project: TrackedProject) -> None:
    """What the journal has no more, and was not read yet, is read from the files that have it."""
    with project.open() as harness:
        assert isinstance(harness.undo(), Undone)
        assert isinstance(harness.redo(), Undone)
        assert isinstance(harness.undo(), Undone)
        harness.forget_value("7, of three")
        assert not harness.status().drift
        project.shell("sed -i 1d m/1/00021.txt")
    last = project.log()[-1]
    assert last.stat is not None
    assert project.read()["m/1/00022.txt"] == b"7, of three\n" * LINES


def test_a_content_that_is_gone_is_named_and_equal_ones_are_read_in_turn() -> None:
    asked: list[int] = []

    class Store:
        def contents(self, digests: Sequence[str]) -> dict[str, bytes]:
            asked.append(len(digests))
            return {digest: digest.encode() for digest in digests if digest != "gone"}

    digests = ["a", "b", "a", "c", "a", "a", "d", "gone"]
    files = [(f"f{at}", FileFacts("file", 0o644, 1, digest)) for at, digest in enumerate(digests)]
    contents = CapturedContents(cast("Any", Store()), files)
    found = contents.find_all()
    assert list(found) == [path for path, _ in files[:-1]]
    asked.clear()
    assert [found[path].read() for path, _ in files[:-1]] == [digest.encode() for digest in digests[:-1]]
    assert asked == [1, 2, 4]
    with pytest.raises(HarnessError, match="f7"):
        contents.read(7)
