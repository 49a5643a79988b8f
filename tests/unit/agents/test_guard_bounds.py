"""The guard's bounds: files by other names, and settings that are too large to read while an agent waits."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import write_harness

from takeback.adapters.clients.claude import ClaudeSettings
from takeback.adapters.clients.init import init_clients
from takeback.agents.fast_hook import can_pass_unchecked
from takeback.agents.guard import LARGEST, answer_before
from takeback.agents.hook_events import read_event

LOOSE = json.dumps({"permissions": {"allow": ["Bash(*)"]}})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "p"
    place.mkdir()
    write_harness(place, "claude-code")
    init_clients(place, ("claude-code",))
    return place


def _raw(root: Path, path: Path, content: str) -> bytes:
    given = {"file_path": str(path), "content": content}
    raw = {"hook_event_name": "PreToolUse", "cwd": str(root), "tool_name": "Write", "tool_input": given}
    return json.dumps(raw).encode()


def _answer(root: Path, path: Path, content: str) -> tuple[str, str]:
    data = _raw(root, path, content)
    if can_pass_unchecked(data, "claude-code", str(root)):
        return "", ""
    reply = answer_before(read_event(data, "claude-code", str(root)))
    said: dict[str, Any] = json.loads(reply.out)["hookSpecificOutput"] if reply.out else {}
    return said.get("permissionDecision", ""), said.get("permissionDecisionReason", "")


@pytest.mark.parametrize("name", ["src/notes.py", "notes.txt", "../elsewhere.py"])
@pytest.mark.parametrize("guarded", [".claude/settings.json", ".claude/settings.local.json", ".mcp.json"])
def test_a_hard_link_to_settings_is_guarded_like_the_settings(root: Path, name: str, guarded: str) -> None:
    link = (root / name).resolve()
    link.parent.mkdir(exist_ok=True)
    os.link(root / guarded, link)
    content = '{"mcpServers": {"x": {"command": "x"}}}' if guarded == ".mcp.json" else LOOSE
    decided, reason = _answer(root, link, content)
    assert decided == "ask"
    assert guarded in reason
    assert _answer(root, link, "no settings")[0] == "deny"


@pytest.mark.parametrize(
    ("guarded", "content", "decided"),
    [
        (".claude/agents/tester.md", "---\nname: tester\ndescription: T\ntools: Bash\n---\n", "ask"),
        (".claude/skills/notes/SKILL.md", "---\nname: n\ndescription: N\nallowed-tools: Bash\n---\n", "ask"),
        (".takeback/manifest.toml", "anything", "deny"),
    ],
)
def test_a_hard_link_to_a_file_of_a_folder_is_guarded_too(
    root: Path, guarded: str, content: str, decided: str
) -> None:
    os.link(root / guarded, root / "x.py")
    assert _answer(root, root / "x.py", content)[0] == decided


def test_a_hard_link_to_nothing_of_the_harness_passes(root: Path) -> None:
    (root / "a.py").write_text("a\n")
    os.link(root / "a.py", root / "b.py")
    assert _answer(root, root / "b.py", "b\n") == ("", "")


def test_oversized_new_settings_need_a_person_and_are_not_parsed(root: Path, monkeypatch: Any) -> None:
    read: list[int] = []
    monkeypatch.setattr(ClaudeSettings, "__init__", lambda *_: read.append(1))
    content = json.dumps({"permissions": {"allow": ["x" * LARGEST]}})
    decided, reason = _answer(root, root / ".claude/settings.json", content)
    assert decided == "ask"
    assert f"{LARGEST:,}" in reason
    assert read == []


def test_oversized_existing_settings_need_a_person_and_are_not_parsed(root: Path, monkeypatch: Any) -> None:
    (root / ".claude/settings.json").write_text(json.dumps({"env": {"A": "x" * LARGEST}}))
    monkeypatch.setattr(ClaudeSettings, "__init__", lambda *_: pytest.fail("it was read"))
    assert _answer(root, root / ".claude/settings.json", "{}")[0] == "ask"


def test_oversized_other_settings_do_not_stop_the_guard(root: Path) -> None:
    (root / ".claude/settings.json").write_text(json.dumps({"env": {"A": "x" * LARGEST}}))
    assert _answer(root, root / ".claude/settings.local.json", LOOSE)[0] == "ask"
    assert _answer(root, root / ".claude/settings.local.json", "{}") == ("", "")


def test_the_smallest_breaking_content_is_not_searched_in_large_files(root: Path, monkeypatch: Any) -> None:
    read: list[int] = []
    real = ClaudeSettings.__init__

    def counted(self: Any, *given: Any) -> None:
        read.append(1)
        real(self, *given)

    monkeypatch.setattr(ClaudeSettings, "__init__", counted)
    content = json.dumps({"env": {f"k{number}": "x" * 100 for number in range(1000)}})[:-1]
    assert _answer(root, root / ".claude/settings.json", content)[0] == "deny"
    assert len(read) <= 3


def test_large_instructions_pass(root: Path) -> None:
    assert _answer(root, root / "CLAUDE.md", "words\n" * LARGEST) == ("", "")
