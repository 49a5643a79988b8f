"""What a workspace makes of names and kinds of files that only a recorded change can have."""

from __future__ import annotations

import pytest

from takeback.adapters.opener import open_workspace
from takeback.adapters.workspace.adapter import init_workspace
from takeback.harness.outcomes import Adopted, RefusalReason, Refused
from takeback.language import read_program
from takeback.repair.oracle import invert_mutation
from takeback.state import Stage, State


@pytest.fixture
def workspace(tmp_path):
    init_workspace(tmp_path)
    with open_workspace(tmp_path) as harness:
        yield harness


def make(**op):
    return invert_mutation(read_program([op], Stage.FORWARD, "test"), State())


ODD = {
    "would be a link": {"target": "l", "value": {"content": "t", "mode": "120000"}},
    "would have mode 4755": {"target": "s", "value": {"content": "x", "mode": "4755"}},
    "is not UTF-8": {"target": "a\udcff", "value": "x"},
}


@pytest.mark.parametrize("why", ODD)
def test_a_change_that_would_make_no_regular_file_is_refused(workspace, why):
    refused = workspace.apply(make(op_type="write_file", **ODD[why]))
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.UNSTORED
    assert why in refused.message
    moved = workspace.apply(make(op_type="move_file", target="a", value="b\udcff"))
    assert isinstance(moved, Refused)
    assert "is not UTF-8" in moved.message


def test_a_file_with_a_newline_in_its_name_is_adopted_with_evidence(workspace, tmp_path):
    (tmp_path / "files" / "a\nb").write_text("x\n")
    (tmp_path / "files" / "s").write_text("x\n")
    (tmp_path / "files" / "s").chmod(0o4755)
    done = workspace.adopt()
    assert isinstance(done, Adopted)
    (entry, _) = workspace.log()
    assert entry.grade.startswith("proved")
    assert State.read(workspace.state.write()) == workspace.state
