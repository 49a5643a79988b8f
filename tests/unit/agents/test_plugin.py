"""The plugin folder is what `takeback install` adds, no more and no less."""

from __future__ import annotations

import json
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import write_harness
from tests.support.plugin_folder import FOLDER, files_of_plugin, written

import takeback
from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.agents.hook_files import SKILL
from takeback.agents.installation import Placing, list_additions

PLACES = {
    "claude-code": ("hooks/claude.json", ".mcp.json"),
    "codex": ("hooks/codex.json", "mcp.codex.json"),
    "gemini": ("hooks/hooks.json", "gemini-extension.json"),
}


def test_the_plugin_folder_matches_the_generated_one() -> None:
    assert written(FOLDER) == files_of_plugin(takeback.__version__), "run 'make plugin'"


def added(client: str, root: Path) -> list[dict[str, Any]]:
    """What `takeback install` adds to a project."""
    write_harness(root, client)
    init_clients(root, (client,))
    with closing(open_workspace(root, hold=False)) as harness:
        return list_additions(client, [client], harness.state, ["takeback"], Placing(shared=True, tracked=True))


@pytest.mark.parametrize("client", PLACES)
def test_the_plugin_has_the_hooks_server_and_skill_of_an_installation(client: str, tmp_path: Path) -> None:
    ops = added(client, tmp_path)
    hooks, servers = (json.loads((FOLDER / place).read_text()) for place in PLACES[client])
    installed: dict[str, list[Any]] = {}
    for op in ops:
        if op["op_type"] == "add_listener":
            installed.setdefault(op["target"].removeprefix("toml:"), []).append(op["value"]["options"])
    for groups in hooks["hooks"].values() if client == "gemini" else ():
        for one in (hook for group in groups for hook in group["hooks"]):
            start, end = 'if [ -n "$GEMINI_PROJECT_DIR" ]; then ', "; fi"
            assert one["command"].startswith(start)
            one["command"] = one["command"].removeprefix(start).removesuffix(end)
    assert hooks["hooks"] == installed
    (server,) = (op["value"] for op in ops if op["op_type"] == "register_tool")
    assert servers["mcpServers"] == {"takeback": server}
    skill, *commands = (op["value"] for op in ops if op["op_type"] == "set_prompt")
    assert (FOLDER / "skills/takeback/SKILL.md").read_text() == skill == SKILL
    shipped = tomllib.loads((FOLDER / "commands/takeback.toml").read_text())["prompt"]
    assert [shipped.lstrip("\n")] * len(commands) == commands == commands[: client == "gemini"]


def test_the_plugin_has_the_files_opencode_loads(tmp_path: Path) -> None:
    ops = added("opencode", tmp_path)
    (script,) = (op["value"] for op in ops if op["op_type"] == "write_file")
    (server,) = (op["value"] for op in ops if op["op_type"] == "register_tool")
    _, command = (op["value"] for op in ops if op["op_type"] == "set_prompt")
    assert (FOLDER / "opencode/takeback.js").read_text() == script
    assert (FOLDER / "opencode/commands/takeback.md").read_text() == command
    assert "$ARGUMENTS" in command
    assert json.loads((FOLDER / "opencode/opencode.json").read_text()) == {"mcp": {"takeback": server}}


def test_plugin_manifests_have_the_packages_version() -> None:
    for manifest in (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini-extension.json"):
        assert json.loads((FOLDER / manifest).read_text())["version"] == takeback.__version__
