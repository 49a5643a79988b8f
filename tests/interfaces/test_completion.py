"""Completion as the shells ask for it: entries, names, rules and modes, each explained; nothing where nothing is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from tests.support.terminal import environment
from typer.testing import CliRunner

from takeback.cli import app
from takeback.cli.completion import GRADES, LEVELS, MODES, RULES
from takeback.present import entries
from takeback.repair.diagnosis import Mode
from takeback.state import Level
from takeback.verify import RULE_NAMES


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stdout


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("init", "agent")
    run("set", "prompt", "planner", "Plan.", "-C", "agent", "-m", "it [bold]plans[/bold]")
    run("set", "config", "limits.turns", "3", "-C", "agent", "--by", "reviewer")
    run("undo", "HEAD", "-C", "agent")
    return tmp_path / "agent"


def offered(shell: str, line: str) -> str:
    """What the program answers a shell, by the shell's own protocol."""
    words = line.split(" ")
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    asked["_TAKEBACK_COMPLETE"] = f"complete_{shell}"
    result = CliRunner().invoke(app, [], env=asked, prog_name="takeback")
    assert result.stderr == ""
    return result.stdout


def words(line: str) -> list[str]:
    return [word for word in offered("bash", line).split("\n") if word]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_entries_complete_in_every_shell_with_explanations_where_possible(agent, shell):
    text = offered(shell, "takeback show -C agent ")
    assert text.count("\n") >= 4
    if shell != "bash":
        assert "#2 it [bold]plans[/bold]" in text
        assert "took back #3" in text


def test_undo_and_redo_complete_only_entries_they_can_act_on(agent):
    everything, live, undone = (words(f"takeback {verb} -C agent #") for verb in ("show", "undo", "redo"))
    assert everything == ["#4", "#3", "#2", "#1"]
    assert live == ["#4", "#2"]
    assert "2" in words("takeback show -C agent 2")
    assert undone == ["#4", "#3"]
    assert words("takeback undo -C agent HE") == ["HEAD~0", "HEAD~2"]


def test_a_completed_id_is_accepted(agent):
    first = words("takeback show -C agent ")[0]
    assert words(f"takeback show -C agent {first[:4]}") == [first]
    run("show", first, "-C", "agent")


def test_existing_names_complete_for_the_given_kind(agent):
    assert words("takeback edit -C agent prompt ") == ["planner"]
    assert words("takeback edit -C agent file p") == []
    assert "prompt" in words("takeback edit pr")
    run("redo", "--last", "-C", "agent")
    assert words("takeback set -C agent config lim") == ["limits", "limits.turns"]


def test_option_values_complete_with_explanations():
    assert words("takeback verify --rule ") == list(RULE_NAMES)
    assert words("takeback repair --feedback D") == ["D0", "D1"]
    assert words("takeback log --surface mid") == ["middleware"]
    assert "the exact addresses" in offered("fish", "takeback repair --feedback D1")


def test_authors_of_entries_complete(agent):
    assert words("takeback log -C agent --by ") == ["reviewer"]


@pytest.mark.parametrize(
    ("told", "known"), [(RULES, RULE_NAMES), (MODES, Mode), (LEVELS, Level), (GRADES, entries.GRADES)]
)
def test_every_completed_option_value_has_an_explanation(told, known):
    assert list(told) == [str(one) for one in known]
    assert all(told.values())


@pytest.mark.parametrize("damage", ["no workspace", "no journal", "no SQLite", "an odd manifest", "far away"])
def test_an_unreadable_journal_gives_no_completions_and_no_message(agent, damage, monkeypatch):
    journal = agent / ".takeback/journal.db"
    assert journal.exists()
    if damage == "no workspace":
        shutil.rmtree(agent)
    elif damage == "no journal":
        journal.unlink()
    elif damage == "no SQLite":
        journal.write_bytes(b"\x00odd")
    elif damage == "an odd manifest":
        (agent / "takeback.toml").write_text("= 1")
    else:
        monkeypatch.setenv("TAKEBACK_JOURNAL", "postgresql://127.0.0.1:1/nothing")
    for line in ("takeback undo -C agent ", "takeback edit -C agent prompt ", "takeback log -C agent --by "):
        assert words(line) == []


def test_completing_changes_nothing(agent):
    before = {path: path.read_bytes() for path in agent.rglob("*") if path.is_file() and "-shm" not in path.name}
    words("takeback undo -C agent ")
    assert before == {path: path.read_bytes() for path in before}


def test_command_names_complete_without_importing_commands():
    script = (
        "import sys\nfrom takeback.cli.program import app\n"
        "try:\n    app(prog_name='takeback')\nexcept SystemExit:\n    pass\n"
        "print(*[name for name in sys.modules if name.startswith('takeback.')], file=sys.stderr)"
    )
    asked = environment(COMP_WORDS="takeback un", COMP_CWORD="1", _TAKEBACK_COMPLETE="complete_bash")
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=asked, capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.split() == ["undo", "uninstall"]
    loaded = set(done.stderr.split())
    assert not {"takeback.cli.undo", "takeback.harness", "takeback.state", "takeback.journal"} & loaded


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_installed_script(agent, tmp_path):
    program = tmp_path / "bin/takeback"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m takeback "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(_TAKEBACK_COMPLETE=source_bash takeback)"; COMP_WORDS=(takeback redo -C agent "#"); COMP_CWORD=4; '
        '_takeback_completion takeback; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    variables = environment(PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.split() == ["#4", "#3"]
