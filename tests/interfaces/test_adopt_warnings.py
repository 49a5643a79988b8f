"""What a client does not heed is said: a file that it drops for one wrong type, hooks of unknown events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.agents.hook_events import read_event
from takeback.agents.recorder import answer_after
from takeback.cli import app

SETTINGS = '{"permissions": {"allow": ["Read"]}}\n'
BROKEN = {
    "claude-code": (
        ".claude/settings.json",
        SETTINGS,
        '{"permissions": {"allow": "A"}}\n',
        "permissions.allow must be",
    ),
    "codex": (".codex/config.toml", 'sandbox_mode = "read-only"\n', "sandbox_mode = 5\n", "sandbox_mode must be"),
    "gemini": (".gemini/settings.json", '{"tools": {}}\n', '{"tools": []}\n', "tools must be"),
    "opencode": ("opencode.json", '{"instructions": []}\n', '{"instructions": "a"}\n', "instructions must be"),
}


def project(root: Path, client: str) -> Path:
    path, content, _, _ = BROKEN[client]
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(content)
    init_clients(root, (client,))
    return root


def invoke(root: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*words, "--dir", str(root)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def run(root: Path, *words: str) -> Any:
    return json.loads(invoke(root, *words, "--json")[1])


@pytest.mark.parametrize("client", BROKEN)
def test_adopt_warns_that_the_client_will_drop_the_file(client: str, tmp_path: Path) -> None:
    root = project(tmp_path, client)
    path, content, broken, reason = BROKEN[client]
    assert invoke(root, "doctor")[0] == 0
    (root / path).write_text(broken)
    told = run(root, "adopt")
    assert told["result"] == "adopted"
    assert reason in told["unheeded"][0]
    assert "will not load it" in told["unheeded"][0]
    assert told["effect"] == ["not at all, as the client will not load the file"]
    code, examined = invoke(root, "doctor")
    assert code == 1
    assert "will not load it" in " ".join(examined.split())
    code, _ = invoke(root, "undo", "HEAD")
    assert code == 0
    assert (root / path).read_text() == content
    assert invoke(root, "doctor")[0] == 0


def test_adopt_reports_the_effect_of_each_file(tmp_path: Path) -> None:
    root = project(tmp_path, "claude-code")
    (root / ".claude/settings.json").write_text(BROKEN["claude-code"][2])
    (root / "CLAUDE.md").write_text("Rules.\n")
    assert run(root, "adopt")["effect"] == ["next session", "not at all, as the client will not load the file"]


def test_adopt_warns_about_an_agent_the_client_does_not_load(tmp_path: Path) -> None:
    root = project(tmp_path, "claude-code")
    (root / ".claude/agents").mkdir()
    (root / ".claude/agents/a.md").write_text("No front matter.\n")
    told = run(root, "adopt")
    assert ".claude/agents/a.md" in told["unheeded"][0]
    assert told["effect"] == ["not at all, as the client will not load the file"]


def test_the_text_output_of_adopt_carries_the_warning(tmp_path: Path) -> None:
    root = project(tmp_path, "claude-code")
    (root / ".claude/settings.json").write_text(BROKEN["claude-code"][2])
    _, told = invoke(root, "adopt")
    assert "claude-code will not load it: permissions.allow must be a list" in " ".join(told.split())
    assert "takes effect: live" not in told


def test_the_recorder_warns_the_agent(tmp_path: Path) -> None:
    root = project(tmp_path, "claude-code")
    (root / ".claude/settings.json").write_text(BROKEN["claude-code"][2])
    raw = {"hook_event_name": "PostToolUse", "cwd": str(root), "session_id": "s", "tool_name": "Bash"}
    reply = answer_after(read_event(json.dumps(raw | {"tool_input": {"command": "x"}}).encode(), "claude-code", "."))
    assert "will not load it" in reply.err
    assert reply.code == 2
    with open_workspace(root) as harness:
        assert next(iter(harness.log())).kind == "adopt"


GROUP = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}'


@pytest.mark.parametrize(
    ("client", "event", "meant"),
    [
        ("claude-code", "PreTooluse", "PreToolUse"),
        ("claude-code", "BeforeTool", ""),
        ("codex", "PreToolUses", "PreToolUse"),
        ("gemini", "PreTool", "BeforeTool"),
    ],
)
def test_hooks_of_an_unknown_event_are_warned_about(client: str, event: str, meant: str, tmp_path: Path) -> None:
    root = project(tmp_path, client)
    for words in (("--plan",), ()):
        (told,) = run(root, "add", "listener", event, "--json", GROUP, *words)["unheeded"]
        assert f"{client} has no event '{event}'" in told
        assert meant in told
    assert invoke(root, "doctor")[0] == 1


@pytest.mark.parametrize(
    ("client", "event"), [("claude-code", "PreToolUse"), ("codex", "Stop"), ("gemini", "AfterTool")]
)
def test_hooks_of_a_known_event_are_not_warned_about(client: str, event: str, tmp_path: Path) -> None:
    root = project(tmp_path, client)
    assert run(root, "add", "listener", event, "--json", GROUP)["unheeded"] == []
    assert invoke(root, "doctor")[0] == 0
