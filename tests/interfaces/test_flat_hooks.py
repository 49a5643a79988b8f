"""Hooks that a client lists flat, without names: each entry of the list is taken back alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from takeback.adapters.clients.init import detect_clients, init_clients
from takeback.cli.program import app

KINDS = [
    ("cursor", ".cursor/hooks.json", "beforeShellExecution", {"version": 1}),
    ("copilot", ".github/hooks/own.json", "preToolUse", {"version": 1}),
    ("windsurf", ".windsurf/hooks.json", "pre_run_command", {}),
    ("kiro", ".kiro/agents/own.json", "preToolUse", {"name": "own"}),
]


@pytest.mark.parametrize(("client", "path", "event", "rest"), KINDS, ids=[kind[0] for kind in KINDS])
def test_two_edits_of_flat_hooks_are_undone_each_alone(
    tmp_path: Path, client: str, path: str, event: str, rest: dict
) -> None:
    place = tmp_path / path

    def write(*commands: str) -> None:
        command = "bash" if client == "copilot" else "command"
        hooks = [{"type": "command", command: one} for one in commands]
        place.write_text(json.dumps({**rest, "hooks": {event: hooks}}, indent=2))

    def read() -> list[str]:
        return [one.get("bash") or one["command"] for one in json.loads(place.read_text())["hooks"][event]]

    def run(*words: str) -> None:
        done = CliRunner().invoke(app, [*words, "-C", str(tmp_path)])
        assert done.exit_code == 0, done.output

    place.parent.mkdir(parents=True)
    if client == "copilot":
        (tmp_path / ".github/copilot-instructions.md").write_text("notes\n")
    write("./a.sh", "./b.sh")
    init_clients(tmp_path, detect_clients(tmp_path))
    write("./a.sh --quiet", "./b.sh")
    run("adopt")
    write("./a.sh --quiet", "./b.sh --loud")
    run("adopt")
    write("./a.sh --quiet", "./b.sh --loud", "./c.sh")
    run("adopt")
    run("undo", "2")
    assert read() == ["./a.sh", "./b.sh --loud", "./c.sh"]
    run("undo", "4")
    assert read() == ["./a.sh", "./b.sh --loud"]
    run("redo", "2")
    run("undo", "3")
    assert read() == ["./a.sh --quiet", "./b.sh"]
