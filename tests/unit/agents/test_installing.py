"""Installing is one change, which uninstalling takes back byte for byte."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.client_harnesses import files_of, write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.agents.fast_hook import CLIENTS
from takeback.agents.installation import WITHOUT_SERVERS
from takeback.cli import app


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def folders(root: Path) -> list[str]:
    return sorted(str(place) for place in root.rglob("*") if place.is_dir() and ".takeback" not in place.parts)


@pytest.mark.parametrize("client", CLIENTS)
def test_uninstalling_gives_every_byte_back(client: str, tmp_path: Path) -> None:
    write_harness(tmp_path, client)
    before, there = files_of(tmp_path), folders(tmp_path)
    run("install", client, "--shared", "--dir", str(tmp_path))
    assert files_of(tmp_path) != before
    with closing(open_workspace(tmp_path, hold=False)) as harness:
        (entry, _) = harness.log()
        assert entry.kind == "apply"
        assert entry.grade == "proved"
        served = any(name.endswith("mcp:takeback") for name in harness.state["tools"])
        assert served is (client not in WITHOUT_SERVERS)
        assert "skills/takeback" in harness.state["prompts"]
    run("uninstall", client, "--dir", str(tmp_path))
    assert files_of(tmp_path) == before
    assert folders(tmp_path) == there


def test_a_second_install_does_nothing_and_a_second_uninstall_fails(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    run("install", "claude-code", "--dir", str(tmp_path))
    there = files_of(tmp_path)
    assert json.loads(run("install", "claude-code", "--dir", str(tmp_path), "--json"))["result"] == "nothing"
    assert files_of(tmp_path) == there
    run("uninstall", "claude-code", "--dir", str(tmp_path))
    again = CliRunner().invoke(app, ["uninstall", "claude-code", "--dir", str(tmp_path)])
    assert "no Takeback hooks here" in str(again.exception)


def test_changes_made_since_stay(tmp_path: Path) -> None:
    write_harness(tmp_path, "codex")
    before = files_of(tmp_path)
    run("install", "codex", "--shared", "--dir", str(tmp_path))
    run("set", "routing", "model", "gpt-6", "--dir", str(tmp_path))
    run("uninstall", "codex", "--dir", str(tmp_path))
    changed = before[".codex/config.toml"][0].replace(b"'gpt-5.5'", b"'gpt-6'")
    after = files_of(tmp_path)
    assert after[".codex/config.toml"][0].replace(b'"gpt-6"', b"'gpt-6'") == changed
    assert {path: found for path, found in after.items() if path != ".codex/config.toml"} == {
        path: found for path, found in before.items() if path != ".codex/config.toml"
    }


def test_a_second_client_of_a_directory_gets_its_own_names(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    write_harness(tmp_path, "codex")
    init_clients(tmp_path, ("claude-code",))
    before = files_of(tmp_path)
    run("install", "codex", "--shared", "--dir", str(tmp_path))
    hooks = json.loads((tmp_path / ".codex/hooks.json").read_text())["hooks"]
    assert set(hooks) == {"PreToolUse", "PostToolUse", "SessionStart", "Stop", "SessionEnd"}
    assert "[mcp_servers.takeback]" in (tmp_path / ".codex/config.toml").read_text()
    run("uninstall", "codex", "--dir", str(tmp_path))
    assert files_of(tmp_path) == before


def test_the_guard_of_claude_code_fails_closed(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    run("install", "claude-code", "--dir", str(tmp_path), "--command", "/opt/takeback")
    settings = json.loads((tmp_path / ".claude/settings.local.json").read_text("utf-8-sig"))
    guard = settings["hooks"]["PreToolUse"][-1]
    assert guard["hooks"][0]["onFailure"] == "block"
    assert guard["hooks"][0]["command"] == "/opt/takeback hook claude-code"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_opencode_plugin_throws_the_guards_message(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    write_harness(root, "opencode")
    program = tmp_path / "takeback"
    program.write_text('#!/bin/sh\ncat > "$0.got"\ncase "$(cat "$0.got")" in *bad*) echo no >&2; exit 2;; esac\n')
    program.chmod(0o755)
    run("install", "opencode", "--shared", "--dir", str(root), "--command", str(program))
    script = tmp_path / "try.mjs"
    script.write_text(
        f'const {{ Takeback }} = await import("file://{root}/.opencode/plugins/takeback.js")\n'
        'const hooks = await Takeback({ directory: "/there" })\n'
        'const before = hooks["tool.execute.before"]\n'
        'await before({ tool: "edit", sessionID: "s" }, { args: { filePath: "good" } })\n'
        'await before({ tool: "read", sessionID: "s" }, { args: { filePath: "bad" } })\n'
        'try { await before({ tool: "edit", sessionID: "s" }, { args: { filePath: "bad" } }) }\n'
        "catch (fault) { console.log(fault.message.trim()) }\n"
    )
    (root / ".opencode/plugins/package.json").write_text('{"type": "module"}')
    done = subprocess.run(["node", str(script)], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "no\n"
    assert json.loads((tmp_path / "takeback.got").read_text())["hook_event_name"] == "tool.execute.before"


def test_codex_hooks_stay_within_its_timeout_limit(tmp_path: Path) -> None:
    write_harness(tmp_path, "codex")
    run("install", "codex", "--shared", "--dir", str(tmp_path))
    hooks = json.loads((tmp_path / ".codex/hooks.json").read_text())["hooks"]
    ours = [one for group in hooks["SessionEnd"] for one in group["hooks"] if "takeback" in one["command"]]
    assert [one["timeout"] for one in ours] == [3]  # more is cut, with a warning at every start


@pytest.mark.parametrize("client", CLIENTS)
def test_a_plan_of_an_installation_writes_nothing(client: str, tmp_path: Path) -> None:
    write_harness(tmp_path, client)
    before, there = files_of(tmp_path), sorted(tmp_path.rglob("*"))
    planned = run("install", client, "--shared", "--plan", "--dir", str(tmp_path))
    assert "would install" in planned
    assert "nothing was changed" in planned
    assert (files_of(tmp_path), sorted(tmp_path.rglob("*"))) == (before, there)


def test_a_plan_for_one_more_client_writes_nothing_and_is_what_installing_does(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    init_clients(tmp_path, ("claude-code",))
    manifest = (tmp_path / ".takeback/manifest.toml").read_bytes()
    planned = json.loads(run("install", "codex", "--plan", "--json", "--dir", str(tmp_path)))
    assert (tmp_path / ".takeback/manifest.toml").read_bytes() == manifest
    assert not (tmp_path / ".codex").exists()
    (tmp_path / "AGENTS.md").write_text("# Rules\n")
    refused = CliRunner().invoke(app, ["install", "codex", "--plan", "--dir", str(tmp_path)])
    assert "unrecorded changes" in str(refused.exception)
    (tmp_path / "AGENTS.md").unlink()
    done = json.loads(run("install", "codex", "--json", "--dir", str(tmp_path)))
    assert (planned["result"], planned["changes"]) == ("plan", done["changes"])
