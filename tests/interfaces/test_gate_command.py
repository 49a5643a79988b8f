"""`takeback gate`: a step from one directory to another, as any evolver makes it, on a real client's files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support.client_harnesses import files_of, write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.cli import app
from takeback.errors import InputError


@pytest.fixture
def before(tmp_path: Path) -> Path:
    place = tmp_path / "before"
    place.mkdir()
    write_harness(place, "claude-code")
    init_clients(place, ("claude-code",))
    return place


@pytest.fixture
def after(before: Path, tmp_path: Path) -> Path:
    place = tmp_path / "after"
    shutil.copytree(before, place, ignore=shutil.ignore_patterns(".takeback"))
    return place


def run(*words: object) -> tuple[int, dict]:
    done = CliRunner().invoke(app, [*(str(word) for word in words), "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, json.loads(done.stdout)


def edit(place: Path, path: str, old: str, new: str) -> None:
    text = (place / path).read_bytes().decode()
    assert old in text
    (place / path).write_bytes(text.replace(old, new, 1).encode())


def evolved(place: Path) -> None:
    edit(place, ".claude/agents/tester.md", "Test it.", "Test it.\nAsk before deleting files.")
    edit(place, ".claude/settings.json", '"deny" : []', '"deny" : ["Bash(rm:*)"]')
    (place / ".claude/rules/ask.md").write_text("Ask first.\n")
    (place / ".claude/rules/db.md").unlink()


def test_a_step_is_admitted_with_its_recovery_and_nothing_is_changed(before: Path, after: Path) -> None:
    evolved(after)
    files = files_of(before), files_of(after)
    code, told = run("gate", "--before", before, "--after", after)
    assert (code, told["admitted"], told["verdict"]["grade"], told["entry"]) == (0, True, "proved", None)
    kinds = {op["op_type"] for op in told["candidate"]["mutation"]}
    assert kinds == {"edit_prompt", "append_config", "set_prompt", "remove_prompt"}
    assert {op["op_type"] for op in told["candidate"]["recovery"]} == {"restore_prompt", "restore_config"}
    assert (files_of(before), files_of(after)) == files


def test_a_recorded_step_writes_its_files_and_its_undo_restores_every_byte(before: Path, after: Path) -> None:
    edit(after, ".claude/agents/tester.md", "Test it.", "Test it.\nAsk before deleting files.")
    edit(after, "CLAUDE.md", "end", "The end")
    (after / ".claude/rules/ask.md").write_text("Ask first.\n")
    first = files_of(before)
    code, told = run(
        "gate", "--before", before, "--after", after, "--record", "-m", "generation 7", "--by", "evolver"
    )
    assert (code, told["admitted"], told["result"]) == (0, True, "applied")
    assert files_of(before) == files_of(after)
    _, shown = run("show", told["entry"], "--dir", before)
    assert (shown["note"], shown["by"], shown["evidence"]["grade"]) == ("generation 7", "evolver", "proved")
    assert shown["candidate"]["recovery"]
    assert run("undo", told["entry"], "--dir", before)[0] == 0
    assert files_of(before) == first


def test_a_step_that_was_made_in_place_is_recorded_there_with_every_byte(
    before: Path, after: Path, tmp_path: Path
) -> None:
    live, copy = before, after
    first = files_of(live)
    evolved(live)
    edit(live, ".mcp.json", '{"mcpServers":', '{ "mcpServers":')
    code, told = run("gate", "--before", copy, "--after", live, "--record", "-m", "in place")
    assert (code, told["admitted"], told["result"]) == (0, True, "adopted")
    _, shown = run("show", told["entry"], "--dir", live)
    assert (shown["note"], shown["kind"]) == ("in place", "adopt")
    assert run("status", "--dir", live)[0] == 0
    assert run("undo", told["entry"], "--dir", live)[0] == 0
    assert files_of(live) == first


def test_steps_on_one_text_are_undone_apart(before: Path, after: Path) -> None:
    made = []
    for old, new in (
        ("# Ledger", "# The ledger"),
        ("see @docs/money.md", "see @docs/money.md first"),
        ("end", "fin"),
    ):
        edit(after, "CLAUDE.md", old, new)
        code, told = run("gate", "--before", before, "--after", after, "--record")
        assert code == 0
        made.append(told["entry"])
    assert run("undo", made[1], "--dir", before)[0] == 0
    text = (before / "CLAUDE.md").read_text()
    assert "# The ledger" in text
    assert "fin" in text
    assert "first" not in text


def test_a_step_with_files_outside_the_harness_is_rejected_unless_ignored(before: Path, after: Path) -> None:
    evolved(after)
    (after / "agent.py").write_text("import os\n")
    code, told = run("gate", "--before", before, "--after", after, "--record")
    assert (code, told["admitted"], told["outside"], told["entry"]) == (1, False, ["agent.py"], None)
    assert "agent.py" in told["reasons"][0]
    plain = CliRunner().invoke(app, ["gate", "--before", str(before), "--after", str(after)]).stdout
    assert plain.startswith("the step: not admitted: no surface of the harness has agent.py\n")
    assert "the step: admitted" not in plain
    assert run("gate", "--before", before, "--after", after, "--ignore", "*.py")[0] == 0


def test_a_step_to_files_that_the_client_could_not_read_is_not_admitted(before: Path, after: Path) -> None:
    (after / ".mcp.json").write_text('{"mcpServers": {')
    code, told = run("gate", "--before", before, "--after", after)
    assert (code, told["admitted"]) == (1, False)
    assert ".mcp.json" in told["reasons"][0]


def test_gate_records_a_loosening_step_only_with_the_loosen_option(before: Path, after: Path) -> None:
    edit(after, ".claude/settings.local.json", '"Bash(cat:*)"', '"Bash(cat:*)", "Bash(rm:*)"')
    code, told = run("gate", "--before", before, "--after", after)
    assert (code, len(told["looser"])) == (0, 1)
    assert run("gate", "--before", before, "--after", after, "--record")[0] == 1
    code, told = run("gate", "--before", before, "--after", after, "--record", "--loosen")
    assert (code, told["result"]) == (0, "applied")


def test_gate_reports_comments_and_formatting_it_leaves_out(before: Path, after: Path) -> None:
    edit(after, ".mcp.json", '{"mcpServers":', '{ "mcpServers":')
    code, told = run("gate", "--before", before, "--after", after)
    assert (code, told["candidate"], told["layout"]) == (0, None, [".mcp.json"])


def test_untracked_directories_are_read_by_their_client(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_harness(tmp_path / name, "codex")
    edit(tmp_path / "two", "AGENTS.md", "- two", "- two, at least")
    code, told = run("gate", "--before", tmp_path / "one", "--after", tmp_path / "two")
    assert (code, told["admitted"]) == (0, True)
    assert not (tmp_path / "one/.takeback").exists()
    with pytest.raises(InputError, match="expected a tracked project"):
        run("gate", "--before", tmp_path / "one", "--after", tmp_path / "two", "--record")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="neither a workspace nor a client's files"):
        run("gate", "--before", tmp_path / "empty", "--after", tmp_path / "two")


def test_a_step_is_not_recorded_on_a_harness_that_was_changed_by_hand(before: Path, after: Path) -> None:
    evolved(after)
    (before / "CLAUDE.md").write_text("by hand\n")
    with pytest.raises(InputError, match="another state in its journal"):
        run("gate", "--before", before, "--after", after, "--record")


def test_the_answer_of_gate_is_readable(before: Path, after: Path) -> None:
    evolved(after)
    told = CliRunner().invoke(app, ["gate", "--before", str(before), "--after", str(after)]).stdout
    assert "the step: admitted (proved" in told
    assert "recovery: {" in told
    assert "+Ask before deleting files." in told
    same = CliRunner().invoke(app, ["gate", "--before", str(before), "--after", str(before)])
    assert (same.exit_code, same.stdout) == (0, "the harness does not differ\n")
