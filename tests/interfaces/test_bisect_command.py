"""`takeback bisect` finds what broke an agent in a scratch copy, and the undo it offers mends it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.client_harnesses import files_of, write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.cli import app


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    write_harness(place, "claude-code")
    (place / "node_modules").mkdir()
    (place / "node_modules/marker").write_text("x")
    init_clients(place, ("claude-code",))
    return place


def run(*words: str) -> tuple[int, dict]:
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, json.loads(done.stdout)


def change(root: Path, *lines: str) -> list[int]:
    """One entry per line appended to CLAUDE.md."""
    made = []
    for line in lines:
        with (root / "CLAUDE.md").open("a") as file:
            file.write(f"\n{line}")
        with closing(open_workspace(root, hold=False)) as harness:
            made.append(harness.adopt(line).entry.entry)
    return made


def test_the_breaking_entry_is_found_and_its_undo_repairs_the_harness(root: Path) -> None:
    made = change(root, "one", "two", "bad", "four", "five")
    before = files_of(root)
    test = "test -e node_modules/marker && ! grep -q bad CLAUDE.md"
    code, found = run("bisect", "--test", test, "--dir", str(root))
    assert code == 0
    assert [entry["seq"] for entry in found["entries"]] == [made[2]]
    assert found["entries"][0]["what"] == "bad"
    assert files_of(root) == before
    assert CliRunner().invoke(app, [*found["undo"][1:], "--dir", str(root)]).exit_code == 0
    assert [line for line in ("one", "two", "bad", "four", "five") if line in (root / "CLAUDE.md").read_text()] == [
        "one",
        "two",
        "four",
        "five",
    ]


def test_entries_that_break_only_together_are_found(root: Path) -> None:
    made = change(root, "one", "left", "three", "four", "right", "six")
    test = "! (grep -q left CLAUDE.md && grep -q right CLAUDE.md)"
    code, found = run("bisect", "--test", test, "--dir", str(root))
    assert code == 0
    assert [entry["seq"] for entry in found["entries"]] == [made[1], made[4]]


def test_bisect_reports_a_working_or_always_broken_harness(root: Path) -> None:
    change(root, "one", "two")
    code, found = run("bisect", "--test", "true", "--dir", str(root))
    assert (code, found["entries"], found["reason"]) == (1, [], "it works as it is")
    code, found = run("bisect", "--test", "false", "--dir", str(root))
    assert (code, found["entries"]) == (1, [])


def test_only_entries_after_a_good_one_are_tried(root: Path) -> None:
    made = change(root, "bad", "two", "bad again")
    test = "test $(grep -c bad CLAUDE.md) -lt 2"
    code, found = run("bisect", "--good", f"#{made[1]}", "--test", test, "--dir", str(root))
    assert code == 0
    assert [entry["seq"] for entry in found["entries"]] == [made[2]]


def test_a_test_that_writes_into_the_copy_or_takes_too_long_changes_nothing_here(root: Path) -> None:
    made = change(root, "one", "bad", "three")
    before = files_of(root)
    test = "grep -q bad CLAUDE.md && sleep 30; echo mess >> CLAUDE.md"
    code, found = run("bisect", "--seconds", "1", "--test", test, "--dir", str(root))
    assert code == 0
    assert [entry["seq"] for entry in found["entries"]] == [made[1]]
    assert files_of(root) == before


def test_unrecorded_changes_stop_a_bisect(root: Path) -> None:
    change(root, "one")
    (root / "CLAUDE.md").write_text("# by hand\n")
    code, found = run("bisect", "--test", "true", "--dir", str(root))
    assert code == 1
    assert found["result"] == "refused"


@pytest.mark.parametrize("command", ["nosuchcmd", "nosuchcmd --flag", "./not-there.sh"])
def test_a_test_command_that_cannot_start_blames_no_entry(tmp_path, command):
    from tests.support.terminal import run as run_alone

    place = tmp_path / "agent"
    assert run_alone("init", place).code == 0
    assert run_alone("set", "prompt", "p", "one", "-C", place).code == 0
    done = run_alone("bisect", "--test", command, "-C", place)
    assert done.code == 2
    assert "there is no such command" in done.err
    assert command in done.err
    assert "broken" not in done.out + done.err
