"""`make demo-external` does what it says: the third of six changes goes, and nothing that others wrote is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

SCRIPT = Path(__file__).parents[2] / "examples" / "memory_and_registry.py"


def test_the_external_demo_undoes_the_third_change_despite_another_writer():
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert set(told["ours"].values()) == {True}
    assert told["lost"] == 0
    assert told["their_writes"] > 0
    assert done.stdout.count("(proved)") == 6
