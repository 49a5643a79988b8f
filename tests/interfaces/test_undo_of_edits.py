"""What people ask undo for, through the command line: take back one of several edits of one text or list."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from takeback import open_memory
from takeback.cli import app, context
from takeback.state import State

START = {
    "prompts": {"system": "You are careful.\n", "bare": "You are careful."},
    "config": {"permissions": {"allow": ["Read"]}, "verbose": False},
    "files": {"notes.md": {"content": "".join(f"note {number}\n" for number in range(1, 41))}},
}


class Story:
    """An agent's workspace, and what a person types."""

    def __init__(self, folder, look):
        self.folder = folder
        self.look = look
        self.agent = folder / "agent"

    def type(self, *words):
        result = CliRunner().invoke(app, [*map(str, words), "--dir", str(self.agent)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout

    def tell(self, *words):
        code, text = self.type(*words, "--json")
        return code, json.loads(text)

    def change(self, op_type, target, value, *options):
        asked = self.folder / "asked.json"
        asked.write_text(json.dumps({"mutation": [{"op_type": op_type, "target": target, "value": value}]}))
        made = CliRunner().invoke(app, ["oracle", str(asked)])
        assert made.exit_code == 0, made.output
        asked.write_text(made.stdout)
        code, told = self.tell("apply", asked, *options)
        assert (code, told["result"], told["verdict"]["grade"]) == (0, "applied", "proved"), told
        return told["entry"]

    def edit(self, old, new, target="system"):
        return self.change("edit_prompt", target, {"old": old, "new": new})

    def number(self, entry):
        return self.tell("show", entry)[1]["seq"]


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """The same commands over a state that is kept in a journal only."""
    (tmp_path / "agent").mkdir()
    journal = tmp_path / "journal.db"
    with open_memory(State.read(START), journal=journal) as begun:
        assert begun.state.write() == State.read(START).write()
    monkeypatch.setattr(context, "open_workspace", lambda *_, **__: open_memory(journal=journal))

    def look(surface, key):
        with open_memory(journal=journal) as harness:
            return harness.state.write()[surface][key]

    return Story(tmp_path, look)


@pytest.fixture
def workspace(tmp_path):
    state = tmp_path / "state.json"
    state.write_text(json.dumps(START))
    assert CliRunner().invoke(app, ["init", str(tmp_path / "agent"), "--state", str(state)]).exit_code == 0

    def look(surface, key):
        if surface == "prompts":
            return (tmp_path / "agent" / "prompts" / f"{key}.md").read_bytes().decode()
        with context.open_harness(tmp_path / "agent", None) as harness:
            return harness.state.write()[surface][key]

    return Story(tmp_path, look)


@pytest.fixture(params=["memory", "workspace"])
def story(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(("prompt", "end"), [("system", "\n"), ("bare", "")])
def test_undoing_the_first_of_three_rules_keeps_the_others(story, prompt, end):
    start = story.look("prompts", prompt)
    rules = [f"Rule {number}.{end}" if end else f"\nRule {number}." for number in (1, 2, 3)]
    first, *_ = [story.edit("", rule, prompt) for rule in rules]
    assert story.look("prompts", prompt) == start + "".join(rules)
    code, told = story.tell("undo", first)
    assert (code, told["result"], told["visible"], told["kept"]) == (0, "done", True, [])
    assert story.look("prompts", prompt) == start + "".join(rules[1:])
    assert story.tell("redo", "--last")[1]["visible"]
    assert story.look("prompts", prompt) == start + "".join(rules)


def test_undoing_an_allowed_permission_removes_it(story):
    first = story.change("append_config", "permissions.allow", "Bash(rm:*)")
    story.change("append_config", "permissions.allow", "Bash(git:*)")
    code, text = story.type("undo", first)
    assert code == 0
    assert '-"Bash(rm:*)"' in text.splitlines()
    assert story.look("config", "permissions")["allow"] == ["Read", "Bash(git:*)"]


def test_undoing_an_overwritten_edit_says_that_nothing_visible_changes(story):
    first = story.edit("careful", "quick")
    later = story.number(story.edit("quick", "bold"))
    code, text = story.type("undo", first, "--plan")
    assert (code, text.splitlines()[0]) == (0, f"nothing visible would change: #{later} rewrote this line later")
    code, text = story.type("undo", first, "--strict")
    assert code == 1
    assert text.splitlines()[0] == f"refused: later writes of #{later} would be kept; nothing was changed"
    code, text = story.type("undo", first)
    assert (code, text.splitlines()[0]) == (0, f"nothing visible changed: #{later} rewrote this line later")
    assert story.look("prompts", "system") == "You are bold.\n"


def test_the_json_of_an_undo_names_kept_slots_parts_and_writers(story):
    first = story.edit("", "One.\nTwo.\n")
    later = story.edit("Two.", "Three.")
    number = story.number(later)
    refused = story.tell("undo", first, "--strict")
    kept = [{"slot": 'prompts["system"]', "part": "line 3", "entry": number}]
    assert refused[0] == 1
    assert (refused[1]["why"], refused[1]["kept"]) == ("kept", kept)
    _, plan = story.tell("undo", first, "--plan")
    assert (plan["visible"], plan["kept"], plan["ids"][str(number)]) == (True, kept, later)
    _, text = story.type("undo", first)
    assert text.splitlines()[0] == f"1 line taken back, 1 kept because of #{number}"
    assert text.splitlines()[-1] == f'kept: prompts["system"] line 2, which #{number} rewrote later'
    assert story.look("prompts", "system") == "You are careful.\nThree.\n"


def test_undoing_an_overwritten_value_says_that_nothing_visible_changes(story):
    first = story.change("set_config", "verbose", True)
    later = story.number(story.change("set_config", "verbose", False))
    _, text = story.type("undo", first)
    assert text.splitlines()[0] == f"nothing visible changed: #{later} rewrote this value later"
    _, told = story.tell("redo", "--last")
    assert (told["visible"], told["kept"]) == (False, [{"slot": 'config["verbose"]', "part": None, "entry": later}])


def test_every_command_that_shows_a_change_shows_the_changed_line_with_its_number(story):
    entry = story.change("edit_file", "notes.md", {"old": "note 33\n", "new": "note thirty-three\n"}, "-m", "spelled")
    hunk = ["@@ -30,7 +30,7 @@", " note 30", " note 31", " note 32", "-note 33", "+note thirty-three"]
    for words in (("show", entry), ("diff", entry), ("log", "-p", "-n", "1")):
        _, text = story.type(*words)
        assert "\n".join(hunk) in text, words
        assert "\\x1f" not in text, words
    _, text = story.type("undo", entry, "--plan")
    assert "-note thirty-three\n+note 33\n" in text
    assert story.tell("show", entry)[1]["addresses"] == ['files["notes.md"]']


def test_a_blocked_undo_names_the_edit_that_needs_the_text(story):
    first = story.change("set_prompt", "fresh", "One.\nTwo.\n")
    later = story.number(story.edit("Two.", "Three.", "fresh"))
    code, text = story.type("undo", first)
    assert code == 1
    assert f"(#{later}): it edits the prompts" in text


def test_an_adopted_edit_is_shown_as_proved_and_ambiguous(workspace):
    twice = workspace.agent / "prompts" / "system.md"
    twice.write_text("Be kind.\nBe kind.\nBe brief.\n")
    assert workspace.tell("adopt")[0] == 0
    twice.write_text("Be kind.\nBe brief.\n")
    code, told = workspace.tell("adopt")
    assert (code, told["ambiguous"]) == (0, ['prompts["system"]'])
    assert (told["grade"], told["unproved"]) == ("proved", None)
    _, text = workspace.type("show", told["entry"])
    assert "cannot be told exactly" in text
    assert "evidence: proved (after the change)" in text
    assert '"op_type": "edit_prompt"' in text
    _, plan = workspace.tell("undo", told["entry"], "--plan")
    assert [one["slot"] for one in plan["ambiguous"]] == ['prompts["system"]']
    assert plan["unadmitted"] == []
    _, text = workspace.type("undo", told["entry"], "--plan")
    assert "cannot be told exactly" in text
    _, text = workspace.type("log", "--grade", "proved")
    assert "proved" in text.splitlines()[1]


def test_an_unproved_adoption_is_marked_everywhere(workspace):
    why = "a directory without files came or went, which no operation describes"
    (workspace.agent / "files" / "empty").mkdir()
    _, told = workspace.tell("adopt")
    assert (told["grade"], told["unproved"]) == (None, why)
    _, plan = workspace.tell("undo", told["entry"], "--plan")
    assert plan["unadmitted"] == [workspace.number(told["entry"])]
    _, text = workspace.type("undo", told["entry"], "--plan")
    assert f"has no admitted recovery: it was made outside Takeback, and {why}" in text
    _, text = workspace.type("show", told["entry"])
    assert f"evidence: none, because {why}" in text
    _, log = workspace.tell("log")
    newest = log["entries"][0]
    assert (newest["grade"], newest["recorded"], newest["unproved"]) == (None, True, why)


def test_a_line_edited_by_hand_is_shown_and_recorded_as_that_line(workspace):
    notes = workspace.agent / "files" / "notes.md"
    notes.write_text(notes.read_text().replace("note 33\n", "by hand\n"))
    for words in (("status",), ("diff",), ("adopt",)):
        _, text = workspace.type(*words)
        assert "@@ -30,7 +30,7 @@\n note 30\n note 31\n note 32\n-note 33\n+by hand\n note 34\n" in text, words
    _, told = workspace.tell("show", "HEAD")
    assert [(one["address"], one["part"]) for one in told["changes"]] == [('files["notes.md"]', "line 33")]
    assert told["ambiguous"] == []


def test_a_change_outside_a_narrower_language_names_the_language(memory):
    asked = memory.folder / "edit.json"
    edit = {"op_type": "edit_prompt", "target": "system", "value": {"old": "", "new": "x"}}
    asked.write_text(json.dumps({"mutation": [edit]}))
    asked.write_text(CliRunner().invoke(app, ["oracle", str(asked)]).stdout)
    code, told = memory.tell("apply", asked, "--language", "L1")
    assert (code, told["result"], told["verdict"]["language"]) == (1, "refused", "L1")
    assert memory.tell("apply", asked)[1]["verdict"]["language"] == "L2"


def test_a_plan_names_a_forced_entry(story):
    asked = story.folder / "forced.json"
    asked.write_text(json.dumps({"mutation": [{"op_type": "set_config", "target": "a", "value": 1}]}))
    code, told = story.tell("apply", asked, "--force")
    assert (code, told["forced"]) == (0, True)
    _, plan = story.tell("undo", told["entry"], "--plan")
    assert plan["unadmitted"] == [story.number(told["entry"])]
    _, text = story.type("undo", told["entry"], "--plan")
    assert "has no admitted recovery: it was forced" in text
