"""Help: in groups, with examples that can be copied, and one sentence per option."""

from __future__ import annotations

import pytest
from tests.support.batches import in_batches
from tests.support.reference import commands
from typer.testing import CliRunner

from takeback.cli import app
from takeback.cli.help import ABOUT
from takeback.cli.program import SECTIONS, TOPICS
from takeback.errors import InputError

FOUND = commands()
COMMANDS = sorted(FOUND)


def help_of(title: str) -> str:
    result = CliRunner().invoke(app, [*title.split()[1:], "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.stdout


@in_batches("title", COMMANDS, size=20)
def test_help_fits_eighty_columns_and_ends_with_an_example(title):
    text = help_of(title)
    assert "<bool>" not in text
    assert "`" not in text
    assert f"Usage: root {' '.join(title.split()[1:])}" in text or f"Usage: takeback {title[9:]}" in text
    *before, example = text.rstrip().split("\nExample")
    assert title in example
    assert all(len(line) <= 80 for part in before for line in part.splitlines())


@in_batches("title", COMMANDS, size=20)
def test_every_option_has_a_help_sentence(title):
    for parameter in FOUND[title].params:
        if not getattr(parameter, "hidden", False):
            assert (getattr(parameter, "help", "") or "").rstrip().endswith((".", ")", "…")), parameter.name


def test_the_first_help_page_lists_every_command_on_one_screen():
    lines = help_of("takeback").splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for topic in SECTIONS:
        listed = text.partition(f"\n  {topic} ")[2]
        words = listed.partition("\n  a" if topic != "agents" else "\n  trying")[0].split()
        assert words[: len(SECTIONS[topic])] == list(SECTIONS[topic])
    assert "--version" in text


def test_each_topic_fits_one_screen_and_has_an_example():
    assert set(TOPICS) == {*SECTIONS, "more"}
    for topic, listed in SECTIONS.items():
        lines = topic_of(topic).splitlines()
        assert len(lines) < 24
        assert max(map(len, lines)) <= 80
        shown = [line.split()[0] for line in lines if line[:3] == f"  {line[2:3].strip()}" and line[2:3]]
        assert shown == list(listed)
        assert lines[-1] == f"Example: {TOPICS[topic][1]}"
        assert TOPICS[topic][1].split()[1] in listed


@pytest.mark.parametrize("topic", ["more", *ABOUT])
def test_other_topics_fit_one_screen(topic):
    lines = topic_of(topic).splitlines()
    assert 3 < len(lines) < 24
    assert max(map(len, lines)) <= 80


def test_help_of_a_command_equals_its_help_option():
    assert topic_of("undo").split() == help_of("takeback undo").replace("Usage: root", "Usage: takeback").split()


def test_an_unknown_topic_is_answered_with_the_one_it_looks_like():
    with pytest.raises(InputError, match="did you mean 'takeback help daily'"):
        CliRunner().invoke(app, ["help", "dayly"], catch_exceptions=False)


def topic_of(topic: str) -> str:
    result = CliRunner().invoke(app, ["help", topic], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.stdout


def test_no_command_shows_the_help_on_stderr_and_is_bad_input(monkeypatch, capsys):
    import sys

    from takeback.cli import main

    monkeypatch.setattr(sys, "argv", ["takeback"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("Usage: ")
