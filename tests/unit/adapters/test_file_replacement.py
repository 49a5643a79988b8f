"""Files are replaced only if they are what was expected, and what was replaced can be put back."""

from __future__ import annotations

import os
import threading
import time

import pytest

from takeback.adapters import file_replacement, files_adapter
from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilePlace
from takeback.errors import ChangedMeanwhile, HarnessError
from takeback.harness.images import DirectoryImage, FileChange, FileImage, LinkImage
from takeback.journal.failpoint import arm_failpoints

OLD, NEW = FileImage(b"old", 0o640), FileImage(b"new", 0o640)
CHANGES = {
    "replace": FileChange("d/f", OLD, NEW),
    "create": FileChange("d/new", None, NEW),
    "remove": FileChange("d/f", OLD, None),
    "link": FileChange("d/f", OLD, LinkImage("../nowhere")),
    "file": FileChange("link", LinkImage("/etc/passwd"), NEW),
    "another": FileChange("link", LinkImage("/etc/passwd"), LinkImage("f")),
    "unlink": FileChange("link", LinkImage("/etc/passwd"), None),
    "make": FileChange("d/sub", None, DirectoryImage(0o750)),
    "unmake": FileChange("d/empty", DirectoryImage(0o711), None),
}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "d/empty").mkdir(parents=True)
    (tmp_path / "d/empty").chmod(0o711)
    (tmp_path / "d/f").write_bytes(OLD.content)
    (tmp_path / "d/f").chmod(OLD.mode)
    (tmp_path / "link").symlink_to("/etc/passwd")
    return tmp_path


@pytest.fixture(params=[True, False], ids=["swapped", "linked"])
def files(root, request, monkeypatch):
    """The same with names swapped in one step, and where the system cannot do that."""
    if not request.param:
        monkeypatch.setattr(file_replacement, "_load_renameat2", lambda: None)
    directory = Directory(root, tag="t" * 12)
    yield FilePlace(directory)
    directory.close()


def shape(root):
    return {
        str(path.relative_to(root)): os.readlink(path)
        if path.is_symlink()
        else (path.read_bytes() if path.is_file() else None, path.stat().st_mode)
        for path in sorted(root.rglob("*"))
    }


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_made_and_reversed_to_the_last_bit(files, root, name):
    before, change = shape(root), CHANGES[name]
    kept = files.put(change)
    assert files.look(change.path) == change.after
    assert files.is_unchanged(kept)
    files.take_back(kept)
    assert shape(root) == before


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_is_settled_leaves_nothing_behind(files, root, name):
    kept = files.put(CHANGES[name])
    assert files.settle(kept) is None
    assert not [path for path in shape(root) if "takeback-tmp" in path]


@pytest.mark.parametrize("name", ["replace", "create", "remove"])
def test_an_unexpected_file_is_not_replaced(files, root, name):
    path = root / CHANGES[name].path
    path.write_bytes(b"mine")
    before = shape(root)
    with pytest.raises(ChangedMeanwhile, match="changed by someone else just now"):
        files.put(CHANGES[name])
    assert shape(root) == before


@pytest.mark.parametrize("name", ["replace", "create"])
def test_an_edit_just_before_the_swap_is_detected_and_restored(files, root, name):
    """The last moment: the new file is written aside, the old one is about to go."""
    path = root / CHANGES[name].path

    def meddle(reached):
        if reached == "file.temp.written":
            (root / "other").write_bytes(b"mine")
            os.rename(root / "other", path)

    with arm_failpoints(meddle), pytest.raises(ChangedMeanwhile):
        files.put(CHANGES[name])
    assert path.read_bytes() == b"mine"
    assert not [found for found in shape(root) if "takeback-tmp" in found]


def test_an_edit_through_an_older_descriptor_is_noticed(files, root):
    with (root / "d/f").open("ab") as editor:
        kept = files.put(CHANGES["replace"])
        editor.write(b" and mine")
    assert not files.is_unchanged(kept)
    files.take_back(kept)
    assert (root / "d/f").read_bytes() == b"old and mine"


@pytest.mark.parametrize("name", ["replace", "remove"])
def test_a_late_edit_is_kept_under_its_own_name(files, root, name):
    with (root / "d/f").open("ab") as editor:
        kept = files.put(CHANGES[name])
        editor.write(b" and mine")
    late = files.settle(kept)
    assert late.endswith("f.edited-meanwhile")
    assert (root / late).read_bytes() == b"old and mine"


def test_an_editor_that_is_slow_to_write_is_waited_for(files, root, monkeypatch):
    """It opened the file before the swap and writes only when the change is about to be settled."""
    monkeypatch.setattr("takeback.adapters.files_adapter.PATIENCE", 50_000)  # a busy machine writes late
    editor = (root / "d/f").open("ab", buffering=0)
    kept = files.put(CHANGES["replace"])

    def write():
        time.sleep(0.05)
        editor.write(b" and mine")
        editor.close()

    late = threading.Thread(target=write)
    late.start()
    assert not files.is_unchanged(kept)
    late.join()
    files.take_back(kept)
    assert (root / "d/f").read_bytes() == b"old and mine"


@pytest.mark.parametrize("name", ["replace", "remove"])
def test_an_edit_right_after_the_last_look_is_noticed(files, root, monkeypatch, name):
    look = FilePlace._image
    with (root / "d/f").open("ab", buffering=0) as editor:

        def look_and_be_late(parent, name, *rest):
            image = look(parent, name, *rest)
            if "takeback-tmp" in name:
                editor.write(b" and mine")
            return image

        monkeypatch.setattr(FilePlace, "_image", staticmethod(look_and_be_late))
        kept = files.put(CHANGES[name])
    assert not files.is_unchanged(kept)
    files.take_back(kept)
    assert (root / "d/f").read_bytes() == b"old and mine"


def test_the_wait_for_an_open_editor_is_bounded(files, root, monkeypatch):
    monkeypatch.setattr(files_adapter, "PAUSE", 0.0001)
    with (root / "d/f").open("ab"):
        kept = files.put(CHANGES["replace"])
        assert files.is_unchanged(kept)
        assert files.settle(kept) is None


def test_an_edit_of_the_new_file_is_not_reverted(files, root):
    kept = files.put(CHANGES["replace"])
    (root / "d/f").write_bytes(b"mine, later")
    files.take_back(kept)
    assert (root / "d/f").read_bytes() == b"mine, later"
    assert not [found for found in shape(root) if "takeback-tmp" in found]


def test_changed_permission_bits_stay(files, root):
    (root / "d/f").chmod(0o600)
    files.put(CHANGES["replace"])
    assert (root / "d/f").stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_place_of_a_file_is_refused(files, root):
    (root / "d/f").unlink()
    (root / "d/f").symlink_to("/etc/passwd")
    with pytest.raises(ChangedMeanwhile):
        files.put(CHANGES["replace"])
    assert os.readlink(root / "d/f") == "/etc/passwd"


def test_a_file_in_a_missing_directory_is_refused(files):
    with pytest.raises(HarnessError, match="its directory is not there"):
        files.put(FileChange("nowhere/f", None, NEW))


def test_a_removed_file_does_not_keep_its_directory_from_going(files, root):
    (root / "d/empty").rmdir()
    one = files.put(CHANGES["remove"])
    two = files.put(FileChange("d", DirectoryImage(0o755), None))
    assert not (root / "d").exists()
    files.take_back(two)
    files.take_back(one)
    assert (root / "d/f").read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_written_by_root_keep_their_owner(files, root):
    os.chown(root / "d/f", 1234, 1235)
    os.chown(root / "d", 1236, 1237)
    files.put(CHANGES["replace"])
    files.put(CHANGES["create"])
    files.put(CHANGES["make"])
    owners = {name: (os.stat(root / name).st_uid, os.stat(root / name).st_gid) for name in ("d/f", "d/new", "d/sub")}
    assert owners == {"d/f": (1234, 1235), "d/new": (1236, 1237), "d/sub": (1236, 1237)}


def test_this_system_can_swap_names(root):
    """Where the system can swap names, the fallback must not be what is tested alone."""
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    fd = os.open(root, os.O_RDONLY)
    assert file_replacement.swap_names(fd, "a", "b")
    os.close(fd)
    assert (root / "a").read_text() == "b"
