"""A link is recorded as a link, and brought back as one; it is never followed for writing, and never lost."""

from __future__ import annotations

import os

import pytest
from tests.support.changes import candidate, config, prompt

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness import Adopted, Applied, Discarded, Refused, Undone
from takeback.journal.failpoint import arm_failpoints

CLAUDE, AGENTS = "# Claude\n\n- be brief\n", "# Agents\n\n- be kind\n"


def shape(root):
    found = {}
    for path in sorted(root.rglob("*")):
        if ".takeback" in path.parts or (path.is_dir() and not path.is_symlink()):
            continue
        if ".git" in path.relative_to(root).parts:
            continue
        name = str(path.relative_to(root))
        found[name] = os.readlink(path) if path.is_symlink() else (path.read_bytes(), path.stat().st_mode & 0o777)
    return found


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    (root / ".claude").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git/config").write_text("[core]\n")
    (root / "CLAUDE.md").write_text(CLAUDE)
    (root / "CLAUDE.md").chmod(0o640)
    (root / "AGENTS.md").write_text(AGENTS)
    (root / ".claude/settings.json").write_text('{"model": "opus"}\n')
    (root / "notes.md").write_text("notes\n")
    (root / ".claude/shared.json").write_text('{"model": "haiku"}\n')
    return root


@pytest.fixture
def outside(tmp_path):
    place = tmp_path / "outside.md"
    place.write_text("secret\n")
    return place


def opened(root):
    init_clients(root)
    return open_workspace(root)


def relink(path, target):
    path.unlink()
    path.symlink_to(target)


TARGETS = ["AGENTS.md", "notes.md", "nowhere.md", "CLAUDE.md", ".git/config", ".takeback/journal.db", "../outside.md"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_file_replaced_by_a_link_is_adopted_taken_back_and_brought_back(root, outside, target):
    with opened(root) as harness:
        before, git = shape(root), (root / ".git/config").read_bytes()
        relink(root / "CLAUDE.md", target)
        linked = shape(root)
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted), adopted
        assert harness.status().drift == ()
        assert isinstance(harness.undo(adopted.entry), Undone)
        assert shape(root) == before
        assert harness.status().drift == ()
        assert isinstance(harness.redo(), Undone)
        assert shape(root) == linked
        assert (root / ".git/config").read_bytes() == git
        assert outside.read_text() == "secret\n"
    with open_workspace(root) as again:
        assert again.journal.check().whole
        assert isinstance(again.undo(adopted.entry.id), Undone)
        assert shape(root) == before


@pytest.mark.parametrize("target", TARGETS)
def test_a_file_replaced_by_a_link_is_put_back_by_discard(root, outside, target):
    with opened(root) as harness:
        before = shape(root)
        relink(root / "CLAUDE.md", target)
        linked = shape(root)
        discarded = harness.discard()
        assert isinstance(discarded, Discarded)
        assert shape(root) == before
        assert harness.status().clean
        assert isinstance(harness.undo(discarded.entry), Discarded)
        assert shape(root) == linked
        assert outside.read_text() == "secret\n"


@pytest.mark.parametrize("target", ["AGENTS.md", "notes.md", "nowhere.md", "../outside.md"])
def test_a_link_replaced_by_a_file_comes_back_as_a_link(root, outside, target):
    relink(root / "CLAUDE.md", target)
    with opened(root) as harness:
        before = shape(root)
        (root / "CLAUDE.md").unlink()
        (root / "CLAUDE.md").write_text("mine\n")
        filed = shape(root)
        adopted = harness.adopt()
        assert isinstance(harness.undo(adopted.entry), Undone)
        assert shape(root) == before
        assert isinstance(harness.redo(), Undone)
        assert shape(root) == filed
        assert isinstance(harness.undo(adopted.entry), Undone)
        (root / "CLAUDE.md").unlink()
        (root / "CLAUDE.md").write_text("again\n")
        assert isinstance(harness.discard(), Discarded)
        assert shape(root) == before
        assert harness.status().drift == ()
        assert outside.read_text() == "secret\n"


def test_changing_the_target_of_a_link_is_an_entry(root):
    relink(root / "CLAUDE.md", "AGENTS.md")
    (root / "OTHER.md").write_text("other\n")
    with opened(root) as harness:
        before = shape(root)
        relink(root / "CLAUDE.md", "./AGENTS.md")
        adopted = harness.adopt()
        assert adopted.layout == ("CLAUDE.md",)
        assert isinstance(harness.undo(adopted.entry), Undone)
        assert shape(root) == before


def test_a_removed_link_is_restored(root):
    relink(root / "CLAUDE.md", "AGENTS.md")
    with opened(root) as harness:
        before = shape(root)
        (root / "CLAUDE.md").unlink()
        adopted = harness.adopt()
        assert isinstance(harness.undo(adopted.entry), Undone)
        assert shape(root) == before


@pytest.mark.parametrize("target", ["AGENTS.md", "nowhere.md", "../outside.md", ".git/config"])
def test_setting_a_prompt_over_a_link_is_refused_with_a_working_way_out(root, outside, target):
    relink(root / "CLAUDE.md", target)
    with opened(root) as harness:
        before, git = shape(root), (root / ".git/config").read_bytes()
        refused = harness.apply(candidate(prompt("CLAUDE.md", "new\n")))
        assert isinstance(refused, Refused)
        assert "link" in refused.message
        assert "put a file in its place" in refused.message
        assert shape(root) == before
        assert ((root / ".git/config").read_bytes(), outside.read_text()) == (git, "secret\n")
        (root / "CLAUDE.md").unlink()
        (root / "CLAUDE.md").write_text("a file\n")
        harness.adopt()
        assert isinstance(harness.apply(candidate(prompt("CLAUDE.md", "new\n"))), Applied)


def test_a_prompt_behind_a_link_is_written_to_the_links_target(root):
    relink(root / "CLAUDE.md", "notes.md")
    with opened(root) as harness:
        change = candidate(prompt("CLAUDE.md", "new\n"))
        assert harness.preview(change).paths == ("notes.md",)
        made = harness.apply(change)
        assert (os.readlink(root / "CLAUDE.md"), (root / "notes.md").read_text()) == ("notes.md", "new\n")
        assert isinstance(harness.undo(made), Undone)
        assert (root / "notes.md").read_text() == "notes\n"


def test_an_unadopted_link_does_not_stop_other_changes(root):
    with opened(root) as harness:
        made = harness.apply(candidate(config("cleanupPeriodDays", 9)))
        relink(root / "CLAUDE.md", "AGENTS.md")
        assert isinstance(harness.undo(made), Undone)
        assert isinstance(harness.apply(candidate(prompt("AGENTS.md", "kind\n"))), Applied)
        assert os.readlink(root / "CLAUDE.md") == "AGENTS.md"


@pytest.mark.parametrize("target", ["shared.json", "nowhere.md", "../../outside.md"])
def test_a_harness_with_linked_settings_opens_and_can_discard_the_link(root, outside, target):
    with opened(root) as harness:
        before = shape(root)
        relink(root / ".claude/settings.json", target)
        harness.status()
        assert isinstance(harness.discard(), Discarded)
        assert shape(root) == before
        assert harness.status().clean


class Died(BaseException):
    """The process stops here."""


@pytest.mark.parametrize("where", ["change.announced", "file.temp.written", "file.renamed", "change.written"])
def test_a_crash_while_a_link_is_put_back_leaves_the_link_or_the_file(root, where):
    with opened(root) as harness:
        before = shape(root)
        relink(root / "CLAUDE.md", "AGENTS.md")
        linked = shape(root)
        adopted = harness.adopt().entry

        def die(reached):
            if reached == where:
                raise Died

        with arm_failpoints(die), pytest.raises(Died):
            harness.undo(adopted)
    with open_workspace(root) as again:
        assert shape(root) in (before, linked)
        assert again.status().drift == ()


@pytest.mark.parametrize("name", ["prompts/p.md", "config.toml", "tools/t.json", "files/f.txt"])
def test_a_workspace_with_a_linked_file_opens_and_restores_the_file(tmp_path, outside, name):
    root = tmp_path / "agent"
    for path, text in {
        "prompts/p.md": "p\n",
        "config.toml": "a = 1\n",
        "tools/t.json": "{}",
        "files/f.txt": "f",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text('{"id": "t"}\n' if path.startswith("tools") else text)
    init_workspace(root)
    with open_workspace(root) as harness:
        before = shape(root)
        relink(root / name, "../../outside.md")
        linked = shape(root)
        assert not harness.status().clean
        assert isinstance(harness.discard(), Discarded)
        assert shape(root) == before
        relink(root / name, "../../outside.md")
        adopted = harness.adopt()
        if name != "config.toml":  # a document must be a file: discard is the way out
            assert isinstance(adopted, Adopted)
            assert isinstance(harness.undo(adopted.entry), Undone)
            assert shape(root) == before
            assert isinstance(harness.redo(), Undone)
            assert shape(root) == linked
        assert outside.read_text() == "secret\n"


DOCUMENTS = [
    ("claude-code", ".claude/settings.json", '{"model": "opus"}\n'),
    ("claude-code", ".mcp.json", '{"mcpServers": {"a": {"command": "a"}}}\n'),
    ("codex", ".codex/config.toml", 'model = "x"\n'),
    ("codex", ".codex/agents/r.toml", 'name = "r"\ndescription = "R"\ndeveloper_instructions = "R."\n'),
    ("gemini", ".gemini/settings.json", '{"model": {"name": "g"}}'),
    ("gemini", ".gemini/commands/c.toml", 'prompt = "c"\n'),
    ("opencode", "opencode.json", '{"model": "a/b"}\n'),
]
WHERE = ["out of the directory", "nowhere", "beside it", "beside it, the same"]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(("client", "name", "text"), DOCUMENTS)
def test_a_document_replaced_by_a_link_is_adopted_taken_back_and_brought_back(tmp_path, client, name, text, where):
    root, outside = tmp_path / "project", tmp_path / "outside"
    place = root / name
    place.parent.mkdir(parents=True)
    place.write_text(text)
    place.chmod(0o600)
    for instructions in ("CLAUDE.md", "AGENTS.md", "GEMINI.md"):
        (root / instructions).write_text("x\n")
    changed = text.replace('"', '"n', 1) if name.endswith(".toml") else "{}\n"
    outside.write_text(changed)
    init_clients(root, [client])
    with open_workspace(root) as harness:
        if where.startswith("beside"):
            (root / "shared").write_text(text if where.endswith("same") else changed)
        before = shape(root)
        target = {"out of the directory": outside, "nowhere": root / "nowhere"}.get(where, root / "shared")
        relink(place, os.path.relpath(target, place.parent))
        linked = shape(root)
        assert not harness.status().clean or harness.status().layout
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted), adopted
        status = harness.status()
        assert (status.drift, status.layout, status.broken) == ((), (), ())
        for _ in range(2):
            assert isinstance(harness.undo(adopted.entry), Undone)
            assert shape(root) == before
            assert harness.status().layout == ()
            assert isinstance(harness.redo(adopted.entry), Undone)
            assert shape(root) == linked
    with open_workspace(root) as again:
        assert again.journal.check().whole
        assert isinstance(again.undo(adopted.entry.id), Undone)
        assert shape(root) == before
    assert outside.read_text() == changed


def test_nothing_is_written_through_a_link_that_replaced_settings(root, outside):
    with opened(root) as harness:
        relink(root / ".claude/settings.json", "../../outside.md")
        harness.adopt()
        refused = harness.apply(candidate(config("cleanupPeriodDays", 9)))
        assert isinstance(refused, Refused)
        assert "put a file in its place" in refused.message
        assert outside.read_text() == "secret\n"
        assert "secret" not in str(harness.state.write())
        (root / ".claude/settings.json").unlink()
        (root / ".claude/settings.json").write_text("{}\n")
        harness.adopt()
        assert isinstance(harness.apply(candidate(config("cleanupPeriodDays", 9))), Applied)


def test_a_linked_folder_above_settings_does_not_count_as_their_removal(root, tmp_path):
    with opened(root) as harness:
        (root / ".claude").rename(tmp_path / "elsewhere")
        (root / ".claude").symlink_to(tmp_path / "elsewhere")
        status = harness.status()
        assert not any(change.slot[0] == "config" for change in status.drift)
        assert ".claude/settings.json" in [fault.path for fault in status.broken]


@pytest.mark.parametrize("target", ["../AGENTS.md", "../notes.md", "nowhere.md", "../../outside.md"])
@pytest.mark.parametrize("from_the_start", [True, False])
def test_a_removed_link_in_a_subfolder_is_noticed_and_restored(root, outside, target, from_the_start):
    place = root / "packages" / "CLAUDE.md"
    place.parent.mkdir()
    if from_the_start:
        place.symlink_to(target)
    with opened(root) as harness:
        if not from_the_start:
            place.symlink_to(target)
            harness.adopt()
        before = shape(root)
        assert not harness.status().layout
        place.unlink()
        gone = shape(root)
        status = harness.status()
        assert status.drift or status.layout == ("packages/CLAUDE.md",)
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted)
        assert isinstance(harness.undo(adopted.entry), Undone)
        assert shape(root) == before
        assert isinstance(harness.redo(adopted.entry), Undone)
        assert shape(root) == gone
        assert not harness.status().layout
        assert isinstance(harness.undo(adopted.entry), Undone)
        place.unlink()
        assert isinstance(harness.discard(), Discarded)
        assert shape(root) == before
    assert outside.read_text() == "secret\n"
