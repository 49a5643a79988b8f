"""A pull that brings records into a journal: a longer copy of the journal, or a log beside it, is a stranger's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support import hostile_clone
from tests.support.changes import candidate, config
from tests.support.forked import run_text
from tests.support.hostile_clone import HOOK, git
from tests.support.trusted import trust

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.doctor import back_up_journal, mend_journal, return_journal
from takeback.adapters.trust_record import find_trust_folder, list_records, use_trust_folder
from takeback.errors import JournalCorruptError, UntrustedError
from takeback.harness import Applied

JOURNAL = ".takeback/journal.db"
LOG = f"{JOURNAL}-wal"
LOOKING = (["status"], ["log"], ["diff"], ["doctor"])
CHANGING = (["set", "config", "a", "1"], ["undo", "--last"], ["recover"], ["adopt"], ["forget", "#1", "--yes"])


DYING = """
import os, sys
from takeback.adapters import open_workspace
from takeback.adapters.trust_record import use_trust_folder
from takeback.journal.failpoint import arm_failpoints
from tests.support.changes import candidate, config

root, place, folder = sys.argv[1:]
use_trust_folder(folder)
with open_workspace(root, hold=False) as harness, arm_failpoints(lambda name: os._exit(9) if name == place else None):
    harness.apply(candidate(config("killed", place)))
"""
"""Dies at a boundary while it makes a change."""


def run(root: Path, *words: str) -> tuple[int, str]:
    """Run the program in a process of its own; its exit code, and what it printed."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TAKEBACK_TRUST": find_trust_folder()}
    done = run_text(words, env, given="", cwd=root)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@contextmanager
def as_somebody_else(top: Path) -> Iterator[None]:
    """Work as one who has other trust records."""
    mine = find_trust_folder()
    use_trust_folder(str(top / "trusted by somebody else"))
    try:
        yield
    finally:
        use_trust_folder(mine)


def lengthen(theirs: Path, ran: Path, how: str) -> None:
    """Go on with a journal: a change under way that would plant a hook, in the file itself or in a log beside it."""
    before = (theirs / JOURNAL).read_bytes()
    if how == "file":
        hostile_clone.begin_change(theirs, "config.toml", ran)
        return
    reader = open_workspace(theirs, hold=False)  # keeps the log from being taken into the file
    hostile_clone.begin_change(theirs, "config.toml", ran)
    log = (theirs / LOG).read_bytes()
    assert log
    reader.close()
    (theirs / JOURNAL).write_bytes(before)
    (theirs / LOG).write_bytes(log)


@pytest.fixture(params=["file", "log"])
def pulled(request, tmp_path):
    """My harness whose `.takeback` is committed, after a pull of somebody's commit that lengthens its journal."""
    ran = tmp_path / "ran"
    mine = init_workspace(tmp_path / "mine")
    with open_workspace(mine, hold=False) as harness:
        assert isinstance(harness.apply(candidate(config("one", "mine"))), Applied)
    git(mine, "init", "-q", "-b", "main")
    git(mine, "add", "-A", "-f")
    git(mine, "commit", "-q", "-m", "Everything")
    theirs = tmp_path / "theirs"
    git(tmp_path, "clone", "-q", str(mine), str(theirs))
    with as_somebody_else(tmp_path):
        trust(theirs)
        git(theirs, "checkout", "-q", "-b", "next")
        lengthen(theirs, ran, request.param)
    git(theirs, "add", "-A", "-f")
    git(theirs, "reset", "-q", "--", ".takeback/trusted", f"{JOURNAL}-shm")
    if request.param == "log":
        git(theirs, "reset", "-q", "--", JOURNAL)
    git(theirs, "commit", "-q", "-m", "Longer")
    assert git(theirs, "show", "--name-only", "--format=").split().count(LOG if request.param == "log" else JOURNAL)
    before = (mine / JOURNAL).read_bytes()
    git(mine, "pull", "-q", "--ff-only", str(theirs), "next")
    assert ((mine / JOURNAL).read_bytes() == before) == (request.param == "log")
    return SimpleNamespace(root=mine, ran=ran, how=request.param)


def test_records_that_a_pull_brings_are_not_acted_on(pulled):
    kept = {path: (pulled.root / path).read_bytes() for path in (JOURNAL, "config.toml", ".takeback/HEAD")}
    why = "was replaced since by another file" if pulled.how == "file" else "which no process of yours wrote"
    for words in LOOKING:
        _, told = run(pulled.root, *words)
        assert "not trusted" in told, (words, told)
        assert why in told, (words, told)
        assert "takeback trust" in told, (words, told)
    for words in CHANGING:
        code, told = run(pulled.root, *words)
        assert (code, why in told, "takeback trust" in told) == (2, True, True), (words, told)
    with pytest.raises(UntrustedError, match=why):
        open_workspace(pulled.root)
    assert {path: (pulled.root / path).read_bytes() for path in kept} == kept
    assert not (pulled.root / HOOK).exists()
    assert not pulled.ran.exists()


def test_records_of_a_pull_are_noticed_without_file_creation_times(pulled):
    place, record = next(
        (Path(file), found) for file, found in list_records() if found["path"] == str(pulled.root.resolve())
    )
    same = [(pulled.root / JOURNAL).stat().st_ino, None]  # an inode that is given again, as many file systems do
    place.write_text(json.dumps({**record, "file": same}))
    with pytest.raises(UntrustedError, match="which no process of yours wrote"):
        open_workspace(pulled.root)


def test_a_client_session_continues_and_nothing_is_recorded(pulled):
    before = (pulled.root / JOURNAL).read_bytes()
    event = (
        '{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "x"}, "session_id": "s"}'
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TAKEBACK_TRUST": find_trust_folder()}
    line = [sys.executable, "-m", "takeback", "hook", "claude-code"]
    done = subprocess.run(
        line, cwd=pulled.root, env=env, input=event, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "takeback trust" in done.stdout + done.stderr
    assert (pulled.root / JOURNAL).read_bytes() == before


def test_a_trusted_journal_is_used_again(pulled):
    code, told = run(pulled.root, "trust")
    assert (code, HOOK in told) == (0, True), told
    assert run(pulled.root, "recover")[0] == 0
    assert not (pulled.root / HOOK).exists()
    assert run(pulled.root, "adopt")[0] == 0
    assert run(pulled.root, "set", "config", "two", "2")[0] == 0
    assert run(pulled.root, "undo", "--last")[0] == 0
    code, told = run(pulled.root, "doctor")
    assert code == 0, told


@pytest.fixture
def mine(tmp_path):
    """A harness of mine with one change."""
    root = init_workspace(tmp_path / "mine")
    with open_workspace(root, hold=False) as harness:
        harness.apply(candidate(config("one", "mine")))
    return root


def test_processes_of_one_user_accept_each_others_records(mine):
    with open_workspace(mine, hold=False) as here:
        for at in range(3):
            code, told = run(mine, "set", "config", f"other{at}", "1")
            assert code == 0, told
            assert isinstance(here.apply(candidate(config(f"here{at}", 1))), Applied)
    assert "not trusted" not in run(mine, "status")[1]


@pytest.mark.parametrize("place", ["journal.append.inserted", "journal.append.done", "change.written"])
def test_the_journal_of_a_killed_process_stays_trusted(mine, place):
    line = [sys.executable, "-c", DYING, str(mine), place, find_trust_folder()]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 9, done.stderr
    with open_workspace(mine, hold=False) as harness:
        assert isinstance(harness.apply(candidate(config("after", 1))), Applied)


def test_restored_backups_and_rebuilt_indexes_stay_trusted(mine, tmp_path):
    copy = tmp_path / "backup.db"
    back_up_journal(mine, copy)
    with open_workspace(mine, hold=False) as harness:
        harness.apply(candidate(config("two", "later")))
    return_journal(mine, copy)
    with open_workspace(mine, hold=False) as harness:
        harness.adopt("what came after the backup")
    mend_journal(mine)
    with open_workspace(mine, hold=False) as harness:
        assert isinstance(harness.apply(candidate(config("three", "3"))), Applied)


def test_a_truncated_journal_is_reported_and_can_be_accepted(mine, tmp_path):
    copy = tmp_path / "backup.db"
    back_up_journal(mine, copy)
    with open_workspace(mine, hold=False) as harness:
        harness.apply(candidate(config("two", "later")))
    (mine / JOURNAL).write_bytes(copy.read_bytes())
    with pytest.raises(JournalCorruptError, match="cut short, or is an old copy"):
        open_workspace(mine)
    return_journal(mine, None)
    open_workspace(mine).close()


def test_a_record_of_an_earlier_version_is_completed_at_the_next_opening(mine):
    place, record = next(
        (Path(file), found) for file, found in list_records() if found["path"] == str(mine.resolve())
    )
    place.write_text(json.dumps({name: record[name] for name in ("path", "mark", "born", "manifest", "journal_id")}))
    for name in ("two", "three"):
        with open_workspace(mine, hold=False) as harness:
            assert isinstance(harness.apply(candidate(config(name, 2))), Applied)
    completed = json.loads(place.read_text())
    assert completed["secret"]
    assert completed["end"]
    assert completed["file"][0] == (mine / JOURNAL).stat().st_ino
