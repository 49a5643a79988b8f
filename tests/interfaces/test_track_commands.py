"""`takeback init --track`, `status` and hooks in a tracked project: what is refused, added, captured and said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.client_harnesses import write_harness
from tests.support.forked import PATIENCE, run_text

from takeback.track.store import TrackStore


class Done:
    def __init__(self, exit_code, output):
        self.exit_code, self.output = exit_code, output


def run(*words, cwd=None, first="", **more):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "300", **more}
    stderr = subprocess.PIPE if "--json" in words else subprocess.STDOUT
    if not first:
        ended = run_text(words, env, cwd=cwd, stderr=stderr)
        return Done(ended.returncode, ended.stdout)
    program = f"import sys\n{first}\nfrom takeback.cli import main\nsys.argv = ['takeback', *sys.argv[1:]]\nmain()\n"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Done(done.returncode, done.stdout)


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("one\ntwo\n")
    (root / ".gitignore").write_text("build/\n")
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    return root


def hook(root, event, tool="", given=None, client="claude-code", **more):
    about = {"hook_event_name": event, "cwd": str(root), "session_id": "s1", "tool_use_id": "c1", **more}
    told = json.dumps({**about, "tool_name": tool, "tool_input": given or {}})
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return run_text(["hook", client], env, given=told, cwd=root)


def read_rows(root):
    with TrackStore.open(root, os.environ) as store:
        return [(row, store.prompt(row.prompt) if row.prompt else None) for row in store.rows()]


def test_init_track_adds_only_takebacks_folder(repository):
    before = sorted(path for path in repository.rglob("*") if ".git" not in path.parts)
    done = run("init", "--track", "--json", cwd=repository)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["tracked"]
    assert told["tracking"]["files"] == 2
    after = sorted(path for path in repository.rglob("*") if not {".git", ".takeback"} & set(path.parts))
    assert after == before
    assert (
        subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True, check=True).stdout
        == b""
    )
    manifest = (repository / ".takeback/manifest.toml").read_text()
    assert 'adapter = "project"' in manifest
    assert manifest.endswith("[track]\n")
    assert oct((repository / ".takeback/track.db").stat().st_mode)[-3:] == "600"
    again = run("init", "--track", cwd=repository)
    assert (again.exit_code, "is already tracked" in again.output) == (0, True)


def test_a_clients_files_stay_with_the_client_when_tracking(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    write_harness(root, "claude-code")
    (root / "main.py").write_text("print(1)\n")
    done = run("init", "--track", "--json", cwd=root)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["kinds"] == ["claude-code"]
    with TrackStore.open(root, os.environ) as store:
        paths = set(store.list_paths())
    assert "main.py" in paths
    assert not [path for path in paths if path.endswith("CLAUDE.md") or path.startswith((".claude/settings", ".mcp"))]
    status = json.loads(run("status", "--json", cwd=root).output)
    assert status["tracking"]["owned"] > 0


def test_status_reports_tracking(repository):
    (repository / ".env").write_text("A=1\n")
    nested = repository / "vendor/x/.git"
    nested.mkdir(parents=True)
    run("init", "--track", cwd=repository)
    said = run("status", cwd=repository).output
    assert "tracked: 3 files, as git would; 2 kept by git alone" in said
    assert "secrets seen, not kept: .env" in said
    assert "projects inside, left out: vendor/x" in said


def test_the_doctor_checks_that_every_content_is_available(repository):
    run("init", "--track", cwd=repository)
    assert "every content is kept" in run("doctor", "--deep", cwd=repository).output
    for path in sorted((repository / ".git/objects").rglob("*"), reverse=True):
        if path.is_file():
            path.unlink()
    done = run("doctor", "--deep", cwd=repository)
    assert done.exit_code == 1
    assert "2 contents are in the working tree alone: '.gitignore', 'src/a.py'" in done.output


def test_the_home_folder_and_its_parents_are_refused(tmp_path):
    (tmp_path / "home/me/.git").mkdir(parents=True)
    for place in (tmp_path / "home/me", tmp_path / "home", Path("/")):
        done = run("init", str(place), "--track", HOME=str(tmp_path / "home/me"))
        assert done.exit_code == 2, done.output
        assert "the folder of one project" in done.output
    assert not (tmp_path / "home/me/.takeback").exists()


def test_a_folder_of_many_projects_is_refused(tmp_path):
    for name in ("one", "two"):
        (tmp_path / "code" / name / ".git").mkdir(parents=True)
    done = run("init", "--track", cwd=tmp_path / "code")
    assert done.exit_code == 2
    assert "a folder of 2 projects (one, two)" in done.output
    assert not (tmp_path / "code/.takeback").exists()


def test_very_many_files_are_refused_without_confirmation(repository):
    few = "from takeback.adapters import project_files\nproject_files.MOST_FILES = 1"
    done = run("init", "--track", cwd=repository, first=few)
    assert done.exit_code == 2
    assert "2 files" in done.output
    assert "--large" in done.output
    assert not (repository / ".takeback").exists()
    assert run("init", "--track", "--large", cwd=repository, first=few).exit_code == 0


def test_a_wrong_setting_in_the_manifest_is_reported(repository):
    run("init", "--track", cwd=repository)
    place = repository / ".takeback/manifest.toml"
    place.write_text(place.read_text() + 'secrets = "hide"\n')
    done = run("status", cwd=repository)
    assert done.exit_code == 2
    assert "track.secrets" in done.output
    assert "one of see, keep" in done.output


def test_hooks_capture_prompt_command_and_edit(repository):
    run("init", "--track", cwd=repository)
    prompt = "\n\nmake the tests pass\napi_key=abcdefgh12345678"
    for event in ("UserPromptSubmit", "PreToolUse"):
        done = hook(repository, event, "Bash", {"command": "x"}, prompt=prompt)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (repository / "src/a.py").write_text("one\nTWO\n")
    command = "curl -H 'Authorization: Bearer abcdef0123456789abcdef' x"
    assert hook(repository, "PostToolUse", "Bash", {"command": command}).returncode == 0
    edit = {"file_path": "src/a.py", "old_string": "one", "new_string": "1"}
    assert hook(repository, "PreToolUse", "Edit", edit).returncode == 0
    (repository / "src/a.py").write_text("1\nTWO\n")
    assert hook(repository, "PostToolUse", "Edit", edit).returncode == 0
    (first, said), (second, _) = read_rows(repository)
    assert said.text_first_line_masked == "make the tests pass"
    assert "abcdef0123456789" not in first.command
    assert "masked" in first.command
    assert [delta.path for delta in first.deltas] == ["src/a.py"]
    assert (second.tool, second.edits) == ("Edit", (("src/a.py", "one", "1"),))
    assert second.prompt == first.prompt


@pytest.mark.parametrize(
    ("client", "before", "after", "tool"),
    [
        ("codex", "PreToolUse", "PostToolUse", "Bash"),
        ("gemini", "BeforeTool", "AfterTool", "run_shell_command"),
        ("opencode", "tool.execute.before", "tool.execute.after", "bash"),
    ],
)
def test_hooks_of_other_clients_capture_too(repository, client, before, after, tool):
    run("init", "--track", cwd=repository)
    hook(repository, before, tool, {"command": "x"}, client=client)
    (repository / "src/a.py").write_text("changed\n")
    hook(repository, after, tool, {"command": "x"}, client=client)
    [(row, _)] = read_rows(repository)
    assert (row.kind, row.client, row.tool, row.notes) == ("call", client, tool, ())


def test_a_patch_captures_its_own_files(repository):
    run("init", "--track", cwd=repository)
    patch = "*** Begin Patch\n*** Add File: new/b.py\n+b\n*** Update File: src/a.py\n@@\n-one\n+1\n*** End Patch\n"
    hook(repository, "PreToolUse", "apply_patch", {"command": patch}, client="codex")
    (repository / "new").mkdir()
    (repository / "new/b.py").write_text("b\n")
    (repository / "src/a.py").write_text("1\ntwo\n")
    (repository / "other.py").write_text("by somebody else\n")
    hook(repository, "PostToolUse", "apply_patch", {"command": patch}, client="codex")
    [(row, _)] = read_rows(repository)
    assert [delta.path for delta in row.deltas] == ["new/b.py", "src/a.py"]


def test_a_change_of_a_clients_file_is_an_entry_beside_that_of_the_projects_files(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    write_harness(root, "claude-code")
    (root / "main.py").write_text("print(1)\n")
    run("init", "--track", cwd=root)
    hook(root, "UserPromptSubmit", prompt="tidy up\nall of it")
    hook(root, "PreToolUse", "Bash", {"command": "x"})
    (root / "main.py").write_text("print(2)\n")
    (root / "CLAUDE.md").write_text("# Other rules\n")
    done = hook(root, "PostToolUse", "Bash", {"command": "x"})
    assert done.returncode == 0, done.stderr
    log = json.loads(run("log", "--json", cwd=root).output)["entries"]
    shown = sorted((entry["files"], entry["origin"]["tool"]) for entry in log if entry["kind"] == "adopt")
    assert shown == [(["CLAUDE.md"], "Bash"), (["main.py"], "Bash")]
    assert [entry["what"].startswith('"tidy up" · Bash: x') for entry in log] == [True, True, False], [
        (entry["what"], entry["origin"]) for entry in log
    ]
    found = json.loads(run("log", "--prompt", "tidy", "--json", cwd=root).output)["entries"]
    assert len(found) == 2


def test_a_project_that_is_not_trusted_is_not_captured(repository, tmp_path):
    run("init", "--track", cwd=repository)
    clone = tmp_path / "clone"
    subprocess.run(["cp", "-a", str(repository), str(clone)], check=True)
    (clone / "src/a.py").write_text("changed\n")
    done = hook(clone, "PostToolUse", "Bash", {"command": "x"})
    assert done.returncode == 0
    assert read_rows(clone) == []


def test_a_failed_capture_is_reported_and_the_tool_call_continues(repository):
    run("init", "--track", cwd=repository)
    (repository / ".takeback/track.lock").unlink()
    (repository / ".takeback/track.lock").mkdir()
    done = hook(repository, "PreToolUse", "Bash", {"command": "x"})
    assert done.returncode == 0
    assert "could not be captured" in done.stderr


LEAN = """
import io, json, sys
sys.stdin = io.TextIOWrapper(io.BytesIO(sys.argv[2].encode()))
sys.argv = ["takeback", "hook", "claude-code"]
import os
def end(code):
    sys.stderr.write(json.dumps(sorted(sys.modules)))
    sys.stderr.flush()
    os.kill(os.getpid(), 9)
os._exit = end
from takeback.cli import main
main()
"""


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_a_hook_that_captures_imports_little(repository, event):
    run("init", "--track", cwd=repository)
    (repository / "src/a.py").write_text("changed\n")
    about = {"hook_event_name": event, "cwd": str(repository), "session_id": "s", "tool_use_id": "c"}
    told = json.dumps({**about, "tool_name": "Bash", "tool_input": {"command": "npm run fix"}})
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", LEAN, "", told],
        cwd=repository,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    loaded = set(json.loads(done.stderr))
    assert "takeback.track.capture" in loaded
    assert not loaded & {"typing", "dataclasses", "subprocess", "pathlib", "pydantic", "zstandard", "inspect"}
    assert not loaded & {"hashlib", "contextlib", "sqlite3", "datetime"}
    ours = {name for name in loaded if name.startswith("takeback.")}
    assert not [name for name in ours if name.startswith(("takeback.state", "takeback.journal", "takeback.harness"))]
    assert "takeback.track.store" not in ours
    assert "takeback.secret_mask" not in ours


def test_installing_in_a_tracked_project_adds_the_hooks_for_prompts(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    write_harness(root, "claude-code")
    run("init", "--track", cwd=root)
    done = run("install", "claude-code", cwd=root)
    assert done.exit_code == 0, done.output
    assert "UserPromptSubmit" in (root / ".claude/settings.local.json").read_text()


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini", "opencode"])
def test_a_new_client_can_be_installed_in_a_tracked_project(repository, client):
    run("init", "--track", cwd=repository)
    done = run("install", client, cwd=repository)
    assert done.exit_code == 0, done.output
    manifest = (repository / ".takeback/manifest.toml").read_text()
    assert f'kinds = ["{client}"]' in manifest
    assert manifest.endswith("[track]\n")
    assert run("status", "--json", cwd=repository).exit_code == 0
    with TrackStore.open(repository, os.environ) as store:
        assert list(store.list_paths()) == [".gitignore", "src/a.py"]
    done = run("uninstall", client, cwd=repository)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in repository.iterdir()) == [".git", ".gitignore", ".takeback", "src"]


def test_a_denied_edit_is_not_captured(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    write_harness(root, "claude-code")
    (root / "main.py").write_text("print(1)\n")
    run("init", "--track", cwd=root)
    broken = {"file_path": str(root / ".mcp.json"), "content": "{"}
    denied = hook(root, "PreToolUse", "Write", broken, tool_use_id="c0")
    assert '"deny"' in denied.stdout
    hook(root, "PreToolUse", "Bash", {"command": "x"})
    (root / "main.py").write_text("print(2)\n")
    hook(root, "PostToolUse", "Bash", {"command": "x"})
    [(row, _)] = read_rows(root)
    assert row.beside == ()
