"""The file layer: nothing leads out of the directory, a file is read only when it may have changed."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from takeback.adapters import directory as module
from takeback.adapters.directory import Directory
from takeback.errors import HarnessError, UnsafePathError
from takeback.harness.images import DirectoryImage, FileImage
from takeback.journal.failpoint import arm_failpoints

OURS = ".takeback-tmp-abcabcabcabc-0123456789abcdef"
THEIRS = ".takeback-tmp-ffffffffffff-0123456789abcdef"


@pytest.fixture
def directory(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    place = Directory(root, tag="abcabcabcabc")
    yield place
    place.close()


class DiedError(Exception):
    """The process stops here."""


def die_at(name):
    def probe(reached):
        if reached == name:
            raise DiedError

    return arm_failpoints(probe)


def test_content_and_mode_are_written_and_read_exactly(directory):
    image = FileImage(bytes(range(256)), 0o751)
    assert directory.make("a/b") == ("a", "a/b")
    directory.write("a/b/c.bin", image)
    assert directory.read("a/b/c.bin") == image
    directory.write("a/b/c.bin", FileImage(b"", 0o600))
    assert directory.read("a/b/c.bin") == FileImage(b"", 0o600)
    assert directory.look("a/b") == DirectoryImage(0o755)


def test_a_missing_file_reads_as_none(directory):
    assert directory.read("nope") is None
    assert directory.look("nope/deeper") is None
    with pytest.raises(HarnessError, match="its directory is not there"):
        directory.write("nope/deeper", FileImage(b""))


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        "./a",
        "a/.",
        "a\0b",
        "x" * 256,
        "dd/" * 2000 + "x",
        OURS,
        THEIRS,
    ],
)
def test_paths_outside_or_impossible_are_refused(directory, path):
    for act in (directory.read, directory.make, lambda p: directory.write(p, FileImage(b""))):
        with pytest.raises(UnsafePathError, match="refused"):
            act(path)


def test_links_are_never_followed(directory, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("safe")
    (directory.root / "dir").symlink_to(outside)
    (directory.root / "file").symlink_to(outside / "secret")
    for path in ("dir/secret", "file"):
        with pytest.raises(UnsafePathError, match="link"):
            directory.read(path)
    for act in (lambda: directory.write("dir/new", FileImage(b"x")), lambda: directory.make("dir/sub")):
        with pytest.raises(UnsafePathError, match="link"):
            act()
    assert os.listdir(outside) == ["secret"]


def test_a_link_swapped_in_while_a_write_is_under_way_leads_nowhere(directory, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (directory.root / "d").mkdir()

    def swap(name):
        if name == "file.temp.created":
            (directory.root / "d").rename(tmp_path / "moved")
            (directory.root / "d").symlink_to(outside)

    with arm_failpoints(swap):
        directory.write("d/f", FileImage(b"x"))
    assert os.listdir(outside) == []
    assert (tmp_path / "moved" / "f").read_bytes() == b"x"


@pytest.mark.parametrize("name", ["file.temp.created", "file.temp.written"])
def test_a_write_that_stops_before_the_rename_leaves_the_old_file(directory, name):
    directory.write("f", FileImage(b"old", 0o640))
    with die_at(name), pytest.raises(DiedError):
        directory.write("f", FileImage(b"new"))
    assert directory.read("f") == FileImage(b"old", 0o640)
    assert os.listdir(directory.root) == ["f"]


def test_only_temporaries_with_its_own_tag_are_its_own(directory):
    directory.make("d")
    for name in (OURS, THEIRS, ".takeback-tmp-notours", "keep"):
        (directory.root / "d" / name).write_text("x")
    assert [found.path for found in directory.walk("d")] == ["d/.takeback-tmp-notours", "d/keep"]
    assert directory.met == [f"d/{OURS}"]
    assert directory.own_temporaries("d") == [f"d/{OURS}"]
    assert directory.own_temporaries("") == []


def test_a_walk_reports_unnameable_unreadable_and_special_files(directory):
    directory.make("d/locked")
    (directory.root / "d/link").symlink_to("/etc")
    os.mkfifo(directory.root / "d/pipe")
    (directory.root / "d/ok").write_text("x")
    with open(os.fsencode(directory.root) + b"/d/\xff.md", "w") as file:
        file.write("x")
    found = {one.path: (one.kind, one.reason) for one in directory.walk("d")}
    assert found["d/ok"] == ("file", "")
    assert found["d/link"][0] == found["d/pipe"][0] == "other"
    assert found["d/\\xff.md"] == ("other", "its name is not UTF-8; left alone")
    with pytest.raises(UnsafePathError, match="not a regular file"):
        directory.read("d/pipe")


def test_a_very_deep_directory_is_reported_and_not_entered(directory):
    fd = os.open(directory.root, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("x", dir_fd=fd)
        below = os.open("x", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    found = list(directory.walk("x"))
    subprocess.run(["rm", "-rf", str(directory.root / "x")], check=True)
    assert found[-1].reason == "it lies too deep; left alone"
    assert len(found) < 200


def test_a_file_that_has_not_changed_is_not_read_again(directory, monkeypatch):
    directory.write("f", FileImage(b"x"))
    os.utime(directory.root / "f", (1, 1))
    now = time.time_ns()
    monkeypatch.setattr(module.time, "time_ns", lambda: now + 10**10)
    first = directory.read("f")

    def no_reading(*_):
        raise AssertionError("read again")

    monkeypatch.setattr(directory, "_read", no_reading)
    assert directory.read("f") is first


def test_a_file_changed_within_the_grain_of_its_times_is_read_again(directory, monkeypatch):
    """A second change of the same size can leave every time as it was, if it follows at once."""
    directory.write("f", FileImage(b"one"))
    status = os.stat(directory.root / "f")
    assert directory.read("f").content == b"one"
    with open(directory.root / "f", "r+b") as file:
        file.write(b"two")
    os.utime(directory.root / "f", ns=(status.st_atime_ns, status.st_mtime_ns))
    monkeypatch.setattr(module, "make_signature", lambda _: directory._seen["f"].signature)
    assert directory.read("f").content == b"two"


def test_a_full_disk_is_a_clear_error_and_the_old_file_stays(directory, monkeypatch):
    directory.write("f", FileImage(b"old"))

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HarnessError, match="No space left on device"):
        directory.write("f", FileImage(b"new"))
    assert directory.read("f") == FileImage(b"old")
    assert os.listdir(directory.root) == ["f"]
