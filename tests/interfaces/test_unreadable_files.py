"""Commands that look say which file they could not read, so that silence never stands for "nothing changed"."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from takeback.adapters import init_workspace
from takeback.cli import app


@pytest.fixture
def workspace(tmp_path):
    root = init_workspace(tmp_path / "agent")
    (root / "config.toml").write_text("x = [\n")
    return root


def test_diff_names_a_file_that_cannot_be_read_and_is_still_no_failure(workspace):
    done = CliRunner().invoke(app, ["diff", "--dir", str(workspace)])
    assert done.exit_code == 0
    assert "config.toml: found malformed TOML" in done.output
    told = CliRunner().invoke(app, ["diff", "--dir", str(workspace), "--json"])
    assert [one["path"] for one in json.loads(told.output)["broken"]] == ["config.toml"]


def test_of_an_entry_diff_says_what_it_changed_whatever_cannot_be_read_now(workspace):
    done = CliRunner().invoke(app, ["diff", "#1", "--dir", str(workspace), "--json"])
    told = json.loads(done.output)
    assert (told["changes"], told["broken"]) == ([], [])
