"""Drift counts only where a plan touches it: a hand edit elsewhere stays, stays drift, and stops nothing."""

from __future__ import annotations

import json
import random

import pytest
from tests.support.changes import candidate, config, middleware, prompt

from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness import Adopted, Applied, Discarded, RefusalReason, Refused, Undone
from takeback.journal.failpoint import arm_failpoints
from takeback.state import State
from takeback.state.slots import describe_slot, find_containing_slot
from takeback.undo import Plan

SETTINGS = '{\n  "model": "opus",  \n  "permissions": {\n    "allow": ["Read"],\n    "deny": ["Bash(rm:*)"]\n  }\n}\n'
TEXT = "".join(f"- rule {number}\n" for number in range(12))


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    (root / ".claude").mkdir(parents=True)
    (root / "CLAUDE.md").write_text(TEXT)
    (root / ".claude/settings.json").write_text(SETTINGS)
    (root / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "a"}}}\n')
    init_clients(root)
    return root


@pytest.fixture
def harness(root):
    opened = open_workspace(root)
    yield opened
    opened.close()


def made(outcome):
    assert isinstance(outcome, Applied | Undone | Adopted), outcome
    return outcome.entry


def edit(target, old, new):
    return {"op_type": "edit_prompt", "target": target, "value": {"old": old, "new": new}}


def replace(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def titles(drift):
    return sorted({describe_slot(find_containing_slot(change.slot)) for change in drift})


def test_a_hand_edit_of_another_file_stops_no_change_undo_redo_or_restore(root, harness):
    entry = made(harness.apply(candidate(edit("CLAUDE.md", "rule 3\n", "rule three\n"))))
    replace(root / ".claude/settings.json", '"opus"', '"haiku"')
    by_hand = (root / ".claude/settings.json").read_bytes()
    plan = harness.plan_undo(entry)
    assert isinstance(plan, Plan)
    assert titles(harness.drift_beside(plan).elsewhere) == ['routing["model"]']
    assert isinstance(harness.undo(entry, token=plan.token), Undone)
    assert (root / "CLAUDE.md").read_text() == TEXT
    assert isinstance(harness.redo(), Undone)
    assert isinstance(harness.restore("#1"), Undone)
    made(harness.apply(candidate(prompt("CLAUDE.md", "new\n"))))
    assert (root / ".claude/settings.json").read_bytes() == by_hand
    assert titles(harness.status().drift) == ['routing["model"]']


def test_a_hand_edit_of_another_setting_in_the_same_file_stays_and_stays_drift(root, harness):
    path = root / ".claude/settings.json"
    entry = made(
        harness.apply(candidate({"op_type": "append_config", "target": "permissions.allow", "value": "Grep"}))
    )
    replace(path, '"opus"', '"haiku"')
    by_hand = path.read_bytes()
    assert isinstance(harness.undo(entry), Undone)
    assert path.read_text() == SETTINGS.replace("opus", "haiku")
    assert titles(harness.status().drift) == ['routing["model"]']
    assert isinstance(harness.redo(), Undone)
    assert path.read_bytes() == by_hand
    adopted = made(harness.adopt())
    assert [write.slot for write in harness.status().drift] == []
    assert isinstance(harness.undo(adopted), Undone)
    assert path.read_text() == SETTINGS.replace('["Read"]', '["Read", "Grep"]')
    assert isinstance(harness.undo(entry), Undone)
    assert path.read_text() == SETTINGS


def test_a_hand_edit_of_another_line_of_the_same_text_stays_and_stays_drift(root, harness):
    path = root / "CLAUDE.md"
    entry = made(harness.apply(candidate(edit("CLAUDE.md", "rule 3\n", "rule three\n"))))
    replace(path, "rule 9\n", "rule nine\n- and a half\n")
    assert isinstance(harness.undo(entry), Undone)
    assert path.read_text() == TEXT.replace("rule 9\n", "rule nine\n- and a half\n")
    assert titles(harness.status().drift) == ['prompts["CLAUDE.md"]']
    made(harness.apply(candidate(edit("CLAUDE.md", "rule 1\n", "rule one\n- and more\n"))))
    made(harness.apply(candidate(edit("CLAUDE.md", "", "- at the end\n"))))
    wanted = TEXT.replace("rule 1\n", "rule one\n- and more\n").replace("rule 9\n", "rule nine\n- and a half\n")
    assert path.read_text() == wanted + "- at the end\n"
    assert isinstance(harness.discard(), Discarded)
    assert path.read_text() == TEXT.replace("rule 1\n", "rule one\n- and more\n") + "- at the end\n"
    assert harness.status().clean


def test_drift_where_the_plan_writes_is_previewed_and_refused_with_ways_out(root, harness):
    path = root / "CLAUDE.md"
    entry = made(harness.apply(candidate(edit("CLAUDE.md", "rule 3\n", "rule three\n"))))
    replace(path, "rule three\n", "rule III\n")
    by_hand = path.read_bytes()
    plan = harness.plan_undo(entry)
    assert isinstance(plan, Plan)
    assert titles(harness.drift_beside(plan).touched) == ['prompts["CLAUDE.md"]']
    assert harness.files_of(plan).why is RefusalReason.DRIFT
    for refused in (harness.undo(entry), harness.undo(entry, token=plan.token), harness.restore("#1")):
        assert isinstance(refused, Refused)
        assert refused.why is RefusalReason.DRIFT
        assert "takeback adopt" in refused.message
        assert "takeback discard" in refused.message
        assert titles(refused.drift) == ['prompts["CLAUDE.md"]']
    assert path.read_bytes() == by_hand
    harness.discard()
    assert isinstance(harness.undo(entry, token=plan.token), Undone)
    assert path.read_text() == TEXT


def test_a_preview_separates_blocking_drift_from_drift_elsewhere(root, harness):
    replace(root / ".claude/settings.json", '"opus"', '"haiku"')
    replace(root / "CLAUDE.md", "rule 3\n", "rule three\n")
    there = harness.preview(candidate({"op_type": "set_routing", "target": "model", "value": "sonnet"}))
    assert (titles(there.drift), titles(there.elsewhere)) == (['routing["model"]'], ['prompts["CLAUDE.md"]'])
    other = harness.preview(candidate(config("cleanupPeriodDays", 9)))
    assert (titles(other.drift), len(titles(other.elsewhere))) == ([], 2)
    assert other.paths == (".claude/settings.json",)
    assert (
        harness.apply(candidate({"op_type": "set_routing", "target": "model", "value": "sonnet"})).why
        is RefusalReason.DRIFT
    )


def test_an_edit_of_unrecorded_text_is_refused_as_drift(root, harness):
    replace(root / "CLAUDE.md", "rule 3\n", "rule three\n")
    refused = harness.apply(candidate(edit("CLAUDE.md", "rule three", "rule III")))
    assert refused.why is RefusalReason.DRIFT
    assert "takeback adopt" in refused.message
    wrong = harness.apply(candidate(edit("CLAUDE.md", "nowhere", "x")))
    assert wrong.why is RefusalReason.STATE


def test_an_edit_made_ambiguous_by_drift_is_refused(root, harness):
    (root / "CLAUDE.md").write_text(TEXT + "- rule 3\n")
    refused = harness.apply(candidate(edit("CLAUDE.md", "rule 3\n", "rule III\n")))
    assert refused.why is RefusalReason.DRIFT
    assert (root / "CLAUDE.md").read_text() == TEXT + "- rule 3\n"


def test_a_broken_file_elsewhere_stops_neither_change_undo_nor_adopt(root, harness):
    entry = made(harness.apply(candidate(edit("CLAUDE.md", "rule 3\n", "rule three\n"))))
    (root / ".claude/settings.json").write_text('{"model": ')
    assert isinstance(harness.plan_undo(entry), Plan)
    assert isinstance(harness.undo(entry), Undone)
    made(harness.apply(candidate({"op_type": "register_tool", "target": "mcp:b", "value": {"command": "b"}})))
    replace(root / "CLAUDE.md", "rule 5\n", "rule five\n")
    adopted = made(harness.adopt())
    assert adopted.payload.get("layout") is None
    assert harness.adopt().why is RefusalReason.BROKEN
    refused = harness.apply(candidate(config("cleanupPeriodDays", 9)))
    assert refused.why is RefusalReason.BROKEN
    assert "takeback discard .claude/settings.json" in refused.message
    assert (root / ".claude/settings.json").read_text() == '{"model": '
    harness.discard()
    assert (root / ".claude/settings.json").read_text() == SETTINGS
    assert harness.status().clean


def test_undo_keeps_a_container_that_holds_hand_edits(root, harness):
    path = root / ".claude/settings.json"
    entry = made(harness.apply(candidate(config("env.ONE", "1"))))
    document = json.loads(path.read_text())
    document["env"]["TWO"] = "2"
    path.write_text(json.dumps(document, indent=2))
    assert isinstance(harness.undo(entry), Undone)
    assert json.loads(path.read_text())["env"] == {"TWO": "2"}
    assert titles(harness.status().drift) == ['config["env"]']
    made(harness.adopt())
    assert harness.status().clean


def test_drift_in_a_memory_harness_survives_changes_elsewhere(tmp_path):
    harness = open_memory(State.read({"config": {"a": 1, "b": 1}}), journal=tmp_path / "j.db")
    entry = made(harness.apply(candidate(config("a", 2))))
    harness.adapter.edit(State.read({"config": {"a": 2, "b": 5}}))
    assert isinstance(harness.undo(entry), Undone)
    assert titles(harness.status().drift) == ['config["b"]']
    made(harness.apply(candidate(middleware("m", index=0))))
    assert titles(harness.status().drift) == ['config["b"]']
    made(harness.adopt())
    assert harness.status().clean
    assert harness.state.write()["config"] == {"a": 1, "b": 5}
    harness.close()


class Died(BaseException):
    """The process stops here."""


@pytest.mark.parametrize("where", ["change.announced", "file.renamed", "change.written", "change.settled"])
def test_a_crash_beside_a_hand_edit_leaves_all_of_the_change_or_none_and_the_edit(root, where):
    path = root / ".claude/settings.json"
    with open_workspace(root) as harness:
        replace(path, '"opus"', '"haiku"')

        def die(reached):
            if reached == where:
                raise Died

        with arm_failpoints(die), pytest.raises(Died):
            harness.apply(candidate(config("cleanupPeriodDays", 9), prompt("CLAUDE.md", "new\n")))
    with open_workspace(root) as again:
        document = json.loads(path.read_text())
        assert document["model"] == "haiku"
        assert titles(again.status().drift) == ['routing["model"]']
        assert ("cleanupPeriodDays" in document) == ((root / "CLAUDE.md").read_text() == "new\n")
        if "cleanupPeriodDays" in document:
            assert isinstance(again.undo("HEAD"), Undone)
        assert path.read_text() == SETTINGS.replace("opus", "haiku")


@pytest.mark.parametrize("seed", range(10))
def test_random_changes_beside_random_hand_edits_keep_both(tmp_path, seed):
    rng = random.Random(seed)
    root = tmp_path / "agent"
    init_workspace(root, start=State.read({"config": {f"k{n}": 0 for n in range(8)}, "prompts": {"p": TEXT}}))
    harness = open_workspace(root)
    config_file, text = root / "config.toml", root / "prompts/p.md"
    entries, hands = [], {}
    for step in range(12):
        number = rng.randrange(8)
        if rng.random() < 0.3 and number not in hands:
            replace(config_file, f"k{number} = ", f"k{number} = 9{step}0000")
            hands[number] = json.loads(f"{config_file.read_text().split(f'k{number} = ')[1].splitlines()[0]}")
        elif rng.random() < 0.4 and entries:
            harness.undo(entries.pop(rng.randrange(len(entries))))
        else:
            op = (
                config(f"k{number}", step + 1)
                if rng.random() < 0.7
                else edit("p", f"rule {number}\n", f"rule {number}\n+\n")
            )
            outcome = harness.apply(candidate(op))
            assert isinstance(outcome, Applied) == (op["op_type"] != "set_config" or number not in hands) or (
                isinstance(outcome, Refused) and outcome.why in {RefusalReason.STATE, RefusalReason.DRIFT}
            )
            entries += [outcome.entry.id] if isinstance(outcome, Applied) else []
        drift = harness.status().drift
        assert titles(drift) == sorted(f'config["k{n}"]' for n in hands)
        values = dict(line.split(" = ") for line in config_file.read_text().splitlines() if " = " in line)
        wanted = harness.state.write()["config"] | hands
        assert {key: json.loads(value) for key, value in values.items()} == {
            key: hands.get(int(key[1:]), wanted[key]) for key in values
        }
        assert text.read_text() == harness.state.write()["prompts"]["p"]
    if hands:
        made(harness.adopt())
        assert harness.status().clean
    harness.close()
