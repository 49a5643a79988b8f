"""A run killed in the middle of a call goes on where it stopped, and ends with the same recording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.support.fault_server import Act, FaultServer
from typer.testing import CliRunner

from takeback.cli import app

TASKS = 8
STOP_AT = 5


def words(folder: Path) -> list[str]:
    asked = ["--synthesizer", "openai:m", "--tasks", str(TASKS), "--record", str(folder), "--json"]
    return ["lab", "natural", *asked]


def environment(server: FaultServer, home: Path) -> dict[str, str]:
    return {**os.environ, "TAKEBACK_BASE_URL": server.base_url, "HOME": str(home), "XDG_CONFIG_HOME": str(home)}


def run_here(folder: Path, home: Path) -> tuple[int, int]:
    """Run to the end in this process: how many tasks were done, and how many requests that took."""
    with FaultServer([Act(text=answer)]) as server:
        result = CliRunner(env=environment(server, home)).invoke(app, words(folder))
        assert result.exit_code == 0
        return json.loads(result.stdout)["tasks"], len(server.seen)


def calls(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "recording.jsonl").read_text().splitlines()
    return [(line["digest"], line["reply"]["text"]) for line in map(json.loads, lines)]


def answer(body: dict[str, Any]) -> str:
    return json.dumps({"mutation": [], "seed": body["seed"]})


def test_a_killed_run_ends_with_the_recording_of_an_uninterrupted_one(tmp_path: Path) -> None:
    reached, never = threading.Event(), threading.Event()

    def hang(_: dict[str, Any]) -> str:
        reached.set()
        never.wait(600)
        return ""

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [sys.executable, "-m", "takeback", *words(broken)]
    with FaultServer([*[Act(text=answer)] * (STOP_AT - 1), Act(text=hang)]) as server:
        with subprocess.Popen(command, env=environment(server, tmp_path), stdout=subprocess.DEVNULL) as run:
            assert reached.wait(600)
            run.kill()
        never.set()
    assert len(calls(broken)) == STOP_AT - 1
    assert run_here(broken, tmp_path) == (TASKS, TASKS - STOP_AT + 1)
    assert run_here(whole, tmp_path) == (TASKS, TASKS)
    assert calls(broken) == calls(whole)
