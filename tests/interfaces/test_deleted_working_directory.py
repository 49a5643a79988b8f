"""A command in a working directory that was deleted says so and what to do; a named harness is opened."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest

from takeback.adapters.clients.init import init_clients

COMMANDS = (
    *("status", "log --json", "undo 1", "set config x 1", "init", "install claude-code", "show 1"),
    *("verify candidate.json", "run -- true", "serve"),
)


def run_in_a_deleted_directory(tmp_path, words, given=b""):
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"cd {shlex.quote(str(gone))} && rmdir ../gone && exec {shlex.quote(sys.executable)} -m takeback {words}"
    return subprocess.run(["/bin/sh", "-c", line], input=given, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_reports_its_deleted_working_directory(tmp_path, words):
    done = run_in_a_deleted_directory(tmp_path, words)
    assert done.returncode == 2
    assert b"the working directory: found that it was deleted" in done.stderr
    assert b"'takeback status -C DIR'" in done.stderr
    assert b"Errno" not in done.stderr


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "p"
    place.mkdir()
    (place / "CLAUDE.md").write_text("# Hi\n")
    init_clients(place)
    return place


def test_a_named_harness_opens_from_a_deleted_directory(tmp_path, root):
    done = run_in_a_deleted_directory(tmp_path, f"status --json -C {shlex.quote(str(root))}")
    assert done.returncode == 0
    assert json.loads(done.stdout)["live"] == 0


def test_a_missing_file_elsewhere_is_reported_as_missing(tmp_path):
    done = run_in_a_deleted_directory(tmp_path, f"verify {shlex.quote(str(tmp_path / 'none.json'))}")
    assert done.returncode == 2
    assert b"none.json: found No such file" in done.stderr


def test_a_hook_in_a_deleted_directory_uses_the_clients_directory(tmp_path, root):
    (root / "CLAUDE.md").write_text("# Ho\n")
    about = {"hook_event_name": "PostToolUse", "cwd": str(root), "tool_name": "Bash", "tool_input": {"command": "x"}}
    done = run_in_a_deleted_directory(tmp_path, "hook claude-code", json.dumps(about).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    log = run_in_a_deleted_directory(tmp_path, f"log --json -C {shlex.quote(str(root))}")
    assert json.loads(log.stdout)["entries"][0]["kind"] == "adopt"
