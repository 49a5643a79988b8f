"""Steps between directories of every kind of client, made by hand edits as odd as their formats allow."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.client_harnesses import EDITS, HARNESSES, files_of, write_harness

from takeback.adapters.clients.init import detect_clients, init_clients
from takeback.adapters.opener import open_workspace
from takeback.agents.step_check import judge_step, record_step
from takeback.harness import Applied, Undone

KINDS = [name for name in HARNESSES if EDITS.get(name)]


@pytest.mark.parametrize("name", KINDS)
def test_a_step_of_many_edits_is_recorded_and_taken_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    write_harness(before, name)
    shutil.copytree(before, after)
    for edit in EDITS[name]:
        text = (after / edit.path).read_bytes().decode()
        (after / edit.path).write_bytes(text.replace(edit.old, edit.new, 1).encode())
    init_clients(before, detect_clients(before))
    first = files_of(before)
    step = judge_step(before, after)
    assert step.admitted, step.reasons
    assert step.verdict.grade.value == "proved"
    with closing(open_workspace(before, hold=False)) as harness:
        made = record_step(harness, step, note="a step")
        assert isinstance(made, Applied), made
        now, wanted = files_of(before), files_of(after)
        assert {path for path in now.keys() | wanted.keys() if now.get(path) != wanted.get(path)} <= set(step.layout)
        assert isinstance(harness.undo(made), Undone)
    assert files_of(before) == first
