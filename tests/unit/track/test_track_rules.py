"""Which files are tracked: what git would, less and more by `[track]`; secrets are seen and never kept."""

from __future__ import annotations

import base64
import contextlib
import shutil
import sqlite3
import zlib

import pytest
import zstandard
from tests.support.tracked import Project

from takeback.track.call import Call
from takeback.track.rules import compile_pattern, is_secret_name, read_settings

SECRET = "SECRET_VALUE=hunter2-tr0ub4dor&3"


def list_paths(project):
    with project.store() as store:
        return sorted(store.list_paths())


def find_in_takeback(project, needle: bytes) -> list[str]:
    """Where some bytes stand below .takeback, in any form that we store contents in."""
    forms = {needle, base64.b64encode(needle), needle.hex().encode()}
    found = []
    for path in (project.root / ".takeback").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found += [path.name] if any(form in data for form in forms) else []
    with sqlite3.connect(project.root / ".takeback/track.db") as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f"SELECT * FROM {table}"):
                for value in row:
                    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
                    if isinstance(data, bytes):
                        found += [table] if any(needle in one for one in unpack(data)) else []
    connection.close()
    return found


def unpack(data: bytes):
    yield data
    for start in (0, 1):
        with contextlib.suppress(zlib.error):
            yield zlib.decompressobj().decompress(data[start:])
    with contextlib.suppress(zstandard.ZstdError):
        yield zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 26)


def test_inside_git_the_files_git_would_track_are_tracked(tmp_path):
    project = Project(tmp_path / "project", {".gitignore": "build/\n*.log\n!keep.log\n", "a.py": "a\n"})
    project.write(".git/info/exclude", "mine/\n")
    for path in ("build/x", "x.log", "keep.log", "mine/y", "sub/deep/z.py", "forced/build/q"):
        project.write(path, path)
    project.git("add", "-f", "forced/build/q")
    project.begin()
    assert list_paths(project) == [".gitignore", "a.py", "forced/build/q", "keep.log", "sub/deep/z.py"]


def test_outside_git_ignore_files_and_dependency_folders_are_respected(tmp_path):
    files = {".gitignore": "*.tmp\n", "a.py": "a", "b.tmp": "b", "node_modules/x/y.js": "n", "dist/z.js": "z"}
    project = Project(tmp_path / "project", files, git=False).begin()
    assert list_paths(project) == [".gitignore", "a.py", "dist/z.js"]
    project.write("target/debug/x", "x")
    project.write("new.tmp", "x")
    project.look()
    assert project.rows() == []


def test_without_git_the_built_in_list_is_excluded(tmp_path):
    files = {"a.py": "a", "node_modules/x/y.js": "n"}
    project = Project(tmp_path / "project", files, git=False)
    project.environment["PATH"] = "/nonexistent"
    project.begin()
    assert list_paths(project) == ["a.py"]


def test_the_manifest_includes_and_excludes_files(tmp_path):
    project = Project(tmp_path / "project", include=["build/keep/**"], exclude=["docs", "*.py"])
    project.write("build/keep/x", "x")
    project.write("build/other", "x")
    project.begin()
    assert list_paths(project) == [".gitignore", "build/keep/x"]


def test_the_manifest_can_include_files_of_a_dependency_folder(tmp_path):
    files = {
        "a.txt": "a",
        "node_modules/own/deep/x.js": "x",
        "node_modules/other/y.js": "y",
        "node_modules/z.js": "z",
    }
    project = Project(tmp_path / "project", files, git=False, include=["node_modules/own/**"]).begin()
    assert list_paths(project) == ["a.txt", "node_modules/own/deep/x.js"]


def test_files_that_enter_or_leave_tracking_are_no_change(tmp_path):
    project = Project(tmp_path / "project").begin()
    project.write("build/x", "x")
    project.write("notes.txt", "notes\n")
    project.look()
    with project.store() as store:
        store.drop_rows([row.number for row in store.rows()])
    project.write(".gitignore", "notes.txt\n")
    project.look()
    [row] = project.rows()
    assert [delta.path for delta in row.deltas] == [".gitignore"]
    assert list_paths(project) == [".gitignore", "build/x", "docs/read me.md", "src/a.py", "src/b.py"]
    project.write("build/x", "changed")
    project.look()
    assert project.changes()[-1] == {"build/x": (b"x", b"changed")}
    with project.store() as store:
        assert "notes.txt" not in set(store.list_paths())


def test_a_changed_manifest_takes_effect_and_an_invalid_one_is_reported(tmp_path):
    project = Project(tmp_path / "project").begin()
    project.write(".takeback/manifest.toml", '[track]\nexclude = ["docs"]\n')
    assert project.look().said == []
    assert project.rows() == []
    assert list_paths(project) == [".gitignore", "src/a.py", "src/b.py"]
    project.write(".takeback/manifest.toml", "[track]\nmax_bytes = true\n")
    assert "max_bytes: found True" in project.look().said[0]
    assert list_paths(project) == [".gitignore", "src/a.py", "src/b.py"]


def test_a_secret_file_is_noted_without_its_content(tmp_path):
    project = Project(tmp_path / "project")
    project.write(".env", f"{SECRET}\n")
    project.begin()
    for at in range(3):
        project.before()
        project.write(".env", f"{SECRET}-{at}\n")
        project.write("src/a.py", f"{at}\n")
        project.after()
    edit = Call("claude-code", "s1", "c4", "Edit", paths=[".env"], edits=[(".env", SECRET, f"{SECRET}-edited")])
    project.before(edit)
    project.write(".env", f"{SECRET}-edited\n")
    project.after(edit)
    rows = project.rows()
    assert [delta.path for delta in rows[0].deltas] == [".env", "src/a.py"]
    facts = rows[0].deltas[0]
    assert (facts.before.kind, facts.after.kind) == ("seen", "seen")
    assert facts.before.digest != facts.after.digest
    assert rows[0].unkept == ((".env", "a secret by its name: seen, not kept"),)
    assert rows[-1].edits == ()
    assert find_in_takeback(project, SECRET.encode()) == []
    assert find_in_takeback(project, b"one\ntwo\nthree") == []  # git has it
    project.look()
    assert find_in_takeback(project, b"2\n")  # the search does find what is stored


def test_a_secret_committed_to_git_is_kept_like_other_files(tmp_path):
    project = Project(tmp_path / "project", {".env": "A=1\n", "a.py": "a\n"}).begin()
    project.write(".env", "A=2\n")
    project.look()
    assert project.changes() == [{".env": (b"A=1\n", b"A=2\n")}]


def test_a_secret_ignored_by_git_is_noted(tmp_path):
    project = Project(tmp_path / "project", {".gitignore": ".env\n", "a.py": "a\n"})
    project.write(".env", "A=1\n")
    project.begin()
    project.write(".env", "A=2\n")
    project.look()
    assert [delta.path for delta in project.rows()[0].deltas] == [".env"]


def test_secrets_that_are_kept_are_sealed(tmp_path):
    pytest.importorskip("cryptography")
    from takeback.track.database import make_key_file

    project = Project(tmp_path / "project", secrets="keep")
    key = str(project.root.parent / "track.key")
    make_key_file(key)
    project.write(".env", f"{SECRET}\n")
    project.begin(seal=key)
    project.write(".env", "A=2\n")
    project.look()
    assert project.changes() == [{".env": (f"{SECRET}\n".encode(), b"A=2\n")}]
    assert find_in_takeback(project, SECRET.encode()) == []


def test_a_sealed_project_stores_no_plain_content(tmp_path):
    pytest.importorskip("cryptography")
    from takeback.track.database import make_key_file

    key = str(tmp_path / "track.key")
    make_key_file(key)
    project = Project(tmp_path / "project", git=False).begin(sealed=True, seal=key)
    edit = Call("c", "s", "c", "Edit", paths=["src/a.py"], edits=[("src/a.py", "two", "UNIQUE-WORDS")])
    project.before(edit)
    project.write("src/a.py", "one\nUNIQUE-WORDS\nthree\n")
    project.after(edit)
    assert project.changes() == [{"src/a.py": (b"one\ntwo\nthree\n", b"one\nUNIQUE-WORDS\nthree\n")}]
    assert project.rows()[0].edits == (("src/a.py", "two", "UNIQUE-WORDS"),)
    for needle in (b"UNIQUE-WORDS", b"one\ntwo"):
        assert find_in_takeback(project, needle) == []
    (tmp_path / "track.key").unlink()
    project.write("src/a.py", "and more UNIQUE-WORDS\n")
    told = project.look()
    assert "must be sealed" in told.said[0]
    assert project.changes()[-1]["src/a.py"] == (None, None)
    assert find_in_takeback(project, b"UNIQUE-WORDS") == []


def test_a_file_above_the_size_limit_is_noted_and_not_read(tmp_path):
    project = Project(tmp_path / "project", max_bytes=10)
    project.write("large.bin", b"x" * 11)
    project.begin()
    project.write("large.bin", b"y" * 11)
    project.look()
    [row] = project.rows()
    [delta] = row.deltas
    assert (delta.before.kind, delta.after.kind) == ("seen", "seen")
    assert delta.before.digest != delta.after.digest
    assert find_in_takeback(project, b"y" * 11) == []


def test_nested_projects_are_skipped_unless_named(tmp_path):
    project = Project(tmp_path / "project", nested=["vendor/taken"])
    for name in ("vendor/left", "vendor/taken"):
        project.write(f"{name}/a.c", "a\n")
        project.write(f"{name}/.git/HEAD", "ref: refs/heads/main\n")
    project.begin()
    assert "vendor/taken/a.c" in list_paths(project)
    assert "vendor/left/a.c" not in list_paths(project)
    assert not any(".git/" in path for path in list_paths(project))
    with project.store() as store:
        assert store.stats().nested == ("vendor/left",)
    project.write("vendor/left/a.c", "changed\n")
    project.look()
    assert project.rows() == []


def test_a_clients_files_are_not_tracked_but_their_change_is_signalled(tmp_path):
    files = {"CLAUDE.md": "rules\n", "sub/CLAUDE.md": "more\n", ".claude/settings.json": "{}\n", "a.py": "a\n"}
    project = Project(tmp_path / "project", {**files, ".gitignore": ".claude/\n"})
    project.begin(owned=([".claude/settings.json"], ["CLAUDE.md"]))
    assert list_paths(project) == [".gitignore", "a.py"]
    assert not project.look().owned_changed
    for path in ("CLAUDE.md", "sub/CLAUDE.md", ".claude/settings.json", "new/CLAUDE.md"):
        project.write(path, f"changed {path}")
        assert project.look().owned_changed, path
        assert not project.look().owned_changed, path
    (project.root / "CLAUDE.md").unlink()
    assert project.look().owned_changed
    shutil.rmtree(project.root / "sub")
    assert project.look().owned_changed
    assert project.rows() == []


def test_files_that_become_a_clients_leave_tracking_without_a_row(tmp_path):
    project = Project(tmp_path / "project", {"AGENTS.md": "rules\n", "a.py": "a\n"}).begin()
    with project.store() as store:
        store.set_owned([], ["AGENTS.md"])
    project.look()
    assert project.rows() == []
    assert list_paths(project) == ["a.py"]


def test_new_files_wait_for_the_next_capture_when_git_fails(tmp_path):
    project = Project(tmp_path / "project").begin()
    project.write("new.py", "n\n")
    path, project.environment["PATH"] = project.environment["PATH"], "/nonexistent"
    project.look()
    assert project.rows() == []
    project.environment["PATH"] = path
    project.look()
    assert project.changes() == [{"new.py": (None, b"n\n")}]


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        (".env", True),
        (".env.local", True),
        (".env.example", False),
        (".env.sample", False),
        ("prod.env", True),
        ("server.pem", True),
        ("id_rsa", True),
        ("id_ed25519.pub", False),
        (".netrc", True),
        (".npmrc", True),
        ("credentials.json", True),
        ("credentials.py", False),
        ("environment.py", False),
        ("keyboard.py", False),
    ],
)
def test_secrets_are_recognized_by_file_name(name, secret):
    assert is_secret_name(name) is secret


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("*.py", "a/b.py", True),
        ("docs", "docs/a/b.md", True),
        ("/docs", "x/docs/a", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/b/c/a.py", True),
        ("a?c", "abc", True),
        ("a.c", "abc", False),
        ("x[1]", "x[1]", True),
    ],
)
def test_a_pattern_matches_paths(pattern, path, meant):
    assert bool(compile_pattern(pattern).fullmatch(path)) is meant


@pytest.mark.parametrize(
    "table",
    [
        {"wrong": 1},
        {"include": "a"},
        {"include": [""]},
        {"max_bytes": 0},
        {"max_bytes": "many"},
        {"keep_days": "a"},
        {"secrets": "hide"},
        {"trust": True},
    ],
)
def test_a_wrong_setting_is_reported_with_found_and_expected(table):
    with pytest.raises(ValueError, match=r"track\.\w+: found .*, expected "):
        read_settings(table)


def test_sizes_may_have_units():
    assert read_settings({"max_bytes": "8 MiB", "keep_bytes": "1gb"})["max_bytes"] == 8 << 20


def test_a_project_inside_that_is_one_no_longer_is_tracked_and_no_longer_named(tmp_path):
    project = Project(tmp_path / "p")
    project.write("inner/deep/x", "one\n")
    project.write("inner/.git/HEAD", "ref: refs/heads/main\n")
    project.begin()
    with project.store() as store:
        assert store.stats().nested == ("inner",)
    project.before()
    (project.root / "inner/.git/HEAD").unlink()
    (project.root / "inner/.git").rmdir()
    assert project.after().row == 0
    with project.store() as store:
        assert store.stats().nested == ()
    project.before()
    project.write("inner/deep/x", "one\ntwo\n")
    project.after()
    assert project.changes() == [{"inner/deep/x": (b"one\n", b"one\ntwo\n")}]
