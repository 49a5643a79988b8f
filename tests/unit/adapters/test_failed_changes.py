"""An error that says "nothing was changed" is true, whichever call of the system fails, once or from then on."""

from __future__ import annotations

import errno
import os

import pytest
from tests.support.changes import candidate, config, file, prompt

from takeback.adapters import file_replacement, init_workspace, open_workspace
from takeback.adapters.directory import Directory
from takeback.errors import TakebackError
from takeback.harness import Applied, Undone
from takeback.state import State

CALLS = ("fsync", "rename", "link", "unlink", "stat", "rmdir", "mkdir")
START = {"config": {"a": 1}, "prompts": {"p": "old\n"}, "files": {"d/f": {"content": "old\n"}}}
CHANGE = (config("a", 2), prompt("p", "new\n"), file("d/f", "new\n"), {"op_type": "remove_prompt", "target": "p"})


def contents(root):
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".takeback" not in path.parts and not path.name.startswith(".takeback-tmp-")
    }


class Failing:
    """Fails one call of the system, or that and every later one of its name, while it is armed."""

    def __init__(self, monkeypatch, name, at, *, lasting):
        self.count, self.at, self.lasting, self.armed = 0, at, lasting, False
        real = file_replacement._rename_with_flags if name == "swap" else getattr(os, name)

        def call(*args, **options):
            if self.armed and (name in {"fsync", "swap"} or options.keys() & {"dir_fd", "src_dir_fd"}):
                self.count += 1
                if self.count == at or (lasting and self.count > at):
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*args, **options)

        monkeypatch.setattr(
            file_replacement if name == "swap" else os, "_rename_with_flags" if name == "swap" else name, call
        )

    @property
    def reached(self):
        return self.count >= self.at


def error_of(call):
    """What the error says that a call raises; nothing if it raises none."""
    try:
        call()
    except TakebackError as fault:
        return str(fault)
    return ""


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("linked", [False, True], ids=["swapped", "linked"])
@pytest.mark.parametrize("name", [*CALLS, "swap"])
def test_an_error_that_says_nothing_was_changed_is_true(tmp_path, monkeypatch, name, linked, lasting):
    if linked and name == "swap":
        pytest.skip("there is no swap to fail")
    if linked:
        monkeypatch.setattr(file_replacement, "_load_renameat2", lambda: None)
    told = 0
    for at in range(1, 60):
        root = init_workspace(tmp_path / f"agent{at}", start=State.read(START))
        harness, before = open_workspace(root), contents(root)
        with monkeypatch.context() as patch:
            failing = Failing(patch, name, at, lasting=lasting)
            failing.armed = True
            said = error_of(lambda: harness.apply(candidate(*CHANGE)))  # noqa: B023  (called at once)
            failing.armed = False
            told += bool(said)
            if "nothing was changed" in said:
                assert contents(root) == before, (at, said)
            assert not said or "nothing was changed" in said or "recover" in said or "next command" in said, said
            reached = failing.reached
        harness.close()
        with open_workspace(root) as again:
            assert again.status().clean, at
            assert contents(root) == before or again.state.write()["config"] == {"a": 2}
        if not reached:
            break
    assert told or name in {"rmdir", "mkdir", "link", "unlink", "rename"}


def test_a_file_unreadable_after_the_swap_is_swapped_back(tmp_path, monkeypatch):
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    harness, before = open_workspace(root), contents(root)
    real, seen = Directory.status, []

    def status(parent, name):
        if name.startswith(".takeback-tmp-"):
            seen.append(name)
            if len(seen) == 2:
                raise OSError(errno.EIO, "no")
        return real(parent, name)

    monkeypatch.setattr(Directory, "status", staticmethod(status))
    with pytest.raises(TakebackError, match="nothing was changed"):
        harness.apply(candidate(config("a", 2)))
    assert contents(root) == before
    assert isinstance(harness.apply(candidate(config("a", 2))), Applied)
    assert isinstance(harness.undo(), Undone)
    harness.close()
