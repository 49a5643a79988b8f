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


def flat_hook(event: str, **options: Any) -> dict[str, Any]:
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
    "copilot": [
        candidate(config("contextTier", "new"), prompt("agents/new", AGENT)),
        candidate(server(SERVER), routing("model", "new")),
        candidate(hook("hooks/new:PreToolUse"), prompt("instructions/new", "Be new.\n")),
        candidate(flat_hook("hooks/guard:postToolUse", bash="true"), prompt("AGENTS.md", "All new.\n")),
    ],
    "vscode": [
        candidate(config("chat\\.new", {"a": [1]}), prompt("prompts/new", AGENT)),
        candidate(server(SERVER), config("tasks:new", 1)),
        candidate(flat_hook("hooks/new:PreToolUse", command="true")),
    ],
    "qwen": [
        candidate(config("new.deep", [1, {"a": None}]), prompt("agents/new", AGENT)),
        candidate(server(SERVER), routing("model.name", "new")),
        candidate(hook("PreToolUse"), file(".qwen/hooks/new.sh", "#!/bin/sh\n", mode="0755")),
        candidate(prompt("QWEN.md", "All new.\n"), prompt("commands/new", "Do it.\n")),
        candidate(prompt("commands/new.toml", "Do it.\n")),
    ],
    "kilo": [
        candidate(config("new.deep", [1, {"a": None}]), prompt("agents/new", AGENT)),
        candidate(server({"type": "local", "command": ["new"]}), routing("model", "new/new")),
        candidate(prompt("AGENTS.md", "All new.\n"), prompt("rules/new", "Do it.\n")),
    ],
    "cursor": [
        candidate(config("terminalAllowlist", ["new"]), prompt("rules/new/deep", "---\nglobs: **\n---\n")),
        candidate(server(SERVER), config("cli:permissions.deny", ["Shell(new)"])),
        candidate(flat_hook("beforeShellExecution", command="true"), file(".cursor/hooks/new.sh", "", mode="0755")),
    ],
    "cline": [
        candidate(prompt(".clinerules/new", "Be new.\n"), prompt("workflows/new", "1. new\n")),
        candidate(prompt("AGENTS.md", "All new.\n"), prompt("agents/new", "New.\n")),
        candidate(file(".cline/cron/new.json", "{}"), prompt("skills/new", AGENT)),
    ],
    "roo": [
        candidate(server(SERVER), prompt("rules-new/one", "Be new.\n")),
        candidate(prompt("AGENTS.md", "All new.\n"), prompt("rules/new", "New.\n")),
        candidate(prompt("commands/new", "Do it.\n"), prompt("rules/new.txt", "New.\n")),
    ],
    "windsurf": [
        candidate(flat_hook("pre_run_command", command="true"), prompt("rules/new", "Be new.\n")),
        candidate(prompt("AGENTS.md", "All new.\n"), prompt("workflows/new", "New.\n")),
    ],
    "zed": [
        candidate(config("agent.new", [1, {"a": None}]), prompt("AGENTS.md", "All new.\n")),
        candidate(server(SERVER), routing("agent.default_model.model", "new")),
    ],
    "amp": [
        candidate(config("amp\\.new", [1, {"a": None}]), prompt("commands/new", "New.\n")),
        candidate(server(SERVER), prompt("AGENTS.md", "All new.\n")),
    ],
    "kiro": [
        candidate(config("hooks/new:version", "v1"), prompt("steering/new", "New.\n")),
        candidate(server(SERVER), prompt("AGENTS.md", "All new.\n")),
        candidate(flat_hook("agents/r.json:stop", command="true"), routing("agents/r.json:model", "new")),
    ],
    "openclaw": [
        candidate(config("tools.new", [1, {"a": None}]), prompt("AGENTS.md", "All new.\n")),
        candidate(server(SERVER), routing("agents.defaults.model.primary", "new/new")),
        candidate(config("gateway.new", "it's"), prompt("skills/new", AGENT)),
    ],
    "langgraph": [
        candidate(config("graphs.new", "./n.py:new")),
        candidate(config("store.new", [1, {"a": None}]), prompt("AGENTS.md", "All new.\n")),
    ],
    "claude-plugin": [
        candidate(config("homepage", "new"), prompt("agents/new", AGENT)),
        candidate(server(SERVER), prompt("commands/new", "New.\n")),
        candidate(hook("Stop"), file("scripts/new.sh", "#!/bin/sh\n", mode="0755")),
    ],
    "skills": [
        candidate(prompt("skills/new", AGENT), file("skills/new/a.txt", "a")),
        candidate(prompt("AGENTS.md", "All new.\n")),
        candidate(file("skills/notes/new.py", "print(2)\n", mode="0755")),
    ],
    "agents-md": [
        candidate(prompt("AGENTS.md", "All new.\n")),
        candidate(prompt("new/AGENTS.md", "New.\n")),
    ],
}
DOCUMENTS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "opencode": "opencode.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".github/copilot/settings.json",
    "vscode": ".vscode/settings.json",
    "qwen": ".qwen/settings.json",
    "kilo": "kilo.json",
    "cursor": ".cursor/mcp.json",
    "cline": "AGENTS.md",
    "roo": ".roo/mcp.json",
    "windsurf": ".windsurf/hooks.json",
    "zed": ".zed/settings.json",
    "amp": ".amp/settings.json",
    "kiro": ".kiro/hooks/guard.json",
    "openclaw": "openclaw.json",
    "langgraph": "langgraph.json",
    "claude-plugin": ".claude-plugin/plugin.json",
    "skills": "AGENTS.md",
    "agents-md": "AGENTS.md",
}


def subject(name: str, root: Path) -> Subject:
    """A harness and what can be done to it."""
    client = name.partition("/")[0]
    write_harness(root, name)
    init_clients(root)
    path = next(path for path in HARNESSES[name] if path.startswith(DOCUMENTS[client]))

    def by_hand() -> None:
        edit(root, next(one for one in EDITS[name] if one.path.endswith((".md", ".mdc")) and one.path != path))

    def spoil() -> str:
        (root / path).write_bytes(b'{"a": [\xff' + (root / path).read_bytes())
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
