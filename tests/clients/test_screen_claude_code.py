"""What a person sees in the real Claude Code: receipts, why an edit was refused or asked about, and `/takeback`."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import Place, make_place
from tests.clients.models import anthropic_server
from tests.support.screens import begin_terminals

from takeback.agents.installation import BY, Placing, build_candidate, describe_installation, list_additions
from takeback.harness import Applied

KEY = "sk-ant-api03-" + "x" * 80
FILES = {
    "CLAUDE.md": "# Rules\n\n- Run `make check`.\n- Be kind.\n- Use tabs.\n",
    ".claude/settings.json": '{\n  "permissions": {\n    "allow": ["Edit", "Write", "Bash(takeback:*)"]\n  }\n}\n',
    ".mcp.json": '{\n  "mcpServers": {}\n}\n',
}
PATIENCE = 240.0
"""Seconds after which a text counts as never shown."""
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed, so there is no terminal")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("claude-code", FILES, tmp_path)
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(found.root): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (found.home / ".claude.json").write_text(json.dumps(known))
    words = tmp_path / "bin"
    words.mkdir()
    run = f"PYTHONPATH={shlex.quote(':'.join(sys.path))} exec {shlex.quote(sys.executable)} -m takeback"
    (words / "takeback").write_text(f'#!/bin/sh\n{run} "$@"\n')
    (words / "takeback").chmod(0o755)
    found.env |= {"PATH": f"{words}:{found.env['PATH']}", "ANTHROPIC_API_KEY": KEY, "TERM": "xterm-256color"}
    with closing(found.opened()) as harness:
        ops = list_additions("claude-code", ["claude-code"], harness.state, ["takeback"])
        ops += [
            op
            for op in list_additions(
                "claude-code", ["claude-code"], harness.state, ["takeback"], Placing(shared=True)
            )
            if op["op_type"] == "set_prompt"
        ]
        done = harness.apply(build_candidate(ops, harness.state), note=describe_installation("claude-code"), by=BY)
        assert isinstance(done, Applied), done
    return found


class Screen:
    """Claude Code on a terminal of its own, and what a person types there."""

    def __init__(self, tmux: list[str]) -> None:
        self._tmux = tmux

    def show(self) -> str:
        """Return what was shown so far, in one line."""
        words = [*self._tmux, "capture-pane", "-p", "-J", "-S", "-2000", "-t", "claude"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=True)
        return " ".join(done.stdout.split())

    def wait_for(self, *texts: str) -> str:
        """Wait until one of some texts is shown; return everything that is."""
        end = time.monotonic() + PATIENCE
        while not any(text in (shown := self.show()) for text in texts):
            assert time.monotonic() < end, f"{texts} never came:\n{shown}"
            time.sleep(0.2)
        return shown

    def press(self, *keys: str) -> None:
        """Press keys by their names."""
        subprocess.run([*self._tmux, "send-keys", "-t", "claude", *keys], timeout=600, check=True)

    def say(self, text: str) -> None:
        """Type a prompt, and send it once it stands there."""
        subprocess.run([*self._tmux, "send-keys", "-t", "claude", "-l", text], timeout=600, check=True)
        self.wait_for(f"❯ {text}")
        time.sleep(0.5)  # the client takes what follows at once for part of a paste
        self.press("Enter")


@pytest.fixture
def tmux() -> Iterator[list[str]]:
    with begin_terminals() as found:
        yield found


def use(number: int, tool: str, **given: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}]


def list_texts(found: Any) -> Iterator[str]:
    """Yield every text in what a model was asked."""
    if isinstance(found, str):
        yield found
    for inner in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from list_texts(inner)


def say(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def test_receipts_and_reasons_are_shown_and_takeback_undoes_the_second_of_four(place: Place, tmux: list[str]) -> None:
    rules, settings, servers = (str(place.root / path) for path in FILES)
    numbers: list[int] = []

    def undo_second() -> list[dict[str, Any]]:
        with closing(place.opened()) as harness:
            numbers.extend(reversed([entry.seq for entry in harness.log() if entry.kind == "adopt"]))
        return use(41, "Bash", command=f"takeback undo {numbers[1]}", description="take the second back")

    script = [
        use(1, "Read", file_path=rules),
        use(2, "Edit", file_path=rules, old_string="Be kind.", new_string="Be brief."),
        use(3, "Edit", file_path=rules, old_string="Use tabs.", new_string="Use spaces."),
        use(4, "Edit", file_path=rules, old_string="Run `make check`", new_string="Always run `make check`"),
        say("three are done"),
        use(11, "Read", file_path=settings),
        use(12, "Edit", file_path=settings, old_string='"Edit", ', new_string='"Edit", "Bash(rm:*)", '),
        say("the fourth is done"),
        use(21, "Read", file_path=servers),
        use(22, "Edit", file_path=servers, old_string='"mcpServers": {}', new_string='"mcpServers" {}'),
        say("it was refused"),
        use(31, "Bash", command="takeback log -n 20", description="list the changes"),
        say("these are the changes"),
        undo_second,
        say("it is taken back"),
    ]
    with anthropic_server(script) as server:
        variables = [f"{key}={value}" for key, value in (place.env | {"ANTHROPIC_BASE_URL": server.url}).items()]
        words = ["env", "-i", *variables, place.binary, "--permission-mode", "default"]
        start = [*tmux, "new-session", "-d", "-s", "claude", "-x", "120", "-y", "50", "-c", str(place.root)]
        subprocess.run([*start, *words], timeout=600, check=True)
        screen = Screen(tmux)
        if "Make auto mode" in screen.wait_for("Make auto mode", "manual mode on"):
            screen.press("Down", "Enter")
            screen.wait_for("manual mode on")

        screen.say("tidy the rules")
        shown = screen.wait_for("● three are done")
        assert "recorded 3; /takeback 3 to undo" in shown
        assert "recorded 5; /takeback 5 to undo" in shown

        screen.say("let it remove files")
        screen.wait_for("Do you want to make this edit to settings.json?")
        screen.press("Enter")
        shown = screen.wait_for("● the fourth is done")
        assert 'Takeback asked: .claude/settings.json: config["permissions.allow"] allows more: Bash(rm:*)' in shown
        assert 'recorded 6 (config["permissions.allow"] allows more: Bash(rm:*)); /takeback 6 to undo' in shown

        screen.say("break the servers")
        shown = screen.wait_for("● it was refused")
        assert "Takeback: .mcp.json: claude-code would no longer load it" in shown

        screen.say("/takeback")
        screen.wait_for("● these are the changes")
        assert '"tidy the rules" · Edit CLAUDE.md' in "".join(list_texts(server.requests))
        screen.say("/takeback 4")
        screen.wait_for("● it is taken back")
        assert "run `takeback undo 3` for exactly those numbers" in "".join(list_texts(server.requests))
    assert len(numbers) == 4
    text = (place.root / "CLAUDE.md").read_text()
    assert text == "# Rules\n\n- Always run `make check`.\n- Be brief.\n- Use tabs.\n"
    assert "Bash(rm:*)" in (place.root / ".claude/settings.json").read_text()
