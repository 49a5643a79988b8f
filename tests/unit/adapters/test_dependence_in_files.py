"""Who depends on whom where the state is in files: a client's settings, a workspace, a journal that is opened."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness import Adopted, Undone
from takeback.state import State
from takeback.undo import Blocked

ALLOW = "permissions.allow"
SETTINGS = ".claude/settings.json"


def first(item):
    return candidate(config(ALLOW, [item]))


def more(item):
    return candidate({"op_type": "append_config", "target": ALLOW, "value": item})


def opener(kind, root):
    """Return what opens a harness of one kind, each time from what is stored."""
    if kind == "memory":
        journal = root / "journal.db"
        open_memory(State.read({}), journal=journal).close()
        return lambda: open_memory(None, journal=journal)
    if kind == "workspace":
        init_workspace(root / "agent", start=State.read({}))
        return lambda: open_workspace(root / "agent")
    (root / ".claude").mkdir()
    init_clients(root, ("claude-code",))
    return lambda: open_workspace(root)


def allowed(harness):
    return harness.state.write().get("config", {}).get("permissions", {}).get("allow")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("kind", ["memory", "workspace", "claude-code"])
def test_two_items_of_a_new_list_are_undone_and_redone_one_by_one_in_any_order(kind, order, tmp_path):
    opened = opener(kind, tmp_path)
    with closing(opened()) as harness:
        entries = [harness.apply(one).entry.id for one in (first("Bash(rm:*)"), more("Bash(ls:*)"))]
        full = harness.state
    left = {0: ["Bash(ls:*)"], 1: ["Bash(rm:*)"]}
    for at, entry in zip(order, [entries[at] for at in order], strict=True):
        with closing(opened()) as harness:
            assert isinstance(harness.undo(entry), Undone)
            assert allowed(harness) == (left[at] if at == order[0] else None)
    with closing(opened()) as harness:
        assert "permissions" not in harness.state.write().get("config", {})
        assert harness.status().clean
    for at in order:
        with closing(opened()) as harness:
            assert isinstance(harness.redo(entries[at]), Undone)
            assert allowed(harness) == (left[1 - at] if at == order[0] else ["Bash(rm:*)", "Bash(ls:*)"])
    with closing(opened()) as harness:
        assert harness.state == full
        assert isinstance(harness.undo(*entries), Undone)
        assert allowed(harness) is None


def adopt(harness, root, settings):
    (root / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n")
    done = harness.adopt()
    assert isinstance(done, Adopted)
    return done.entry.id


def test_undoing_a_hand_written_list_keeps_later_items(tmp_path):
    opened = opener("claude-code", tmp_path)
    (tmp_path / SETTINGS).write_text('{\n  "model": "m"\n}\n')
    with closing(opened()) as harness:
        harness.adopt()
        by_hand = adopt(harness, tmp_path, {"model": "m", "permissions": {"allow": ["A", "B"]}})
        added = harness.apply(more("C")).entry.id
        assert isinstance(harness.undo(by_hand), Undone)
        assert json.loads((tmp_path / SETTINGS).read_text()) == {"model": "m", "permissions": {"allow": ["C"]}}
        assert isinstance(harness.undo(added), Undone)
        assert json.loads((tmp_path / SETTINGS).read_text()) == {"model": "m"}


def hooks(*commands, matcher="Bash"):
    listed = [{"type": "command", "command": command} for command in commands]
    return {"model": "m", "hooks": {"PreToolUse": [{"matcher": matcher, "hooks": listed}]}}


@pytest.mark.parametrize(
    "later", [hooks("one", "two"), hooks("one", matcher="Write"), hooks("one", "two", matcher="Edit")]
)
def test_undoing_a_hook_group_is_blocked_by_its_later_edit(later, tmp_path):
    opened = opener("claude-code", tmp_path)
    with closing(opened()) as harness:
        adopt(harness, tmp_path, {"model": "m"})
        before = (tmp_path / SETTINGS).read_bytes()
        group = adopt(harness, tmp_path, hooks("one"))
        edit = adopt(harness, tmp_path, later)
    with closing(opened()) as harness:
        now = (tmp_path / SETTINGS).read_bytes()
        outcome = harness.undo(group)
        assert isinstance(outcome, Blocked)
        assert [harness.journal.get(number).id for number in outcome.off] == [edit]
        assert (tmp_path / SETTINGS).read_bytes() == now
        assert isinstance(harness.undo(group, cascade=True), Undone)
        assert (tmp_path / SETTINGS).read_bytes() == before
