"""Every command line that is printed on the way, in errors and next steps, works when it is copied."""

from __future__ import annotations

import json
import re
import shlex
import shutil

import pytest
from tests.support.reference import commands
from tests.support.terminal import in_process

from takeback.cli.hints import ELSEWHERE
from takeback.cli.program import list_all_commands, load_command

IN_QUOTES = re.compile(r"'(takeback [a-z][^'\n]*)'")
TO_THE_END = re.compile(r"(?:: |^  +)(takeback [a-z][^`\n]*)$", re.MULTILINE)
IN_BACKQUOTES = re.compile(r"`(takeback [a-z][^`\n]*)`")
LOOKS_RIGHT = {
    "mutation": [{"op_type": "set_config", "target": "verbose", "value": True}],
    "recovery": [{"op_type": "delete_config", "target": "verbose"}],
}


def hints_in(text: str) -> list[str]:
    """The command lines a text names; what is explained beside one, behind a gap, is not part of it."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    found = [*IN_QUOTES.findall(plain), *TO_THE_END.findall(plain), *IN_BACKQUOTES.findall(plain)]
    return [one for hint in found for one in re.split(r", (?=takeback )", re.split(r"   +", hint)[0])]


def parsed(hint: str) -> dict[str, object]:
    """The line read by the real parser, without running it."""
    words = shlex.split(hint)
    assert words[0] == "takeback"
    command, rest = load_command(words[1]), words[2:]
    while hasattr(command, "commands") and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    return dict(command.make_context("takeback", list(rest)).params)


def tell(*arguments: object) -> str:
    out, err = in_process(*arguments, terminal=False)
    return out + err


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "my agent"
    (tmp_path / "looks right.json").write_text(json.dumps(LOOKS_RIGHT))
    tell("init", place)
    tell("set", "prompt", "p", "one\ntwo\n", "-C", place)
    tell("edit", "prompt", "p", "--append", "three", "-C", place)
    return place


SCENES = {
    "init": lambda place: tell("init", place),
    "not a workspace": lambda place: tell("status", "-C", place.parent),
    "an unknown entry": lambda place: tell("show", "ffff", "-C", place),
    "a number that is too long": lambda place: tell("show", "#" + "9" * 30, "-C", place),
    "a filter that nothing passes": lambda place: tell("undo", "--by", "nobody", "-C", place),
    "forget nothing": lambda place: tell("forget", "-C", place),
    "a blocked undo": lambda place: tell("undo", "#2", "-C", place),
    "a recovery that falls short": lambda place: tell("apply", "looks right.json", "-C", place),
    "a verdict that says no": lambda place: tell("verify", "looks right.json"),
    "drift": lambda place: _by_hand(place) + tell("undo", "#3", "-C", place) + tell("status", "-C", place),
    "a broken file": lambda place: _broken(place) + tell("undo", "#3", "-C", place) + tell("doctor", "-C", place),
    "a journal that is gone": lambda place: _gone(place) + tell("status", "-C", place),
    "a journal that is damaged": lambda place: _damaged(place) + tell("log", "-C", place),
}
SAYS_NOTHING = {"a blocked undo"}
"""Scenes whose next step is an option, not a command line."""


def _by_hand(place) -> str:
    (place / "prompts/p.md").write_text("by hand\n")
    return ""


def _broken(place) -> str:
    (place / "config.toml").write_text("= 1\n")
    return ""


def _gone(place) -> str:
    for path in (place / ".takeback").glob("journal.db*"):
        path.unlink()
    return ""


def _damaged(place) -> str:
    journal = place / ".takeback/journal.db"
    journal.write_bytes(b"SQLite format 3\x00" + bytes(4000))
    return ""


@pytest.mark.parametrize("scene", SCENES)
def test_a_printed_hint_parses_and_names_the_same_workspace(agent, scene):
    text = SCENES[scene](agent)
    hints = [hint for hint in hints_in(text) if not hint.endswith(" --help")]
    assert hints or scene in SAYS_NOTHING, text
    for hint in hints:
        values = parsed(hint)
        if shlex.split(hint)[1] not in ELSEWHERE:
            assert str(values["directory"]) == str(agent), hint


def test_the_hint_after_a_refusal_makes_the_change_when_it_is_copied(agent):
    hint = next(hint for hint in hints_in(tell("apply", "looks right.json", "-C", agent)) if "--repair" in hint)
    assert "applied: entry" in tell(*shlex.split(hint)[1:])


def test_the_hint_at_drift_records_it_when_it_is_copied(agent):
    _by_hand(agent)
    hint = next(hint for hint in hints_in(tell("undo", "#3", "-C", agent)) if "adopt" in hint)
    assert "adopted: entry" in tell(*shlex.split(hint)[1:])


def test_in_the_workspace_itself_hints_name_no_directory(agent, monkeypatch):
    monkeypatch.chdir(agent)
    _by_hand(agent)
    assert "'takeback adopt' records" in tell("status")


def test_commands_without_a_directory_option_are_listed():
    taking = {title.split()[1] for title, command in commands().items() if "--dir" in _options(command)}
    assert (set(list_all_commands()) - taking) | {"demo"} == ELSEWHERE


def _options(command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_the_demo_ends_with_lines_for_the_readers_own_project_that_work_there(tmp_path, monkeypatch, capsys):
    from takeback.cli.demo import show_next_step

    show_next_step()
    lines = hints_in(capsys.readouterr().out)
    assert [line.split()[1] for line in lines] == ["init", "install", "set", "adopt", "log", "undo"]
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"permissions": {"allow": []}}\n')
    monkeypatch.chdir(tmp_path)
    for line in lines:
        parsed(line)
    if shutil.which("takeback") is not None:
        tell(*shlex.split(lines[0])[1:])
        assert "applied: entry" in tell(*shlex.split(lines[2])[1:])
        assert "done: took back" in tell(*shlex.split(lines[-1])[1:])
