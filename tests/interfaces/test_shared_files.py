"""A file that several clients read: plan, receipt and log say who else reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.client_harnesses import write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.cli import app

GROUP = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}'


def run(root: Path, *words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--dir", str(root)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_harness(tmp_path, "claude-code")
    init_clients(tmp_path, ("claude-code",))
    return tmp_path


def test_only_files_other_clients_read_are_reported_as_shared(root: Path) -> None:
    told = "also read by copilot, vscode, cursor"
    assert told in run(root, "add", "listener", "PreToolUse", "--json", GROUP, "--plan")
    assert told in run(root, "add", "listener", "PreToolUse", "--json", GROUP)
    assert "also read by" not in run(root, "set", "config", "permissions.deny+", "WebFetch")
    newest, hook = json.loads(run(root, "log", "--json"))["entries"][:2]
    assert newest["readers"] == {}
    assert hook["readers"] == {".claude/settings.json": ["copilot", "vscode", "cursor"]}
    assert told in run(root, "log")
    assert told in run(root, "undo", "HEAD~1", "--plan")
    planned = json.loads(run(root, "undo", "HEAD~1", "--plan", "--json"))
    assert planned["readers"] == {".claude/settings.json": ["copilot", "vscode", "cursor"]}


def test_readers_of_widely_read_instructions_are_summarized(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("# X\n\none\n")
    assert init_clients(tmp_path).kinds == ("agents-md",)
    told = run(tmp_path, "edit", "prompt", "AGENTS.md", "--old", "one", "--new", "two")
    assert "also read by claude-code, codex, opencode and " in told
    assert " more" in told


def test_a_file_of_one_client_is_not_reported_as_shared(root: Path) -> None:
    assert "also read by" not in run(root, "edit", "prompt", "agents/tester", "--old", "Twice", "--new", "Once")


def test_files_at_home_are_not_reported_as_shared(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("# X\n\none\n")
    (tmp_path / "config.toml").write_text("")
    init_clients(tmp_path, ("codex",), user=True)
    assert "also read by" not in run(tmp_path, "edit", "prompt", "AGENTS.md", "--old", "one", "--new", "two")
