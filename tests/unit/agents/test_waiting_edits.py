"""In a harness of many files a hook only notes an edit; the next command makes the entry, with its author."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing

import pytest

from takeback.adapters import files_adapter, init_workspace, last_look, look_notes, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.adapters.waiting_edits import FOLDER, list_waiting
from takeback.agents.hook_events import read_event
from takeback.agents.quick_edits import note_edits
from takeback.agents.recorder import answer_after
from takeback.harness import Undone

LONG_AGO = -(10**15)
TEXT = "".join(f"- Rule {at}.\n" for at in range(20))


def event(root, name="PostToolUse", tool="Edit", path="CLAUDE.md", **given):
    about = {"hook_event_name": name, "cwd": str(root), "session_id": "s1", "tool_name": tool}
    about["tool_input"] = {"file_path": str(root / path), **given} if path else {"command": "make"}
    return json.dumps(about).encode()


def look(root):
    answer_after(read_event(event(root, "Stop", "", ""), "claude-code", str(root)))


def note(root, path="CLAUDE.md", **more):
    return note_edits(event(root, path=path, **more), "claude-code", str(root))


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A harness that counts as one of many files, looked at once."""
    monkeypatch.setattr(files_adapter, "SETTLED", LONG_AGO)
    monkeypatch.setattr(look_notes, "MANY", 3)
    place = tmp_path / "p"
    (place / ".claude/skills/x").mkdir(parents=True)
    (place / ".claude/agents").mkdir()
    (place / "CLAUDE.md").write_text(TEXT)
    (place / ".claude/settings.json").write_text('{"model": "opus"}\n')
    (place / ".claude/skills/x/SKILL.md").write_text("---\nname: x\ndescription: d\n---\nDo it.\n")
    (place / ".claude/skills/x/run.sh").write_text("#!/bin/sh\necho 1\n")
    (place / ".claude/agents/a.md").write_text("---\nname: a\ndescription: d\n---\nBe it.\n")
    init_clients(place, ("claude-code",))
    look(place)
    return place


def edit(root, old, new, path="CLAUDE.md"):
    place = root / path
    place.write_text(place.read_text().replace(old, new))


def list_adopted(root):
    with closing(open_workspace(root, hold=False)) as harness:
        return [entry for entry in harness.log() if entry.kind == "adopt"]


def test_each_noted_edit_becomes_an_entry_of_its_own_with_its_author(root):
    edit(root, "Rule 3.", "Rule three.")
    assert "takeback" in note(root)
    edit(root, "Rule 7.", "Rule seven.")
    note(root)
    edit(root, "echo 1", "echo 2", ".claude/skills/x/run.sh")
    note(root, ".claude/skills/x/run.sh")
    assert len(list_waiting(str(root))) == 3
    with closing(open_workspace(root, hold=False)) as harness:
        made = [entry for entry in harness.log() if entry.kind == "adopt"][::-1]
        assert [entry.note for entry in made] == ["Edit CLAUDE.md", "Edit CLAUDE.md", "Edit .claude/skills/x/run.sh"]
        assert {entry.by for entry in made} == {"claude-code (declared), session s1"}
        assert not harness.status().drift
        assert isinstance(harness.undo(made[0].id), Undone)
    text = (root / "CLAUDE.md").read_text()
    assert "Rule 3." in text
    assert "Rule seven." in text
    assert not (root / FOLDER).exists()


def test_an_undo_restores_bytes_though_the_file_changed_before_the_entry(root):
    edit(root, "Rule 3.", "Rule three.")
    note(root)
    edit(root, "Rule three.", "Rule drei.")
    with closing(open_workspace(root, hold=False)) as harness:
        assert [change.slot[1] for change in harness.status().drift] == ["CLAUDE.md"]
        harness.adopt()
        harness.undo("HEAD")
        assert "Rule three." in (root / "CLAUDE.md").read_text()
        harness.undo(next(entry.id for entry in harness.log() if entry.note.startswith("Edit")))
    assert (root / "CLAUDE.md").read_text() == TEXT


def test_a_shell_command_that_edits_plain_files_is_noted(root):
    edit(root, "Rule 3.", "Rule three.")
    edit(root, "echo 1", "echo 2", ".claude/skills/x/run.sh")
    assert note(root, "", tool="Bash") is not None
    assert note(root, "", tool="Bash") == ""
    assert len(list_waiting(str(root))) == 1
    (made,) = list_adopted(root)
    assert made.note == "Bash"


NOT_NOTED = {
    "settings": lambda root: (edit(root, "opus", "haiku", ".claude/settings.json"), ".claude/settings.json")[1],
    "an agent's front matter": lambda root: (edit(root, "d\n---", "d\ntools: Bash\n---", a), a)[1],
    "an import": lambda root: (edit(root, "Rule 3.", "@docs/x.md"), "CLAUDE.md")[1],
    "front matter that comes": lambda root: (edit(root, "- Rule 0.", "---\nx: 1\n---"), "CLAUDE.md")[1],
    "text that is not UTF-8": lambda root: ((root / "CLAUDE.md").write_bytes(b"\xff\n"), "CLAUDE.md")[1],
    "a link": lambda root: (
        (root / "x.md").write_text("x\n"),
        (root / "CLAUDE.md").unlink(),
        (root / "CLAUDE.md").symlink_to("x.md"),
        "CLAUDE.md",
    )[-1],
    "permission bits": lambda root: ((root / "CLAUDE.md").chmod(0o600), "CLAUDE.md")[1],
    "a new file": lambda root: ((root / ".claude/skills/x/new.sh").write_text("x\n"), ".claude/skills/x/new.sh")[1],
    "a file that goes": lambda root: ((root / "CLAUDE.md").unlink(), "CLAUDE.md")[1],
    "a policy": lambda root: (
        edit(root, "Rule 3.", "x"),
        (root / ".takeback/policy.toml").write_text(""),
        "CLAUDE.md",
    )[-1],
    "another journal's end": lambda root: (
        edit(root, "Rule 3.", "x"),
        (root / ".takeback/HEAD").write_text(f"9 {'0' * 64}\n"),
        "CLAUDE.md",
    )[-1],
    "a harness that is not trusted": lambda root: (
        edit(root, "Rule 3.", "x"),
        (root / ".takeback/trusted").unlink(),
        "CLAUDE.md",
    )[-1],
    "a file outside": lambda root: ((root.parent / "o.md").write_text("x\n"), "../o.md")[1],
}
a = ".claude/agents/a.md"


@pytest.mark.parametrize("change", NOT_NOTED)
def test_edits_that_need_parsing_are_left_to_the_recorder(root, change):
    path = NOT_NOTED[change](root)
    assert not note(root, path)
    assert list_waiting(str(root)) == []


def test_an_edit_is_not_noted_while_a_command_holds_the_journal(root):
    edit(root, "Rule 3.", "x")
    with closing(open_workspace(root, hold=False)) as harness, harness.session():
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                (
                    "import sys; from takeback.agents.quick_edits import note_edits;"
                    "print(note_edits(sys.stdin.buffer.read(), 'claude-code', '.'))"
                ),
            ],
            input=event(root),
            capture_output=True,
            check=True,
        )
    assert done.stdout.decode().strip() == "None", done.stderr


def test_a_tampered_note_of_an_edit_is_never_recorded(root):
    edit(root, "Rule 3.", "Rule three.")
    note(root)
    (name,) = list_waiting(str(root))
    place = root / FOLDER / name
    place.write_bytes(place.read_bytes().replace(b"Rule three", b"Rule fatal"))
    assert list_adopted(root) == []
    assert not place.exists()


def test_a_linked_folder_of_edits_is_left_alone(root, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "0000000001").write_text("mine\n")
    (root / FOLDER).symlink_to(elsewhere)
    edit(root, "Rule 3.", "Rule three.")
    assert note(root) is None
    with closing(open_workspace(root, hold=False)) as harness:
        assert harness.status().drift
    assert [one.name for one in elsewhere.iterdir()] == ["0000000001"]


def test_an_edit_that_cannot_be_noted_is_left_to_the_recorder(root):
    (root / FOLDER).write_text("in the way\n")
    edit(root, "Rule 3.", "Rule three.")
    assert note(root) is None


def test_a_note_recorded_before_a_kill_makes_no_second_entry(root):
    edit(root, "Rule 3.", "Rule three.")
    note(root)
    (name,) = list_waiting(str(root))
    kept = (root / FOLDER / name).read_bytes()
    assert len(list_adopted(root)) == 1
    (root / FOLDER).mkdir()
    (root / FOLDER / name).write_bytes(kept)
    assert len(list_adopted(root)) == 1


def test_hooks_stay_quick_after_commands_that_wrote_and_recorded(root):
    edit(root, "Rule 3.", "Rule three.")
    note(root)
    with closing(open_workspace(root, hold=False)) as harness:
        harness.undo("HEAD")
    assert last_look.is_unchanged(str(root))
    edit(root, "Rule 5.", "Rule five.")
    with closing(open_workspace(root, hold=False)) as harness:
        harness.adopt()
    assert last_look.is_unchanged(str(root))
    edit(root, "Rule 6.", "Rule six.")
    assert last_look.find_changed_files(str(root)) == ["CLAUDE.md"]
    assert note(root)


def test_files_and_prompts_of_a_workspace_are_noted_too(tmp_path, monkeypatch):
    monkeypatch.setattr(files_adapter, "SETTLED", LONG_AGO)
    monkeypatch.setattr(look_notes, "MANY", 2)
    root = init_workspace(tmp_path / "w")
    (root / "prompts/main.md").write_text(TEXT)
    (root / "files/deep").mkdir()
    (root / "files/deep/a.txt").write_text("one\n")
    for _ in range(2):
        look(root)
    edit(root, "Rule 3.", "Rule three.", "prompts/main.md")
    assert note(root, "prompts/main.md")
    edit(root, "one", "two", "files/deep/a.txt")
    assert note(root, "files/deep/a.txt")
    with closing(open_workspace(root, hold=False)) as harness:
        assert [entry.note for entry in harness.log() if entry.kind == "adopt"][:2] == [
            "Edit files/deep/a.txt",
            "Edit prompts/main.md",
        ]
        harness.undo("HEAD")
    assert (root / "files/deep/a.txt").read_text() == "one\n"
    assert os.listdir(root / ".takeback").count("edits") == 0
