"""What a client writes itself is taken in as the client's own entry, without asking, and never blocks an undo."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.changes import candidate, config, prompt
from tests.support.client_harnesses import write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.harness import Applied, Harness, RefusalReason
from takeback.harness.outcomes import Undone

TOP = '{ "model": "a/b", // main\n  "mcp": { "l": { "type": "local", "command": ["l"] } },\n  "theme": "dark" }\n'


def schema(root: Path) -> None:
    place = root / "opencode.jsonc"
    place.write_text(place.read_text().replace("{", '{\n  "$schema": "https://opencode.ai/config.json",', 1))


def schema_and_reformat(root: Path) -> None:
    place = root / "opencode.jsonc"
    value = json.loads(place.read_text().replace("// main", ""))
    place.write_text(json.dumps({"$schema": "https://opencode.ai/config.json", **value}, indent=4))


def approvals(root: Path) -> None:
    place = root / ".claude/settings.local.json"
    value = json.loads(place.read_text())
    value["permissions"]["allow"].append("Bash(npm run build:*)")
    place.write_text(json.dumps({"enabledMcpjsonServers": ["a"], **value}, indent=2))


def new_approvals(root: Path) -> None:
    place = root / ".claude/settings.local.json"
    place.write_text(json.dumps({"enabledMcpjsonServers": ["a"], "permissions": {"allow": ["Bash(x:*)"]}}, indent=2))


def trust(root: Path) -> None:
    place = root / ".codex/config.toml"
    place.write_text(place.read_text() + f'\n[projects."{root}"]\ntrust_level = "trusted"\n')


def migration(root: Path) -> None:
    place = root / ".gemini/settings.json"
    place.write_text('{\n  "general": {\n    "enableAutoUpdate": false,\n    "vimMode": true\n  }\n}')


CASES: dict[str, tuple[str, dict[str, str], dict[str, Any], Callable[[Path], None], str]] = {
    "opencode inserts $schema": ("opencode", {"opencode.jsonc": TOP}, config("theme", "light"), schema, "opencode"),
    "opencode reformats as well": (
        "opencode",
        {"opencode.jsonc": TOP},
        config("theme", "light"),
        schema_and_reformat,
        "opencode",
    ),
    "Claude Code notes approvals": (
        "claude-code",
        {".claude/settings.local.json": '{"permissions":{"allow":["Read"]},\n"env":{"A":"1"}}'},
        config("local:env.A", "2"),
        approvals,
        "claude-code",
    ),
    "Claude Code makes its local settings": (
        "claude-code",
        {".claude/settings.json": '{"env":{"A":"1"}}'},
        config("env.A", "2"),
        new_approvals,
        "claude-code",
    ),
    "Codex notes trust": (
        "codex",
        {".codex/config.toml": '# c\nmodel = "a"\n[tui]\na = 1\n'},
        config("features.b", True),
        trust,
        "codex",
    ),
    "Gemini migrates a setting": (
        "gemini",
        {".gemini/settings.json": '{ "general" : { "disableAutoUpdate" : true , "vimMode" : false } }\n'},
        config("general.vimMode", True),
        migration,
        "gemini",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_clients_own_write_is_its_own_entry_and_blocks_nothing(case: str, tmp_path: Path) -> None:
    kind, files, op, write, who = CASES[case]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    init_clients(tmp_path, (kind,))
    with closing(open_workspace(tmp_path)) as harness:
        start = harness.state
        done = harness.apply(candidate(op))
        assert isinstance(done, Applied)
        write(tmp_path)
        assert isinstance(harness.undo(done.entry.id), Undone)
        entries = [entry for entry in harness.log() if entry.by == who]
        assert len(entries) == 1
        assert harness.status().clean
        assert _get(harness, op["target"]) == _get_of(start, op["target"])
        harness.redo(done.entry.id)
        assert _get(harness, op["target"]) == op["value"]


def _get(harness: Harness, target: str) -> Any:
    return _get_of(harness.state, target)


def _get_of(state: Any, target: str) -> Any:
    found: Any = state.write()["config"]
    for step in target.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def test_one_line_changes_record_the_clients_write_first(tmp_path: Path) -> None:
    (tmp_path / "opencode.jsonc").write_text(TOP)
    init_clients(tmp_path)
    schema(tmp_path)
    done = CliRunner().invoke(app, ["set", "config", "theme", "light", "-C", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert '"theme": "light"' in (tmp_path / "opencode.jsonc").read_text()


def test_a_hand_edit_beside_a_clients_write_is_not_recorded_with_it(tmp_path: Path) -> None:
    root = write_harness(tmp_path, "opencode")
    init_clients(root)
    schema(root)
    (root / "AGENTS.md").write_text("by hand\n")
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.apply(candidate(config("theme", "light"))), Applied)
        assert (root / "AGENTS.md").read_text() == "by hand\n"
        assert [change.slot for change in harness.status().drift] == [("prompts", "AGENTS.md")]
        assert "$schema" in harness.state.write()["config"]
        assert harness.apply(candidate(prompt("AGENTS.md", "anew\n"))).why is RefusalReason.DRIFT
