"""A process loses the journal's lock in mid-change, another recovers and goes on: the first does nothing more."""

from __future__ import annotations

from contextlib import closing, contextmanager

import psycopg
import pytest
from tests.support.changes import candidate, config, file, prompt

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.files_adapter import FilePlace
from takeback.errors import HarnessError, JournalError, LostLock
from takeback.harness import Applied, Undone
from takeback.journal.failpoint import arm_failpoints
from takeback.journal.sqlite_files import name_companion
from takeback.state import State

START = {
    "config": {"a": 1},
    "prompts": {"p": "old\n"},
    "files": {"d/x": {"content": "old\n"}, "gone": {"content": "bye\n"}},
}
CHANGE = (
    config("a", 2),
    prompt("p", "new\n"),
    prompt("fresh", "new\n"),
    file("d/x", "new\n"),
    file("e/y", "new\n"),
    {"op_type": "remove_file", "target": "gone"},
)
FILES = 6
"""How many files the change touches."""


@pytest.fixture(params=["sqlite", "postgresql"])
def world(request, tmp_path, monkeypatch):
    """A workspace, and what makes a harness lose its lock."""
    monkeypatch.setenv("TAKEBACK_KEYS", str(tmp_path / "keys"))
    if request.param == "sqlite":
        root = init_workspace(tmp_path / "agent", start=State.read(START))
        return root, lambda _: name_companion(root / ".takeback/journal.db", ".lock").unlink()
    url = request.getfixturevalue("postgres_url")
    name = f"stale{abs(hash(request.node.name)) % 10**12}"

    def cut(harness):
        (pid,) = harness.journal.run("SELECT pg_backend_pid()")[0]
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (pid,))

    return init_workspace(tmp_path / "agent", start=State.read(START), journal=f"{url}#{name}"), cut


def contents(root):
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
        if ".takeback" not in path.parts
    }


def go_elsewhere(other):
    assert isinstance(other.apply(candidate(prompt("elsewhere", "e\n"))), Applied)


def go_over_it(other):
    assert isinstance(other.apply(candidate(config("a", 3), prompt("p", "3\n"), file("d/x", "3\n"))), Applied)


def take_it_back(other):
    assert isinstance(other.undo("#2"), Undone)


class Takeover:
    """At the n-th time it is called, the lock is lost and another process recovers and goes on."""

    def __init__(self, world, harness, at, then):
        self.root, self.cut = world
        self.harness, self.left, self.then = harness, at, then
        self.seen = self.head = None

    def __call__(self):
        self.left -= 1
        if self.left:
            return
        self.cut(self.harness)
        with closing(open_workspace(self.root, hold=False)) as other:
            if not other.status().clean:
                other.adopt()
            self.then(other)
            self.seen, self.head = contents(self.root), other.journal.head().digest

    def check(self):
        assert self.seen is not None, "the moment never came"
        assert contents(self.root) == self.seen
        with closing(open_workspace(self.root, hold=False)) as other:
            assert other.journal.head().digest == self.head
            assert other.status().clean
            assert other.journal.check().whole


@contextmanager
def at_boundary(name, act):
    def probe(reached):
        if reached == name and act.left > 0:
            act()

    with arm_failpoints(probe):
        yield


@pytest.mark.parametrize(
    ("boundary", "at", "then"),
    [
        ("file.temp.written", 2, take_it_back),
        ("file.renamed", 1, go_elsewhere),
        ("file.renamed", 1, take_it_back),
        ("file.renamed", 4, go_over_it),
    ],
)
def test_a_stale_writer_stops_in_the_middle_of_a_change(world, boundary, at, then):
    with closing(open_workspace(world[0], hold=False)) as harness:
        act = Takeover(world, harness, at, then)
        with at_boundary(boundary, act), pytest.raises(LostLock):
            harness.apply(candidate(*CHANGE))
    act.check()


@pytest.mark.parametrize("at", range(1, FILES + 1))
def test_a_stale_writer_notices_between_reading_and_changing_a_file(world, at, monkeypatch):
    """What it has read may be there again, so that looking at the file alone does not tell."""
    with closing(open_workspace(world[0], hold=False)) as harness:
        act = Takeover(world, harness, at, take_it_back if at > 1 else go_elsewhere)
        look = FilePlace._image

        def looked(parent, name, *rest):
            found = look(parent, name, *rest)
            if act.left > 0 and not name.startswith(".takeback-tmp-"):
                act()
            return found

        monkeypatch.setattr(FilePlace, "_image", staticmethod(looked))
        with pytest.raises(LostLock):
            harness.apply(candidate(*CHANGE))
    act.check()


@pytest.mark.parametrize("at", [1, 4])
def test_a_stale_writer_does_not_roll_back_a_committed_change(world, at):
    """Its write failed; before each file that it would put back it asks."""
    root = world[0]

    def foreign(name):
        if name == "file.renamed" and not (root / "files/e").exists():
            (root / "files/e").mkdir()
            (root / "files/e/y").write_text("by hand\n")

    with closing(open_workspace(root, hold=False)) as harness:
        act = Takeover(world, harness, at, go_elsewhere)

        def probe(name):
            if act.left > 0:
                foreign(name)
                if name == "rollback.step":
                    act()

        with arm_failpoints(probe), pytest.raises(LostLock):
            harness.apply(candidate(*CHANGE))
    act.check()


def test_a_stale_process_does_not_sweep_anothers_temporary_files(world):
    root = world[0]
    with closing(open_workspace(root, hold=False)) as harness, closing(open_workspace(root, hold=False)) as other:
        temporary = f".takeback-tmp-{other.adapter.place._directory.tag}-{'0' * 16}"
        with harness.journal.lock():
            (root / temporary).write_text("in mid-write\n")
            world[1](harness)
            with other.journal.lock(), pytest.raises((LostLock, JournalError)):
                harness.status()
        assert (root / temporary).exists()


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_a_change_with_a_lost_connection_is_finished_later(world):
    root = world[0]
    with (
        closing(open_workspace(root, hold=False)) as harness,
        at_boundary("change.written", cut_once(world, harness)),
        pytest.raises(HarnessError),
    ):
        harness.apply(candidate(*CHANGE))
    with closing(open_workspace(root, hold=False)) as again:
        assert again.status().clean
        assert (root / "prompts/fresh.md").read_text() == "new\n"


def cut_once(world, harness):
    class Cut:
        left = 1

        def __call__(self):
            self.left = 0
            world[1](harness)

    return Cut()
