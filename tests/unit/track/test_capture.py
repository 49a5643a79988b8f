"""What a capture stores: each call a row, contents before and after, and nothing that is nobody's change."""

from __future__ import annotations

import os

import pytest
from tests.support.tracked import Project

from takeback.track.call import Call
from takeback.track.capture import capture_found, capture_prompt
from takeback.track.scan import Scan


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project").begin()


def test_a_shell_command_is_a_row_with_the_contents_before_and_after(project):
    project.before()
    project.write("src/a.py", "one\nTWO\nthree\n")
    (project.root / "src/b.py").unlink()
    project.write("new/c.py", "c\n")
    project.after(Call("claude-code", "s1", "c1", "Bash", "npm run fix"))
    [row] = project.rows()
    assert (row.kind, row.client, row.session, row.call, row.tool) == ("call", "claude-code", "s1", "c1", "Bash")
    assert row.command == "npm run fix"
    assert 0 < row.began < row.ended
    assert project.changes() == [
        {
            "new/c.py": (None, b"c\n"),
            "src/a.py": (b"one\ntwo\nthree\n", b"one\nTWO\nthree\n"),
            "src/b.py": (b"b\n", None),
        }
    ]


def test_contents_that_git_has_are_not_stored_again(project):
    with project.store() as store:
        stats = store.stats()
    assert (stats.files, stats.kept_by_git, stats.contents) == (4, 4, 0)


@pytest.mark.parametrize("git", [True, False], ids=["in git", "without a repository"])
def test_every_content_is_available_without_the_working_tree(tmp_path, git):
    project = Project(tmp_path / "project", git=git)
    project.write("src/a.py", "edited by hand\n")
    project.write("untracked.txt", "untracked\n")
    project.begin()
    with project.store() as store:
        paths = sorted(store.list_paths())
        assert paths == [".gitignore", "docs/read me.md", "src/a.py", "src/b.py", "untracked.txt"]
        for path in paths:
            assert store.content(store.facts(path).digest) == (project.root / path).read_bytes()


def test_contents_that_git_converts_on_checkout_are_stored(tmp_path):
    project = Project(tmp_path / "project", {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\ntwo\n"})
    (project.root / "a.txt").unlink()
    project.git("checkout", "-q", "a.txt")
    assert (project.root / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    project.begin()
    with project.store() as store:
        assert store.content(store.facts("a.txt").digest) == b"one\r\ntwo\r\n"
        assert store.stats().contents == 1


def test_an_edit_by_hand_before_a_command_is_a_row_of_its_own(project):
    project.write("src/a.py", "by hand\n")
    project.before()
    project.write("src/a.py", "by the command\n")
    project.after()
    assert [row.kind for row in project.rows()] == ["found", "call"]
    assert [change["src/a.py"] for change in project.changes()] == [
        (b"one\ntwo\nthree\n", b"by hand\n"),
        (b"by hand\n", b"by the command\n"),
    ]


def test_changes_found_before_a_call_name_only_calls_that_may_still_run(project):
    project.write("src/a.py", "by hand\n")
    project.before()
    [row] = project.rows()
    assert (row.beside, row.notes) == ((), ())
    project.write("src/a.py", "by hand again\n")
    project.before(Call("codex", "s2", "c2", "Bash"))
    assert project.rows()[-1].notes == ("found changed; Bash c1 may still run",)


def test_a_background_command_is_named_in_later_changes_of_its_turn(project):
    lasting = Call("claude-code", "s1", "c1", "Bash", "npm run dev")
    lasting.lasting = True
    project.before()
    project.write("src/a.py", "at once\n")
    project.after(lasting)
    project.write("src/a.py", "later\n")
    project.before(Call("claude-code", "s1", "c2", "Bash"))
    first, second = project.rows()
    assert (first.kind, first.beside) == ("call", ())
    assert (second.kind, second.notes) == ("found", ("found changed; Bash c1 may still run",))
    capture_found(str(project.root), Call("claude-code", "s1"), project.environment, over=True)
    project.write("src/a.py", "much later\n")
    project.look()
    assert project.rows()[-1].notes == ()


def test_a_call_that_is_not_made_is_forgotten(project):
    project.before(Call("claude-code", "s1", "c0", "Edit", paths=["src/b.py"]))
    with project.store() as store:
        store.forget_call("s1", "c0")
    project.before()
    project.write("src/a.py", "by the command\n")
    project.after()
    assert project.rows()[0].beside == ()


def test_a_call_without_changes_makes_no_row(project):
    project.before()
    project.after()
    project.look()
    assert project.rows() == []


def test_an_edit_tool_captures_only_its_own_files(project):
    edit = Call("claude-code", "s1", "c2", "Edit", paths=["src/a.py"], edits=[("src/a.py", "two", "2")])
    project.before(edit)
    project.write("src/a.py", "one\n2\nthree\n")
    project.write("src/b.py", "elsewhere\n")
    project.after(edit)
    [row] = project.rows()
    assert [delta.path for delta in row.deltas] == ["src/a.py"]
    assert row.edits == (("src/a.py", "two", "2"),)
    project.look()
    assert [delta.path for delta in project.rows()[1].deltas] == ["src/b.py"]


def test_a_file_written_into_new_folders_by_an_edit_tool_is_a_row(project):
    write = Call("claude-code", "s1", "c2", "Write", paths=["x/y/z.py"])
    project.before(write)
    project.write("x/y/z.py", "z\n")
    project.write("x/y/other.py", "other\n")
    project.after(write)
    project.look()
    assert [sorted(change) for change in project.changes()] == [["x/y/z.py"], ["x/y/other.py"]]


def test_an_edit_tool_in_an_ignored_folder_is_no_row(project):
    write = Call("claude-code", "s1", "c2", "Write", paths=["build/deep/z.py"])
    project.before(write)
    project.write("build/deep/z.py", "z\n")
    project.after(write)
    project.look()
    assert project.rows() == []


def test_calls_name_those_that_ran_beside_them(project):
    other = Call("claude-code", "s2", "c9", "Bash", "true")
    project.before()
    project.before(other)
    project.write("src/a.py", "x\n")
    project.after(other)
    project.write("src/b.py", "y\n")
    project.after()
    first, second = project.rows()
    assert (first.beside, second.beside) == (("Bash s1/c1",), ("Bash s2/c9",))


def test_a_prompt_belongs_only_to_calls_of_its_session(project):
    capture_prompt(str(project.root), Call("claude-code", "s1"), "make the tests pass", project.environment)
    capture_prompt(str(project.root), Call("claude-code", "s2"), "another", project.environment)
    project.before()
    project.write("src/a.py", "x\n")
    project.after()
    [row] = project.rows()
    with project.store() as store:
        assert store.prompt(row.prompt).text_first_line_masked == "make the tests pass"
        assert store.prompt(99) is None


def test_a_call_without_a_snapshot_before_it_is_marked(project):
    project.write("src/a.py", "x\n")
    project.after()
    assert "no look before the call" in project.rows()[0].notes[0]


def test_mode_only_and_line_endings_only_are_changes(project):
    project.before()
    (project.root / "src/b.py").chmod(0o755)
    project.write("src/a.py", "one\r\ntwo\r\nthree\r\n")
    project.after()
    [row] = project.rows()
    by_path = {delta.path: delta for delta in row.deltas}
    assert (by_path["src/b.py"].before.mode, by_path["src/b.py"].after.mode) == (0o644, 0o755)
    assert by_path["src/b.py"].before.digest == by_path["src/b.py"].after.digest
    assert by_path["src/a.py"].before.digest != by_path["src/a.py"].after.digest


def test_a_rename_in_case_only_records_both_names(project):
    project.before()
    (project.root / "src/a.py").rename(project.root / "src/A.py")
    project.after()
    assert project.changes() == [{"src/A.py": (None, b"one\ntwo\nthree\n"), "src/a.py": (b"one\ntwo\nthree\n", None)}]


def test_a_link_is_recorded_by_its_target_and_not_followed(project):
    outside = project.root.parent / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("private")
    project.before()
    (project.root / "link").symlink_to("../outside/private.txt")
    (project.root / "folder").symlink_to("../outside")
    project.after()
    [row] = project.rows()
    assert {delta.path: delta.after.kind for delta in row.deltas} == {"folder": "link", "link": "link"}
    assert project.changes()[0]["link"] == (None, b"../outside/private.txt")


def test_names_of_any_kind_are_tracked(project):
    names = ["-rf", "new\nline", ":(glob)x", "a\\b", "*.py", "é", "e\u0301", os.fsdecode(b"\xff\xfe"), " lead", "'q'"]
    project.before()
    for name in names:
        project.write(f"odd/{name}", name.encode("utf-8", "surrogateescape"))
    project.after()
    found = project.changes()[0]
    assert set(found) == {f"odd/{name}" for name in names}
    assert found[f"odd/{names[7]}"] == (None, b"\xff\xfe")


def test_a_change_of_equal_size_with_its_time_put_back_is_found(project):
    place = project.root / "src/a.py"
    project.look()
    before = place.stat()
    place.write_text("ONE\ntwo\nthree\n")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    project.look()
    assert project.changes()[-1]["src/a.py"][1] == b"ONE\ntwo\nthree\n"


@pytest.mark.parametrize("fresh", [True, False], ids=["just before the look", "long before it"])
def test_a_file_changed_just_before_a_look_is_read_again(project, fresh):
    project.look()
    place = project.root / "src/a.py"
    place.write_text("ONE\ntwo\nthree\n")
    now, folder_now = place.stat(), place.parent.stat()
    with project.store() as store:  # as on a file system whose clock ticks slowly
        database = store._database
        folder = database.load_folder("src")
        at = folder.names.index("a.py")
        assert folder.columns[0][at] < 0
        ctime = -now.st_ctime_ns if fresh else now.st_ctime_ns
        for column, value in enumerate((ctime, now.st_mtime_ns, now.st_ino, now.st_size)):
            folder.columns[column][at] = value
        folder.sign = (folder_now.st_ctime_ns, folder_now.st_mtime_ns, folder_now.st_ino)
        with database.transaction(synced=True):
            database.save_folder(folder)
    project.look()
    assert bool(project.rows()) is fresh


def test_a_settled_file_is_not_read_again(project, monkeypatch):
    for path in project.root.rglob("*"):
        if ".git" not in path.parts and ".takeback" not in path.parts:
            os.utime(path)
    monkeypatch.setattr("takeback.track.scan.SETTLED", -(10**12))
    monkeypatch.setattr("takeback.track.reader.SETTLED", -(10**12))
    project.look()
    seen = []
    plain = Scan.count
    monkeypatch.setattr(Scan, "count", lambda scan: seen.append(plain(scan)) or plain(scan))
    project.look()
    assert set(seen) == {0}


def test_takebacks_own_writes_are_not_recorded_as_changes(project):
    project.write("src/a.py", "put back\n")
    (project.root / "src/b.py").unlink()
    project.write("again/new.py", "n\n")
    with project.store() as store:
        former = store.facts("src/a.py").digest
        store.note_written(["src/a.py", "src/b.py", "again/new.py"])
        assert store.content(former) == b"one\ntwo\nthree\n"
        assert store.content(store.facts("src/a.py").digest) == b"put back\n"
        assert store.facts("src/b.py") is None
    project.look()
    assert project.rows() == []


def test_rows_are_dropped_once_and_their_numbers_are_not_used_again(project):
    project.write("src/a.py", "x\n")
    project.look()
    with project.store() as store:
        store.drop_rows([1])
        assert list(store.rows()) == []
    project.write("src/a.py", "y\n")
    project.look()
    assert [row.number for row in project.rows()] == [2]


def test_a_branch_switch_is_recorded_as_an_action_of_git(project):
    project.git("checkout", "-qb", "two")
    project.write("src/a.py", "on two\n")
    project.git("commit", "-qam", "second")
    project.look()
    with project.store() as store:
        store.drop_rows([row.number for row in store.rows()])
    project.before()
    project.git("checkout", "-q", "main")
    project.after(Call("claude-code", "s1", "c1", "Bash", "git checkout main", mask=str))
    [row] = project.rows()
    assert (row.kind, row.git) == ("git", "checkout: moving from two to main")
    assert project.changes() == [{"src/a.py": (b"on two\n", b"one\ntwo\nthree\n")}]


def test_changes_of_a_command_that_commits_belong_to_the_command(project):
    project.before()
    project.write("src/a.py", "x\n")
    project.git("commit", "-qam", "second")
    project.after()
    [row] = project.rows()
    assert (row.kind, row.git) == ("call", "commit")


def test_a_checkout_before_a_commit_counts_as_an_action_of_git(project):
    project.git("branch", "two")
    project.write("src/a.py", "on main\n")
    project.git("commit", "-qam", "second")
    project.look()
    project.before()
    project.git("checkout", "-q", "two")
    project.git("commit", "-q", "--allow-empty", "-m", "empty")
    project.after(Call("claude-code", "s1", "c1", "Bash", "x", mask=str))
    row = project.rows()[-1]
    assert (row.kind, row.git) == ("git", "checkout: moving from main to two")


def test_a_file_left_out_by_a_sparse_checkout_is_not_a_removal(project):
    project.before()
    project.git("sparse-checkout", "set", "docs")
    assert not (project.root / "src/a.py").exists()
    project.after()
    assert all(delta.after is not None for row in project.rows() for delta in row.deltas)


def test_a_git_lock_is_waited_for_and_reported(project):
    lock = project.write(".git/index.lock", "")
    project.write("src/a.py", "x\n")
    project.look()
    lock.unlink()
    assert "index.lock" in project.rows()[0].notes[0]
