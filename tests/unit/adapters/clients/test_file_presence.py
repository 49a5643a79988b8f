"""Whether a file is there is state: taking back what made it removes it, and what was there empty comes back so."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tests.support.changes import candidate, config, routing

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness import Applied, Undone

INSTRUCTIONS = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md", "gemini": "GEMINI.md", "opencode": "AGENTS.md"}
HOOKS = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}'
ADDED = [
    ("claude-code", ".claude/settings.json", '{"model": "opus", "permissions": {"allow": ["Read"]}}\n'),
    ("claude-code", ".claude/settings.local.json", '{"env": {"A": "1"}}'),
    ("claude-code", ".mcp.json", '{"mcpServers": {"a": {"command": "a"}}}\n'),
    ("codex", ".codex/config.toml", 'model = "x"\n\n[mcp_servers.a]\ncommand = "a"\n'),
    ("codex", ".codex/hooks.json", HOOKS),
    ("codex", ".codex/agents/r.toml", 'name = "r"\ndescription = "R"\ndeveloper_instructions = "R."\n'),
    ("gemini", ".gemini/settings.json", '{"model": {"name": "g"}}'),
    ("gemini", ".gemini/commands/c.toml", 'prompt = "c"\n'),
    ("opencode", "opencode.json", '{"model": "a/b"}\n'),
    ("opencode", "opencode.jsonc", '// ours\n{"model": "a/b"} // all\n'),
]
SETTING = {"claude-code": "env", "codex": "tui", "gemini": "ui", "opencode": "keybinds"}
MAIN = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.jsonc",
}


def files(root):
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".takeback" not in path.parts
    }


def project(tmp_path, client, **contents):
    root = tmp_path / "project"
    root.mkdir()
    (root / INSTRUCTIONS[client]).write_text("Careful.\n")
    for path, text in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    init_clients(root, [client])
    return root


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.mark.parametrize(("client", "path", "text"), ADDED)
def test_undoing_a_file_that_was_added_by_hand_removes_it(tmp_path, client, path, text):
    root = project(tmp_path, client)
    before = files(root)
    with open_workspace(root) as harness:
        write(root, path, text)
        there = files(root)
        entry = harness.adopt().entry
        assert isinstance(harness.undo(entry), Undone)
        assert files(root) == before
        assert harness.status().clean
        assert isinstance(harness.redo(), Undone)
        assert files(root) == there


@pytest.mark.parametrize("empty", ["", "{}", "{\n}\n", "{ }"])
@pytest.mark.parametrize(("client", "path", "text"), ADDED[:1] + ADDED[3:4] + ADDED[6:7] + ADDED[9:10])
def test_an_originally_empty_file_is_restored_empty(tmp_path, client, path, text, empty):
    if path.endswith(".toml") != (empty == ""):
        pytest.skip("not what an empty file of this format looks like")
    root = project(tmp_path, client, **{path: empty})
    before = files(root)
    with open_workspace(root) as harness:
        write(root, path, text)
        assert isinstance(harness.undo(harness.adopt().entry), Undone)
        assert files(root) == before
        made = harness.apply(candidate(config(f"{SETTING[client]}.x", "1")))
        assert isinstance(harness.undo(made), Undone)
        assert files(root) == before


@pytest.mark.parametrize("client", MAIN)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_undoing_the_last_change_removes_a_file_made_by_changes(tmp_path, client, order):
    root = project(tmp_path, client)
    before = files(root)
    with open_workspace(root) as harness:
        changes = [config(f"{SETTING[client]}.{name}", name) for name in "abc"]
        entries = [harness.apply(candidate(change)) for change in changes]
        assert all(isinstance(one, Applied) for one in entries)
        for number in order:
            assert (root / MAIN[client]).exists()
            assert isinstance(harness.undo(entries[number], cascade=True), Undone) or number
        assert files(root) == before
        assert harness.status().clean


def test_undo_keeps_a_file_that_holds_someone_elses_settings(tmp_path):
    root = project(tmp_path, "opencode")
    path = root / "opencode.jsonc"
    with open_workspace(root) as harness:
        made = harness.apply(candidate(config("theme", "x")))
        path.write_text(path.read_text().replace("{", '{\n  "username": "me",', 1))
        harness.adopt()
        assert isinstance(harness.undo(made), Undone)
        assert "username" in path.read_text()
        assert "theme" not in path.read_text()


def test_undo_keeps_a_file_that_holds_an_unrecorded_comment(tmp_path):
    root = project(tmp_path, "codex")
    path = root / ".codex/config.toml"
    with open_workspace(root) as harness:
        made = harness.apply(candidate(routing("model", "x")))
        path.write_text("# mine\n" + path.read_text())
        assert isinstance(harness.undo(made), Undone)
        assert path.read_text().strip() == "# mine"


def test_a_recorded_comment_keeps_its_file_until_it_is_undone_too(tmp_path):
    root = project(tmp_path, "codex")
    path, before = root / ".codex/config.toml", files(root)
    with open_workspace(root) as harness:
        made = harness.apply(candidate(routing("model", "x")))
        path.write_text("# mine\n" + path.read_text())
        comment = harness.adopt().entry
        assert isinstance(harness.undo(made), Undone)
        assert path.read_text().strip() == "# mine"
        assert isinstance(harness.undo(comment), Undone)
        assert files(root) == before


@pytest.mark.parametrize("text", ['{"model": "a/b"}', '{\n  // ours\n  "model": "a/b" // all\n}\n'])
def test_redoing_a_removal_removes_the_file_with_its_comments(tmp_path, text):
    root = project(tmp_path, "opencode", **{"opencode.jsonc": text})
    path = root / "opencode.jsonc"
    with open_workspace(root) as harness:
        path.write_text(text.replace(": ", " :  "))
        spaced = harness.adopt().entry
        path.unlink()
        went = harness.adopt().entry
        for taken in ((went,), (went, spaced)):
            for one in taken:
                assert isinstance(harness.undo(one), Undone)
            assert isinstance(harness.redo(went), Undone)
            assert not path.exists()
            assert harness.status().clean
        assert isinstance(harness.undo(went), Undone)
        assert path.read_text() == text


def test_redoing_a_removal_keeps_an_unrecorded_comment(tmp_path):
    root = project(tmp_path, "opencode", **{"opencode.jsonc": '{"model": "a/b"}\n'})
    path = root / "opencode.jsonc"
    with open_workspace(root) as harness:
        path.unlink()
        went = harness.adopt().entry
        assert isinstance(harness.undo(went), Undone)
        path.write_text("// mine\n" + path.read_text())
        assert isinstance(harness.redo(went), Undone)
        assert "// mine" in path.read_text()
        assert "model" not in path.read_text()


def test_adding_or_removing_an_empty_document_by_hand_is_an_entry(tmp_path):
    root = project(tmp_path, "claude-code")
    path = root / ".claude/settings.json"
    with open_workspace(root) as harness:
        write(root, ".claude/settings.json", "{}\n")
        assert harness.status().layout == (".claude/settings.json",)
        came = harness.adopt().entry
        made = harness.apply(candidate(config("env.A", "1")))
        assert isinstance(harness.undo(made), Undone)
        assert path.read_text() == "{}\n"
        path.unlink()
        went = harness.adopt().entry
        assert isinstance(harness.undo(went), Undone)
        assert path.read_text() == "{}\n"
        assert isinstance(harness.undo(came), Undone)
        assert not path.exists()
        assert harness.status().clean


def test_a_change_of_hooks_in_one_file_makes_no_other(tmp_path):
    root = project(tmp_path, "codex")
    with open_workspace(root) as harness:
        write(root, ".codex/hooks.json", HOOKS)
        harness.undo(harness.adopt().entry)
        assert not (root / ".codex/config.toml").exists()


@pytest.mark.parametrize("name", ["prompts/new.md", "tools/new.json", "files/d/new.txt"])
def test_undoing_a_file_added_to_a_workspace_by_hand_removes_it(tmp_path, name):
    root = init_workspace(tmp_path / "agent")
    before = files(root)
    with open_workspace(root) as harness:
        write(root, name, '{"id": "new"}\n')
        assert isinstance(harness.undo(harness.adopt().entry), Undone)
        assert files(root) == before
        assert harness.status().clean


@pytest.mark.parametrize("name", ["config.toml", "routing.toml", "middleware.toml", "listeners.toml"])
def test_undo_removes_a_workspace_document_that_did_not_exist(tmp_path, name):
    root = init_workspace(tmp_path / "agent")
    with open_workspace(root) as harness:
        (root / name).unlink()
        before = files(root)
        change = {
            "config.toml": config("a", 1),
            "routing.toml": routing("m", "x"),
            "middleware.toml": {"op_type": "add_middleware", "target": "m", "value": {"handler": "h"}},
            "listeners.toml": {"op_type": "add_listener", "target": "e", "value": {"id": "l", "handler": "h"}},
        }[name]
        assert isinstance(harness.undo(harness.apply(candidate(change))), Undone)
        assert files(root) == before
