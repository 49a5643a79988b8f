"""`set`, `add`, `remove`, `edit`, `move`, and what `apply` does with a candidate whose recovery falls short."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
from tests.support.running import op
from tests.support.terminal import run as run_program
from typer.testing import CliRunner

from takeback.adapters import init_workspace, open_workspace
from takeback.cli import app, main
from takeback.errors import InputError

STATE = {
    "config": {"permissions": {"allow": ["Read"]}},
    "prompts": {"CLAUDE.md": "# Rules\nBe brief.\nUse tabs.\nBe brief.\n"},
    "tools": {"mcp:github": {"description": "hub"}},
    "middleware": [{"id": "auth", "handler": "h"}, {"id": "log", "handler": "l"}],
    "files": {"a.txt": {"content": "a\n"}},
}
DELETES = {
    "mutation": [op("set_config", "limit", value=9)],
    "witness": [],
    "recovery": [op("delete_config", "limit")],
}


def run(*arguments, given=None):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def run_json(*arguments, given=None):
    code, text = run(*arguments, "--json", given=given)
    return code, json.loads(text)


@pytest.fixture
def agent(tmp_path, monkeypatch):
    (tmp_path / "state.json").write_text(json.dumps(STATE))
    assert run("init", tmp_path / "agent", "--state", tmp_path / "state.json")[0] == 0
    monkeypatch.chdir(tmp_path)
    return tmp_path / "agent"


def state_of(agent):
    with open_workspace(agent, hold=False) as harness:
        return harness.state.write()


def files_of(agent):
    found = (path for path in agent.rglob("*") if path.is_file() and ".takeback" not in path.parts)
    return {str(path.relative_to(agent)): path.read_bytes() for path in found}


LINES = [
    ("set", "config", "permissions.allow+", "Bash(npm test:*)"),
    ("set", "config", "permissions.allow-", "Read"),
    ("set", "config", "a.b", '{"c": [1, 2.5, null]}'),
    ("set", "prompt", "agents/reviewer", "Look twice.\n"),
    ("set", "routing", "default_model", "small-1"),
    ("set", "file", "a.txt", "b\n"),
    ("add", "tool", "mcp:db", "--json", '{"description": "db"}'),
    ("add", "middleware", "trace", '{"handler": "t"}', "--before", "log"),
    ("add", "listener", "on_start", '{"id": "hello", "handler": "h"}'),
    ("edit", "prompt", "CLAUDE.md", "--old", "Use tabs.", "--new", "Use spaces."),
    ("edit", "prompt", "CLAUDE.md", "--append", "No emoji."),
    ("edit", "file", "a.txt", "--append", "b"),
    ("move", "middleware", "log", "--before", "auth"),
    ("move", "file", "a.txt", "docs/a.txt"),
    ("remove", "tool", "mcp:github"),
    ("remove", "config", "permissions"),
    ("remove", "prompt", "CLAUDE.md"),
    ("remove", "middleware", "auth"),
    ("remove", "file", "a.txt"),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line[:3]))
def test_a_line_is_proved_recorded_and_taken_back_byte_for_byte(agent, line):
    before, state = files_of(agent), state_of(agent)
    code, told = run_json(*line, "-C", agent, "-m", "why", "--by", "me")
    assert (code, told["result"], told["verdict"]["grade"]) == (0, "applied", "proved")
    assert files_of(agent) != before
    _, shown = run_json("log", "-n", "1", "-C", agent)
    assert (shown["entries"][0]["note"], shown["entries"][0]["by"]) == ("why", "me")
    assert run("undo", told["entry"], "-C", agent)[0] == 0
    assert (files_of(agent), state_of(agent)) == (before, state)


@pytest.mark.parametrize("line", [LINES[0], LINES[6], LINES[9], LINES[14]], ids=lambda line: " ".join(line[:3]))
def test_a_plan_shows_the_change_and_makes_none(agent, line):
    before = files_of(agent)
    code, told = run_json(*line, "--plan", "-C", agent)
    assert (code, told["result"], told["verdict"]["grade"]) == (0, "plan", "proved")
    assert told["changes"]
    assert told["paths"]
    assert told["candidate"]["recovery"]
    assert "would change this in " in run(*line, "--plan", "-C", agent)[1]
    assert files_of(agent) == before
    assert len(run_json("log", "-C", agent)[1]["entries"]) == 1


def test_json_takes_a_value_or_selects_json_output(agent):
    code, text = run("add", "tool", "x", "--json", '{"description": "d"}', "-C", agent)
    assert code == 0
    assert text.startswith("applied:")
    code, told = run_json("add", "tool", "y", "--json", '{"description": "d"}', "-C", agent)
    assert (code, told["result"]) == (0, "applied")
    code, told = run_json("set", "--json-value", "7", "config", "n", "-C", agent)
    assert told["changes"][0]["after"] == 7
    code, text = run("set", "config", "--json", "n", "8", "-C", agent)
    assert json.loads(text)["changes"][0]["after"] == 8
    assert state_of(agent)["tools"]["y"]["description"] == "d"


def test_an_error_is_json_only_if_json_was_requested(agent, monkeypatch, capsys):
    for words, wished in ((["--json", "{}"], False), (["--json", "{}", "--json"], True)):
        monkeypatch.setattr(sys, "argv", ["takeback", "add", "tool", "mcp:github", *words, "-C", str(agent)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert ended.value.code == 2
        assert told.err.startswith("takeback: add tool mcp:github: already exists\n")
        assert ("error" in json.loads(told.out)) if wished else told.out == ""


def test_a_value_is_read_byte_for_byte_from_a_file_or_standard_input(agent, tmp_path):
    (tmp_path / "new.md").write_bytes(b"one\r\ntwo")
    run("set", "prompt", "agents/reviewer", "--from", tmp_path / "new.md", "-C", agent)
    assert state_of(agent)["prompts"]["agents/reviewer"] == "one\r\ntwo"
    run("set", "prompt", "agents/reviewer", "--from", "-", "-C", agent, given="typed\n")
    assert state_of(agent)["prompts"]["agents/reviewer"] == "typed\n"
    (tmp_path / "image.bin").write_bytes(b"\xff\x00\xfe")
    run("set", "file", "image.bin", "--from", tmp_path / "image.bin", "--mode", "0600", "-C", agent)
    assert (agent / "files/image.bin").read_bytes() == b"\xff\x00\xfe"
    assert (agent / "files/image.bin").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="expected a readable file"):
        run("set", "prompt", "x", "--from", tmp_path / "no.md", "-C", agent)
    with pytest.raises(InputError, match="found VALUE and --from, expected one of them"):
        run("set", "prompt", "x", "y", "--from", tmp_path / "new.md", "-C", agent)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (("edit", "prompt", "CLAUDE.md", "--old", "Be brief.", "--new", "x"), "the old text twice (lines 2 and 4)"),
        (("edit", "prompt", "CLAUDE.md", "--old", "Use tab.", "--new", "x"), "the nearest is line 3: Use tabs."),
        (("remove", "tool", "mcp:githb"), "did you mean mcp:github?"),
        (("set", "tol", "x", "{}"), "did you mean tool"),
        (("set", "config", "v", "1.10"), "expected --json 1.1 for the number, or --text 1.10 for the text"),
    ],
)
def test_bad_input_lists_existing_names_and_changes_nothing(agent, line, told):
    before = files_of(agent)
    ended = run_program(*line, "-C", agent)
    assert ended.code == 2
    assert told in ended.err
    assert "Traceback" not in ended.err
    assert files_of(agent) == before


def test_drift_is_reported_before_a_missing_name(agent):
    (agent / "prompts" / "new.md").write_text("By hand.\n")
    code, told = run_json("edit", "prompt", "new", "--append", "x", "-C", agent)
    assert (code, told["result"], told["why"]) == (1, "refused", "drift")


def test_two_items_added_by_lines_are_undone_apart(agent):
    entries = [run_json("set", "config", "permissions.allow+", item, "-C", agent)[1]["entry"] for item in ("A", "B")]
    assert run("undo", entries[0], "-C", agent)[0] == 0
    assert state_of(agent)["config"]["permissions"]["allow"] == ["Read", "B"]


def test_apply_reads_standard_input(agent):
    good = {**DELETES, "witness": [op("capture_config", "limit", witness_key="w")]}
    good["recovery"] = [op("restore_config", "limit", witness_key="w")]
    code, told = run_json("apply", "-", "-C", agent, given=json.dumps(good))
    assert (code, told["result"]) == (0, "applied")
    with pytest.raises(InputError, match="standard input, line 1, column 2"):
        run("apply", "-", "-C", agent, given="{")


def test_a_refusal_names_a_command_that_works_when_copied(agent, tmp_path):
    (tmp_path / "a change.json").write_text(json.dumps(DELETES))
    code, text = run("apply", "a change.json", "--dir", "agent")
    assert code == 1
    (hint,) = [line for line in text.splitlines() if "--repair" in line]
    assert hint.startswith("  next, for a proved recovery: takeback apply 'a change.json' --repair --dir agent")
    words = shlex.split(hint.partition("recovery: ")[2])
    assert run(*words[1:])[0] == 0
    assert state_of(agent)["config"]["limit"] == 9
    assert run("undo", "HEAD", "--dir", "agent")[0] == 0
    assert "limit" not in state_of(agent)["config"]


def test_repair_keeps_the_mutation_and_a_recovery_that_is_good(agent, tmp_path):
    code, told = run_json("apply", "-", "--repair", "--plan", "-C", agent, given=json.dumps(DELETES))
    assert (code, told["candidate"]["mutation"]) == (0, DELETES["mutation"])
    assert told["candidate"]["recovery"] != DELETES["recovery"]
    run("set", "config", "limit", "1", "-C", agent)
    (tmp_path / "good.json").write_text(json.dumps(told["candidate"]))
    _, again = run_json("apply", tmp_path / "good.json", "--repair", "--plan", "-C", agent)
    assert again["candidate"] == told["candidate"]


def test_an_unreadable_mutation_is_bad_input_even_with_repair(agent):
    with pytest.raises(InputError, match="expected a mutation that can be read"):
        run("apply", "-", "--repair", "-C", agent, given='{"mutation": [{"op_type": "fly", "target": "x"}]}')


REFUSED = {
    "set routing main small": "the routes here are model, fallbackModel, agent, local:model",
    "set config model opus": "'takeback set routing model VALUE' sets it",
    "set prompt notes.md text": "the prompts here are CLAUDE.md, CLAUDE.local.md, AGENTS.md, agents/NAME",
    """set tool hub '{"command": "hub"}'""": "a server is named mcp:hub; 'takeback help things'",
    "set file notes.txt text": "'takeback init --track' records a project's own files too",
    """set middleware auth '{"handler": "h"}'""": "next: 'takeback help things' shows what a change can name",
    "set config permissions.allow 3": "next: correct the change and try it with --plan; 'takeback help things'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_refused_change_of_a_clients_project_says_what_to_do_next(line, tmp_path, monkeypatch):
    (tmp_path / ".claude").mkdir()
    (tmp_path / "CLAUDE.md").write_text("# Rules\n")
    (tmp_path / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Read"]}}\n')
    monkeypatch.chdir(tmp_path)
    assert run("init")[0] == 0
    code, text = run(*shlex.split(line))
    assert code == 1
    assert "nothing was changed\n" in text or "does not store" in text
    assert REFUSED[line] in text


@pytest.mark.parametrize("target", ["a..b", ".a", "a."])
def test_a_path_with_nothing_between_two_dots_is_refused_by_its_whole_text(target, tmp_path):
    init_workspace(tmp_path)
    done = CliRunner().invoke(app, ["set", "config", target, "1", "--dir", str(tmp_path)])
    assert f"found {target}, expected names with one dot between two" in str(done.exception)
    empty = CliRunner().invoke(app, ["set", "prompt", "", "x", "--dir", str(tmp_path)])
    assert "found ," not in str(empty.exception)
