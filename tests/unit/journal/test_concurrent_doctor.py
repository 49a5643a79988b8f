"""An examination beside processes that forget and change: what they do meanwhile is no fault."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing

import pytest
from tests.support.changes import candidate, config

from takeback import State
from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.harness.doctor import examine_harness
from takeback.journal.sql import SqlStore

WRITER = """
import sys
from tests.support.changes import candidate, config, file
from takeback.adapters import open_workspace

root, journal, keys, rounds = sys.argv[1:5]
with open_workspace(root, journal=journal or None, keys=keys, hold=False) as harness:
    for n in range(int(rounds)):
        ops = (config("a", {"b": f"value {n}"}), file("d/f", f"file {n}" * 50))
        made = harness.apply(candidate(*ops)).entry
        harness.apply(candidate(config("a", n)))
        print(harness.forget(made).contents, flush=True)
"""
ROUNDS = 12
LOOKS = 60


@pytest.fixture(params=["open", "sealed", "postgres"])
def workspace(request, tmp_path):
    """A workspace, where its journal and its keys are."""
    url = ""
    if request.param == "postgres":
        url = f"{request.getfixturevalue('postgres_url')}#beside"
    root, keys = tmp_path / "agent", tmp_path / "keys"
    start = State.read({"config": {"a": 1}})
    init_workspace(root, journal=url or None, start=start, seal=request.param == "sealed", keys=keys)
    return root, url, keys


def test_doctor_finds_nothing_wrong_beside_a_process_that_forgets(workspace):
    root, url, keys = workspace
    command = [sys.executable, "-c", WRITER, str(root), url, str(keys), str(ROUNDS)]
    looks = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        while writer.poll() is None and looks < LOOKS:
            looks += 1
            found = examine_workspace(root, journal=url or None, keys=keys)
            assert [finding for finding in found if not finding.good] == []
        said, _ = writer.communicate(timeout=600)
    assert writer.returncode == 0
    assert len(said.split()) == ROUNDS
    assert looks > 1


def test_commits_during_an_examination_are_no_fault(tmp_path, monkeypatch):
    root = tmp_path / "agent"
    init_workspace(root, start=State.read({"config": {"a": 1}}))
    records = SqlStore.records
    late = iter([True])

    def followed(self, start=1, *, reverse=False):
        if next(late, False):
            with closing(open_workspace(root, hold=False)) as other:
                other.apply(candidate(config("a", 2)))
        return records(self, start, reverse=reverse)

    with closing(open_workspace(root, hold=False)) as harness:
        monkeypatch.setattr(SqlStore, "records", followed)
        (replay,) = [finding for finding in examine_harness(harness) if finding.check == "replay"]
    assert replay.good
