"""A cloned repository that brings a `.takeback`: nothing of it is acted on before its user says so.

Every command of the program, and every hook, is run in the clone. Nothing may be written to it, nothing of it run,
and nothing sent to the server that its manifest names. After `takeback trust` everything works, except that nothing
of a harness is put into `.git`.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support import hostile_clone
from tests.support.forked import run_text
from tests.support.hostile_clone import HOOK, Clone, git, listener, snapshot
from tests.support.reference import commands
from typer.testing import CliRunner

from takeback.adapters import init, init_workspace, open_workspace
from takeback.adapters.opener import load_manifest
from takeback.cli import app, hook_answer
from takeback.cli.program import SERVING
from takeback.errors import TakebackError, UntrustedError

PASSWORD = "the-password-of-the-user"
WORDS = {
    "takeback add": ["tool", "x", '{"description": "x"}'],
    "takeback adopt": ["-m", "x"],
    "takeback apply": [str(Path(__file__).parents[2] / "examples/candidates/config/candidate.json")],
    "takeback audit": ["--since", "30d"],
    "takeback backup": ["../backup.db"],
    "takeback bind": ["records", "--http", "http://127.0.0.1:9/records"],
    "takeback bisect": ["--test", "true"],
    "takeback edit": ["prompt", "x", "--append", "x"],
    "takeback evolve": [".", "say less", "--synthesizer", "oracle"],
    "takeback forget": ["#2", "--yes"],
    "takeback gate": ["--before", ".", "--after", "."],
    "takeback git-hook run": ["pre-commit"],
    "takeback head": ["--sign", "../sign.key"],
    "takeback hold": ["#2"],
    "takeback install": ["claude-code"],
    "takeback leave": ["--yes"],
    "takeback move": ["prompt", "x", "y"],
    "takeback probe": ["records"],
    "takeback propose": [".", "say less", "--synthesizer", "oracle"],
    "takeback remove": ["prompt", "x"],
    "takeback recover": ["--now"],
    "takeback redo": ["--last"],
    "takeback resolve": ["#2", "1", "--made"],
    "takeback restore": ["--to", "#1"],
    "takeback restore-journal": [".takeback/journal.db"],
    "takeback run": ["--", "true"],
    "takeback set": ["config", "a", "1"],
    "takeback report": ["--out", "report.html"],
    "takeback share": ["#1", "--out", "share.html"],
    "takeback show": ["#1"],
    "takeback undo": ["--last"],
    "takeback uninstall": ["claude-code"],
    "takeback watch": ["--for", "1"],
    "takeback web": ["--no-open"],
}
"""What a command needs to get going; one that is not here, such as a new one, is run with nothing."""
ELSEWHERE = (
    "takeback lab",
    "takeback bench",
    "takeback model",
    "takeback torture",
    "takeback demo",
    "takeback tasks",
)
"""Commands that work in folders of their own, for minutes."""
TRUSTING = ("takeback trust",)
LOOKING = ("status", "log", "diff", "export", "show", "doctor")
CHANGING = (
    "apply",
    "backup",
    "bind",
    "head",
    "hold",
    "leave",
    "probe",
    "resolve",
    "restore-journal",
    "run",
    "set",
    "add",
    "edit",
    "remove",
    "move",
    "undo",
    "redo",
    "restore",
    "adopt",
    "discard",
    "recover",
    "forget",
)
CHANGING += ("install", "uninstall", "serve", "web", "watch", "git-hook install", "git-hook run", "bisect", "init")


def every_command() -> list[str]:
    """Every command of the program, as it lists them itself."""
    return [name for name in commands() if not name.startswith((*ELSEWHERE, *TRUSTING)) and name != "takeback hook"]


def run(root: Path, name: str, *words: str) -> SimpleNamespace:
    """Run a command in a directory, as it stands there."""
    given = [*name.split()[1:], *(words or WORDS.get(name, []))]
    if name.split()[1] in SERVING:
        done = run_text(given, os.environ, given="", cwd=root)
        return SimpleNamespace(code=done.returncode, told=done.stdout + done.stderr)
    before = Path.cwd()
    os.chdir(root)
    try:
        done = CliRunner().invoke(app, given)
    finally:
        os.chdir(before)
    fault = f"{done.exception}" if isinstance(done.exception, TakebackError) else ""
    code = 2 if fault else done.exit_code
    return SimpleNamespace(code=code, told=f"{done.output}{fault}", exception=done.exception)


def events(root: Path) -> list[tuple[str, dict[str, object]]]:
    """Every event that a client tells a hook of."""
    edit = {"file_path": str(root / "CLAUDE.md"), "old_string": "Rules", "new_string": "Rule"}
    whole = {"file_path": str(root / "notes.md"), "content": "x\n"}
    told: list[tuple[str, dict[str, object]]] = []
    for client, before, after in (
        ("claude-code", "PreToolUse", "PostToolUse"),
        ("codex", "PreToolUse", "PostToolUse"),
        ("gemini", "BeforeTool", "AfterTool"),
        ("opencode", "tool.execute.before", "tool.execute.after"),
    ):
        plain = {"session_id": "s", "cwd": str(root), "tool_use_id": "t"}
        names = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreCompact", "ConfigChange")
        told += [(client, {**plain, "hook_event_name": name}) for name in names]
        told += [(client, {**plain, "hook_event_name": "FileChanged", "file_path": str(root / "CLAUDE.md")})]
        for name in (before, after):
            for tool, given in (("Bash", {"command": "ls"}), ("Edit", edit), ("Write", whole)):
                told += [(client, {**plain, "hook_event_name": name, "tool_name": tool, "tool_input": given})]
    return told


def answer(client: str, event: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """What a hook answers; its exit code and all that it says."""
    out, err = io.StringIO(), io.StringIO()
    data = io.BytesIO(json.dumps(event).encode())
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", SimpleNamespace(buffer=data))
        patched.setattr(sys, "stdout", out)
        patched.setattr(sys, "stderr", err)
        code = hook_answer.answer_hook(client)
    return code, out.getvalue() + err.getvalue()


@pytest.fixture(params=["workspace", "hooks folder", "clients", "database"])
def hostile(request, tmp_path, monkeypatch):
    """A clone of each kind of hostile repository, and what the server was sent that one of them names."""
    ran = tmp_path / "ran"
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with listener() as (port, received):
        if request.param == "clients":
            root = hostile_clone.clients_files(tmp_path)
            hostile_clone.begin_change(root, "CLAUDE.md", ran)
        else:
            root = hostile_clone.workspace(tmp_path)
            hostile_clone.begin_change(root, "config.toml", ran)
        manifest = root / "takeback.toml"
        if request.param == "hooks folder":
            manifest.write_text(manifest.read_text().replace('files = "files"', 'files = ".git/hooks"'))
            assert ".git/hooks" in manifest.read_text()
        if request.param == "database":
            url = f"postgresql://127.0.0.1:{port}/x?connect_timeout=3"
            manifest.write_text(manifest.read_text().replace(".takeback/journal.db", url))
            assert url in manifest.read_text()
        hostile_clone.publish(root)
        yield SimpleNamespace(
            kind=request.param, clone=hostile_clone.clone(root, tmp_path, ran), received=received, origin=root
        )


def assert_untouched(clone: Clone, before: dict[str, tuple[int, int, bytes]], received: bytes, what: str) -> None:
    """Nothing was written, nothing was run, nothing was sent."""
    after = snapshot(clone.root)
    differing = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    assert differing == [], what
    assert not clone.ran.exists(), what
    assert received == b"", what


def test_no_command_acts_on_a_clone(hostile):
    root = hostile.clone.root
    before = snapshot(root)
    for name in every_command():
        done = run(root, name)
        assert not isinstance(getattr(done, "exception", None), AssertionError | OSError), name
        assert_untouched(hostile.clone, before, hostile.received(), name)
    assert {f"takeback {name}" for name in (*LOOKING, *CHANGING)} <= set(every_command())


def test_commands_that_change_refuse_a_clone_and_name_the_way_out(hostile):
    for name in CHANGING:
        done = run(hostile.clone.root, f"takeback {name}")
        assert done.code == 2, (name, done.told)
        if hostile.kind != "hooks folder":
            assert "takeback trust" in done.told, (name, done.told)


def test_read_only_commands_report_what_they_can_without_acting(hostile):
    for name in LOOKING:
        done = run(hostile.clone.root, f"takeback {name}")
        if hostile.kind == "hooks folder":
            assert "surfaces.files" in done.told, (name, done.told)
        else:
            assert "not trusted" in done.told, (name, done.told)
            assert "takeback trust" in done.told, (name, done.told)
        if hostile.kind in {"workspace", "clients"}:
            assert done.code in {0, 1}, (name, done.told)


def test_no_hook_acts_on_a_clone_or_stops_a_session(hostile, monkeypatch):
    root = hostile.clone.root
    before = snapshot(root)
    for client, event in events(root):
        code, told = answer(client, event, monkeypatch)
        what = f"{client} {event}: {told}"
        assert code == 0, what
        assert "deny" not in told, what
        assert_untouched(hostile.clone, before, hostile.received(), what)
        if event["hook_event_name"] in {"SessionStart", "Stop"}:
            assert "takeback trust" in told, what


def test_the_python_interface_does_not_open_a_clone(hostile):
    before = snapshot(hostile.clone.root)
    with pytest.raises(TakebackError) as caught:
        open_workspace(hostile.clone.root)
    assert isinstance(caught.value, UntrustedError) or hostile.kind == "hooks folder"
    assert_untouched(hostile.clone, before, hostile.received(), "open_workspace")


def test_after_trust_everything_works_and_nothing_is_put_into_git(hostile):
    root = hostile.clone.root
    if hostile.kind == "hooks folder":
        refused = run(root, "takeback trust", str(root))
        assert (refused.code, "surfaces.files" in refused.told) == (2, True), refused.told
        manifest = root / "takeback.toml"
        manifest.write_text(manifest.read_text().replace(".git/hooks", "files"))
    done = run(root, "takeback trust", str(root))
    assert done.code == 0, done.told
    if hostile.kind == "database":
        assert hostile.received() == b""
        assert "not trusted" not in run(root, "takeback status").told
        assert PASSWORD.encode() in hostile.received(), "the user has named this server now"
        return
    assert HOOK in done.told
    recovered = run(root, "takeback recover")
    assert recovered.code == 0, recovered.told
    assert not (root / HOOK).exists()
    assert run(root, "takeback adopt").code == 0
    changed = run(root, "takeback set", "config", "cleanupPeriodDays", "9")
    assert changed.code == 0, changed.told
    assert run(root, "takeback undo").code == 0
    assert run(root, "takeback doctor").code == 0
    git(root, "-c", "core.hooksPath=.git/hooks", "-c", "core.fsmonitor=false", "checkout", "-q", "-b", "next")
    assert not (root / HOOK).exists()


def test_a_clone_at_a_place_that_was_trusted_is_not_trusted(tmp_path):
    ran = tmp_path / "ran"
    mine = hostile_clone.workspace(tmp_path)
    hostile_clone.begin_change(mine, "config.toml", ran)
    hostile_clone.publish(mine)
    aside = mine.rename(tmp_path / "aside")
    git(tmp_path, "clone", "-q", str(aside), str(mine))
    assert (mine / ".takeback/trusted").read_bytes() == (aside / ".takeback/trusted").read_bytes()
    before = snapshot(mine)
    done = run(mine, "takeback status")
    assert "not trusted: its .takeback was replaced" in done.told
    assert_untouched(Clone(mine, ran), before, b"", "status")


def test_a_journal_that_a_pull_puts_in_the_place_of_mine_is_not_trusted(tmp_path, monkeypatch):
    ran = tmp_path / "ran"
    mine = init_workspace(tmp_path / "mine")
    git(mine, "init", "-q")
    public = load_manifest(mine).workspace.id
    monkeypatch.setattr(init.uuid, "uuid4", lambda: SimpleNamespace(hex=public))
    theirs = hostile_clone.workspace(tmp_path)
    hostile_clone.begin_change(theirs, "config.toml", ran)
    assert load_manifest(theirs).workspace.id == public
    for path in (".takeback/journal.db", ".takeback/HEAD", "config.toml"):
        (mine / path).write_bytes((theirs / path).read_bytes())
    done = run(mine, "takeback status")
    assert "is not the one that was trusted" in done.told, done.told
    assert not (mine / HOOK).exists()
    assert not ran.exists()


def test_started_as_a_module_it_loads_nothing_from_the_directory_it_is_run_in(tmp_path):
    ran = tmp_path / "ran"
    planted = f"open({str(ran)!r}, 'w').close()\nlisted = {{}}\n"
    for name in ("planted", "yaml", "pydantic", "rich", "typer", "tree_sitter", "sqlite3"):
        (tmp_path / f"{name}.py").write_text(planted)
    about = tmp_path / "planted-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: planted\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[takeback.commands]\nplanted = planted:listed\n")
    for words in (["status"], ["init", "--kind", "workspace", "new"], ["help"]):
        subprocess.run(
            [sys.executable, "-m", "takeback", *words], cwd=tmp_path, capture_output=True, timeout=60, check=False
        )
        assert not ran.exists(), words
    assert (tmp_path / "new/takeback.toml").exists()


@pytest.mark.parametrize("place", ["vendor.git", "deep/.bare", "Vendor"])
@pytest.mark.parametrize("file", ["hooks/post-checkout", "config", "HOOKS/x", "config.worktree"])
def test_what_git_runs_is_no_place_in_a_git_directory_of_any_name(place, file, tmp_path):
    root = init_workspace(tmp_path / "mine")
    manifest = root / "takeback.toml"
    manifest.write_text(manifest.read_text().replace('files = "files"', f'files = "{place}"'))
    git(tmp_path, "init", "-q", "--bare", str(root / place))
    with open_workspace(root) as harness:
        harness.adopt()
    before = snapshot(root / place)
    op = {"op_type": "write_file", "target": file, "value": "#!/bin/sh\n"}
    with (
        open_workspace(root) as harness,
        pytest.raises(TakebackError, match="is a git directory"),
    ):
        harness.apply({"mutation": [op], "witness": [], "recovery": [], "contract": []}, force=True)
    assert snapshot(root / place) == before


def test_an_unfinished_change_leaves_hooks_of_a_git_directory_of_any_name_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(hostile_clone, "HOOK", "vendor.git/hooks/post-checkout")
    ran = tmp_path / "ran"
    root = hostile_clone.workspace(tmp_path)
    git(tmp_path, "init", "-q", "--bare", str(root / "vendor.git"))
    hostile_clone.begin_change(root, "config.toml", ran)
    done = run(root, "takeback recover")
    assert done.code == 0, done.told
    assert not (root / "vendor.git/hooks/post-checkout").exists()
    assert run(root, "takeback status").code == 0
