"""What changed becomes an entry of its own, with who did it; what cannot be recorded is said and breaks nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import EDITS, edit, files_of, write_harness
from tests.support.forked import run_text
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.agents import recorder
from takeback.agents.guard import HookReply
from takeback.agents.hook_events import find_last_prompt, read_event
from takeback.agents.installation import Placing, build_candidate, list_additions
from takeback.agents.recorder import answer_after
from takeback.cli import app
from takeback.harness import Undone
from takeback.harness.recorded_evidence import AT_ONCE
from takeback.present.entries import describe_prompt


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "p"
    place.mkdir()
    write_harness(place, "claude-code")
    init_clients(place, ("claude-code",))
    return place


def tell(root: Path, name: str, tool: str = "", given: dict[str, Any] | None = None, **more: str) -> HookReply:
    """What the recorder answers to an event."""
    raw: dict[str, Any] = {"hook_event_name": name, "cwd": str(root), "prompt_id": "p7"}
    raw["session_id"] = "12345678-90ab"
    raw |= {"tool_name": tool, "tool_input": given or {}} if tool else {}
    return answer_after(read_event(json.dumps(raw | more).encode(), "claude-code", str(root)))


def receipt(number: int, way: str = "takeback undo") -> HookReply:
    """The line that a person sees of a recorded edit."""
    return HookReply(out=f'{{"systemMessage":"recorded {number}; {way} {number} to undo"}}\n')


def entries(root: Path) -> list[tuple[str, str, dict[str, str]]]:
    """Note, maker and origin of every adopted entry, oldest first."""
    with closing(open_workspace(root, hold=False)) as harness:
        found = [entry.to_json() for entry in harness.log()]
    return [(entry["note"], entry["by"], entry["origin"]) for entry in reversed(found) if entry["kind"] == "adopt"]


def test_every_tool_call_is_an_entry_with_who_tool_and_prompt(root: Path) -> None:
    (root / "CLAUDE.md").write_text("# New\n")
    assert tell(root, "PostToolUse", "Edit", {"file_path": str(root / "CLAUDE.md")}) == receipt(2)
    (root / ".claude/rules/db.md").write_text("Joins.\n")
    assert tell(root, "PostToolUse", "Bash", {"command": "echo Joins. > .claude/rules/db.md"}) == receipt(3)
    (first, by, origin), (second, _, _) = entries(root)
    assert first == "Edit CLAUDE.md"
    assert second == "Bash"
    assert by == "claude-code (declared), session 12345678"
    assert origin == {
        "client": "claude-code",
        "session": "12345678-90ab",
        "prompt": "p7",
        "tool": "Edit",
        "event": "PostToolUse",
    }
    shown = CliRunner().invoke(app, ["show", "#2", "--dir", str(root)]).output
    words = " ".join(shown.partition("recorded from: ")[2].split())
    assert words.startswith("client claude-code, event PostToolUse, prompt p7, session 12345678-90ab, tool Edit ")


def test_a_receipt_names_the_installed_skill_by_its_clients_name(root: Path) -> None:
    with closing(open_workspace(root)) as harness:
        ops = [
            op
            for op in list_additions(
                "claude-code", ["claude-code"], harness.state, ["takeback"], Placing(shared=True)
            )
            if op["op_type"] == "set_prompt"
        ]
        harness.apply(build_candidate(ops, harness.state))
    (root / "CLAUDE.md").write_text("# New\n")
    given = {"file_path": str(root / "CLAUDE.md")}
    said = tell(root, "PostToolUse", "Edit", given)
    assert json.loads(said.out) == {"systemMessage": "recorded 3; /takeback 3 to undo"}
    (root / "CLAUDE.md").write_text("# Newer\n")
    raw = {"hook_event_name": "PostToolUse", "cwd": str(root), "tool_name": "Edit", "tool_input": given}
    said = answer_after(read_event(json.dumps(raw).encode(), "codex", str(root)))
    assert json.loads(said.out) == {"systemMessage": "recorded 4; $takeback 4 to undo"}
    (root / "CLAUDE.md").write_text("# Newest\n")
    raw = {"hook_event_name": "AfterTool", "cwd": str(root), "tool_name": "replace", "tool_input": given}
    said = answer_after(read_event(json.dumps(raw).encode(), "gemini", str(root)))
    assert json.loads(said.out) == {"systemMessage": "recorded 5; takeback undo 5 to undo"}, "it has no command here"
    (root / "CLAUDE.md").write_text("# Newest of all\n")
    assert answer_after(read_event(json.dumps(raw).encode(), "cursor", str(root))) == HookReply()


CLAUDE = [
    {"type": "user", "message": {"role": "user", "content": "an older prompt"}},
    {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "Tidy the rules\nand more"}]}},
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "a reminder of the client"}},
    {"type": "user", "message": {"role": "user", "content": "<command-name>/compact</command-name>"}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}},
    {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "Done"}]}},
]
CODEX = [
    {
        "type": "event_msg",
        "payload": {
            "type": "item_completed",
            "item": {"type": "UserMessage", "content": [{"type": "text", "text": "Tidy the rules"}]},
        },
    },
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "# AGENTS.md"}]}},
    {"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "FileChange"}}},
]


@pytest.mark.parametrize("lines", [CLAUDE, CODEX], ids=["claude-code", "codex"])
def test_the_prompt_is_read_from_the_clients_transcript(lines: list[Any], root: Path) -> None:
    place = root.parent / "talk.jsonl"
    place.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "no JSON\n")
    (root / "CLAUDE.md").write_text("# New\n")
    given = {"file_path": str(root / "CLAUDE.md")}
    raw = {"hook_event_name": "PostToolUse", "cwd": str(root), "tool_name": "Edit", "tool_input": given}
    answer_after(read_event(json.dumps(raw | {"transcript_path": str(place)}).encode(), "claude-code", str(root)))
    with closing(open_workspace(root, hold=False)) as harness:
        entry = next(iter(harness.log()))
    assert describe_prompt(entry) == '"Tidy the rules"'
    shown = CliRunner().invoke(app, ["log", "--prompt", "tidy the", "-n", "1", "--dir", str(root)]).output
    assert '"Tidy the rules" · Edit CLAUDE.md' in shown


@pytest.mark.parametrize("place", ["/dev/zero", "/", "talk.jsonl", "/nowhere/talk.jsonl"])
def test_an_unreadable_transcript_gives_no_prompt(place: str) -> None:
    assert find_last_prompt(place) == ""


def test_recorded_edits_are_proved_at_once_and_large_ones_by_the_next_command(root: Path) -> None:
    for one in EDITS["claude-code"]:
        edit(root, one)
        tell(root, "PostToolUse", "Edit", {"file_path": str(root / one.path)})
    skill = root / ".claude/skills/notes/assets"
    for at in range(AT_ONCE + 1):
        (skill / f"{at}.md").write_text(f"asset {at}\n")
    tell(root, "PostToolUse", "Bash", {"command": "make assets"})
    with closing(open_workspace(root, hold=False)) as harness:
        waiting = harness.ledger.unproved
        assert waiting == {next(harness.ledger.entries()).entry}
    log = json.loads(CliRunner().invoke(app, ["log", "--json", "--dir", str(root)]).output)["entries"]
    found = [entry for entry in log if entry["kind"] == "adopt" and entry["addresses"]]
    assert len(found) > 10
    assert {entry["grade"] for entry in found} == {"proved"}
    assert all(entry["grade"] or entry["unproved"] for entry in log if entry["kind"] == "adopt")


def test_the_second_of_four_edits_is_undone_and_the_others_stay(root: Path) -> None:
    before = files_of(root)
    texts = {
        "CLAUDE.md": "# One\n",
        ".claude/rules/db.md": "Two.\n",
        ".claude/commands/ship/it.md": "Three.\n",
        ".claude/hooks/guard.sh": "#!/bin/sh\nexit 4\n",
    }
    for path, text in texts.items():
        (root / path).write_text(text)
        tell(root, "PostToolUse", "Write", {"file_path": str(root / path)})
    assert len(entries(root)) == 4
    with closing(open_workspace(root, hold=False)) as harness:
        second = [entry for entry in harness.log() if entry.note.endswith("db.md")]
        assert isinstance(harness.undo(second[0].id), Undone)
    after = files_of(root)
    assert after[".claude/rules/db.md"] == before[".claude/rules/db.md"]
    assert [after[path][0].decode() for path in texts if "db.md" not in path] == [
        text for path, text in texts.items() if "db.md" not in path
    ]


def test_an_edit_of_another_file_does_not_open_the_harness(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "open_workspace", lambda *_, **__: pytest.fail("opened"))
    assert tell(root, "PostToolUse", "Write", {"file_path": str(root / "src/main.py")}) == HookReply()


def test_instructions_that_no_longer_bring_a_file_in_are_recorded_and_taken_back(root: Path) -> None:
    before = files_of(root)
    (root / "CLAUDE.md").write_text("# New\n")
    tell(root, "PostToolUse", "Write", {"file_path": str(root / "CLAUDE.md")})
    with closing(open_workspace(root, hold=False)) as harness:
        assert isinstance(harness.undo(), Undone)
        assert harness.state["prompts"]["docs/money.md"] == before["docs/money.md"][0].decode()
        assert not harness.status().drift
    assert files_of(root) == before


def test_a_file_that_instructions_bring_in_is_recorded(root: Path) -> None:
    (root / "docs/money.md").write_text("Two currencies.\n")
    tell(root, "PostToolUse", "Edit", {"file_path": str(root / "docs/money.md")})
    assert [note for note, _, _ in entries(root)] == ["Edit docs/money.md"]


@pytest.mark.parametrize("name", ["SessionStart", "SessionEnd", "Stop", "ConfigChange", "FileChanged"])
def test_writes_that_bypass_tools_are_caught_by_other_events(name: str, root: Path) -> None:
    (root / "CLAUDE.md").write_text("# New\n")
    assert tell(root, name, file_path=str(root / "CLAUDE.md")) == HookReply()
    assert [note for note, _, _ in entries(root)] == [f"found at {name}"]
    assert tell(root, name) == HookReply()
    assert len(entries(root)) == 1


def test_a_removed_guard_is_noticed_and_recorded(root: Path) -> None:
    settings = root / ".claude/settings.json"
    settings.write_bytes(settings.read_bytes().replace(b'"command" : "a"', b'"command" : "true"'))
    reply = tell(root, "PostToolUse", "Bash", {"command": "sed"})
    assert "has a hook removed or changed" in reply.err
    assert reply.code == 0
    ((note, _, origin),) = entries(root)
    assert note.startswith("Bash; loosens: ")
    assert "has a hook removed or changed" in origin["loosens"]


def test_the_model_is_warned_of_a_file_that_no_longer_loads(root: Path) -> None:
    (root / ".claude/settings.json").write_text("{")
    reply = tell(root, "PostToolUse", "Bash", {"command": "echo"})
    assert reply.code == 2
    assert "takeback discard .claude/settings.json" in reply.err
    assert tell(root, "ConfigChange", file_path=str(root / ".claude/settings.json")).code == 2
    assert tell(root, "SessionEnd").code == 0
    assert entries(root) == []


def hook(root: Path, raw: Any, *words: str) -> subprocess.CompletedProcess[str]:
    """One call of the program."""
    given = raw if isinstance(raw, str) else json.dumps(raw)
    return run_text(["hook", *words], os.environ, given=given, cwd=root)


def test_a_failing_guard_blocks_and_a_failing_recorder_does_not(root: Path) -> None:
    (root / ".takeback/manifest.toml").write_text("[workspace")
    given = {"tool_name": "Write", "tool_input": {"file_path": str(root / "CLAUDE.md"), "content": "x"}}
    done = hook(root, {"hook_event_name": "PreToolUse", **given})
    assert done.returncode == 2
    assert "the guard failed" in done.stderr
    done = hook(root, {"hook_event_name": "PostToolUse", **given})
    assert done.returncode == 0
    assert "could not be recorded" in done.stderr
    assert hook(root, "{").returncode == 2


PROBE = """
import json, os, sys
os._exit = sys.exit
sys.argv = ["takeback", "hook"]
from takeback.cli import main
try:
    main()
except SystemExit:
    pass
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def test_the_guard_imports_neither_state_nor_journal_nor_the_rest_of_the_program(root: Path) -> None:
    settings = root / ".claude/settings.json"
    given = {"file_path": str(settings), "old_string": '"opus"', "new_string": "5"}
    raw = {"hook_event_name": "PreToolUse", "cwd": str(root), "tool_name": "Edit", "tool_input": given}
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        input=json.dumps(raw),
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert '"deny"' in done.stdout
    heavy = ("takeback.state", "takeback.harness", "takeback.journal", "typer", "pydantic", "sqlite3", "yaml")
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert not [name for name in loaded for one in heavy if name == one or name.startswith(f"{one}.")]


def test_a_notice_of_a_recorded_file_leaves_other_changes_to_their_tool(root: Path) -> None:
    (root / ".claude/rules/db.md").write_text("Joins.\n")
    assert tell(root, "FileChanged", file_path=str(root / "CLAUDE.md")) == HookReply()
    assert entries(root) == []
    tell(root, "PostToolUse", "Bash", {"command": "echo"})
    assert [note for note, _, _ in entries(root)] == ["Bash"]


def before(root: Path, tool: str, given: dict[str, Any], call: str) -> None:
    """A tool is about to run."""
    raw = {"hook_event_name": "PreToolUse", "cwd": str(root), "session_id": "12345678-90ab", "tool_use_id": call}
    done = hook(root, {**raw, "tool_name": tool, "tool_input": given})
    assert (done.returncode, done.stdout) == (0, ""), done


SHELL = {"command": "echo '# New' > CLAUDE.md"}


@pytest.mark.parametrize(
    ("tool", "given"), [("Bash", SHELL), ("Edit", {"old_string": "cents", "new_string": "euros"})]
)
def test_a_notice_leaves_the_change_to_the_tool_that_is_still_running(
    tool: str, given: dict[str, Any], root: Path
) -> None:
    notes = str(root / "CLAUDE.md")
    given = given if tool == "Bash" else {**given, "file_path": notes}
    before(root, tool, given, "toolu_1")
    (root / "CLAUDE.md").write_text("# New\n")
    assert tell(root, "FileChanged", file_path=notes) == HookReply()
    assert entries(root) == []
    assert tell(root, "PostToolUse", tool, given, tool_use_id="toolu_1") == receipt(2)
    assert [note.split()[0] for note, _, _ in entries(root)] == [tool]
    (root / "CLAUDE.md").write_text("# By hand\n")
    assert tell(root, "FileChanged", file_path=notes) == HookReply()
    assert [note for note, _, _ in entries(root)][1:] == ["found at FileChanged"]
    assert list((root / ".takeback/under-way").iterdir()) == []


def test_a_notice_of_another_file_than_the_tool_edits_is_recorded_alone(root: Path) -> None:
    notes, rules = root / "CLAUDE.md", root / ".claude/rules/db.md"
    given = {"file_path": str(notes), "old_string": "cents", "new_string": "euros"}
    before(root, "Edit", given, "toolu_1")
    notes.write_text("# New\n")
    rules.write_text("By hand.\n")
    assert tell(root, "FileChanged", file_path=str(rules)) == HookReply()
    assert [note for note, _, _ in entries(root)] == ["found at FileChanged"]
    assert tell(root, "PostToolUse", "Edit", given, tool_use_id="toolu_1") == receipt(3)
    with closing(open_workspace(root, hold=False)) as harness:
        (edit, notice) = (entry for entry in harness.log() if entry.kind == "adopt")
    assert (edit.note, edit.files) == ("Edit CLAUDE.md", ("CLAUDE.md",))
    assert notice.files == (".claude/rules/db.md",)


@pytest.mark.parametrize("name", ["Stop", "SessionEnd"])
def test_a_tool_that_was_never_run_puts_a_notice_off_no_longer_than_the_turn(name: str, root: Path) -> None:
    before(root, "Bash", SHELL, "toolu_1")
    (root / "CLAUDE.md").write_text("# New\n")
    assert tell(root, "FileChanged", file_path=str(root / "CLAUDE.md")) == HookReply()
    assert tell(root, name) == HookReply()
    assert [note for note, _, _ in entries(root)] == [f"found at {name}"]
    assert list((root / ".takeback/under-way").iterdir()) == []


def test_a_stale_note_is_ignored(root: Path) -> None:
    before(root, "Bash", SHELL, "toolu_1")
    (note,) = (root / ".takeback/under-way").iterdir()
    os.utime(note, (1, 1))
    (root / "CLAUDE.md").write_text("# New\n")
    assert tell(root, "FileChanged", file_path=str(root / "CLAUDE.md")) == HookReply()
    assert len(entries(root)) == 1


def test_settings_broken_by_a_running_shell_are_reported_at_once(root: Path) -> None:
    before(root, "Bash", SHELL, "toolu_1")
    (root / ".claude/settings.json").write_text("{")
    assert tell(root, "ConfigChange", file_path=str(root / ".claude/settings.json")).code == 2


def test_a_failing_takeback_does_not_block_shell_commands(root: Path) -> None:
    (root / ".takeback/manifest.toml").write_text("[workspace")
    raw = {"hook_event_name": "PreToolUse", "cwd": str(root), "tool_name": "Bash"}
    assert hook(root, {**raw, "tool_input": {"command": "ls"}}).returncode == 0
    patch = "apply_patch <<E\n*** Begin Patch\n*** Update File: CLAUDE.md\n@@\n-end\n+End\n*** End Patch\nE"
    assert hook(root, {**raw, "tool_input": {"command": patch}}).returncode == 2
