"""Runs, snapshots and layers without an overlay: what is refused and why, what is found again, what a layer says."""

from __future__ import annotations

import errno
import os
import re
import time
from pathlib import Path

import pytest

from takeback.agents.overlay.layer import Snapshot, read_layer, show_path, take_snapshot
from takeback.agents.overlay.runs import (
    NoOverlayError,
    OverlayRun,
    _require_run,
    discard_tree,
    drop_run,
    find_leftovers,
    hold_run,
    make_run,
    require_linux,
    sweep_trash,
)
from takeback.cli.program import load_command
from takeback.errors import HarnessError, InputError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "project"
    (place / "folder/inner").mkdir(parents=True)
    (place / "folder/one").write_text("one")
    (place / "folder/inner/two").write_text("two")
    (place / ".takeback").mkdir()
    (place / ".takeback/own").write_text("own")
    return place


def test_another_operating_system_is_refused_with_an_alternative() -> None:
    with pytest.raises(InputError) as refused:
        require_linux("darwin")
    assert "takeback adopt" in str(refused.value)


@pytest.mark.parametrize(
    ("number", "word"),
    [(errno.EPERM, "does not allow"), (errno.ENODEV, "no overlay file system"), (errno.ENOSYS, "too old")],
)
def test_a_missing_overlay_is_reported_with_step_reason_and_alternative(number: int, word: str) -> None:
    run = OverlayRun(Path("folder"), Path("root"), ("true",), 0.0)
    with pytest.raises(NoOverlayError) as refused:
        _require_run(run, {"step": "mounting the overlay", "errno": number})
    said = str(refused.value)
    assert "mounting the overlay failed" in said
    assert word in said
    assert "takeback adopt" in said


def test_a_killed_overlay_names_the_resume_option() -> None:
    with pytest.raises(HarnessError, match="--resume"):
        _require_run(OverlayRun(Path("folder"), Path("root"), ("true",), 0.0), {"ready": True})


def test_a_snapshot_is_the_same_after_it_was_saved(root: Path, tmp_path: Path) -> None:
    (root / os.fsdecode(b"not\xffutf8\n")).write_text("x")
    snapshot, _ = take_snapshot(root)
    snapshot.save(tmp_path / "names.json")
    again = Snapshot.load(tmp_path / "names.json")
    assert again.list_below("") == snapshot.list_below("")
    assert again.find(os.fsdecode(b"not\xffutf8\n")) is not None
    assert again.find(".takeback") is None
    assert {path for path, _ in again.list_below("folder")} == {"folder/inner/two", "folder/one", "folder/inner"}


def test_a_file_changed_just_now_has_a_digest_and_an_old_one_has_none(root: Path) -> None:
    snapshot, _ = take_snapshot(root)
    fresh = snapshot.find("folder/one")
    assert fresh is not None
    assert fresh.digest
    long_ago = time.time() - 3600
    os.utime(root / "folder/one", (long_ago, long_ago))
    again = take_snapshot(root)[0].find("folder/one")
    assert again is not None
    assert again.digest, "its own change, of its times, is fresh"


def test_no_run_is_made_inside_the_project_or_where_others_can_write(root: Path, tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(HarnessError) as refused:
        make_run([root / "state", open_to_all], root, ["true"])
    said = str(refused.value)
    assert "inside the project" in said
    assert "others can write there" in said
    assert "--scratch" in said


def test_a_running_run_is_not_listed_as_leftover(root: Path, tmp_path: Path) -> None:
    place = tmp_path / "runs"
    made = make_run([], root, ["sleep", "1"], chosen=place)
    with hold_run(made) as free:
        assert free
        assert find_leftovers([place], root) == ()
    assert [run.folder for run in find_leftovers([place], root)] == [made.folder]
    assert find_leftovers([place], tmp_path / "other") == ()
    (made.folder / "work" / "shut").mkdir(mode=0)
    drop_run(made)
    assert not list(place.iterdir())


def test_a_slow_removal_continues_in_another_process(tmp_path: Path) -> None:
    place = tmp_path / "many"
    place.mkdir()
    for number in range(50):
        (place / str(number)).touch()
    discard_tree(place, seconds=-1)
    assert not place.exists()
    end = time.monotonic() + 240
    while list(tmp_path.iterdir()) and time.monotonic() < end:
        time.sleep(0.02)
    assert not list(tmp_path.iterdir())


def test_trash_of_a_killed_process_is_swept(tmp_path: Path) -> None:
    (tmp_path / "gone-0123456789ab").mkdir()
    (tmp_path / "gone-link").symlink_to(tmp_path.parent)
    (tmp_path / "kept").mkdir()
    sweep_trash(tmp_path, tmp_path / "missing")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gone-link", "kept"]


def test_a_layer_lists_additions_changes_and_removals(root: Path, tmp_path: Path) -> None:
    snapshot, _ = take_snapshot(root)
    upper = tmp_path / "upper"
    (upper / "folder/inner").mkdir(parents=True)
    (upper / "folder").chmod((root / "folder").stat().st_mode)
    (upper / "folder/one").write_text("ONE")
    (upper / "folder/inner/three").write_text("three")
    (upper / "folder/inner/two").write_text("two")
    (upper / "folder/inner/two").chmod(0o600)
    try:
        os.setxattr(upper / "folder", "user.overlay.opaque", b"y")
        (upper / "folder/gone").touch()
        os.setxattr(upper / "folder/gone", "user.overlay.whiteout", b"")
    except OSError as fault:
        pytest.skip(f"no attributes here: {fault}")
    (root / "folder/also").write_text("not in the snapshot, so not the command's to remove")
    layer = read_layer(upper, root, snapshot)
    assert {change.path: change.kind for change in layer.changes} == {
        "folder/one": "changed",
        "folder/inner/three": "added",
        "folder/inner/two": "mode",
    }
    assert layer.left_out == ()


def test_an_opaque_folder_hides_everything_that_was_below_it(root: Path, tmp_path: Path) -> None:
    snapshot, _ = take_snapshot(root)
    upper = tmp_path / "upper"
    (upper / "folder").mkdir(parents=True)
    try:
        os.setxattr(upper / "folder", "user.overlay.opaque", b"y")
    except OSError as fault:
        pytest.skip(f"no attributes here: {fault}")
    layer = read_layer(upper, root, snapshot)
    assert {(change.path, change.kind) for change in layer.changes if change.kind == "removed"} == {
        ("folder/one", "removed"),
        ("folder/inner", "removed"),
        ("folder/inner/two", "removed"),
    }


def test_names_are_shown_without_undecodable_bytes() -> None:
    assert show_path(os.fsdecode(b"a\xff")) == "a\\xff"


def test_the_page_names_exactly_the_commands_own_options() -> None:
    page = (Path(__file__).parents[3] / "docs/run.md").read_text()
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page))
    options = {opt for parameter in load_command("run").params for opt in parameter.opts if opt[:2] == "--"}
    shared = {"--dir", "--journal", "--note", "--by", "--stat", "--reveal"}
    assert named == options - shared
