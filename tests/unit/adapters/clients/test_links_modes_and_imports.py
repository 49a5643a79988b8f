"""Links, permission bits, files that come and go, and which files are part of a client's harness at all."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.changes import candidate, config, file, prompt
from tests.support.client_harnesses import HandEdit as By
from tests.support.client_harnesses import edit, files_of, write_harness

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness import Applied, Harness
from takeback.harness.outcomes import Adopted, Undone

AGENT = "---\nname: new\ndescription: New.\n---\n\nBe new.\n"


def opened(root: Path, *kinds: str) -> Harness:
    init_clients(root, kinds)
    return open_workspace(root)


def prompts(harness: Harness) -> list[str]:
    return sorted(harness.state.part("prompts"))


def adopted(harness: Harness) -> str:
    found = harness.adopt()
    assert isinstance(found, Adopted), found
    return found.entry.id


def undone(harness: Harness, entry: str) -> None:
    found = harness.undo(entry)
    assert isinstance(found, Undone), found


def test_a_linked_instruction_file_is_written_through_its_target_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.md").write_text("one\ntwo\n")
    (tmp_path / "CLAUDE.md").symlink_to("docs/rules.md")
    with closing(opened(tmp_path)) as harness:
        assert prompts(harness) == ["CLAUDE.md"]
        done = harness.apply(candidate(prompt("CLAUDE.md", "one\n")))
        assert isinstance(done, Applied)
        assert (tmp_path / "docs/rules.md").read_text() == "one\n"
        undone(harness, done.entry.id)
        assert (tmp_path / "docs/rules.md").read_text() == "one\ntwo\n"
        assert os.readlink(tmp_path / "CLAUDE.md") == "docs/rules.md"


def test_a_file_with_two_names_counts_once(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("one\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    with closing(opened(tmp_path, "claude-code", "codex")) as harness:
        assert prompts(harness) == ["AGENTS.md"]
        (tmp_path / "CLAUDE.md").write_text("one\ntwo\n")
        entry = adopted(harness)
        undone(harness, entry)
        assert (tmp_path / "AGENTS.md").read_text() == "one\n"
        assert (tmp_path / "CLAUDE.md").is_symlink()


def test_a_linked_settings_file_is_written_through_its_target(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / "shared.json").write_text('{ "model": "opus" }')
    (tmp_path / ".claude/settings.json").symlink_to("../shared.json")
    with closing(opened(tmp_path)) as harness:
        done = harness.apply(candidate(config("a", 1)))
        assert isinstance(done, Applied)
        assert (tmp_path / "shared.json").read_text() == '{ "model": "opus", "a": 1 }'
        assert (tmp_path / ".claude/settings.json").is_symlink()
        undone(harness, done.entry.id)
        assert (tmp_path / "shared.json").read_text() == '{ "model": "opus" }'


def test_a_link_out_of_the_project_is_reported_and_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("theirs\n")
    root = tmp_path / "project"
    root.mkdir()
    (root / "CLAUDE.md").symlink_to(outside)
    (root / ".claude").mkdir()
    (root / ".claude/settings.json").symlink_to(tmp_path / "nowhere.json")
    with closing(opened(root)) as harness:
        assert prompts(harness) == []
        told = " ".join(harness.status().problems)
        assert "CLAUDE.md: it is a link that leads out" in told
        assert ".claude/settings.json" in told
        refused = harness.apply(candidate(prompt("CLAUDE.md", "ours\n")))
        assert not isinstance(refused, Applied)
        assert outside.read_text() == "theirs\n"
        assert (root / "CLAUDE.md").is_symlink()


@pytest.mark.parametrize("mode", [0o444, 0o600, 0o755, 0o640])
def test_modes_are_kept_by_changes_and_undone_with_them(mode: int, tmp_path: Path) -> None:
    root = write_harness(tmp_path, "claude-code")
    for path in ("CLAUDE.md", ".claude/settings.json", ".claude/hooks/guard.sh"):
        (root / path).chmod(mode)
    with closing(opened(root)) as harness:
        before = files_of(root)
        done = harness.apply(candidate(prompt("CLAUDE.md", "new\n"), config("env.NEW", "1")))
        assert isinstance(done, Applied)
        assert {files_of(root)[path][1] for path in ("CLAUDE.md", ".claude/settings.json")} == {mode}
        undone(harness, done.entry.id)
        assert files_of(root) == before
        (root / ".claude/hooks/guard.sh").chmod(0o700)
        entry = adopted(harness)
        undone(harness, entry)
        assert files_of(root) == before


def test_undo_removes_new_files_and_the_directories_made_for_them(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("only this\n")
    with closing(opened(tmp_path)) as harness:
        before = sorted(tmp_path.rglob("*"))
        server = {"op_type": "register_tool", "target": "mcp:a", "value": {"command": "a"}}
        changes = [
            candidate(prompt("agents/new", AGENT)),
            candidate(config("env.A", "1")),
            candidate(server),
            candidate(file(".claude/hooks/deep/er/x.sh", "#!/bin/sh\n", mode="0755")),
        ]
        entries = []
        for change in changes:
            done = harness.apply(change)
            assert isinstance(done, Applied), done
            entries.append(done.entry.id)
        assert (tmp_path / ".mcp.json").exists()
        for entry in entries:
            undone(harness, entry)
        left = [path for path in sorted(tmp_path.rglob("*")) if ".takeback" not in path.parts]
        assert left == [path for path in before if ".takeback" not in path.parts]
        for entry in reversed(entries):
            harness.redo(entry)
        assert (tmp_path / ".claude/hooks/deep/er/x.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "path", ["CLAUDE.md", ".claude/settings.json", ".mcp.json", ".claude/agents/tester.md", ".claude/hooks/guard.sh"]
)
def test_a_deleted_file_is_adopted_and_restored_with_its_mode(path: str, tmp_path: Path) -> None:
    root = write_harness(tmp_path, "claude-code")
    (root / path).chmod(0o600)
    with closing(opened(root)) as harness:
        before = files_of(root)
        (root / path).unlink()
        entry = adopted(harness)
        edit(root, By(".claude/rules/db.md", "No joins", "Joins"))
        adopted(harness)
        undone(harness, entry)
        assert files_of(root)[path] == before[path]
        harness.redo(entry)
        assert not (root / path).exists()


def test_a_deleted_folder_is_restored(tmp_path: Path) -> None:
    root = write_harness(tmp_path, "claude-code")
    with closing(opened(root)) as harness:
        before = files_of(root)
        for place in sorted((root / ".claude/skills").rglob("*"), reverse=True):
            place.rmdir() if place.is_dir() else place.unlink()
        (root / ".claude/skills").rmdir()
        undone(harness, adopted(harness))
        assert files_of(root) == before


def test_removing_an_import_keeps_the_file_in_the_harness(tmp_path: Path) -> None:
    root = write_harness(tmp_path, "claude-code")
    with closing(opened(root)) as harness:
        before = files_of(root)
        edit(root, By("CLAUDE.md", "- see @docs/money.md\n", ""))
        first = adopted(harness)
        assert "docs/money.md" in prompts(harness)
        edit(root, By("docs/money.md", "One currency", "Any currency"))
        second = adopted(harness)
        undone(harness, first)
        undone(harness, second)
        assert files_of(root) == before


def test_a_new_import_adds_the_file_and_its_undo_leaves_the_file_alone(tmp_path: Path) -> None:
    root = write_harness(tmp_path, "claude-code")
    (root / "README.md").write_text("the project's\n")
    with closing(opened(root)) as harness:
        before = files_of(root)
        edit(root, By("CLAUDE.md", "# Ledger", "# Ledger\n@README.md"))
        entry = adopted(harness)
        assert "README.md" in prompts(harness)
        undone(harness, entry)
        assert files_of(root) == before
        assert "README.md" not in prompts(harness)
        harness.redo(entry)
        assert "README.md" in prompts(harness)
        assert harness.status().clean


def test_files_of_others_and_of_other_harnesses_are_not_read(tmp_path: Path) -> None:
    for path in ("CLAUDE.md", "node_modules/x/CLAUDE.md", ".venv/lib/CLAUDE.md", "pkg/CLAUDE.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "CLAUDE.md").write_text("x\n")
    init_clients(other)
    with closing(opened(tmp_path)) as harness:
        assert prompts(harness) == ["CLAUDE.md", "pkg/CLAUDE.md"]


def test_a_prompt_with_a_byte_order_mark_and_crlf_is_edited_in_place(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_bytes(b"\xef\xbb\xbf# A\r\n\r\n- one\r\n- two\r\n")
    with closing(opened(tmp_path)) as harness:
        before = files_of(tmp_path)
        line = {"op_type": "edit_prompt", "target": "CLAUDE.md", "value": {"old": "- one", "new": "- three"}}
        done = harness.apply(candidate(line))
        assert isinstance(done, Applied)
        assert (tmp_path / "CLAUDE.md").read_bytes() == b"\xef\xbb\xbf# A\r\n\r\n- three\r\n- two\r\n"
        undone(harness, done.entry.id)
        assert files_of(tmp_path) == before
