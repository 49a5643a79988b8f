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


def test_diff_names_an_unreadable_file_and_exits_0(workspace):
    done = CliRunner().invoke(app, ["diff", "--dir", str(workspace)])
    assert done.exit_code == 0
    assert "config.toml: found malformed TOML" in done.output
    told = CliRunner().invoke(app, ["diff", "--dir", str(workspace), "--json"])
    assert [one["path"] for one in json.loads(told.output)["broken"]] == ["config.toml"]


def test_diff_of_an_entry_works_despite_unreadable_files(workspace):
    done = CliRunner().invoke(app, ["diff", "#1", "--dir", str(workspace), "--json"])
    told = json.loads(done.output)
    assert (told["changes"], told["broken"]) == ([], [])
