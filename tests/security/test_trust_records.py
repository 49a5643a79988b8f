"""What trust rests on: the manifest as it was trusted, and records that only this user can write."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.support.forked import run_text
from tests.support.hostile_clone import listener
from tests.support.trusted import trust

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.trust_record import list_records
from takeback.errors import UntrustedError

PASSWORD = "the-password-of-the-user"


def run(place: Path, *words: str, **env: str) -> tuple[int, str]:
    """Run the program in a process of its own; its exit code, and what it printed."""
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "HOME": os.environ["HOME"]}
    done = run_text(words, {**kept, **env}, cwd=place)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_changing_the_journal_url_of_a_trusted_manifest_asks_for_trust_first(tmp_path):
    root = init_workspace(tmp_path / "agent")
    manifest = root / "takeback.toml"
    with listener() as (port, received):
        url = f"postgresql://127.0.0.1:{port}/x?user=me"
        changed = manifest.read_text().replace(".takeback/journal.db", url)
        assert url in changed
        manifest.write_text(changed)
        for words in (["status"], ["log"], ["set", "config", "a", "1"], ["recover"], ["doctor"]):
            code, told = run(root, *words, PGPASSWORD=PASSWORD, TAKEBACK_TRUST=os.environ["TAKEBACK_TRUST"])
            assert code != 0, words
            assert "workspace.journal in its manifest is" in told, (words, told)
            assert "'takeback trust " in told, (words, told)
        assert received() == b""


def test_init_without_a_writable_home_leaves_nothing_and_names_a_working_fix(tmp_path):
    home = tmp_path / "home"
    home.write_text("no folder, so that nothing can be made below it")
    agent = tmp_path / "agent"
    code, told = run(tmp_path, "init", str(agent), "--kind", "workspace", HOME=str(home))
    assert code != 0
    assert "TAKEBACK_TRUST" in told
    assert not agent.exists()
    more = {"HOME": str(home), "TAKEBACK_TRUST": str(tmp_path / "trust")}
    code, told = run(tmp_path, "init", str(agent), "--kind", "workspace", **more)
    assert code == 0, told
    code, told = run(agent, "set", "config", "a", "1", **more)
    assert code == 0, told


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_trust_record_that_others_may_write_does_not_count(tmp_path, mode):
    root = init_workspace(tmp_path / "agent")
    place = next(Path(file) for file, record in list_records() if record["path"] == str(root.resolve()))
    place.chmod(mode)
    with pytest.raises(UntrustedError):
        open_workspace(root)
    trust(root)
    open_workspace(root).close()
