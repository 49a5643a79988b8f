"""What a change of a client's harness loosens."""

from __future__ import annotations

import pytest

from takeback.adapters.clients.permissions import find_loosened_permissions
from takeback.state import State

GUARD = {"type": "command", "command": ".claude/hooks/guard.sh"}


def _group(*hooks, matcher="Bash"):
    return {"id": "g", "handler": "g", "options": {"matcher": matcher, "hooks": list(hooks)}}


def _config(before, after):
    return find_loosened_permissions(State.read({"config": before}), State.read({"config": after}))


def _hooks(before, after):
    return find_loosened_permissions(State.read({"listeners": before}), State.read({"listeners": after}))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"permissions": {"allow": ["Read"]}}, {"permissions": {"allow": ["Read", "Bash(*)"]}}),
        ({}, {"local:permissions": {"allow": ["Bash(*)"]}}),
        ({"permissions": {"deny": ["Bash(rm:*)"]}}, {"permissions": {"deny": []}}),
        ({"permissions": {"deny": ["Bash(rm:*)"]}}, {}),
        ({"permissions": {"deny": ["Bash(rm:*)"]}}, {"permissions": {"ask": ["Bash(rm:*)"]}}),
        ({"permissions": {"ask": ["Bash(rm:*)"]}}, {"permissions": {"ask": []}}),
        ({}, {"permissions": {"defaultMode": "bypassPermissions"}}),
        ({"permissions": {"defaultMode": "plan"}}, {"permissions": {"defaultMode": "acceptEdits"}}),
        ({"permissions": {"defaultMode": "default"}}, {}),
        ({"permissions": {"defaultMode": "default"}}, {"permissions": {"defaultMode": "brand-new-mode"}}),
        ({"permissions": {"disableBypassPermissionsMode": "disable"}}, {"permissions": {"deny": []}}),
        ({}, {"disableAllHooks": True}),
        ({"disableAllHooks": False}, {"disableAllHooks": True}),
        ({"sandbox": {"enabled": True}}, {"sandbox": {"enabled": False}}),
        ({"sandbox": {"enabled": True}}, {}),
        ({"sandbox": {"excludedCommands": []}}, {"sandbox": {"excludedCommands": ["docker"]}}),
        ({"codex:approval_policy": "on-request"}, {"codex:approval_policy": "never"}),
        ({}, {"approval_policy": "never"}),
        ({"sandbox_mode": "read-only"}, {"sandbox_mode": "danger-full-access"}),
        ({"sandbox_mode": "workspace-write"}, {"sandbox_mode": "workspace-write", "approval_policy": {"x": True}}),
        ({}, {"sandbox_workspace_write": {"network_access": True}}),
        ({"features": {"hooks": True}}, {"features": {"hooks": False}}),
        ({}, {"projects": {"/a": {"trust_level": "trusted"}}}),
        ({"permission": {"bash": "ask"}}, {"permission": {"bash": "allow"}}),
        ({"permission": {"bash": "deny"}}, {}),
        ({"permission": {"bash": "ask"}}, {}),
        ({"permission": {"bash": [["rm *", "deny"]]}}, {"permission": "allow"}),
        ({"permission": {"bash": [["*", "ask"], ["rm *", "deny"]]}}, {"permission": {"bash": [["*", "ask"]]}}),
        (
            {"permission": {"bash": [["*", "allow"], ["rm *", "deny"]]}},
            {"permission": {"bash": [["rm *", "deny"], ["*", "allow"]]}},
        ),
        ({"agent": {"plan": {"tools": {"bash": False}}}}, {"agent": {"plan": {"tools": {"bash": True}}}}),
        ({"tools": {"exclude": ["shell"]}}, {"tools": {"exclude": []}}),
        ({"tools": {"core": ["read"]}}, {"tools": {"core": ["read", "shell"]}}),
        ({"tools": {"core": ["read"]}}, {}),
        ({}, {"general": {"defaultApprovalMode": "yolo"}}),
        ({"security": {"disableYoloMode": True}}, {"security": {"disableYoloMode": False}}),
        ({}, {"hooksConfig": {"enabled": False}}),
        ({}, {"hooksConfig": {"disabled": ["takeback"]}}),
    ],
)
def test_a_loosened_setting_is_reported_and_an_unchanged_one_is_not(before, after):
    assert _config(before, after)
    assert not _config(after, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"permissions": {"allow": ["Read", "Bash(*)"]}}, {"permissions": {"allow": ["Read"]}}),
        ({"permissions": {"allow": ["A", "B"]}}, {"permissions": {"allow": ["B", "A"]}}),
        ({"permissions": {"deny": []}}, {"permissions": {"deny": ["Bash(rm:*)"]}}),
        ({"permissions": {"ask": ["Bash(rm:*)"]}}, {"permissions": {"ask": [], "deny": ["Bash(rm:*)"]}}),
        ({"permissions": {"defaultMode": "acceptEdits"}}, {"permissions": {"defaultMode": "plan"}}),
        ({"disableAllHooks": True}, {}),
        ({}, {"sandbox": {"enabled": True}}),
        ({"approval_policy": "never"}, {"approval_policy": "untrusted"}),
        ({"sandbox_mode": "danger-full-access"}, {}),
        ({"permission": {"bash": "allow"}}, {"permission": {"bash": "deny"}}),
        ({"permission": {"bash": [["*", "ask"]]}}, {"permission": {"bash": [["*", "ask"], ["rm *", "deny"]]}}),
        ({}, {"permission": {"bash": "ask"}}),
        ({"tools": {"exclude": []}}, {"tools": {"exclude": ["shell"]}}),
        ({"timeout": 30}, {"timeout": 60}),
    ],
)
def test_tightened_and_unrelated_settings_are_not_reported(before, after):
    assert _config(before, after) == []


def test_a_reason_names_the_address_and_the_new_value():
    (reason,) = _config({}, {"local:permissions": {"allow": ["Bash(curl:*)"]}})
    assert reason == 'config["local:permissions.allow"] allows more: Bash(curl:*)'


@pytest.mark.parametrize(
    "after",
    [
        {},
        {"PreToolUse": [_group({"type": "command", "command": "true"})]},
        {"PreToolUse": [_group(GUARD, matcher="Never")]},
        {"PostToolUse": [_group(GUARD)]},
    ],
)
def test_a_removed_or_changed_hook_is_reported(after):
    (reason,) = [one for one in _hooks({"PreToolUse": [_group(GUARD)]}, after) if "a hook removed or changed" in one]
    assert "PreToolUse" in reason
    assert "guard.sh" in reason


def test_an_added_hook_that_runs_a_program_is_reported():
    before = {"PreToolUse": [_group(GUARD)]}
    more = {"PreToolUse": [_group(GUARD, {"type": "command", "command": "b"})]}
    assert _hooks(before, more) == ['listeners["PreToolUse"] has another hook, which runs a program, for "Bash"']


def test_harmless_listeners_and_renamed_hooks_are_not_reported():
    before = {"PreToolUse": [_group(GUARD)]}
    assert _hooks(before, {"PreToolUse": [_group(GUARD), {"id": "x", "handler": "x"}]}) == []
    assert _hooks(before, {"PreToolUse": [{**_group(GUARD), "id": "other", "handler": "other"}]}) == []


def test_removing_one_of_two_equal_hooks_is_reported():
    two = {"PreToolUse": [_group(GUARD), {**_group(GUARD), "id": "h"}]}
    assert len(_hooks(two, {"PreToolUse": [_group(GUARD)]})) == 1


@pytest.mark.parametrize(
    ("files", "word"), [({}, "gone"), ({".claude/hooks/guard.sh": {"content": "exit 0\n"}}, "changed")]
)
def test_a_script_that_a_hook_runs_is_a_guard(files, word):
    old = {"listeners": {"PreToolUse": [_group(GUARD)]}, "files": {".claude/hooks/guard.sh": {"content": "exit 2\n"}}}
    (reason,) = find_loosened_permissions(State.read(old), State.read({**old, "files": files}))
    assert reason.endswith(word)
    other = {**old, "files": {**old["files"], "notes.md": {"content": "a"}}}
    assert find_loosened_permissions(State.read(old), State.read(other)) == []


def test_a_server_trusted_without_asking_is_reported():
    plain, trusted = {"command": "m"}, {"command": "m", "trust": True}
    states = [State.read({"tools": {"mcp:m": record}}) for record in (plain, trusted)]
    assert find_loosened_permissions(*states) == ['tools["mcp:m"] is trusted without asking: trust is true']
    assert find_loosened_permissions(states[1], states[0]) == []
