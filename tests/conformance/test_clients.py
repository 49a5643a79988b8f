"""The adapter of real clients' files keeps the contract, on harnesses as odd as their formats allow."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.support.changes import candidate, config, file, prompt, routing
from tests.support.client_harnesses import EDITS, HARNESSES, edit, write_harness

from takeback.adapters.clients.init import init_clients
from takeback.adapters.conformance import Subject, examine_adapter
from takeback.adapters.opener import open_workspace

AGENT = "---\nname: new\ndescription: New.\n---\n\nBe new.\n"
SERVER = {"command": "new", "args": ["-a", "-b"]}


def hook(event: str) -> dict[str, Any]:
    options = {"matcher": "new", "hooks": [{"type": "command", "command": "true"}]}
    return {"op_type": "add_listener", "target": event, "value": {"id": "new", "handler": "new", "options": options}}


def server(record: dict[str, Any]) -> dict[str, Any]:
    return {"op_type": "register_tool", "target": "mcp:new", "value": record}


CHANGES: dict[str, list[Any]] = {
    "claude-code": [
        candidate(config("new.deep", [1, {"a": None}]), prompt("agents/new", AGENT)),
        candidate(server(SERVER), routing("model", "new")),
        candidate(hook("PreToolUse"), file(".claude/hooks/new.sh", "#!/bin/sh\n", mode="0755")),
        candidate(config("local:env.NEW", "1"), prompt("CLAUDE.md", "All new.\n")),
    ],
    "codex": [
        candidate(config("tui.new", [1, {"a": "b"}]), prompt("skills/new", AGENT)),
        candidate(server(SERVER), routing("model", "new")),
        candidate(hook("PreToolUse"), file(".codex/rules/new.rules", "# new\n")),
        candidate(prompt("AGENTS.md", "All new.\n"), prompt("agents/new", "Be new.\n")),
    ],
    "opencode": [
        candidate(config("new.deep", [1, {"a": None}]), prompt("agents/new", AGENT)),
        candidate(server({"type": "local", "command": ["new"]}), routing("model", "new/new")),
        candidate(prompt("AGENTS.md", "All new.\n"), prompt("commands/new", "Do it.\n")),
    ],
    "gemini": [
        candidate(config("new.deep", [1, {"a": None}]), prompt("agents/new", AGENT)),
        candidate(server(SERVER), routing("model.name", "new")),
        candidate(hook("BeforeTool"), file(".gemini/hooks/new.sh", "#!/bin/sh\n", mode="0755")),
        candidate(prompt("GEMINI.md", "All new.\n"), prompt("commands/new", "Do it.\n")),
    ],
}
DOCUMENTS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "opencode": "opencode.json",
    "gemini": ".gemini/settings.json",
}


def subject(name: str, root: Path) -> Subject:
    """A harness and what can be done to it."""
    client = name.partition("/")[0]
    write_harness(root, name)
    init_clients(root)
    path = next(path for path in HARNESSES[name] if path.startswith(DOCUMENTS[client]))

    def by_hand() -> None:
        edit(root, next(one for one in EDITS[name] if one.path.endswith(".md")))

    def spoil() -> str:
        (root / path).write_bytes(b'{"a": [' + (root / path).read_bytes())
        return path

    return Subject(lambda: open_workspace(root), CHANGES[client], root, by_hand, spoil)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if "/" in name else ()) for name in HARNESSES]
)
def test_the_adapter_conforms(name: str, tmp_path: Path) -> None:
    numbers = itertools.count()

    def fresh() -> Subject:
        below = tmp_path / str(next(numbers))
        below.mkdir()
        return subject(name, below)

    report = examine_adapter(fresh)
    assert report.conforms, [one for one in report.outcomes if one.outcome == "failed"]
    assert not [one.check for one in report.outcomes if one.outcome == "left out"]
