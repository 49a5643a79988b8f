"""The watcher loses nothing to a process that edits without pause; `make test-load` runs the long version."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from takeback_lab.bench.watch import measure

pytest.importorskip("watchfiles", reason="the extra 'watch' is not installed")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_every_last_file_content_is_recorded_though_the_watcher_is_restarted():
    result = measure({**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, edits=60, seconds=2.0)
    assert (result["edits"], result["files"], result["lost"]) == (60, 10, 0)
    assert 1 <= result["entries"] <= result["edits"]
    assert result["cpu_share"] > 0
    assert result["restart"] == {"entries": 1, "lost": 0}
    assert result["switch"] == {"entries": 1, "lost": 0}
