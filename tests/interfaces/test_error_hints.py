"""Every error on the command line ends with a command that works."""

from __future__ import annotations

import json

import pytest
from tests.interfaces.test_printed_hints import hints_in, parsed
from tests.support.reference import commands
from tests.support.terminal import run

from takeback.cli.program import COMMANDS

ALL = commands()
REQUIRED = {title for title, command in ALL.items() if any(one.required for one in command.params)}
IN_A_PROJECT = (
    ("status",),
    ("log",),
    ("log", "bogusword"),
    ("show", "2"),
    ("diff",),
    ("export",),
    ("undo", "2"),
    ("undo",),
    ("redo", "2"),
    ("redo",),
    ("restore", "--to", "2"),
    ("discard",),
    ("adopt",),
    ("set", "config", "a", "1"),
    ("remove", "config", "a"),
    ("doctor",),
    ("recover",),
    ("bisect", "--test", "true"),
    ("forget", "2", "--yes"),
    ("git-hook", "install"),
    ("uninstall", "claude-code"),
)


def lines_in(text: str) -> list[str]:
    """The command lines that a message names, each read by the real parser."""
    found = [*hints_in(text), *(["takeback --help"] if "'takeback --help'" in text else [])]
    for line in found:
        if line.endswith("--help"):
            assert line == "takeback --help" or line.removesuffix(" --help") in {*ALL, *groups()}, line
        else:
            parsed(line)
    return found


def groups() -> set[str]:
    return {" ".join(title.split()[:2]) for title in ALL if len(title.split()) > 2}


def refused(*words: object) -> str:
    """Run a command that cannot be run as it is; what it said."""
    from tests.support.terminal import in_process

    out, err = in_process(*words, terminal=False)
    assert "takeback: " in err, err
    assert "Traceback" not in err
    return out + err


@pytest.mark.parametrize("title", ALL)
def test_an_unknown_option_is_answered_with_the_commands_help(title):
    assert f"{title} --help" in lines_in(refused(*title.split()[1:], "--bogus"))


@pytest.mark.parametrize("title", sorted(REQUIRED))
def test_an_incomplete_line_is_answered_with_an_example(title):
    said = refused(*title.split()[1:])
    assert lines_in(said), said


@pytest.mark.parametrize("group", sorted(groups()))
def test_an_unknown_command_below_another_is_answered_with_the_list(group):
    assert f"{group} --help" in lines_in(refused(*group.split()[1:], "bogus"))


def test_an_unknown_command_is_answered_with_a_similar_one(tmp_path):
    done = run("udno", "-C", tmp_path)
    assert done.code == 2
    assert "did you mean 'takeback undo'? 'takeback --help' lists the commands" in done.err
    assert "'takeback --help' lists" in run("xyzzy").err
    assert set(COMMANDS) >= {"undo"}


@pytest.mark.parametrize("words", IN_A_PROJECT, ids=" ".join)
def test_outside_a_project_every_command_names_init(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "takeback init" in lines_in(refused(*words))


@pytest.mark.parametrize("words", IN_A_PROJECT, ids=" ".join)
def test_in_an_uninitialized_client_project_every_command_names_the_client(words, tmp_path, monkeypatch):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{}\n")
    monkeypatch.chdir(tmp_path)
    said = refused(*words)
    assert "claude-code" in said
    assert "takeback init" in lines_in(said)


def test_below_a_clients_project_the_hint_names_its_top_folder(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "CLAUDE.md").write_text("# Rules\n")
    (tmp_path / "src/deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "src/deep")
    assert f"takeback init {tmp_path}" in lines_in(refused("status"))


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("init", "agent").code == 0
    assert run("add", "tool", "x", "--json", '{"description": "a"}', "-C", "agent").code == 0
    return "agent"


def test_adding_an_existing_name_suggests_the_line_that_replaces_it(agent):
    said = refused("add", "tool", "x", "--json", '{"description": "b"}', "-C", agent)
    line = lines_in(said)[-1]
    assert parsed(line) | {"value": None} == parsed("takeback set tool x -C agent") | {"value": None}
    assert json.loads(str(parsed(line)["value"])) == {"description": "b"}


def test_a_value_given_twice_is_refused_instead_of_dropped(agent):
    said = refused(
        "add", "tool", "y", "--json", '{"description": "a"}', "--json", '{"description": "b"}', "-C", agent
    )
    assert "--json: found a value twice, expected one value" in said
    assert "takeback add --help" in lines_in(said)
    assert "y" not in run("export", "-C", agent).out


def test_a_log_without_matches_explains_how_to_see_all(agent):
    done = run("log", "bogusword", "-C", agent)
    assert done.code == 0
    assert "no entry matches" in done.err
    assert lines_in(done.err) == ["takeback log -C agent"]


@pytest.mark.parametrize(
    "words",
    [
        ("show", "zzz"),
        ("show", "99"),
        ("undo", "99"),
        ("undo", "1"),
        ("redo", "2"),
        ("restore", "--to", "soon:"),
        ("undo", "2", "--last"),
        ("undo", "2", "--plan", "--token", "x"),
        ("log", "--surface", "confg"),
        ("log", "--grade", "x"),
        ("log", "--format", "{x}"),
        ("log", "-n", "many"),
        ("forget", "2"),
        ("forget", "--value", "a", "--from", "b"),
        ("apply", "not-there.json"),
        ("set", "confg", "a", "1"),
        ("set", "config", "a"),
        ("edit", "prompt", "nobody", "--append", "x"),
        ("remove", "tool", "nobody"),
        ("move", "file", "nobody", "b"),
        ("uninstall", "claude-code"),
        ("install", "nobody"),
        ("adopt", "--from-git", "a..b", "-m", "x"),
    ],
    ids=" ".join,
)
def test_a_mistake_in_a_project_ends_with_a_command_line(agent, words):
    said = refused(*words, "-C", agent)
    assert lines_in(said), said


def test_a_refused_apply_does_not_say_that_its_recovery_was_replaced(agent, tmp_path):
    looks_right = {
        "mutation": [{"op_type": "set_config", "target": "verbose", "value": True}],
        "recovery": [{"op_type": "delete_config", "target": "verbose"}],
    }
    (tmp_path / "change.json").write_text(json.dumps(looks_right))
    refused_one = run("apply", "change.json", "-C", agent)
    assert refused_one.code == 1
    assert "replaced" not in refused_one.out + refused_one.err
    with (tmp_path / "agent/config.toml").open("a") as settings:
        settings.write("verbose = 7\n")
    drifted = run("apply", "change.json", "--repair", "-C", agent)
    assert (drifted.code, "replaced" in drifted.err) == (1, False)
    run("adopt", "-C", agent)
    made = run("apply", "change.json", "--repair", "-C", agent)
    assert made.code == 0
    assert made.err.count("its recovery was replaced: found by the") == 1
