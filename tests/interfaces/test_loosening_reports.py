"""The command line says what a change loosens: made, taken back, brought back, restored, adopted, discarded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.cli import app

SETTINGS = '{"permissions": {"allow": ["Read"], "deny": ["Bash(rm:*)"]}}\n'
DENIES_LESS = 'config["permissions.deny"] denies less: Bash(curl:*) is gone'
ALLOWS_MORE = 'config["permissions.allow"] allows more: Bash(*)'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(SETTINGS)
    init_clients(tmp_path, ("claude-code",))
    return tmp_path


def run(root: Path, *words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--dir", str(root)])
    assert result.exit_code == 0, result.output
    return result.stdout


def looser(root: Path, *words: str) -> Any:
    return json.loads(run(root, *words, "--json"))["looser"]


def test_undoing_a_deny_rule_reports_the_loosening(root: Path) -> None:
    assert looser(root, "set", "config", "permissions.deny+", "Bash(curl:*)") == []
    assert looser(root, "undo", "HEAD", "--plan") == [DENIES_LESS]
    assert f"looser: {DENIES_LESS}" in run(root, "undo", "HEAD", "--plan").replace("\n", "")
    assert looser(root, "restore", "--to", "#1", "--plan") == [DENIES_LESS]
    assert looser(root, "undo", "HEAD") == [DENIES_LESS]
    assert looser(root, "redo", "--last", "--plan") == []


def test_redoing_an_allow_rule_reports_the_loosening(root: Path) -> None:
    assert looser(root, "set", "config", "permissions.allow+", "Bash(*)", "--plan") == [ALLOWS_MORE]
    assert looser(root, "set", "config", "permissions.allow+", "Bash(*)") == [ALLOWS_MORE]
    assert looser(root, "undo", "HEAD") == []
    assert looser(root, "redo", "--last", "--plan") == [ALLOWS_MORE]
    assert looser(root, "redo", "--last") == [ALLOWS_MORE]


def test_adopt_and_discard_report_what_they_loosen(root: Path) -> None:
    settings = root / ".claude/settings.json"
    settings.write_text(SETTINGS.replace('"Bash(rm:*)"', '"Bash(rm:*)", "Bash(curl:*)"'))
    assert looser(root, "discard") == [DENIES_LESS]
    settings.write_text(SETTINGS.replace('"Read"', '"Read", "Bash(*)"'))
    assert looser(root, "discard") == []
    assert looser(root, "undo", "HEAD") == [ALLOWS_MORE]
    assert looser(root, "adopt") == [ALLOWS_MORE]


def test_undoing_takebacks_own_hooks_reports_the_loosening(root: Path) -> None:
    run(root, "install", "claude-code")
    found = looser(root, "undo", "HEAD", "--plan")
    assert any("takeback hook claude-code" in reason and "a hook removed or changed" in reason for reason in found)
