"""`takeback init` in every kind of project: the client is named, its files are counted, only .takeback/ is added."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.client_harnesses import HARNESSES, files_of, write_harness
from tests.support.yaml_harnesses import YAML_HARNESSES
from typer.testing import CliRunner

from takeback.adapters.clients import CLIENTS
from takeback.cli import app

KINDS = [name for name in HARNESSES if "/" not in name]


def test_every_declared_client_has_a_sample_project() -> None:
    assert set(CLIENTS) <= {*KINDS, *(name.partition(" ")[0].partition("/")[0] for name in YAML_HARNESSES)}


@pytest.mark.parametrize("kind", KINDS)
def test_init_names_the_client_counts_its_files_and_adds_one_directory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_harness(tmp_path, kind)
    (tmp_path / "main.py").write_text("print(1)\n")
    before = files_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["init", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["kinds"] == [kind]
    assert told["files"] == {kind: len(HARNESSES[kind])}
    assert told["problems"] == []
    assert files_of(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} - {path.split("/")[0] for path in before} == {".takeback"}
    again = CliRunner().invoke(app, ["init"])
    assert f"is already tracked: {kind} ({len(HARNESSES[kind])} files)" in again.stdout
    status = CliRunner().invoke(app, ["status", "--json"])
    assert json.loads(status.stdout)["drift"] == [], status.stdout


PROJECTS = {
    "of nobody": {"README.md": "# X\n", "main.py": "print(1)\n", "pyproject.toml": "[project]\n"},
    "of another editor": {".vscode/settings.json": '{"editor.tabSize": 2}', "package.json": "{}"},
    "with nothing but git": {".git/HEAD": "ref: refs/heads/main\n"},
    "with nothing": {},
}


@pytest.mark.parametrize("project", PROJECTS)
def test_init_without_a_known_client_writes_nothing_and_lists_choices(
    project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, text in PROJECTS[project].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["init"])
    assert done.exit_code == 1
    for words in (
        "nothing was written",
        "CLAUDE.md",
        ".cursor",
        "--track",
        "--kind workspace",
        "--kind NAME",
        "(with chat.)",
    ):
        assert words in done.stdout, words
    told = CliRunner().invoke(app, ["init", "--json"])
    assert told.exit_code == 1
    answer = json.loads(told.stdout)
    assert (answer["result"], answer["created"], answer["kinds"]) == ("unknown", False, [])
    assert set(answer["looked_for"]) == set(CLIENTS)
    assert list(answer["choices"]) == ["--track", "--kind workspace", "--kind NAME"]
    assert sorted(tmp_path.rglob("*")) == before


def test_every_listed_choice_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("workspace", "cursor"):
        place = tmp_path / kind
        place.mkdir()
        (place / "main.py").write_text("print(1)\n")
        monkeypatch.chdir(place)
        done = CliRunner().invoke(app, ["init", "--kind", kind, "--json"])
        assert json.loads(done.stdout)["kinds"] == [kind], done.output


def test_init_of_a_new_directory_makes_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        done = CliRunner().invoke(app, ["init", str(tmp_path / name), "--json"])
        assert json.loads(done.stdout)["kinds"] == ["workspace"], done.output
    full = tmp_path / "full"
    full.mkdir()
    (full / "main.py").write_text("print(1)\n")
    assert CliRunner().invoke(app, ["init", str(full)]).exit_code == 1
    assert [path.name for path in full.iterdir()] == ["main.py"]


def test_a_shared_file_does_not_identify_a_client_beside_another(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {}}')
    (tmp_path / "AGENTS.md").write_text("# X\n")
    alone = CliRunner().invoke(app, ["init", str(tmp_path), "--json"])
    assert json.loads(alone.stdout)["kinds"] == ["claude-code"]
    beside = tmp_path / "beside"
    (beside / ".github").mkdir(parents=True)
    (beside / ".github/copilot-instructions.md").write_text("# X\n")
    (beside / ".mcp.json").write_text('{"mcpServers": {}}')
    (beside / "AGENTS.md").write_text("# X\n")
    found = CliRunner().invoke(app, ["init", str(beside), "--json"])
    assert json.loads(found.stdout)["kinds"] == ["copilot"]


def test_init_user_refuses_a_client_without_files_at_home() -> None:
    done = CliRunner().invoke(app, ["init", "--user", "--kind", "langgraph"])
    assert "which has no such files" in str(done.exception)
    assert "cursor" in str(done.exception)
    assert "agents-md" not in str(done.exception)
