"""A change that the client would not load is refused, with the client's own words where it is installed."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.changes import candidate, config, routing
from tests.support.client_harnesses import files_of, write_harness
from tests.support.trusted import trust

from takeback.adapters.clients import validators
from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness.outcomes import Applied, Refused

DOCTOR = """#!/bin/sh
pwd > "$TMPDIR/../../seen"; env | sort >> "$TMPDIR/../../seen"
if grep -q '"five" *: *5' .claude/settings.json; then
printf 'doctor\\n\\nInvalid settings\\n- %s/.claude/settings.json › ' "$PWD"
printf 'five: Expected string, but received number\\n'
printf '  a hint\\n\\nRemote Control\\n- not this\\n'
fi
"""


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any client; programs can be put where they are looked for."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return programs


def installed(programs: Path, name: str, script: str) -> None:
    (programs / name).write_text(script)
    (programs / name).chmod(0o755)


def change(root: Path, *ops: Any) -> Applied | Refused:
    with closing(open_workspace(root)) as harness:
        return harness.apply(candidate(*ops))


def claude_code(root: Path) -> Path:
    root.mkdir()
    write_harness(root, "claude-code")
    init_clients(root)
    return root


@pytest.mark.parametrize(
    ("target", "value", "word"),
    [
        ("permissions.allow", "Bash", "a list"),
        ("permissions.additionalDirectories", ["a", 5], "must hold texts"),
        ("permissions.defaultMode", "sometimes", "known are acceptEdits"),
        ("sandbox.enabled", "yes", "true or false"),
        ("sandbox.excludedCommands", "git", "a list"),
        ("cleanupPeriodDays", "30", "a whole number"),
        ("statusLine", {"type": "command"}, "no 'command'"),
        ("voice", True, "a mapping"),
        ("autoMemoryEnabled", 1, "true or false"),
        ("claudeMdExcludes", "vendor", "a list"),
        ("skillListingBudgetFraction", "half", "a number"),
        ("anything.PreToolUse", 1, "outside of 'hooks'"),
    ],
)
def test_a_value_of_a_type_claude_code_rejects_is_refused(
    alone: Path, target: str, value: Any, word: str, tmp_path: Path
) -> None:
    root = claude_code(tmp_path / "project")
    before = files_of(root)
    outcome = change(root, config(target, value))
    assert isinstance(outcome, Refused), outcome
    assert word in outcome.message
    assert "itself says" not in outcome.message
    assert files_of(root) == before


@pytest.mark.parametrize(
    ("target", "value"), [("env.NEW", "1"), ("sandbox.enabled", True), ("made-up", 5), ("includeCoAuthoredBy", False)]
)
def test_values_claude_code_loads_are_applied(alone: Path, target: str, value: Any, tmp_path: Path) -> None:
    assert isinstance(change(claude_code(tmp_path / "project"), config(target, value)), Applied)


@pytest.mark.parametrize(("target", "value"), [("model", 5), ("hooks.Stop", []), ("model", "opus")])
def test_a_key_of_another_surface_cannot_be_set_as_config(
    alone: Path, target: str, value: Any, tmp_path: Path
) -> None:
    root = claude_code(tmp_path / "project")
    outcome = change(root, config(target, value))
    assert isinstance(outcome, Refused), outcome
    assert "is not config" in outcome.message
    with closing(open_workspace(root)) as harness:
        assert harness.status().clean


def test_a_refusal_quotes_the_installed_client(alone: Path, tmp_path: Path) -> None:
    installed(alone, "claude", DOCTOR)
    root = claude_code(tmp_path / "project")
    before = files_of(root)
    outcome = change(root, config("five", 5), config("voice", 5))
    assert isinstance(outcome, Refused)
    words = "(Claude Code itself says: .claude/settings.json › five: Expected string, but received number)"
    assert words in outcome.message
    assert files_of(root) == before
    place, *environment = (tmp_path / "seen").read_text().splitlines()
    assert place != str(root)
    assert not Path(place).exists()
    assert f"HOME={Path(place).parent / 'home'}" in environment
    assert "DISABLE_AUTOUPDATER=1" in environment


def asking(root: Path, when: str) -> None:
    """Have the manifest say when the client is asked."""
    manifest = root / ".takeback" / "manifest.toml"
    if when:
        manifest.write_text(manifest.read_text().replace("[workspace]\n", f'[workspace]\nask_client = "{when}"\n'))
        trust(root)


@pytest.mark.parametrize("switch", ["", "never", "always"])
def test_the_client_is_asked_before_every_change_only_on_request(alone: Path, switch: str, tmp_path: Path) -> None:
    installed(alone, "claude", DOCTOR)
    root = claude_code(tmp_path / "project")
    asking(root, switch)
    outcome = change(root, config("five", 5))
    assert isinstance(outcome, Refused if switch == "always" else Applied)
    assert (tmp_path / "seen").exists() == (switch == "always")
    if isinstance(outcome, Refused):
        assert "Claude Code itself says" in outcome.message


def test_existing_complaints_of_the_client_stop_no_change(alone: Path, tmp_path: Path) -> None:
    installed(alone, "claude", DOCTOR)
    root = claude_code(tmp_path / "project")
    asking(root, "always")
    settings = root / ".claude" / "settings.local.json"
    settings.write_text(json.dumps({"x": 1}))
    (root / ".claude" / "settings.json").write_text(json.dumps({"five": 5}))
    with closing(open_workspace(root)) as harness:
        harness.adopt()
        assert isinstance(harness.apply(candidate(config("env.A", "1"))), Applied)


@pytest.mark.parametrize(
    "script", ["#!/bin/sh\nsleep 600 & sleep 600\n", "not a program", "#!/no/such/interpreter\n"]
)
def test_a_client_that_fails_to_answer_is_ignored(
    alone: Path, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(alone, "claude", script)
    monkeypatch.setattr(validators, "SECONDS", 0.2)
    root = claude_code(tmp_path / "project")
    outcome = change(root, routing("model", "opus"), config("voice", 1))
    assert isinstance(outcome, Refused)
    assert "itself says" not in outcome.message


@pytest.mark.parametrize(
    ("client", "code", "text", "expected"),
    [
        (
            "codex",
            1,
            "WARNING: x\nError: failed\n\nCaused by:\n    invalid type: 5\n    in `model`\n",
            "invalid type: 5 in `model`",
        ),
        ("opencode", 1, "\x1b[91mError:\x1b[0m invalid at x\n↳ Expected string model\n", "Expected string model"),
        ("opencode", 1, "opencode.json is not JSON\n", "opencode.json is not JSON"),
        (
            "gemini",
            0,
            "Invalid:\n\nError in: model.name\n    Expected string\n\nPlease fix\n",
            "model.name: Expected string",
        ),
        ("gemini", 52, "Error in x: Unexpected end\nPlease\n", "Error in x: Unexpected end"),
    ],
)
def test_complaints_are_parsed_from_client_output(client: str, code: int, text: str, expected: str) -> None:
    validator = validators.VALIDATORS[client]
    assert validator.said(code, text) == [expected]
    assert validator.said(0, "all is well\n") == []


def test_a_plugin_of_a_second_client_does_not_block_the_firsts_settings(tmp_path):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"hooks": {}}\n')
    (tmp_path / ".opencode/plugin").mkdir(parents=True)
    (tmp_path / ".opencode/plugin/p.js").write_text("export const P = async () => ({})\n")
    init_clients(tmp_path, ("claude-code", "opencode"))
    with open_workspace(tmp_path) as harness:
        assert isinstance(harness.apply(candidate(config("cleanupPeriodDays", 9))), Applied)
        assert harness.state["listeners"] == {
            "opencode:plugin": [{"id": "p.js", "handler": "p.js", "options": {"file": ".opencode/plugin/p.js"}}]
        }
