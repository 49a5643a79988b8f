"""`takeback leave` takes every trace out of a project, asks about the history, and says what is left."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import files_of, write_harness
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.adapters.init import NewHarness
from takeback.adapters.trust_record import list_records
from takeback.adapters.workspace.adapter import init_workspace
from takeback.agents.fast_hook import CLIENTS
from takeback.cli import app
from takeback.errors import InputError, TakebackError, UntrustedError
from takeback.state import State


def invoke(root: Path, *words: str, given: str | None = None) -> Any:
    done = CliRunner().invoke(app, [*words, "--dir", str(root)], input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def run(root: Path, *words: str) -> Any:
    done = invoke(root, *words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("client", CLIENTS)
def test_leave_removes_every_trace_and_keeps_all_other_bytes(client: str, tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    git(root, "init", "-q")
    write_harness(root, client)
    before = files_of(root)
    hooks = sorted((root / ".git/hooks").iterdir())
    run(root, "install", client, "--shared")
    run(root, "git-hook", "install")
    told = run(root, "leave", "--yes")
    assert files_of(root) == before
    assert sorted((root / ".git/hooks").iterdir()) == hooks
    assert not (root / ".takeback").exists()
    assert ".takeback" in told["removed"]
    assert any("pip uninstall takeback" in one for one in told["left"])
    assert not any("which names takeback" in one for one in told["left"])


def test_leave_covers_every_client_of_a_project(tmp_path: Path) -> None:
    for client in CLIENTS:
        write_harness(tmp_path, client)
    before = files_of(tmp_path)
    for client in CLIENTS:
        run(tmp_path, "install", client, "--shared")
    run(tmp_path, "leave", "--yes")
    assert files_of(tmp_path) == before


def test_a_plugin_of_the_project_is_no_longer_loaded(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    settings = tmp_path / ".claude/settings.json"
    settings.write_text('{"enabledPlugins": {"takeback@takeback-local": true, "other@x": true}}')
    init_clients(tmp_path, ("claude-code",))
    run(tmp_path, "leave", "--yes")
    assert json.loads(settings.read_text()) == {"enabledPlugins": {"other@x": True}}


def test_leave_keeps_changes_made_by_hand(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    run(tmp_path, "install", "claude-code")
    (tmp_path / "CLAUDE.md").write_text("by hand\n")
    run(tmp_path, "leave", "--yes")
    assert (tmp_path / "CLAUDE.md").read_text() == "by hand\n"
    assert "takeback" not in (tmp_path / ".claude/settings.local.json").read_text()


def test_without_yes_and_without_a_terminal_nothing_is_removed(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    run(tmp_path, "install", "claude-code")
    before = files_of(tmp_path)
    with pytest.raises(InputError, match="--yes"):
        invoke(tmp_path, "leave")
    told = run(tmp_path, "leave", "--plan")
    assert ".takeback" in told["would_remove"]
    assert told["entries"] == 2
    assert files_of(tmp_path) == before
    assert (tmp_path / ".takeback").exists()


@pytest.mark.parametrize(("answer", "gone"), [("y\n", True), ("n\n", False)])
def test_on_a_terminal_it_asks_and_names_the_journal(
    answer: str, gone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_harness(tmp_path, "claude-code")
    run(tmp_path, "install", "claude-code")
    monkeypatch.setattr("takeback.cli.leave.has_terminal", lambda: True)
    done = invoke(tmp_path, "leave", given=answer)
    assert done.exit_code == (0 if gone else 1)
    assert "the journal with 2 entries is removed too" in done.stdout
    assert (tmp_path / ".takeback").exists() is not gone


def test_the_journal_is_kept_or_moved_where_that_is_asked(tmp_path: Path) -> None:
    for flags, where in ((("--keep-journal",), "p"), (("--export", str(tmp_path / "history")), "history")):
        root = tmp_path / "p"
        root.mkdir(exist_ok=True)
        write_harness(root, "claude-code")
        run(root, "install", "claude-code")
        run(root, "leave", "--yes", *flags)
        assert "takeback" not in (root / ".claude/settings.local.json").read_text()
        if where == "history":
            assert not (root / ".takeback").exists()
            (tmp_path / "history").rename(root / ".takeback")
        with open_workspace(root) as harness:
            assert [entry.kind for entry in harness.log()].count("genesis") == 1
            assert any(entry.by == "takeback leave" for entry in harness.log())


def test_leave_removes_the_trust_record(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    run(tmp_path, "install", "claude-code")
    assert any(record["path"] == str(tmp_path.resolve()) for _, record in list_records())
    run(tmp_path, "leave", "--yes")
    assert not any(record["path"] == str(tmp_path.resolve()) for _, record in list_records())


def test_leaving_a_workspace_removes_only_its_manifest(tmp_path: Path) -> None:
    init_workspace(tmp_path, start=State.read({"config": {"a": 1}, "prompts": {"p": "text\n"}}))
    before = files_of(tmp_path)
    told = run(tmp_path, "leave", "--yes")
    assert {".takeback", "takeback.toml"} <= set(told["removed"])
    after = files_of(tmp_path)
    assert set(before) - set(after) == {"takeback.toml"}


def test_leave_names_an_external_journal_and_commit_trailers(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    git(root, "init", "-q")
    write_harness(root, "claude-code")
    init_clients(root, ("claude-code",), NewHarness(str(tmp_path / "elsewhere.db")))
    git(root, "commit", "-q", "--allow-empty", "-m", "one\n\nTakeback-Head: abc")
    told = run(root, "leave", "--yes")
    assert any("elsewhere.db" in one for one in told["left"])
    assert any("Takeback-Head" in one for one in told["left"])


def spoil_journal(root: Path) -> None:
    for place in (root / ".takeback").glob("journal.db-*"):
        place.unlink()
    (root / ".takeback/journal.db").write_bytes(b"not a database" * 100)


def lose_journal(root: Path) -> None:
    for place in (root / ".takeback").glob("journal.db*"):
        place.unlink()


def spoil_manifest(root: Path) -> None:
    (root / ".takeback/manifest.toml").write_text("[workspace\n")


@pytest.mark.parametrize("spoil", [spoil_journal, lose_journal, spoil_manifest])
@pytest.mark.parametrize("client", CLIENTS)
def test_leave_works_for_a_harness_that_cannot_be_opened(client: str, spoil: Any, tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    git(root, "init", "-q")
    write_harness(root, client)
    before = set(files_of(root))
    run(root, "install", client, "--shared")
    run(root, "git-hook", "install")
    spoil(root)
    with pytest.raises(TakebackError):
        invoke(root, "status")
    planned = run(root, "leave", "--plan")
    assert (planned["entries"], len(planned["unchecked"])) == (None, 1)
    assert (root / ".takeback").exists()
    told = run(root, "leave", "--yes")
    assert len(told["unchecked"]) == 1
    assert "were not looked for" in told["unchecked"][0]
    assert set(planned["would_remove"]) <= set(told["removed"])
    assert not (root / ".takeback").exists()
    assert not any(record["path"] == str(root) for _, record in list_records())
    husks = {".codex/hooks.json", ".mcp.json", ".claude/settings.json", ".github/mcp.json"}
    husks |= {".github/hooks/takeback.json", ".kiro/hooks/takeback.json"}
    assert set(files_of(root)) - before <= husks
    assert not any("which names takeback" in one for one in told["left"])
    assert not any(b"takeback" in place.read_bytes() for place in (root / ".git/hooks").iterdir())


def test_leaving_a_broken_harness_keeps_foreign_content_and_names_unread_files(
    tmp_path: Path,
) -> None:
    root = tmp_path / "p"
    root.mkdir()
    write_harness(root, "claude-code")
    run(root, "install", "claude-code", "--shared")
    settings = root / ".claude/settings.json"
    value = json.loads(settings.read_text("utf-8-sig"))
    value["env"] = {"MINE": "1"}
    settings.write_text(json.dumps(value))
    (root / ".mcp.json").write_text("{ broken")
    spoil_journal(root)
    done = invoke(root, "leave", "--yes")
    said = " ".join(done.output.split())
    assert done.exit_code == 0, said
    assert "not checked: " in said
    assert ".mcp.json" in said
    assert json.loads(settings.read_text())["env"] == {"MINE": "1"}
    assert "takeback" not in settings.read_text()
    assert (root / ".mcp.json").read_text() == "{ broken"


def test_an_untrusted_harness_with_a_broken_manifest_is_not_left(tmp_path: Path) -> None:
    (tmp_path / ".takeback").mkdir()
    (tmp_path / ".takeback/manifest.toml").write_text("[workspace\n")
    with pytest.raises(UntrustedError):
        invoke(tmp_path, "leave", "--yes")
    assert (tmp_path / ".takeback/manifest.toml").exists()


def test_a_misspelled_folder_below_a_harness_is_refused_and_not_taken_for_it(tmp_path: Path) -> None:
    init_workspace(tmp_path)
    for words in (["leave", "--yes"], ["status"], ["log"], ["doctor"]):
        with pytest.raises(InputError, match="found no such directory, expected a directory"):
            invoke(tmp_path / "no", *words)
    with pytest.raises(InputError, match="found a file, expected a directory"):
        invoke(tmp_path / "takeback.toml", "leave", "--yes")
    for words in (["trust", str(tmp_path / "no")], ["trust", "--remove", str(tmp_path / "no")]):
        done = CliRunner().invoke(app, words)
        assert isinstance(done.exception, InputError)
        assert str(tmp_path / "no") in str(done.exception)
    open_workspace(tmp_path).close()
