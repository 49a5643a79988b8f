"""Hooks on one line: a group as the client's file has it is enough, and is called by its matcher."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.client_harnesses import files_of, write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.cli import app

GROUP = {"matcher": "WebFetch", "hooks": [{"type": "command", "command": "exit 2"}]}


def run(root: Path, *words: str) -> str:
    done = CliRunner().invoke(app, [*words, "-C", str(root)])
    assert done.exit_code == 0, done.output
    return done.output


def ids(root: Path, event: str) -> list[str]:
    with open_workspace(root) as harness:
        return [link.id for link in harness.state.part("listeners")[event]]


@pytest.mark.parametrize(
    ("client", "event", "path"),
    [
        ("claude-code", "PreToolUse", ".claude/settings.json"),
        ("codex", "PreToolUse", ".codex/hooks.json"),
        ("codex", "toml:Stop", ".codex/config.toml"),
        ("gemini", "BeforeTool", ".gemini/settings.json"),
    ],
)
def test_a_group_is_added_and_removed_by_its_name(client: str, event: str, path: str, tmp_path: Path) -> None:
    root = write_harness(tmp_path, client)
    init_clients(root)
    before, there = files_of(root), ids(root, event)
    assert "listeners" in run(root, "add", "listener", event, "--json-value", json.dumps(GROUP))
    assert "WebFetch" in files_of(root)[path][0].decode("utf-8-sig")
    new = [name for name in ids(root, event) if name not in there]
    assert len(new) == 1
    assert new[0].startswith("WebFetch~")
    assert ids(root, event)[-1] == new[0]
    run(root, "undo", "HEAD")
    assert files_of(root) == before
    run(root, "add", "listener", event, "--json-value", json.dumps(GROUP))
    run(root, "remove", "listener", event, new[0])
    assert ids(root, event) == there


def test_the_same_group_twice_gets_another_name(tmp_path: Path) -> None:
    root = write_harness(tmp_path, "claude-code")
    init_clients(root)
    for _ in range(2):
        run(root, "add", "listener", "PreToolUse", "--json-value", json.dumps(GROUP))
    assert len(set(ids(root, "PreToolUse"))) == 4
