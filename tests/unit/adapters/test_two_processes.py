"""Two processes change one harness at once: all changes are there, the chain is whole."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from takeback.adapters import init_workspace, open_memory, open_workspace

WORKER = """
import sys
from takeback.adapters import open_memory
from takeback.harness import Applied
from takeback.adapters import open_workspace
from takeback.language import read_program
from takeback.state import Stage
from takeback.repair import invert_mutation
kind, place, name, count = sys.argv[1:]
harness = open_memory(journal=place) if kind == "memory" else open_workspace(place, hold=False)
for n in range(int(count)):
    op = {"op_type": "set_config", "target": f"{name}.k{n}", "value": n}
    done = harness.apply(invert_mutation(read_program([op], Stage.FORWARD, "m")))
    assert isinstance(done, Applied), done
"""


def work(kind, place, count):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WORKER, kind, str(place)]
    workers = [
        subprocess.Popen([*command, name, str(count)], stderr=subprocess.PIPE, env=environment) for name in "ab"
    ]
    for worker in workers:
        _, stderr = worker.communicate(timeout=400)
        assert worker.returncode == 0, stderr.decode()


def check(harness, count):
    assert harness.state.write()["config"] == {name: {f"k{n}": n for n in range(count)} for name in "ab"}
    assert harness.journal.check().whole
    assert harness.ledger.replay_state() == harness.state


def place_of(backend, tmp_path, request):
    if backend == "sqlite":
        return str(tmp_path / "journal.db")
    return request.getfixturevalue("postgres_url") + f"#two{tmp_path.name[-12:].lower().replace('-', '_')}"


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
@pytest.mark.parametrize("count", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_two_processes_lose_no_change(backend, count, tmp_path, request):
    place = place_of(backend, tmp_path, request)
    open_memory(journal=place).close()
    work("memory", place, count)
    check(open_memory(journal=place), count)


def test_two_processes_on_one_workspace_lose_no_change(tmp_path):
    root = init_workspace(tmp_path / "agent")
    work("workspace", root, 15)
    harness = open_workspace(root, hold=False)
    check(harness, 15)
    assert harness.status().clean
