"""The real Claude Code in a project whose files are tracked: each call is an entry, and each is taken back alone."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import make_place
from tests.clients.models import anthropic_server
from tests.clients.tracked import (
    FILES,
    PROMPTS,
    SETTINGS,
    SHELL,
    Tracked,
    check_all_together,
    check_each_alone,
    check_entries,
    check_half,
    edit_first,
    edit_second,
    say_after,
    wait_for,
)
from tests.support.plugin_folder import FOLDER

Call = tuple[str, dict[str, Any]]
TOOLS = {"edit": "Edit", "write": "Write", "shell": "Bash"}
DONE = [{"type": "text", "text": "done"}]


@pytest.fixture
def project(tmp_path: Path) -> Tracked:
    return make_project(tmp_path)


def make_project(tmp_path: Path, *, installed: bool = True) -> Tracked:
    place = make_place("claude-code", {**FILES, "CLAUDE.md": "# Notes\n"}, tmp_path, known=False)
    trusted = {"projects": {str(place.root): {"hasTrustDialogAccepted": True}}}
    (place.home / ".claude.json").write_text(json.dumps(trusted))
    return Tracked(place, installed=installed)


def use(project: Tracked, prompt: str, *turns: Sequence[Call] | Callable[[], None]) -> list[Any]:
    """Give a prompt and have the model make the calls of each turn; a function is called before the next turn."""
    calls = [turn if callable(turn) else _name_calls(prompt, at, turn) for at, turn in enumerate(turns)]
    with anthropic_server(say_after(calls, DONE)) as server:
        project.place.env |= {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": server.url, "IS_SANDBOX": "1"}
        words = ("-p", prompt, "--output-format", "stream-json", "--verbose")
        shown = project.place.run(*words, *project.words, "--permission-mode", "bypassPermissions", seconds=300)
    told = [json.loads(line) for line in shown.splitlines()]
    blocks = [block for line in told if line.get("type") == "user" for block in line["message"]["content"]]
    return [block for block in blocks if block.get("type") == "tool_result"]


def _name_calls(prompt: str, turn: int, calls: Sequence[Call]) -> list[dict[str, Any]]:
    name = f"toolu_{prompt.split(maxsplit=1)[0]}_{turn}"
    return [
        {"type": "tool_use", "id": f"{name}_{at}", "name": tool, "input": given}
        for at, (tool, given) in enumerate(calls)
    ]


def bash(command: str, **more: Any) -> list[Call]:
    return [("Bash", {"command": command, "description": "do it", **more})]


def edit(project: Tracked, path: str, old: str, new: str) -> list[Sequence[Call]]:
    place = str(project.root / path)
    return [[("Read", {"file_path": place})], [("Edit", {"file_path": place, "old_string": old, "new_string": new})]]


def test_ten_calls_and_two_hand_edits_are_entries_undone_each_alone(project: Tracked) -> None:
    root = project.root
    first = use(
        project,
        f"{PROMPTS[0]}\nand say nothing of it",
        *edit(project, "src/app.txt", "line 3\n", "the third line\n"),
        [("Write", {"file_path": str(root / "src/new.txt"), "content": "new\nfile\n"})],
        bash(SHELL["sed -i"]),
        lambda: edit_first(root),
        bash(SHELL["mv src/util.txt"]),
        bash(SHELL["rm -rf docs"]),
    )
    second = use(
        project,
        PROMPTS[1],
        bash(SHELL["tools/format.py"]),
        lambda: edit_second(root),
        bash(SHELL["git checkout"]),
        *edit(project, "lib/util.txt", "helper 6\n", "helper the sixth\n"),
        bash(SHELL["chmod"]),
        [("Read", {"file_path": str(root / "src/settings.ini")})],
        [("Write", {"file_path": str(root / "src/settings.ini"), "content": SETTINGS})],
    )
    assert not [answer for answer in (*first, *second) if answer.get("is_error")]
    calls = check_entries(project, TOOLS)
    check_each_alone(project, calls)
    check_all_together(project, calls)


def test_denied_calls_leave_nothing_and_failed_ones_record_their_changes(project: Tracked) -> None:
    rules = str(project.root / ".mcp.json")
    told = use(
        project,
        "try it",
        [("Write", {"file_path": rules, "content": '{"mcpServers" {}}\n'})],
        bash("printf 'half\\n' >> src/app.txt; exit 3"),
        *edit(project, "src/util.txt", "no such line", "x"),
    )
    assert [answer.get("is_error", False) for answer in told] == [True, True, False, True]
    assert "claude-code would no longer load it" in json.dumps(told[0])
    (entry,) = project.log()
    check_half(project, entry, "Bash")


def test_calls_of_one_turn_are_entries_of_their_own(project: Tracked) -> None:
    three = ("Write", {"file_path": str(project.root / "three.txt"), "content": "three\n"})
    use(project, "do all", [*bash("printf 'one\\n' > one.txt"), *bash("printf 'two\\n' > two.txt"), three])
    assert [entry["files"] for entry in project.log()] == [["one.txt"], ["two.txt"], ["three.txt"]]
    project.say("undo", "--prompt", "do all", "--path", "t*.txt")
    assert project.read() == {**project.first, "one.txt": (b"one\n", 0o644)}


def test_later_writes_of_a_background_process_name_the_process(project: Tracked) -> None:
    begin = "printf 'begun\\n' > begun.txt; sleep 3; printf 'late\\n' > late.txt; sleep 60"
    use(
        project,
        "serve it",
        bash(begin, run_in_background=True),
        lambda: wait_for(project.root / "late.txt"),
        bash("printf 'x\\n' > after.txt"),
    )
    late = next(entry for entry in project.log() if "late.txt" in entry["files"])
    assert (late["by"], late["origin"].get("tool")) == (None, None)
    assert "may still run" in late["what"]
    after = next(entry for entry in project.log() if "after.txt" in entry["files"])
    assert after["files"] == ["after.txt"]


def test_the_plugin_captures_the_same_as_installed_hooks(tmp_path: Path) -> None:
    project = make_project(tmp_path, installed=False)
    program = tmp_path / "bin/takeback"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m takeback "$@"\n')
    program.chmod(0o755)
    project.place.env["PATH"] = f"{program.parent}{os.pathsep}{project.place.env['PATH']}"
    project.words = ("--plugin-dir", str(FOLDER))
    use(project, "say it", bash("printf 'one\\n' > one.txt"), *edit(project, "src/app.txt", "line 3\n", "third\n"))
    first, second = project.log()
    assert first["what"].startswith('"say it" · Bash: printf')
    assert second["what"].startswith('"say it" · Edit: src/app.txt')
