"""The real clients accept the plugin folder, and show the hooks, the server and the skill that it brings."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.clients.conftest import Place, make_place
from tests.clients.test_codex import asked
from tests.support.plugin_folder import FOLDER, MARKET

from takeback.agents.installation import HOOKS, NAME, TRACK_HOOKS

PLUGIN = f"{NAME}@{MARKET}"


def claude(where: Path) -> Place:
    place = make_place("claude-code", {"CLAUDE.md": "# Buoys\n"}, where)
    (place.home / ".claude.json").write_text(
        json.dumps({"projects": {str(place.root): {"hasTrustDialogAccepted": True}}})
    )
    return place


def test_claude_code_validates_it_and_shows_its_skill_and_server(tmp_path: Path) -> None:
    place = claude(tmp_path)
    said = json.loads(place.run("plugin", "validate", "--json", str(FOLDER)))
    assert said["success"], said
    complaints = [warning["message"] for part in said["contents"] for warning in part["warnings"]]
    assert all("unknown hook event" in told for told in complaints), complaints  # Gemini's, in hooks/hooks.json
    assert not [found for found in said["directory"]["findings"] if found["blocking"]]
    place.run("plugin", "marketplace", "add", str(FOLDER))
    place.run("plugin", "install", PLUGIN, "-s", "user")
    with place.talking("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose") as talk:
        found = {}
        for what in ("initialize", "mcp_status", "get_hooks_listing"):
            talk.send({"type": "control_request", "request_id": what, "request": {"subtype": what}})
            found[what] = talk.until(
                lambda answer, what=what: (
                    answer["response"]
                    if answer.get("type") == "control_response" and answer["response"].get("request_id") == what
                    else None
                )
            )
    assert f"{NAME}:{NAME}" in json.dumps(found["initialize"])
    assert f"plugin:{NAME}:{NAME}" in json.dumps(found["mcp_status"])
    hooks = json.dumps(found["get_hooks_listing"])
    assert "takeback hook claude-code" in hooks
    for hook in (*HOOKS["claude-code"], *TRACK_HOOKS["claude-code"]):
        assert hook.event in hooks


def test_codex_installs_it_and_shows_its_hooks_and_server(tmp_path: Path) -> None:
    place = make_place("codex", {"AGENTS.md": "# Buoys\n"}, tmp_path)
    (place.home / ".codex").mkdir()
    config = place.home / ".codex/config.toml"
    config.write_text(f'[projects."{place.root}"]\ntrust_level = "trusted"\n')
    before = config.read_bytes()
    place.run("plugin", "marketplace", "add", str(FOLDER))
    place.run("plugin", "add", PLUGIN)
    (server,) = json.loads(place.run("mcp", "list", "--json"))
    assert (server["name"], server["transport"]["command"], server["transport"]["args"]) == (NAME, NAME, ["serve"])
    ((listed,),) = (found["data"] for found in asked(place, ("hooks/list", {"cwds": [str(place.root)]})))
    assert listed["warnings"] + listed["errors"] == []
    commands = [(hook["eventName"], hook["command"]) for hook in listed["hooks"]]
    assert len(commands) == len((*HOOKS["codex"], *TRACK_HOOKS["codex"])), commands
    assert all("then takeback hook codex; else echo" in command for _, command in commands), commands
    assert "so that every change can be taken back" in place.run("debug", "prompt-input")
    place.run("plugin", "remove", PLUGIN)
    place.run("plugin", "marketplace", "remove", MARKET)
    assert config.read_bytes() == before


def test_gemini_validates_and_links_it(tmp_path: Path) -> None:
    place = make_place("gemini", {"GEMINI.md": "# Buoys\n"}, tmp_path)
    (place.home / ".gemini").mkdir()
    (place.home / ".gemini/trustedFolders.json").write_text(json.dumps({str(place.root): "TRUST_FOLDER"}))
    place.run("extensions", "validate", str(FOLDER))  # ends with 1 where it finds something wrong
    place.run("extensions", "link", str(FOLDER), "--consent")
    assert NAME in said(place, "extensions", "list")
    assert "takeback serve" in said(place, "mcp", "list")
    assert "so that every change can be taken back" in said(place, "skills", "list")


def said(place: Place, *words: str) -> str:
    """What the client prints, on whichever of its two outputs."""
    done = subprocess.run(
        [place.binary, *words],
        cwd=place.root,
        env=place.env,
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=600,
    )
    return done.stdout + done.stderr


def test_opencode_loads_its_entry(tmp_path: Path) -> None:
    settings = (FOLDER / "opencode/opencode.json").read_text()
    place = make_place("opencode", {"AGENTS.md": "# Buoys\n", "opencode.json": settings}, tmp_path)
    place.env |= {"OPENCODE_PURE": "1"}
    config = json.loads(place.run("debug", "config"))
    assert config["mcp"][NAME]["command"] == [NAME, "serve"]
