"""Help: in groups, with examples that can be copied, and one sentence per option."""

from __future__ import annotations

import pytest
from tests.support.reference import commands
from typer.testing import CliRunner

from takeback.cli import app
from takeback.cli.program import EXAMPLES, SECTIONS

FOUND = commands()
COMMANDS = sorted(FOUND)


def help_of(title: str) -> str:
    result = CliRunner().invoke(app, [*title.split()[1:], "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("title", COMMANDS)
def test_help_fits_eighty_columns_and_ends_with_an_example(title):
    text = help_of(title)
    assert "<bool>" not in text
    assert "`" not in text
    assert f"Usage: root {' '.join(title.split()[1:])}" in text or f"Usage: takeback {title[9:]}" in text
    *before, example = text.rstrip().split("\nExample")
    assert title in example
    assert all(len(line) <= 80 for part in before for line in part.splitlines())


@pytest.mark.parametrize("title", COMMANDS)
def test_every_option_says_what_it_does(title):
    for parameter in FOUND[title].params:
        if not getattr(parameter, "hidden", False):
            assert (getattr(parameter, "help", "") or "").rstrip().endswith((".", ")", "…")), parameter.name


def test_the_first_page_lists_every_command_in_its_group():
    text = help_of("takeback")
    for title, section in SECTIONS.items():
        assert f"\n{title}:\n" in text
        assert all(f"\n  {name} " in text for name in section)
        assert f"\n  Example: {EXAMPLES[title]}\n" in text
        assert EXAMPLES[title].split()[1] in section
    assert "--version" in text


def test_no_command_shows_the_help_on_stderr_and_is_bad_input(monkeypatch, capsys):
    import sys

    from takeback.cli import main

    monkeypatch.setattr(sys, "argv", ["takeback"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("Usage: ")
