"""What is not the workspace's is neither touched nor walked; what cannot be named is told; owners and modes stay."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.support.changes import candidate, config, file, prompt
from tests.support.trusted import trust

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.trust_record import use_trust_folder
from takeback.errors import UntrustedError
from takeback.harness import Adopted, Applied, Undone
from takeback.journal.failpoint import arm_failpoints

NOBODY = 65534
THEIRS = ".takeback-tmp-ffffffffffff-0123456789abcdef"


class DiedError(BaseException):
    """The process stops here; nothing catches it."""


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "agent"
    (root / "prompts").mkdir(parents=True)
    (root / "prompts/system.md").write_text("Careful.\n")
    return init_workspace(root)


def test_a_nested_workspace_is_left_alone_during_its_write(root):
    inner = init_workspace(root / "files/inner")
    outer = open_workspace(root)
    outer.adopt()
    nested = open_workspace(inner)

    meddling = []

    def meddle(reached):
        if reached == "file.temp.written" and not meddling:
            meddling.append(reached)  # what the outer one writes reaches this as well
            assert [path for path in inner.rglob("*") if "takeback-tmp" in path.name]
            outer.recover()
            outer.status()
            meddling.clear()

    with arm_failpoints(meddle):
        assert isinstance(nested.apply(candidate(config("a", 1), prompt("p", "x"))), Applied)
    assert nested.status().clean


def test_only_its_own_leftovers_are_swept(root):
    harness = open_workspace(root)

    def die(reached):
        if reached == "file.temp.written":
            raise DiedError

    monkey = pytest.MonkeyPatch()
    monkey.setattr("takeback.adapters.directory.Directory.discard", staticmethod(lambda *_: None))
    with arm_failpoints(die), pytest.raises(DiedError):
        harness.apply(candidate(prompt("system", "x")))
    monkey.undo()
    own = [path for path in root.rglob("*") if "takeback-tmp" in path.name]
    assert len(own) == 1
    for place in (root, root / "prompts", root / "files"):
        (place / THEIRS).write_text("theirs")
    (root / ".git").mkdir()
    (root / ".git" / own[0].name).write_text("mine, called so by chance")
    again = open_workspace(root)
    assert again.recovered.swept == (str(own[0].relative_to(root)),)
    assert not own[0].exists()
    assert (root / ".git" / own[0].name).exists()
    assert all((place / THEIRS).exists() for place in (root, root / "prompts", root / "files"))
    assert again.status().clean


NOBODYS_TRUST = ""


def as_nobody(act):
    """What a function returns, called by a user to whom permissions mean something."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            use_trust_folder(NOBODYS_TRUST)
            os.write(write_end, repr(act()).encode())
        except BaseException as fault:  # noqa: BLE001 - told to the parent, which compares
            os.write(write_end, repr(fault).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def nobodys(root, monkeypatch):
    """A workspace made by nobody; everything it needs is imported by now, which nobody could not."""
    if os.geteuid() != 0:
        pytest.skip("needs a second user")
    change(root)
    with tempfile.TemporaryDirectory(prefix="takeback-nobody-") as directory:
        home = Path(directory)
        home.chmod(0o755)
        os.chown(home, NOBODY, NOBODY)
        monkeypatch.setitem(globals(), "NOBODYS_TRUST", str(home / "trusted"))
        assert as_nobody(lambda: init_workspace(home / "agent")) == repr(home / "agent")
        yield home / "agent"


def change(root, value="x"):
    harness = open_workspace(root)
    done = harness.apply(candidate(config("a", value), prompt("new", value), file("d/e", value)))
    harness.close()
    return type(done).__name__


def test_an_unrelated_directory_that_cannot_be_read_or_is_very_deep_does_not_matter(nobodys):
    (nobodys / "secret").mkdir(mode=0o700)
    fd = os.open(nobodys, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("x", dir_fd=fd)
        below = os.open("x", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    looked = as_nobody(lambda: (change(nobodys), open_workspace(nobodys).status().clean))
    subprocess.run(["rm", "-rf", str(nobodys / "x")], check=True)
    assert looked == "('Applied', True)"


def test_an_unreadable_directory_is_reported_and_kept(nobodys):
    assert as_nobody(lambda: change(nobodys)) == "'Applied'"
    (nobodys / "files/d").chmod(0)
    os.chown(nobodys / "files/d", 0, 0)
    said = as_nobody(lambda: [fault.path for fault in open_workspace(nobodys).status().broken])
    assert said == "['files/d']"
    assert as_nobody(lambda: change(nobodys, "y")) == "'Refused'"


def test_a_change_made_by_root_does_not_lock_the_owner_out(nobodys):
    with pytest.raises(UntrustedError):
        change(nobodys)
    trust(nobodys)
    change(nobodys)
    assert {path.stat().st_uid for path in nobodys.rglob("*")} == {NOBODY}
    assert "no process of yours wrote" in as_nobody(lambda: change(nobodys, "y"))
    assert as_nobody(lambda: change(trust(nobodys), "y")) == "'Applied'"


@pytest.mark.parametrize("place", ["prompts", "tools", "files", "files/d"])
def test_a_file_with_a_name_outside_utf8_is_reported_and_left_alone(root, place):
    (root / "files/d").mkdir()
    harness = open_workspace(root)
    harness.adopt()
    odd = os.path.join(os.fsencode(root / place), b"bad\xff.md")
    with open(odd, "wb") as file_:
        file_.write(b"mine")
    again = open_workspace(root)
    status = again.status()
    assert [problem for problem in status.problems if "bad\\xff.md" in problem and "not UTF-8" in problem]
    assert not status.drift
    assert again.adopt() is None
    entry = again.apply(candidate(config("a", 1), file("d/x", "1"))).entry
    again.ledger.checkpoint()
    assert isinstance(open_workspace(root).apply(candidate(config("b", 1))), Applied)
    assert isinstance(open_workspace(root).undo(entry.id), Undone)
    with open(odd, "rb") as file_:
        assert file_.read() == b"mine"


def test_a_directory_with_a_name_outside_utf8_is_left_alone(root):
    odd = os.path.join(os.fsencode(root / "files"), b"d\xff")
    os.mkdir(odd)
    with open(os.path.join(odd, b"x"), "wb") as file_:
        file_.write(b"mine")
    harness = open_workspace(root)
    assert not harness.status().drift
    assert harness.apply(candidate(file("y", "1")))
    assert os.path.exists(os.path.join(odd, b"x"))


@pytest.mark.parametrize("name", ["config.toml", "prompts/system.md", "tools/t.json", "files/f"])
def test_a_private_file_that_was_deleted_adopted_and_undone_is_private_again(root, name):
    (root / "tools/t.json").write_text("{}")
    (root / "files/f").write_text("f")
    (root / "config.toml").write_text("a = 1\n")
    for path in ("tools/t.json", "files/f", "config.toml", "prompts/system.md"):
        (root / path).chmod(0o600)
    harness = open_workspace(root)
    harness.adopt()
    harness.apply(candidate(prompt("system", "new\n")))
    content = (root / name).read_bytes()
    (root / name).unlink()
    adopted = harness.adopt()
    assert isinstance(adopted, Adopted)
    harness.undo(adopted.entry.id)
    assert ((root / name).read_bytes(), (root / name).stat().st_mode & 0o777) == (content, 0o600)


def test_a_restored_directory_has_its_old_mode(root):
    (root / "files/d").mkdir()
    (root / "files/d/x").write_text("x")
    (root / "files/d").chmod(0o700)
    harness = open_workspace(root)
    one = harness.adopt()
    harness.undo(one.entry.id)
    assert not (root / "files/d").exists()
    harness.redo(one.entry.id)
    assert (root / "files/d").stat().st_mode & 0o777 == 0o700
