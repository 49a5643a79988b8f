"""Without takeback-lab its commands say which package brings them; with it they are there."""

from __future__ import annotations

import pytest
from tests.support.terminal import run
from typer.testing import CliRunner

from takeback import plugins
from takeback.cli.program import app, list_all_commands
from takeback.errors import MissingExtraError


@pytest.fixture
def alone(monkeypatch):
    """The product with nothing plugged in."""
    monkeypatch.setattr(plugins, "find_entry_points", lambda *_: ())
    plugins.find_extra_commands.cache_clear()
    yield
    plugins.find_extra_commands.cache_clear()


@pytest.mark.parametrize("name", plugins.LAB_COMMANDS)
def test_a_lab_command_names_the_package_that_provides_it(alone, name):
    done = CliRunner().invoke(app, [name])
    assert isinstance(done.exception, MissingExtraError)
    assert f"takeback {name} comes with takeback-lab" in str(done.exception)
    assert "pip install 'takeback[lab]'" in str(done.exception)


def test_without_the_lab_help_lists_the_products_commands_only(alone):
    told = CliRunner().invoke(app, ["--help"]).output
    assert "From other packages" not in told
    assert not set(plugins.LAB_COMMANDS) & set(list_all_commands())


def test_missing_lab_pages_and_tasks_name_the_package(alone, tmp_path):
    with pytest.raises(MissingExtraError, match="takeback-lab"):
        plugins.open_pages("lab", tmp_path)
    with pytest.raises(MissingExtraError, match="takeback-lab"):
        plugins.load_tasks()


@pytest.mark.parametrize("name", plugins.LAB_COMMANDS)
def test_with_the_lab_its_commands_are_listed(name):
    done = run(name, "--help")
    assert done.code == 0
    assert f"takeback {name}" in done.out
