"""Over the command line: drift in one file stops no change, undo, redo, restore or preview of another, and stays."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from takeback.cli import app


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / ".claude").mkdir(parents=True)
    (root / "CLAUDE.md").write_text("# Rules\n- be nice\n")
    (root / ".claude/settings.json").write_text('{"model": "opus"}\n')
    assert run("init", root)[0] == 0
    return root


def test_drift_in_settings_does_not_stop_changes_of_instructions(project):
    assert run("edit", "prompt", "CLAUDE.md", "--old", "nice", "--new", "kind", "-C", project)[0] == 0
    settings = project / ".claude/settings.json"
    settings.write_text('{"model": "haiku"}\n')
    code, plan = run("undo", "--last", "--plan", "-C", project)
    assert code == 0
    assert 'routing["model"] was changed outside Takeback and stays so' in plan
    for words, line in (
        (["undo", "--last"], "- be nice"),
        (["redo", "--last"], "- be kind"),
        (["restore", "--to", "1"], "- be nice"),
        (["restore", "--to", "2"], "- be kind"),
        (["edit", "prompt", "CLAUDE.md", "--old", "kind", "--new", "calm", "--plan"], "- be kind"),
        (["edit", "prompt", "CLAUDE.md", "--old", "kind", "--new", "calm"], "- be calm"),
    ):
        code, told = run(*words, "-C", project)
        assert code == 0, told
        assert line in (project / "CLAUDE.md").read_text()
        assert settings.read_text() == '{"model": "haiku"}\n'
        code, status = run("status", "-C", project, "--json")
        assert code == 1
        assert [one["address"] for one in json.loads(status)["drift"]] == ['routing["model"]']
    _, log = run("log", "--json", "-C", project)
    assert "adopt" not in {entry["kind"] for entry in json.loads(log)["entries"]}


def test_drift_in_the_way_is_refused_with_a_working_way_out(project):
    assert run("set", "routing", "model", "sonnet", "-C", project)[0] == 0
    (project / ".claude/settings.json").write_text('{"model": "haiku"}\n')
    code, told = run("undo", "--last", "-C", project)
    assert code == 1
    assert "takeback adopt" in told
    assert "takeback discard" in told
    assert run("discard", "-C", project)[0] == 0
    assert run("undo", "--last", "-C", project)[0] == 0
    assert json.loads((project / ".claude/settings.json").read_text()) == {"model": "opus"}
