"""A hook with nothing to record looks at no file's content; anything that changed is looked at and recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing

import pytest
from tests.support.client_harnesses import write_harness

from takeback.adapters import files_adapter, init_workspace, last_look, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.agents import fast_hook
from takeback.agents.hook_events import read_event
from takeback.agents.recorder import answer_after

LONG_AGO = -(10**15)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A harness of Claude Code's files that a look has found as the journal says."""
    monkeypatch.setattr(files_adapter, "SETTLED", LONG_AGO)  # as if everything had been quiet for long
    place = tmp_path / "p"
    place.mkdir()
    write_harness(place, "claude-code")
    (place / "src/deep").mkdir(parents=True)
    init_clients(place, ("claude-code",))
    tell(place)
    assert last_look.is_unchanged(str(place))
    return place


def event(root, name="Stop", **more):
    return json.dumps({"hook_event_name": name, "cwd": str(root), "session_id": "s", **more}).encode()


def tell(root, **more):
    return answer_after(read_event(event(root, **more), "claude-code", str(root)))


def adopted(root):
    with closing(open_workspace(root, hold=False)) as harness:
        return sum(entry.kind == "adopt" for entry in harness.log())


def keep_times(path, content):
    status = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


RECORDED = {
    "a longer text": lambda root: (root / "CLAUDE.md").write_text("# Quite another text\n"),
    "a text of the same size and time": lambda root: keep_times(
        root / "CLAUDE.md", (root / "CLAUDE.md").read_bytes().swapcase()
    ),
    "a file replaced by a rename": lambda root: (
        (root / "x").write_text("# Renamed\n"),
        (root / "x").rename(root / "CLAUDE.md"),
    ),
    "a file that goes": lambda root: (root / "CLAUDE.md").unlink(),
    "instructions in a folder that had none": lambda root: (root / "src/deep/CLAUDE.md").write_text("# Deep\n"),
    "a command in a new folder": lambda root: (
        (root / ".claude/commands/new").mkdir(parents=True),
        (root / ".claude/commands/new/x.md").write_text("Do it.\n"),
    ),
    "settings": lambda root: (root / ".claude/settings.json").write_text('{"model": "haiku"}\n'),
}
LOOKED_AT = {
    "permission bits": lambda root: (root / "CLAUDE.md").chmod(0o600),
    "the journal's end": lambda root: (root / ".takeback/HEAD").write_text(f"9 {'0' * 64}\n"),
    "no note of the journal's end": lambda root: (root / ".takeback/HEAD").unlink(),
    "the manifest": lambda root: (root / ".takeback/manifest.toml").touch(),
    "no note": lambda root: (root / ".takeback/seen").unlink(),
    "a spoilt note": lambda root: (root / ".takeback/seen").write_bytes(b"{"),
    "a hostile note": lambda root: (root / ".takeback/seen").write_text(
        json.dumps(
            {"version": 2, "order": sys.byteorder, "journal": 1, "manifest": [], "folders": [[]], "counts": ["x"]}
        )
    ),
    "a note cut short": lambda root: (root / ".takeback/seen").write_bytes(
        (root / ".takeback/seen").read_bytes()[:-1]
    ),
    "a note of a machine that writes numbers otherwise": lambda root: change_note(root, order="middle"),
    "a note of more files than it holds": lambda root: change_note(
        root, counts=[count + 1 for count in read_note(root)[0]["counts"]]
    ),
    "a note of fewer files than it holds": lambda root: change_note(
        root, counts=[0 for count in read_note(root)[0]["counts"]]
    ),
    "a note with a name that leads out": lambda root: change_note(
        root, folders=["../" * 9 + "etc", *read_note(root)[0]["folders"][1:]]
    ),
    "a note of a link": lambda root: ((root / ".takeback/seen").rename(root / "n"), link(root)),
}


def read_note(root):
    head, _, rest = (root / ".takeback/seen").read_bytes().partition(b"\n")
    return json.loads(head), rest


def change_note(root, **more):
    head, rest = read_note(root)
    (root / ".takeback/seen").write_bytes(json.dumps({**head, **more}).encode() + b"\n" + rest)


def link(root):
    (root / ".takeback/seen").symlink_to(root / "n")


@pytest.mark.parametrize("change", RECORDED)
def test_every_change_of_a_harness_file_is_noticed_and_recorded(root, change):
    before = adopted(root)
    RECORDED[change](root)
    assert not fast_hook.has_nothing_to_record(event(root), str(root))
    tell(root)
    assert adopted(root) == before + 1


@pytest.mark.parametrize("change", LOOKED_AT)
def test_a_changed_dependency_of_the_note_is_looked_at_again(root, change):
    LOOKED_AT[change](root)
    assert not fast_hook.has_nothing_to_record(event(root), str(root))


def test_nothing_is_read_for_an_event_with_nothing_to_record(root, monkeypatch):
    read, asked = [], []
    take, stat = last_look._Root.bytes, os.stat
    monkeypatch.setattr(
        last_look._Root, "bytes", lambda self, name, *rest: (read.append(name), take(self, name, *rest))[1]
    )
    monkeypatch.setattr(
        last_look.os, "stat", lambda *args, **options: (asked.append(args[0]), stat(*args, **options))[1]
    )
    head, names = read_note(root)
    assert last_look.is_unchanged(str(root))
    assert set(read) == {".takeback/seen", ".takeback/HEAD"}
    assert len(asked) <= sum(head["counts"]) + 2
    assert b"CLAUDE.md" in names


@pytest.mark.parametrize("name", ["Stop", "SessionStart", "PostToolUse", "FileChanged"])
def test_an_event_with_nothing_to_record_removes_its_note(root, name):
    fast_hook.note_tool_call(str(root), "s", "c1", ())
    given = event(root, name, tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="c1")
    assert fast_hook.has_nothing_to_record(given, str(root))
    assert fast_hook.is_claimed_by_tool(str(root)) == (name == "FileChanged")


def test_a_call_that_may_contain_a_patch_is_fully_examined(root):
    given = {"tool_name": "Bash", "tool_input": {"command": "apply_patch <<'EOF'\n*** Begin Patch\nEOF"}}
    assert not fast_hook.has_nothing_to_record(event(root, "PostToolUse", **given), str(root))


def test_a_harness_whose_files_were_just_written_is_not_noted(root, monkeypatch):
    (root / ".takeback/seen").unlink()
    monkeypatch.setattr(files_adapter, "SETTLED", 10**15)
    tell(root)
    assert not (root / ".takeback/seen").exists()


def test_an_unparsable_file_is_not_noted(root):
    (root / ".claude/settings.json").write_text("{")
    for _ in range(2):
        assert "settings.json" in tell(root).err
        assert not fast_hook.has_nothing_to_record(event(root), str(root))


def test_a_workspace_is_noted_and_watched_too(tmp_path, monkeypatch):
    monkeypatch.setattr(files_adapter, "SETTLED", LONG_AGO)
    root = init_workspace(tmp_path / "w")
    tell(root)
    assert fast_hook.has_nothing_to_record(event(root), str(root))
    (root / "files/a/b").mkdir(parents=True)
    assert not fast_hook.has_nothing_to_record(event(root), str(root))
    tell(root)
    tell(root)
    assert fast_hook.has_nothing_to_record(event(root), str(root))
    (root / "files/a/b/c.txt").write_text("new\n")
    assert not fast_hook.has_nothing_to_record(event(root), str(root))


def test_an_event_with_nothing_to_record_imports_little(root):
    script = (
        "import sys; from takeback.cli.hook_answer import answer_hook; "
        "code = answer_hook('claude-code'); print(code, *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=event(root), cwd=root, capture_output=True, check=True
    )
    code, *modules = done.stdout.decode().split()
    ours = {name for name in modules if name.startswith("takeback.")}
    assert code == "0"
    assert "takeback.harness" not in ours
    assert not {"pydantic", "typer", "sqlite3", "pathlib"} & set(modules)
    assert len(ours) <= 12, ours
