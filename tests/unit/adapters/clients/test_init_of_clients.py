"""`init` finds clients, adds one directory and nothing else, and takes in clients that come later."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.changes import candidate, prompt, routing
from tests.support.client_harnesses import HARNESSES, files_of, write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.errors import TakebackError
from takeback.harness import Applied
from takeback.harness.outcomes import Undone


def run(*words: str) -> dict[str, object]:
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", ["claude-code", "codex", "opencode", "gemini"])
def test_init_reports_kinds_and_surfaces_and_adds_one_directory(name: str, tmp_path: Path) -> None:
    root = write_harness(tmp_path, name)
    before = sorted(root.rglob("*"))
    found = run("init", str(root))
    assert found["kinds"] == [name]
    counts = found["surfaces"]
    assert isinstance(counts, dict)
    assert all(counts[surface] > 0 for surface in ("config", "prompts", "tools", "listeners")), counts
    new = [path for path in sorted(root.rglob("*")) if path not in before]
    assert {path.relative_to(root).parts[0] for path in new} == {".takeback"}
    assert (root / ".takeback/.gitignore").read_text().strip() == "*"


def test_two_clients_of_one_directory_have_prefixed_names(tmp_path: Path) -> None:
    for name in ("claude-code", "codex"):
        write_harness(tmp_path, name)
    assert init_clients(tmp_path).kinds == ("claude-code", "codex")
    with closing(open_workspace(tmp_path)) as harness:
        before = files_of(tmp_path)
        assert sorted(harness.state.part("routing")) == ["codex:model", "model"]
        tools = harness.state.part("tools")
        assert "mcp:a" in tools
        assert "codex:mcp:x" in tools
        assert "AGENTS.md" in harness.state.part("prompts")
        done = harness.apply(candidate(routing("codex:model", "new"), routing("model", "haiku")))
        assert isinstance(done, Applied)
        assert 'model = "new"' in (tmp_path / ".codex/config.toml").read_text().replace("'", '"')
        assert isinstance(harness.undo(done.entry.id), Undone)
        assert files_of(tmp_path) == before


def test_a_second_init_is_harmless_and_adds_a_new_client(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    assert init_clients(tmp_path).fresh
    again = init_clients(tmp_path)
    assert (again.fresh, again.added, again.kinds) == (False, (), ("claude-code",))
    write_harness(tmp_path, "gemini")
    with closing(open_workspace(tmp_path)) as harness:
        done = harness.apply(candidate(routing("model", "haiku")))
        assert isinstance(done, Applied)
    before = files_of(tmp_path)
    later = init_clients(tmp_path)
    assert (later.added, later.kinds) == (("gemini",), ("claude-code", "gemini"))
    assert files_of(tmp_path) == before
    with closing(open_workspace(tmp_path)) as harness:
        assert harness.status().clean
        assert "gemini:mcp:m" in harness.state.part("tools")
        assert isinstance(harness.undo(done.entry.id), Undone)


@pytest.mark.parametrize(
    ("kind", "folder", "files"),
    [
        (
            "claude-code",
            ".claude",
            {"settings.json": '{"model":"opus"}', "CLAUDE.md": "mine\n", "agents/a.md": "---\nname: a\n---\n"},
        ),
        (
            "codex",
            ".codex",
            {"config.toml": 'model = "a"\n', "fast.config.toml": 'model = "b"\n', "AGENTS.md": "mine\n"},
        ),
        ("opencode", ".config/opencode", {"opencode.jsonc": '{"model": "a/b",}', "AGENTS.md": "mine\n"}),
        (
            "gemini",
            ".gemini",
            {
                "settings.json": '{"model":{"name":"g"}}',
                "GEMINI.md": "mine\n",
                "policies/p.toml": "[[rule]]\npriority = 1\n",
            },
        ),
    ],
)
def test_the_users_own_files_are_a_harness_only_when_asked(
    kind: str, folder: str, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / folder
    for path, text in (files | {"projects/x/CLAUDE.md": "not ours\n", "plugins/y/AGENTS.md": "not ours\n"}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (tmp_path / ".claude.json").write_text("{}")
    before = files_of(tmp_path)
    found = run("init", "--user", "--kind", kind)
    assert found["workspace"] == str(root)
    with closing(open_workspace(root)) as harness:
        assert not [name for name in harness.state.part("prompts") if name.startswith(("projects", "plugins"))]
        instructions = next(path for path in files if path[:-3].isupper())
        assert instructions in harness.state.part("prompts")
        done = harness.apply(candidate(prompt(instructions, "yours\n")))
        assert isinstance(done, Applied)
        assert isinstance(harness.undo(done.entry.id), Undone)
        if kind == "codex":
            assert sorted(harness.state.part("routing")) == ["fast:model", "model"]
    assert files_of(tmp_path) == before


def test_commands_find_the_harness_from_any_directory_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_harness(tmp_path, "claude-code")
    init_clients(tmp_path)
    monkeypatch.chdir(tmp_path / "packages/api")
    run("set", "config", "permissions.allow+", "Bash(npm test:*)")
    assert "npm test" in (tmp_path / ".claude/settings.json").read_text(encoding="utf-8-sig")
    run("undo", "HEAD")
    assert (tmp_path / ".claude/settings.json").read_bytes() == HARNESSES["claude-code"][
        ".claude/settings.json"
    ].encode()


BROKEN = {
    "claude-code": (".claude/settings.json", '{\n  "model": "opus",\n}', "line 3, column 1"),
    "codex": (".codex/config.toml", "a = 1\nb = [\n", "line 3, column 1"),
    "opencode": ("opencode.jsonc", '{\n "a" 1 }', "line 2, column 6"),
    "gemini": (".gemini/settings.json", '{\n "a": 1,\n}', "line 3, column 1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_reported_with_its_place_and_discard_restores_it(name: str, tmp_path: Path) -> None:
    root = write_harness(tmp_path, name)
    init_clients(root)
    path, text, where = BROKEN[name]
    other = next(one for one in HARNESSES[name] if one.endswith("S.md") or one in {"CLAUDE.md", "GEMINI.md"})
    before = files_of(root)
    (root / path).write_text(text)
    (root / other).write_text("edited too\n")
    with closing(open_workspace(root)) as harness:
        status = harness.status()
        assert [fault.path for fault in status.broken] == [path]
        assert where in str(status.broken[0])
        assert [change.slot[:2] for change in status.drift][:1] == [("prompts", other)]
        refused = harness.apply(candidate(prompt(other, "mine\n")))
        assert not isinstance(refused, Applied)
        harness.discard((path,))
        assert files_of(root)[path] == before[path]
        assert (root / other).read_text() == "edited too\n"
        harness.discard()
        assert files_of(root) == before


def test_init_with_a_broken_file_says_where_and_leaves_nothing_behind(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    (tmp_path / ".mcp.json").write_text('{"mcpServers": }')
    with pytest.raises(TakebackError, match=r"\.mcp\.json.*line 1, column 16"):
        init_clients(tmp_path)
    assert not (tmp_path / ".takeback").exists()
