"""Commands that look work on a journal that cannot be written, sealed or not; others say that it cannot."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import init_workspace, open_workspace

PR_CAPBSET_DROP = 24
POWERS = {"dac_override": 1, "dac_read_search": 2, "fowner": 3}
"""By which root passes permission bits over, with their numbers in Linux."""


def without_powers():
    """Make permission bits count for what this process is about to run, also if that is root."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for number in POWERS.values():
            if libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "this root cannot give its powers up")


@pytest.fixture(params=[False, True], ids=["open", "sealed"])
def workspace(request, tmp_path):
    root = init_workspace(tmp_path / "agent", seal=request.param)
    with open_workspace(root) as harness:
        for number in (1, 2):
            harness.apply(candidate(config("a", number)))
    own = root / ".takeback"
    for path in (*own.iterdir(), own):
        path.chmod(path.stat().st_mode & ~0o222)
    yield root
    own.chmod(0o700)


def run(root, *words):
    command = [sys.executable, "-m", "takeback", *words, "--dir", str(root)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, preexec_fn=without_powers
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("words", [("log",), ("show", "#2"), ("diff",), ("doctor",), ("undo", "--plan", "#2")])
def test_read_only_commands_work_on_a_read_only_journal(workspace, words):
    code, told = run(workspace, *words)
    assert code == 0, told


def test_changing_commands_refuse_a_read_only_journal(workspace):
    before = (workspace / "config.toml").read_bytes()
    code, told = run(workspace, "undo", "--last")
    assert (code, "can only be read here; nothing was changed" in told) == (2, True), told
    assert (workspace / "config.toml").read_bytes() == before
    code, told = run(workspace, "status")
    assert (code, "2 live, 0 undone" in told) == (0, True), told
