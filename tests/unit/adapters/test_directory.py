"""The file layer: nothing leads out of the directory, nothing is half written."""

from __future__ import annotations

import os

import pytest

from takeback.adapters.directory import Directory, FileImage
from takeback.errors import HarnessError, UnsafePathError
from takeback.journal.failpoint import armed


@pytest.fixture
def directory(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    place = Directory(root)
    yield place
    place.close()


class DiedError(Exception):
    """The process stops here."""


def die_at(name):
    def probe(reached):
        if reached == name:
            raise DiedError

    return armed(probe)


def test_content_and_mode_come_back_exactly(directory):
    image = FileImage(bytes(range(256)), 0o751)
    assert directory.write("a/b/c.bin", image) == ("a", "a/b")
    assert directory.read("a/b/c.bin") == image
    assert directory.write("a/b/c.bin", FileImage(b"", 0o600)) == ()
    assert directory.read("a/b/c.bin") == FileImage(b"", 0o600)


def test_what_is_not_there_is_none(directory):
    assert directory.read("nope") is None
    assert directory.read("nope/deeper") is None
    assert directory.remove("nope/deeper") is False
    assert directory.remove_directory("nope") is False


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
        ".takeback-tmp-0123456789abcdef",
    ],
)
def test_paths_that_could_leave_or_cannot_exist_are_refused(directory, path):
    for act in (directory.read, directory.remove, lambda p: directory.write(p, FileImage(b""))):
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
    for act in (
        lambda: directory.write("dir/new", FileImage(b"x")),
        lambda: directory.remove("dir/secret"),
        lambda: directory.make_directory("dir/sub"),
    ):
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

    with armed(swap):
        directory.write("d/f", FileImage(b"x"))
    assert os.listdir(outside) == []
    assert (tmp_path / "moved" / "f").read_bytes() == b"x"


def test_a_link_in_the_place_of_a_file_is_replaced_not_written_through(directory, tmp_path):
    (tmp_path / "outside").write_text("safe")
    (directory.root / "f").symlink_to(tmp_path / "outside")
    directory.write("f", FileImage(b"new"))
    assert (tmp_path / "outside").read_text() == "safe"
    assert directory.read("f") == FileImage(b"new")


@pytest.mark.parametrize("name", ["file.temp.created", "file.temp.written"])
def test_a_write_that_stops_before_the_rename_leaves_the_old_file(directory, name):
    directory.write("f", FileImage(b"old", 0o640))
    with die_at(name), pytest.raises(DiedError):
        directory.write("f", FileImage(b"new"))
    assert directory.read("f") == FileImage(b"old", 0o640)
    assert directory.leftovers() == ()


def test_leftovers_of_a_killed_process_are_found_and_swept(directory):
    directory.write("d/keep", FileImage(b""))
    (directory.root / "d" / ".takeback-tmp-0123456789abcdef").write_text("half")
    (directory.root / "d" / ".takeback-tmp-notours").write_text("user's")
    assert [f.path for f in directory.walk()] == ["d", "d/.takeback-tmp-notours", "d/keep"]
    assert directory.sweep() == ("d/.takeback-tmp-0123456789abcdef",)
    assert directory.leftovers() == ()
    assert (directory.root / "d" / ".takeback-tmp-notours").exists()


def test_only_empty_directories_are_removed(directory):
    directory.write("a/b/f", FileImage(b""))
    assert directory.remove_directory("a/b") is False
    directory.remove("a/b/f")
    assert directory.remove_directory("a/b") is True
    assert directory.remove_directory("a") is True
    assert [*directory.walk()] == []


def test_a_directory_is_not_removed_or_overwritten_as_a_file(directory):
    directory.make_directory("d")
    with pytest.raises(HarnessError):
        directory.remove("d")
    with pytest.raises(HarnessError):
        directory.write("d", FileImage(b""))
    assert (directory.root / "d").is_dir()


def test_walk_names_things_that_are_neither_files_nor_directories(directory):
    (directory.root / "link").symlink_to("/etc")
    os.mkfifo(directory.root / "pipe")
    assert [(f.path, f.kind) for f in directory.walk()] == [("link", "other"), ("pipe", "other")]
    with pytest.raises(UnsafePathError, match="not a regular file"):
        directory.read("pipe")


def test_a_full_disk_is_a_clear_error_and_the_old_file_stays(directory, monkeypatch):
    directory.write("f", FileImage(b"old"))

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HarnessError, match="No space left on device"):
        directory.write("f", FileImage(b"new"))
    assert directory.read("f") == FileImage(b"old")
    assert directory.leftovers() == ()
