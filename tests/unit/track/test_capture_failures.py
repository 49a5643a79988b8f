"""What a capture survives: kills at every point, two at once, full disks, broken databases, strange files."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import sqlite3
import subprocess
import sys

import pytest
from tests.support.tracked import SHELL, Project

from takeback.track import capture, content_sink, reader
from takeback.track.call import Call
from takeback.track.database import TRACK, Database

TRY = 150


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project").begin()


class Dying:
    """A connection whose process ends at one of its statements, before or after it is run."""

    def __init__(self, connection, left, *, late):
        self._connection, self._left, self._late = connection, left, late

    def _run(self, name, *given):
        self._left -= 1
        if self._left == 0 and not self._late:
            os._exit(9)
        found = getattr(self._connection, name)(*given)
        if self._left == 0:
            os._exit(9)
        return found

    def execute(self, *given):
        return self._run("execute", *given)

    def executemany(self, sql, rows):
        return self._run("executemany", sql, list(rows))

    def close(self):
        self._connection.close()


@pytest.mark.parametrize("late", [False, True], ids=["before a statement", "after it"])
def test_a_capture_killed_anywhere_records_each_change_once(project, monkeypatch, late):
    project.before()
    project.write("src/a.py", "changed\n")
    project.write("new/c.py", "c\n")
    (project.root / "src/b.py").unlink()
    saved = project.root.parent / "saved"
    shutil.copytree(project.root / ".takeback", saved)
    plain = Database._read_meta
    for left in range(1, TRY):
        shutil.rmtree(project.root / ".takeback")
        shutil.copytree(saved, project.root / ".takeback")
        child = os.fork()
        if child == 0:

            def dying(database, left=left):
                database._connection = Dying(database._connection, left, late=late)
                return plain(database)

            monkeypatch.setattr(Database, "_read_meta", dying)
            project.after()
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        project.after()
        assert {path: pair for change in project.changes() for path, pair in change.items()} == {
            "new/c.py": (None, b"c\n"),
            "src/a.py": (b"one\ntwo\nthree\n", b"changed\n"),
            "src/b.py": (b"b\n", None),
        }, left
        assert sum(len(change) for change in project.changes()) == 3, left
        if ended == 0:
            break
    else:
        pytest.fail("the capture has more statements than were tried")
    assert left > 10


def test_concurrent_captures_record_each_change_once(project):
    program = (
        "import os, sys\nfrom takeback.track.call import Call\n"
        "from takeback.track.capture import capture_before, capture_after\n"
        "root, name = sys.argv[1:3]\n"
        "for at in range(5):\n"
        "    call = Call('c', name, str(at), 'Bash', 'x')\n"
        "    capture_before(root, call, os.environ)\n"
        "    open(f'{root}/{name}.txt', 'w').write(f'{name} {at}')\n"
        "    assert not capture_after(root, call, os.environ).said\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(project.root), name], env={**os.environ, "HOME": "/"})
        for name in ("p", "q", "r")
    ]
    assert [one.wait(600) for one in running] == [0, 0, 0]
    steps: dict[str, list[tuple[bytes | None, bytes | None]]] = {}
    for change in project.changes():
        for path, pair in change.items():
            steps.setdefault(path, []).append(pair)
    assert sorted(steps) == ["p.txt", "q.txt", "r.txt"]
    for path, pairs in steps.items():
        name = path[0]
        assert pairs[0][0] is None
        assert pairs[-1][1] == f"{name} 4".encode()
        assert all(former[1] == later[0] for former, later in itertools.pairwise(pairs))


def test_on_an_almost_full_disk_only_digests_are_kept(project, monkeypatch):
    monkeypatch.setattr(content_sink, "is_almost_full", lambda root: True)
    project.before()
    project.write("src/a.py", "changed\n")
    told = project.after()
    assert "almost full" in told.said[0]
    [row] = project.rows()
    assert row.unkept == (("src/a.py", content_sink.WHY_FULL),)
    assert project.changes() == [{"src/a.py": (b"one\ntwo\nthree\n", None)}]


def test_a_full_disk_fails_no_call_and_the_next_capture_finds_the_change(project, monkeypatch):
    def fail(*given):
        raise sqlite3.OperationalError("database or disk is full")

    project.before()
    project.write("src/a.py", "changed\n")
    with monkeypatch.context() as patched:
        patched.setattr(Database, "save_folder", fail)
        told = project.after()
    assert "disk is full" in told.said[0]
    assert project.rows() == []
    project.look()
    assert project.changes() == [{"src/a.py": (b"one\ntwo\nthree\n", b"changed\n")}]


@pytest.mark.parametrize("way", ["deleted", "cut", "other bytes", "no cache"])
def test_a_lost_or_damaged_database_is_restarted_and_reported(project, way):
    place = project.root / TRACK
    for ending in ("-wal", "-shm"):
        place.with_name(place.name + ending).unlink(missing_ok=True)
    if way == "deleted":
        place.unlink()
    elif way == "cut":
        place.write_bytes(place.read_bytes()[:3000])
    elif way == "other bytes":
        place.write_bytes(b"\x00\xff" * 5000)
    else:
        with sqlite3.connect(place) as connection:
            connection.execute("UPDATE folders SET body = x'ffffffff00' WHERE path = x''")
        connection.close()
    project.write("src/a.py", "changed meanwhile\n")
    told = project.before()
    assert "tracking begins anew" in told.said[0]
    [row] = project.rows()
    assert row.deltas == ()
    assert "not known" in row.notes[0]
    project.write("src/a.py", "changed\n")
    project.after()
    assert project.changes()[-1] == {"src/a.py": (b"changed meanwhile\n", b"changed\n")}


def test_a_killed_first_capture_is_finished_by_the_next(project):
    with project.store() as store, store._database.transaction(synced=True):
        store._database.run("DELETE FROM meta WHERE name = 'looked'")
    project.begin()
    project.write("src/a.py", "changed\n")
    assert project.look().said == []
    assert project.changes() == [{"src/a.py": (b"one\ntwo\nthree\n", b"changed\n")}]
    project.begin()
    assert len(project.rows()) == 1  # what is begun stays as it is


def test_a_hook_finishes_a_killed_first_capture(project):
    with project.store() as store, store._database.transaction(synced=True):
        store._database.run("DELETE FROM meta WHERE name = 'looked'")
    assert "was begun and not finished" in project.before().said[0]
    assert [row.deltas for row in project.rows()] == [()]


def test_a_path_in_a_strangers_cache_leads_nowhere(project):
    (project.root.parent / "outside.txt").write_text("outside")
    with sqlite3.connect(project.root / TRACK) as connection:
        connection.execute("UPDATE folders SET path = ? WHERE path = ?", (b"..", b"src"))
    connection.close()
    assert "held what is no cache" in project.look().said[0]
    with project.store() as store:
        assert "../outside.txt" not in set(store.list_paths())


def test_a_moved_project_is_read_again_without_recording_changes(project):
    moved = project.root.parent / "moved"
    shutil.copytree(project.root, moved, symlinks=True)
    project.root = moved
    (moved / "src/b.py").write_text("edited\n")
    project.look()
    assert project.changes() == [{"src/b.py": (b"b\n", b"edited\n")}]


def test_after_the_clock_is_set_back_every_file_is_read(project):
    place = project.root / "src/a.py"
    project.look()
    status = place.stat()
    place.write_text("ONE\ntwo\nthree\n")
    now = place.stat()
    with project.store() as store:
        database = store._database
        folder = database.load_folder("src")
        at = folder.names.index("a.py")
        for column, value in enumerate((now.st_ctime_ns, now.st_mtime_ns, now.st_ino, now.st_size)):
            folder.columns[column][at] = value
        folder.sign = ((project.root / "src").stat().st_ctime_ns, (project.root / "src").stat().st_mtime_ns, (project.root / "src").stat().st_ino)  # fmt: skip  # noqa: E501
        with database.transaction(synced=True):
            database.save_folder(folder)
    del status
    project.look()
    assert project.rows() == []  # the cache was made to say that nothing changed
    with project.store() as store, store._database.transaction(synced=True):
        store._database.set("looked", store._database.meta["looked"] + 3600 * 10**9)
    project.look()
    assert project.changes() == [{"src/a.py": (b"one\ntwo\nthree\n", b"ONE\ntwo\nthree\n")}]


@pytest.mark.parametrize("way", ["pruned", "removed"])
def test_contents_lost_from_git_are_stored_in_time(project, way):
    if way == "removed":
        shutil.rmtree(project.root / ".git")
    else:
        project.git("rm", "-q", "--cached", "src/a.py")
        project.git("commit", "-q", "--amend", "-m", "without")
        project.git("reflog", "expire", "--expire=now", "--all")
        project.git("gc", "-q", "--prune=now")
    project.before()
    project.write("src/a.py", "changed\n")
    project.after()
    found = [change for change in project.changes() if "src/a.py" in change]
    assert found == [{"src/a.py": (b"one\ntwo\nthree\n", b"changed\n")}]


def test_a_folder_replaced_by_a_link_counts_as_removed_and_is_not_followed(project):
    outside = project.root.parent / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("private")
    project.before()
    shutil.rmtree(project.root / "src")
    (project.root / "src").symlink_to("../outside")
    project.after()
    assert project.changes() == [
        {"src": (None, b"../outside"), "src/a.py": (b"one\ntwo\nthree\n", None), "src/b.py": (b"b\n", None)}
    ]


def test_a_pipe_or_socket_in_place_of_a_file_does_not_hang_the_capture(project):
    project.before()
    for name in ("a.py", "b.py"):
        (project.root / "src" / name).unlink()
    os.mkfifo(project.root / "src/a.py")
    os.mkfifo(project.root / "src/new.pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(project.root / "src")
        listening.bind("b.py")
        project.after()
    [row] = project.rows()
    assert {delta.path: (delta.before.kind, delta.after.kind) for delta in row.deltas} == {
        "src/a.py": ("file", "seen"),
        "src/b.py": ("file", "seen"),
    }
    assert ("src/a.py", reader.WHY_OTHER) in row.unkept


def test_a_file_that_grows_while_read_is_reread_once_and_marked(project, monkeypatch):
    plain = reader._read_all

    def grow(file, size, most):
        data = plain(file, size, most)
        with (project.root / "src/a.py").open("a") as more:
            more.write("more\n")
        return data

    project.before()
    project.write("src/a.py", "start\n")
    with monkeypatch.context() as patched:
        patched.setattr(reader, "_read_all", grow)
        project.after()
    [row] = project.rows()
    assert row.notes == ("src/a.py: still being written",)
    project.look()
    assert project.changes()[-1]["src/a.py"][1] == (project.root / "src/a.py").read_bytes()


def test_a_folder_that_cannot_be_read_is_not_taken_for_removed(project, monkeypatch):
    plain = os.open

    def refuse(path, flags, *rest, **named):
        if path == "src":
            raise PermissionError(13, "Permission denied")
        return plain(path, flags, *rest, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        project.look()
    assert project.rows() == []
    project.look()
    assert project.rows() == []


def test_thousands_of_removals_are_one_row(tmp_path):
    files = {f"d{at // 100}/f{at}.txt": f"{at}\n" for at in range(3_000)}
    project = Project(tmp_path / "many", files, git=False).begin()
    project.before()
    for at in range(30):
        shutil.rmtree(project.root / f"d{at}")
    project.after()
    [row] = project.rows()
    assert len(row.deltas) == 3_000
    assert not any(delta.after for delta in row.deltas)
    with project.store() as store:
        found = store.contents([delta.before.digest for delta in row.deltas])
    assert found[row.deltas[7].before.digest] == files[row.deltas[7].path].encode()
    assert len(found) == 3_000


def test_content_past_the_time_limit_is_reported_and_read_later(project, monkeypatch):
    project.before()
    project.write("src/a.py", "changed\n")
    with monkeypatch.context() as patched:
        patched.setattr(capture, "SECONDS", -1.0)
        project.after()
    [row] = project.rows()
    assert row.unkept == (("src/a.py", reader.WHY_UNREAD),)
    assert project.changes() == [{"src/a.py": (b"one\ntwo\nthree\n", None)}]
    project.before()
    project.write("src/a.py", "changed again\n")
    project.after(Call("claude-code", "s1", "c3", "Bash", "x"))
    assert project.changes()[-1] == {"src/a.py": (b"changed\n", b"changed again\n")}


def test_a_lock_held_by_another_process_is_reported_without_failure(project, monkeypatch):
    monkeypatch.setattr("takeback.track.database.WAIT", 0.0)
    with capture.hold_lock(str(project.root)):
        monkeypatch.setattr(capture, "hold_lock", capture_lock)
        told = project.after(SHELL)
    assert "another capture" in told.said[0]


def capture_lock(root):
    from takeback.track.database import hold_lock

    return hold_lock(root, 0.05)
