"""Commands that look work on a journal that cannot be written, sealed or not; others say that it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import init_workspace, open_workspace

POWERS = "-dac_override,-dac_read_search,-fowner"
ORDINARY = ("setpriv", f"--bounding-set={POWERS}", "--inh-caps=-all") if os.geteuid() == 0 else ()
"""What makes permission bits count for root too."""

pytestmark = pytest.mark.skipif(bool(ORDINARY) and shutil.which("setpriv") is None, reason="root without setpriv")


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
    command = [*ORDINARY, sys.executable, "-m", "takeback", *words, "--dir", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("words", [("log",), ("show", "#2"), ("diff",), ("doctor",), ("undo", "--plan", "#2")])
def test_commands_that_look_work_on_a_journal_that_can_only_be_read(workspace, words):
    code, told = run(workspace, *words)
    assert code == 0, told


def test_commands_that_change_say_that_it_can_only_be_read_and_change_nothing(workspace):
    before = (workspace / "config.toml").read_bytes()
    code, told = run(workspace, "undo", "--last")
    assert (code, "can only be read here; nothing was changed" in told) == (2, True), told
    assert (workspace / "config.toml").read_bytes() == before
    code, told = run(workspace, "status")
    assert (code, "2 live, 0 undone" in told) == (0, True), told
