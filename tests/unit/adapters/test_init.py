"""Making a workspace: all of it or nothing, and no password in its manifest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.workspace.adapter import make_workspace
from takeback.errors import HarnessError, InputError, JournalError, TakebackError
from takeback.harness import Applied, Undone
from takeback.journal.url import strip_password
from takeback.state import State

START = {
    "config": {"agent": {"timeout": 30}},
    "prompts": {"system": "Be careful.\n"},
    "files": {"a/b": {"content": ""}},
}


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("journal", ["postgresql://nobody@127.0.0.1:9/none", "nowhere/journal.db", "bogus://x"])
def test_a_workspace_that_cannot_be_made_leaves_nothing(tmp_path, journal, made):
    root = tmp_path / "above" / "agent"
    if made:
        (root / "prompts").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(JournalError):
        init_workspace(root, journal=journal, start=State.read(START))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("url", ["postgresql://me:hush@127.0.0.1:9/x", "postgresql://127.0.0.1:9/x?password=hush"])
def test_a_password_is_refused_for_the_manifest(tmp_path, url):
    with pytest.raises(InputError, match="TAKEBACK_JOURNAL, or keep the password in a pgpass file") as caught:
        init_workspace(tmp_path / "agent", journal=url)
    assert "hush" not in str(caught.value)
    assert not (tmp_path / "agent").exists()


def test_a_secret_url_goes_into_the_manifest_without_its_password(tmp_path, postgres_url):
    joined = "&" if "?" in postgres_url else "?"
    url = f"{postgres_url}{joined}password=hush#secret"
    root = init_workspace(tmp_path / "agent", journal=url, secret=True)
    assert "hush" not in (root / "takeback.toml").read_text()
    open_workspace(root, journal=url).close()


def test_an_init_killed_before_its_manifest_is_finished_by_a_second_init(tmp_path):
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    (root / "takeback.toml").unlink()
    init_workspace(root)
    harness = open_workspace(root)
    assert harness.status().clean
    assert harness.state.write()["prompts"] == START["prompts"]


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/x"])
def test_init_reports_a_path_that_cannot_be_a_directory(tmp_path, place):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TakebackError, match=r"found a file|cannot make the directory"):
        init_workspace(tmp_path / place)


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("postgresql:///db", "postgresql:///db"),
        ("postgresql://me:@/db?host=/run", "postgresql://me:@/db?host=/run"),
        ("postgresql://me:p%40x@h:1/db#a", "postgresql://me@h:1/db#a"),
        ("postgresql:///db?sslpassword=x&host=h#a", "postgresql:///db?host=h#a"),
        ("postgresql:///db?password=x#a", "postgresql:///db#a"),
        (".takeback/journal.db", ".takeback/journal.db"),
    ],
)
def test_only_the_password_is_taken_out_of_a_url(url, bare):
    assert strip_password(url) == bare


CHILD = """
import os, signal, sys
from takeback.adapters import init_workspace
from takeback.journal.failpoint import arm_failpoints
from takeback.state import State

root, target, count, start, journal = sys.argv[1:]
hits = 0

def probe(name):
    global hits
    hits += name == target
    if name == target and hits == int(count):
        os.kill(os.getpid(), signal.SIGKILL)

with arm_failpoints(probe):
    init_workspace(
        root, start=State.read({"prompts": {"system": "x", "b": "y"}, "config": {"a": 1}}) if start else None,
        journal=journal or None,
    )
"""


def run_init(root, target="", count=1, *, start=True, journal=""):
    command = [sys.executable, "-c", CHILD, str(root), target, str(count), "1" if start else "", journal]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize(
    ("target", "counts"),
    [
        ("directory.created", (2,)),
        pytest.param("directory.created", (1, 3, 4), marks=pytest.mark.long),
        ("file.temp.created", (2,)),
        pytest.param("file.temp.created", (1, 3, 5, 8, 9), marks=pytest.mark.long),
        ("file.temp.written", (4,)),
        pytest.param("file.temp.written", (1, 7, 9), marks=pytest.mark.long),
        ("file.renamed", (1, 9)),
        pytest.param("file.renamed", (2, 3, 4, 6, 7, 8, 10), marks=pytest.mark.long),
        ("file.settled", (1,)),
        ("journal.append.begin", (1,)),
        ("journal.append.inserted", (1,)),
        ("journal.append.done", (1,)),
    ],
)
def test_an_init_killed_at_any_boundary_can_be_repeated(tmp_path, target, counts, start):
    died = 0
    for count in counts:
        root = tmp_path / f"{target}-{count}"
        died += run_init(root, target, count, start=start).returncode == -signal.SIGKILL
        again = run_init(root, start=start)
        assert again.returncode == 0 or "a workspace already" in again.stderr, again.stderr
        harness = open_workspace(root)
        assert harness.status().clean
        assert harness.state.write() == ({"prompts": {"system": "x", "b": "y"}, "config": {"a": 1}} if start else {})
        assert not [path for path in root.rglob("*") if "takeback-tmp" in path.name]
        harness.close()
    assert died or target == "file.settled"


def test_an_init_killed_with_a_postgresql_journal_can_be_repeated(tmp_path, postgres_url):
    url = f"{postgres_url}#killed"
    root = tmp_path / "agent"
    assert run_init(root, "journal.append.done", journal=url).returncode == -signal.SIGKILL
    assert run_init(root, journal=url).returncode == 0
    assert open_workspace(root).status().clean
    other = run_init(tmp_path / "other", journal=url)
    assert "belongs to another workspace" in other.stderr


def test_inits_at_the_same_time_make_one_workspace_and_destroy_nothing(tmp_path):
    for round_ in range(8):
        root = tmp_path / str(round_)
        command = [sys.executable, "-c", CHILD, str(root), "", "1", "", ""]
        children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        ends = [(child.wait(600), child.stderr.read()) for child in children]
        assert [code for code, _ in ends] == [0, 0, 0], ends
        harness = open_workspace(root)
        assert harness.status().clean
        harness.close()


def test_a_second_init_is_harmless_and_reports_contradictions(tmp_path):
    root, fresh = make_workspace(tmp_path / "agent", start=State.read(START))
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert fresh
    assert make_workspace(root) == (root, False)
    with pytest.raises(InputError, match="found a workspace already"):
        init_workspace(root, start=State())
    with pytest.raises(InputError, match=r"journal is .takeback/journal.db, expected one whose journal is x.db"):
        init_workspace(root, journal="x.db")
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_takebacks_own_directory_is_private_and_ignored_by_git(tmp_path):
    root = init_workspace(tmp_path / "agent")
    assert (root / ".takeback/.gitignore").read_text() == "*\n"
    assert (root / ".takeback").stat().st_mode & 0o777 == 0o700


def test_a_link_in_the_place_of_takebacks_own_directory_is_refused(tmp_path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "agent/.takeback").symlink_to(tmp_path / "outside")
    with pytest.raises(TakebackError, match="link"):
        init_workspace(tmp_path / "agent")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_swapped_in_later_is_refused_with_any_journal(tmp_path):
    root = init_workspace(tmp_path / "agent", journal=str(tmp_path / "journal.db"))
    (root / ".takeback").rename(tmp_path / "outside")
    (root / ".takeback").symlink_to(tmp_path / "outside")
    for journal in (None, str(tmp_path / "journal.db")):
        with pytest.raises(TakebackError, match="link"):
            open_workspace(root, journal=journal)


def test_init_never_restarts_a_journal_with_entries(tmp_path):
    root = init_workspace(tmp_path / "agent")
    harness = open_workspace(root)
    harness.apply(candidate(config("a", 1)))
    harness.close()
    (root / "takeback.toml").unlink()
    with pytest.raises(InputError, match=r"put takeback\.toml back from a copy"):
        init_workspace(root)


def test_init_reports_an_unreadable_file_and_creates_nothing(tmp_path):
    root = tmp_path / "agent"
    root.mkdir()
    (root / "config.toml").write_text("x = [")
    with pytest.raises(HarnessError, match="at end of document"):
        init_workspace(root)
    assert [path.name for path in root.iterdir()] == ["config.toml"]


def test_a_directory_with_a_name_outside_utf8_becomes_a_workspace(tmp_path):
    root = init_workspace(tmp_path / os.fsdecode(b"caf\xe9") / "agent", seal=True)
    with open_workspace(root, hold=False) as harness:
        assert isinstance(harness.apply(candidate(config("a", 1))), Applied)
    with open_workspace(root, hold=False) as again:
        assert isinstance(again.undo("HEAD"), Undone)
        assert again.status().clean
        assert again.journal.check().whole
