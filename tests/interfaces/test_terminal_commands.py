"""What people type under stress: undo without a name, by whom or when; entries by distance and time; states."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.terminal import run_on_terminal
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.cli import app
from takeback.errors import InputError
from takeback.harness.times import read_time


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


def test_the_log_says_what_each_entry_did(agent):
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


def test_a_text_that_is_set_is_not_told_by_the_log(agent):
    run("set", "config", "env.TOKEN", "hunter2", "-C", agent)
    assert "hunter2" not in run("log", "-C", agent)[1]


def test_undo_without_a_name_goes_further_back_each_time(agent):
    for left in ({"config", "prompts"}, None, None, None):
        code, told = run_json("undo", "-C", agent)
        assert (code, told["result"], len(told["off"])) == (0, "done", 1)
        if left:
            assert set(state_of(agent)) == left
    assert state_of(agent) == {"config": {"allow": ["a"]}, "prompts": {"p": "one\n"}}
    with pytest.raises(InputError, match="no change that is live"):
        run("undo", "-C", agent)
    assert run("redo", "-C", agent)[0] == 0
    assert state_of(agent)["config"]["allow"] == ["a", "b"]
    assert run_json("undo", "--plan", "-C", agent)[1]["result"] == "plan"


def test_everything_an_agent_did_is_taken_back_as_one_plan(agent):
    code, told = run_json("undo", "--by", "bot", "--since", "1h", "-C", agent)
    assert (code, len(told["off"])) == (0, 3)
    assert state_of(agent) == {"config": {"allow": ["a", "b"]}, "prompts": {"p": "one\n"}}
    assert run("undo", "HEAD", "-C", agent)[0] == 0
    code, told = run_json("undo", "--surface", "config", "--plan", "-C", agent)
    assert (code, len(told["off"])) == (0, 2)
    with pytest.raises(InputError, match="did you mean config"):
        run("undo", "--surface", "confg", "-C", agent)


def test_an_entry_is_named_by_distance_and_by_time(agent):
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


def test_the_state_at_any_entry_comes_out_and_goes_in_again(agent, tmp_path):
    _, text = run("export", "--at", "HEAD~2", "-C", agent)
    assert json.loads(text) == {"config": {"allow": ["a", "b"]}, "prompts": {"p": "one\ntwo\n"}}
    assert run_json("show", "HEAD~2", "--state", "-C", agent)[1]["state"] == json.loads(text)
    assert '"one\\ntwo\\n"' in run("show", "HEAD~2", "--state", "-C", agent)[1]
    (tmp_path / "then.json").write_text(text)
    assert run("init", tmp_path / "copy", "--state", tmp_path / "then.json")[0] == 0
    assert state_of(tmp_path / "copy") == json.loads(text)
    assert json.loads(run("export", "-C", agent)[1]) == state_of(agent)


def test_on_eighty_columns_a_line_has_room_for_what_was_done_and_no_line_is_wider(agent):
    ended = run_on_terminal(("log", "--no-pager", "-C", agent), {"NO_COLOR": "1"})
    assert 'set config["limit"] to 3' in ended.out
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    assert "\x1b" not in ended.out
