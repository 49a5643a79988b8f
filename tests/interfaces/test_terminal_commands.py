"""What people type under stress: undo without a name, by whom or when; entries by distance and time; states."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.terminal import run_on_terminal
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.cli import app
from takeback.cli.line_breaks import cut_at_word
from takeback.errors import InputError
from takeback.harness.entry_names import read_time


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def run_json(*arguments):
    code, text = run(*arguments, "--json")
    return code, json.loads(text)


@pytest.fixture
def agent(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"config": {"allow": ["a"]}, "prompts": {"p": "one\n"}}))
    assert run("init", tmp_path / "agent", "--state", tmp_path / "state.json")[0] == 0
    lines = [
        ("set", "config", "allow+", "b", "--by", "ann"),
        ("edit", "prompt", "p", "--append", "two", "--by", "bot"),
        ("set", "config", "limit", "3", "--by", "bot"),
        ("set", "routing", "main", "small-1", "--by", "bot", "-m", "cheaper"),
    ]
    for line in lines:
        assert run(*line, "-C", tmp_path / "agent")[0] == 0
    return tmp_path / "agent"


def state_of(agent):
    with open_workspace(agent, hold=False) as harness:
        return harness.state.write()


def test_the_log_describes_each_entry(agent):
    told = [entry["what"] for entry in run_json("log", "-C", agent)[1]["entries"]]
    assert told == [
        'cheaper: set routing["main"]',
        'set config["limit"] to 3',
        'edited prompts["p"]',
        'added "b" to config["allow"]',
        "the beginning",
    ]
    run("undo", "HEAD~1", "-C", agent)
    newest = run_json("log", "-n", "1", "-C", agent)[1]["entries"][0]
    assert newest["what"].endswith('(set config["limit"] to 3)')
    assert newest["what"].startswith("took back #")


def test_the_log_does_not_print_set_texts(agent):
    run("set", "config", "env.TOKEN", "hunter2", "-C", agent)
    assert "hunter2" not in run("log", "-C", agent)[1]


def test_repeated_undo_last_goes_further_back(agent):
    for left in ({"config", "prompts"}, None, None, None):
        code, told = run_json("undo", "--last", "-C", agent)
        assert (code, told["result"], len(told["off"])) == (0, "done", 1)
        if left:
            assert set(state_of(agent)) == left
    assert state_of(agent) == {"config": {"allow": ["a"]}, "prompts": {"p": "one\n"}}
    with pytest.raises(InputError, match="no live change"):
        run("undo", "--last", "-C", agent)
    assert run("redo", "--last", "-C", agent)[0] == 0
    assert state_of(agent)["config"]["allow"] == ["a", "b"]
    assert run_json("undo", "--plan", "-C", agent)[1]["result"] == "plan"


def test_all_entries_of_an_agent_are_undone_in_one_plan(agent):
    code, told = run_json("undo", "--by", "bot", "--since", "1h", "-C", agent)
    assert (code, len(told["off"])) == (0, 3)
    assert state_of(agent) == {"config": {"allow": ["a", "b"]}, "prompts": {"p": "one\n"}}
    assert run("undo", "HEAD", "-C", agent)[0] == 0
    code, told = run_json("undo", "--surface", "config", "--plan", "-C", agent)
    assert (code, len(told["off"])) == (0, 2)
    with pytest.raises(InputError, match="did you mean config"):
        run("undo", "--surface", "confg", "-C", agent)


def test_an_entry_can_be_named_by_distance_and_by_time(agent):
    ids = [entry["id"] for entry in run_json("log", "-C", agent)[1]["entries"]]
    shown = {
        name: run_json("show", name, "-C", agent)[1]["id"] for name in ("HEAD", "HEAD~0", "HEAD~", "HEAD~3", "HEAD^^")
    }
    assert shown == {"HEAD": ids[0], "HEAD~0": ids[0], "HEAD~": ids[1], "HEAD~3": ids[3], "HEAD^^": ids[2]}
    assert run_json("show", "@{0 minutes ago}", "-C", agent)[1]["id"] == ids[0]
    with pytest.raises(InputError, match="at or after the beginning"):
        run("show", "@{2 hours ago}", "-C", agent)
    assert run("restore", "--to", "HEAD~3", "-C", agent)[0] == 0
    assert "limit" not in state_of(agent)["config"]


@pytest.mark.parametrize(
    ("text", "ago"),
    [("2 hours ago", 7200), ("90m", 5400), ("1 day ago", 86400), ("2.weeks.ago", 1209600), ("yesterday", 86400)],
)
def test_times_are_read_as_people_write_them(text, ago):
    now = datetime(2031, 5, 27, 14, 30, tzinfo=UTC)
    assert read_time(text, now) == now - timedelta(seconds=ago)
    assert read_time("2031-05-27T14:30", now) == now


def test_the_state_at_an_entry_can_be_exported_and_imported(agent, tmp_path):
    _, text = run("export", "--at", "HEAD~2", "-C", agent)
    assert json.loads(text) == {"config": {"allow": ["a", "b"]}, "prompts": {"p": "one\ntwo\n"}}
    assert run_json("show", "HEAD~2", "--state", "-C", agent)[1]["state"] == json.loads(text)
    assert '"one\\ntwo\\n"' in run("show", "HEAD~2", "--state", "-C", agent)[1]
    (tmp_path / "then.json").write_text(text)
    assert run("init", tmp_path / "copy", "--state", tmp_path / "then.json")[0] == 0
    assert state_of(tmp_path / "copy") == json.loads(text)
    assert json.loads(run("export", "-C", agent)[1]) == state_of(agent)


def test_log_lines_fit_eighty_columns_and_describe_the_change(agent):
    ended = run_on_terminal(("log", "--no-pager", "-C", agent), {"NO_COLOR": "1"})
    assert "+ limit: 3" in ended.out
    assert 'config["' not in ended.out
    assert any("bot" in line and "+ main: small-1" in line for line in ended.out.splitlines())
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    assert "\x1b" not in ended.out


def test_a_cut_line_ends_between_words():
    assert cut_at_word("retry twice, then give up", 16) == "retry twice …"
    assert cut_at_word("retry twice", 16) == "retry twice"
    assert cut_at_word("a" * 30, 10) == "a" * 9 + "…"


def test_the_graph_of_the_log_shows_which_entries_depend_on_which(agent):
    for line in (("set", "prompt", "q", "base"), ("edit", "prompt", "p", "--append", "x"), ("undo", "HEAD")):
        assert run(*line, "-C", agent)[0] == 0
    assert run("edit", "prompt", "q", "--append", "y", "-C", agent)[0] == 0
    told = run_json("log", "--graph", "-C", agent)[1]["entries"]
    assert {entry["seq"]: entry["needs"] for entry in told} == {n: [6] if n == 9 else [] for n in range(1, 10)}
    _, text = run("log", "--graph", "--format", "{number} {what}", "-C", agent)
    lines = text.splitlines()
    assert lines[:4] == [
        '●    9 edited prompts["q"] (needs #6)',
        '│ ●  8 took back #7 (edited prompts["p"])',
        '│ ○  7 edited prompts["p"]',
        '●    6 set prompts["q"]',
    ]
    heading, first, *_ = run("log", "--graph", "-C", agent)[1].splitlines()
    assert heading.index("entry") == first.index(told[0]["id"][:10])


def test_the_logs_statistics_agree_with_its_json(agent):
    told = run_json("log", "-p", "--stat", "-C", agent)[1]["entries"]
    by_what = {entry["what"]: entry for entry in told}
    edited = by_what['edited prompts["p"]']
    assert edited["stat"] == [{"address": 'prompts["p"]', "added": 1, "removed": 0}]
    assert edited["changes"]
    assert ' prompts["p"] | 1 +' in run("log", "--stat", "-C", agent)[1].splitlines()


def test_log_filters_combine(agent):
    run("undo", "HEAD~1", "-C", agent)
    assert [entry["seq"] for entry in run_json("log", "-C", agent)[1]["entries"]] == [6, 5, 4, 3, 2, 1]

    def numbers(*words):
        return [entry["seq"] for entry in run_json("log", *words, "-C", agent)[1]["entries"]]

    assert numbers("--by", "bot") == [5, 4, 3]
    assert numbers("--by", "bot", "--surface", "config") == [4]
    assert numbers("--grade", "proved", "--since", "1h", "cheaper") == [5]
    assert numbers("took back") == [6]
    assert numbers("--since", "2999-01-01") == []


def test_the_log_is_not_cut_in_a_pipe(agent):
    note = "because " + "x" * 300
    assert run("set", "config", "limit", "4", "-m", note, "-C", agent)[0] == 0
    assert note in run("log", "-C", agent)[1]
    shown = run_on_terminal(("log", "--graph", "--no-pager", "-C", agent), {"NO_COLOR": "1"}).out
    assert note not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_an_unplaceable_tool_is_refused_with_a_suitable_name(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("# Rules\n")
    (tmp_path / ".claude").mkdir()
    assert run("init", tmp_path, "--kind", "claude-code")[0] == 0
    server = '{"command": "node", "args": ["issues.mjs"]}'
    code, text = run("add", "tool", "issues", "--json-value", server, "-C", tmp_path)
    assert (code, "a server is named mcp:issues" in text) == (1, True)
    assert run("add", "tool", "mcp:issues", "--json-value", server, "-C", tmp_path)[0] == 0


def test_a_clients_exported_state_makes_an_equal_workspace(tmp_path):
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (project / "CLAUDE.md").write_text("# Rules\n\nUse tabs.\n")
    (project / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(ls:*)"]}, "n": [1, 1.0]}\n')
    assert run("init", project)[0] == 0
    assert run("edit", "prompt", "CLAUDE.md", "--append", "No emoji.", "-C", project)[0] == 0
    assert run("set", "config", "permissions.allow+", "Bash(rm:*)", "-C", project)[0] == 0
    for at in ("HEAD", "HEAD~1", "#1"):
        _, text = run("export", "--at", at, "-C", project)
        assert run_json("show", at, "--state", "-C", project)[1]["state"] == json.loads(text)
        (tmp_path / "state.json").write_text(text)
        copy = tmp_path / f"copy{at.strip('#').replace('~', '')}"
        assert run("init", copy, "--state", tmp_path / "state.json")[0] == 0
        assert run("export", "-C", copy)[1] == text
        assert run("status", "-C", copy)[0] == 0


def test_an_entry_before_a_discard_can_be_redone_after_undoing_everything(tmp_path):
    (tmp_path / ".claude").mkdir()
    (tmp_path / "CLAUDE.md").write_text("# Rules\n")
    assert run("init", tmp_path, "--kind", "claude-code")[0] == 0
    for line in ("one", "two"):
        assert run("edit", "prompt", "CLAUDE.md", "--append", line, "-C", tmp_path)[0] == 0
    (tmp_path / "CLAUDE.md").write_text("by hand\n")
    assert run("discard", "-C", tmp_path)[0] == 0
    assert run("restore", "--to", "#1", "-C", tmp_path)[0] == 0
    assert run("redo", "#2", "-C", tmp_path)[0] == 0
    assert (tmp_path / "CLAUDE.md").read_text() == "# Rules\none\n"


def test_the_log_is_filtered_by_client_class_and_an_end(agent):
    with open_workspace(agent, hold=False) as harness:
        (agent / "prompts" / "p.md").write_text("three\n")
        harness.adopt("Edit p.md", by="codex (declared)", origin={"client": "codex", "session": "7c1e"})
    numbers = {entry["seq"] for entry in run_json("log", "-C", agent)[1]["entries"]}
    by_codex = [entry["seq"] for entry in run_json("log", "--client", "codex", "-C", agent)[1]["entries"]]
    assert by_codex == [max(numbers)]
    assert run_json("log", "--class", "irreversible", "-C", agent)[1]["entries"] == []
    assert {entry["seq"] for entry in run_json("log", "--class", "reversible", "-C", agent)[1]["entries"]} == numbers
    assert run_json("log", "--until", "an hour ago", "-C", agent)[1]["entries"] == []
    assert {entry["seq"] for entry in run_json("log", "--until", "now", "-C", agent)[1]["entries"]} == numbers
    with pytest.raises(InputError, match="expected one of reversible, compensable, irreversible"):
        run("log", "--class", "red", "-C", agent)


def test_install_prints_a_short_summary_and_details_on_request(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("# Rules\n")
    planned = run("install", "claude-code", "--plan", "-C", tmp_path)[1]
    whole = run("install", "claude-code", "--plan", "--diff", "-C", tmp_path)[1]
    done = run("install", "claude-code", "-C", tmp_path)[1]
    assert "would install for claude-code: 9 hooks in .claude/settings.local.json" in planned
    assert "installed for claude-code: 9 hooks in .claude/settings.local.json" in done
    assert max(len(planned.splitlines()), len(done.splitlines())) <= 8
    assert len(whole.splitlines()) > 50
    assert "takeback-PreToolUse" in whole
