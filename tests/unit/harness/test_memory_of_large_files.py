"""What an undo and a preview hold of a large file: a few times its bytes, however often it was changed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.adapters.clients.permissions import find_loosened_permissions
from takeback.agents.guard import Answer, rule_on_edit
from takeback.agents.hook_events import FileEdit
from takeback.harness import Undone
from takeback.state import State

SIZE = 6 << 20
LINE = "a line of some text, number %07d, and more of it to make it longer\n"


def _lines() -> list[str]:
    return [LINE % number for number in range(SIZE // len(LINE % 0))]


def _measure(run: Callable[[], object]) -> tuple[object, float]:
    """Return what a function returns, and how much it held at most, in sizes of the file."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        given = run()
        return given, (tracemalloc.get_traced_memory()[1] - before) / SIZE
    finally:
        tracemalloc.stop()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A client's project with a large file that was edited eight times."""
    (tmp_path / ".claude/hooks").mkdir(parents=True)
    place = tmp_path / ".claude/hooks/large.txt"
    lines = _lines()
    place.write_text("".join(lines))
    init_clients(tmp_path, ("claude-code",))
    with open_workspace(tmp_path) as harness:
        for number in range(8):
            lines[number * 1000] = f"edit {number}\n"
            place.write_text("".join(lines))
            harness.adopt()
    return tmp_path


def test_an_undo_reads_no_more_versions_of_a_file_than_it_needs(root: Path) -> None:
    def undo() -> object:
        with open_workspace(root) as harness:
            return harness.undo("HEAD")

    outcome, held = _measure(undo)
    assert isinstance(outcome, Undone)
    assert held < 5.5, held  # 17 with every version that the journal has


def test_what_an_edit_of_a_large_file_loosens_is_judged_without_its_bytes() -> None:
    text = "".join(_lines())
    path = ".claude/hooks/large.txt"
    before, after = (State.read({"files": {path: {"content": text + end}}}) for end in ("a\n", "b\n"))
    _, held = _measure(lambda: find_loosened_permissions(before, after, ("claude-code",)))
    assert held < 0.5, held


def test_the_guard_does_not_decode_a_large_script(root: Path) -> None:
    place = root / ".claude/hooks/large.txt"
    content = place.read_bytes()
    edit = FileEdit(str(place), content, content + b"more\n")
    ruling, held = _measure(lambda: rule_on_edit(edit, str(root)))
    assert ruling.answer is Answer.PASS
    assert held < 1.5, held  # 2 with both versions decoded
