"""The real opencode sees a change after it is applied, and no longer after it is undone."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import Place, change, made, make_place, taken_back
from tests.clients.models import chat_server

from takeback.harness import Refused

TEN_MINUTES = 600

FILES = {
    "AGENTS.md": "# Harbour\n\n- Knots, never km/h.\n",
    "opencode.jsonc": """\
// for all of us
{ "$schema": "https://opencode.ai/config.json",
  "model": "a/b", // the usual one
  "mcp": { "buoys": { "type": "local", "command": ["true"], "enabled": false, }, },
  "permission": { "bash": { "*": "ask", "git *": "allow" /* not push */, "git push *": "deny" }, },
}
""",
    ".opencode/agent/pilot.md": "---\ndescription: Knows the shallows.\n---\nSteer.\n",
    ".opencode/.gitignore": "node_modules\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("opencode", FILES, tmp_path)
    found.env |= {"OPENCODE_PURE": "1"}
    return found


def seen(place: Place) -> dict[str, Any]:
    """What the client says it loaded."""
    found: dict[str, Any] = json.loads(place.run("debug", "config"))
    return found


KINDS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "a server": (
        [{"op_type": "register_tool", "target": "mcp:tides", "value": {"type": "local", "command": ["true"]}}],
        lambda found: "tides" in found["mcp"],
    ),
    "a model": (
        [{"op_type": "set_routing", "target": "model", "value": "a/c"}],
        lambda found: found["model"] == "a/c",
    ),
    "a permission before another": (
        [{"op_type": "insert_config", "target": "permission.bash", "value": ["ls *", "allow"], "index": 1}],
        lambda found: list(found["permission"]["bash"]) == ["*", "ls *", "git *", "git push *"],
    ),
    "an agent": (
        [{"op_type": "set_prompt", "target": "agents/mate", "value": "---\ndescription: Helps.\n---\nHelp.\n"}],
        lambda found: found["agent"].get("mate", {}).get("description") == "Helps.",
    ),
    "a command": (
        [{"op_type": "set_prompt", "target": "commands/dock", "value": "Dock at $1.\n"}],
        lambda found: "dock" in found["command"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_opencode_sees_a_change_after_apply_and_not_after_undo(kind: str, place: Place) -> None:
    ops, holds = KINDS[kind]
    before = place.files()
    assert not holds(seen(place))
    with closing(place.opened()) as harness:
        entry = made(harness, *ops)
        found = seen(place)
        assert holds(found), found
        taken_back(harness, entry)
    assert not holds(seen(place))
    assert place.files() == before


def test_a_change_that_would_stop_opencode_from_starting_is_refused(place: Place) -> None:
    before = place.files()
    with closing(place.opened()) as harness:
        refused = change(harness, {"op_type": "set_config", "target": "permission.edit", "value": "sometimes"})
        assert isinstance(refused, Refused)
        assert "would not load" in refused.message
    assert place.files() == before
    config = place.root / "opencode.jsonc"
    config.write_text(config.read_text().replace('"*": "ask"', '"*": "sometimes"'))
    with pytest.raises(AssertionError, match="ended with 1"):
        seen(place)


def test_the_schema_that_the_client_inserts_is_its_own_entry_and_blocks_no_undo(tmp_path: Path) -> None:
    text = '{ "model": "a/b", // the usual one\n  "permission": { "edit": "ask", }, }\n'
    place = make_place("opencode", FILES | {"opencode.jsonc": text}, tmp_path)
    place.env |= {"OPENCODE_PURE": "1"}
    with closing(place.opened()) as harness:
        entry = made(harness, {"op_type": "set_routing", "target": "model", "value": "a/c"})
        assert seen(place)["model"] == "a/c"
        assert "$schema" in (place.root / "opencode.jsonc").read_text()
        taken_back(harness, entry)
        assert [one.by for one in harness.log()].count("opencode") == 1
        found = seen(place)
        assert found["model"] == "a/b"
        assert "$schema" in (place.root / "opencode.jsonc").read_text()


GUARD = """\
export const Guard = async () => ({
  "tool.execute.before": async (input, output) => {
    if ((output.args.filePath ?? "").endsWith("new.txt")) throw new Error("not here")
  },
})
"""


def registry() -> str:
    """Where npm gets packages: where there are plugins, the client installs what they may import."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm on this machine, which opencode needs for plugins")
    done = subprocess.run([npm, "config", "get", "registry"], text=True, capture_output=True, check=True, timeout=600)
    return done.stdout.strip()


def test_a_guard_plugin_stops_a_tool_and_no_longer_does_after_its_undo(place: Place) -> None:
    del place.env["OPENCODE_PURE"]
    place.env |= {"npm_config_registry": registry()}
    call = {"tool": "write", "args": {"filePath": str(place.root / "new.txt"), "content": "x"}}
    own = place.home / ".config" / "opencode" / "opencode.json"
    own.parent.mkdir(parents=True)

    def play() -> str:
        with chat_server([call, {"content": "done"}]) as server:
            options = {"baseURL": f"{server.url}/v1", "apiKey": "x"}
            fake = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {}}}
            own.write_text(json.dumps({"$schema": "https://opencode.ai/config.json", "provider": {"fake": fake}}))
            place.run("run", "-m", "fake/m", "--auto", "--format", "json", "write it", seconds=TEN_MINUTES)
            return json.dumps(server.requests)

    before = place.files()
    with closing(place.opened()) as harness:
        plugin = ".opencode/plugin/guard.js"
        entry = made(
            harness,
            {"op_type": "write_file", "target": plugin, "value": GUARD},
            {
                "op_type": "add_listener",
                "target": "plugin",
                "value": {"id": "guard.js", "handler": "guard.js", "options": {"file": plugin}},
            },
        )
        assert "not here" in play()
        assert not (place.root / "new.txt").exists()
        taken_back(harness, entry)
        assert {path: found for path, found in place.files().items() if path in before} == before
        assert not (place.root / plugin).exists()
        assert "not here" not in play()
        assert (place.root / "new.txt").read_text() == "x"
