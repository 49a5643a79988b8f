"""`takeback watch`: what others change becomes entries, in groups; a failing check offers or makes the undo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import files_of, write_harness

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.agents.recorder import Watched

pytest.importorskip("watchfiles", reason="the extra 'watch' is not installed")
BOUND = 600


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    write_harness(place, "claude-code")
    init_clients(place, ("claude-code",))
    return place


@contextmanager
def watching(root: Path, *words: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """A running watcher; yields what gives its next line."""
    command = [sys.executable, "-m", "takeback", "watch", "--json", "--for", str(BOUND), *words]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        command, cwd=root, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=1
    )
    ender = threading.Timer(BOUND, process.kill)
    ender.start()
    try:
        assert process.stderr is not None
        assert process.stdout is not None
        assert "watching" in process.stderr.readline()
        yield lambda: json.loads(process.stdout.readline())  # type: ignore[union-attr]
    finally:
        ender.cancel()
        process.terminate()
        process.communicate(timeout=BOUND)


def adopted(root: Path) -> list[str]:
    """The notes of adopted entries, oldest first."""
    with closing(open_workspace(root, hold=False)) as harness:
        return [entry.note for entry in reversed(list(harness.log())) if entry.kind == "adopt"]


def written(root: Path, path: str, text: str) -> None:
    """Write as editors do: beside the file, then renamed over it."""
    (root / f"{path}.tmp~").write_text(text)
    os.replace(root / f"{path}.tmp~", root / path)


def test_the_watcher_records_earlier_changes_first_and_then_each_new_one(root: Path) -> None:
    written(root, "CLAUDE.md", "# Before\n")
    with watching(root) as following:
        assert "CLAUDE.md" in following()["what"]
        written(root, ".claude/rules/db.md", "Joins.\n")
        line = following()
        assert "rules/db" in line["what"]
        assert line["warnings"] == []
        (root / "src.py").write_text("not of the harness")
        written(root, ".claude/rules/db.md", "No joins at all.\n")
        assert following()["entry"] > line["entry"]
    assert adopted(root) == ["changed"] * 3
    written(root, "CLAUDE.md", "# After\n")
    with watching(root) as following:
        following()
    assert len(adopted(root)) == 4


def test_the_watcher_warns_of_broken_and_loosened_settings(root: Path) -> None:
    written(root, "CLAUDE.md", "# Before\n")
    settings = root / ".claude/settings.local.json"
    with watching(root, "--verify") as following:
        following()
        written(root, ".claude/settings.local.json", '{"permissions": {"allow": ["Bash(cat:*)", "Bash(rm:*)"]}}\n')
        assert any("allows more" in warning for warning in following()["warnings"])
        written(root, ".claude/settings.local.json", '{"permissions": {"allow": ["Bash(cat:*)"]}, "model": 5}\n')
        assert any("model must be a text" in warning for warning in following()["warnings"])
        settings.write_text("{")
        line = following()
        assert line["entry"] is None
        assert any("not recorded" in warning for warning in line["warnings"])


def test_the_watcher_undoes_a_change_that_fails_the_check(root: Path) -> None:
    before = files_of(root)
    written(root, ".claude/rules/db.md", "Fine.\n")
    with watching(root, "--exec", "! grep -q bad CLAUDE.md", "--auto") as following:
        assert following()["failed"] is False
        written(root, "CLAUDE.md", "# bad\n")
        line = following()
    assert line["failed"] is True
    assert line["undone"] == "taken back"
    assert (root / "CLAUDE.md").read_bytes() == before["CLAUDE.md"][0]
    assert (root / ".claude/rules/db.md").read_text() == "Fine.\n"


def test_a_switch_of_branches_is_one_entry(root: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(root)]

    def run(*words: str) -> None:
        subprocess.run([*git, *words], check=True, capture_output=True, timeout=600)

    run("init", "-q", "-b", "main")
    run("add", "-A")
    run("commit", "-qm", "one")
    run("switch", "-qc", "other")
    for at in range(40):
        (root / f".claude/rules/r{at}.md").write_text(f"Rule {at}.\n")
    written(root, "CLAUDE.md", "# Other\n")
    run("add", "-A")
    run("commit", "-qm", "two")
    run("switch", "-q", "main")
    written(root, ".claude/rules/db.md", "Before.\n")
    run("commit", "-qam", "three")
    with watching(root) as following:
        following()
        run("switch", "-q", "other")
        line = following()
    assert line["what"].startswith("switched to other")
    assert adopted(root) == ["changed", "switched to other"]


@pytest.mark.parametrize("beside", [False, True])
def test_a_branch_switch_is_noticed_in_subfolders_and_other_working_trees(beside: bool, tmp_path: Path) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    top = tmp_path / "top"
    (top / "inner").mkdir(parents=True)
    write_harness(top / "inner", "claude-code")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        subprocess.run([*git, *words], cwd=top, check=True, timeout=BOUND)
    if beside:
        subprocess.run([*git, "worktree", "add", "-q", "-b", "work", str(tmp_path / "work")], cwd=top, check=True)
    here = tmp_path / "work" if beside else top
    init_clients(here / "inner", ("claude-code",))
    watched = Watched(here / "inner")
    subprocess.run([*git, "switch", "-q", "-c", "other"], cwd=here, check=True, timeout=BOUND)
    (here / "inner/CLAUDE.md").write_text("# Other\n")
    found = watched.record()
    assert found is not None
    assert found.entry is not None
    assert found.entry.note == "switched to other"
    lock = (
        here
        / subprocess.run(
            [*git, "rev-parse", "--git-path", "index.lock"], cwd=here, check=True, capture_output=True, text=True
        ).stdout.strip()
    )
    lock.touch()
    done = threading.Event()
    waiting = threading.Thread(target=lambda: (watched.await_settled(threading.Event()), done.set()), daemon=True)
    waiting.start()
    assert not done.wait(0.5)
    lock.unlink()
    assert done.wait(BOUND)
