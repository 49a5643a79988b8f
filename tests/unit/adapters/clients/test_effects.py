"""Every slot of a client's harness says when the client notices a change of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.support.changes import candidate, config
from tests.support.client_harnesses import EDITS, edit, write_harness

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness.outcomes import Adopted, Applied, Undone

LIVE, LATER, ASKED = "live", "next session", "needs approval in the client"
EXPECTED = {
    "claude-code": {
        ("config", "permissions", "allow"): LIVE,
        ("config", "local:permissions", "allow"): LIVE,
        ("config", "env", "ONE"): LATER,
        ("listeners", "PreToolUse", "x"): LIVE,
        ("routing", "model"): LATER,
        ("tools", "mcp:a"): ASKED,
        ("prompts", "CLAUDE.md"): LATER,
        ("prompts", "agents/tester"): LATER,
        ("prompts", "commands/ship/it"): LIVE,
        ("prompts", "skills/notes"): LIVE,
        ("files", ".claude", "skills", "notes", "assets", "a.md"): LIVE,
        ("files", ".claude", "hooks", "guard.sh"): LIVE,
    },
    "codex": {
        ("config", "approval_policy"): LATER,
        ("listeners", "PreToolUse", "x"): ASKED,
        ("listeners", "toml:Stop", "x"): ASKED,
        ("tools", "mcp:x"): LATER,
        ("prompts", "AGENTS.md"): LATER,
        ("prompts", "agents/r"): LATER,
        ("prompts", "skills/s"): LATER,
        ("files", ".codex", "rules", "a.rules"): LATER,
        ("files", ".codex", "hooks", "new.sh"): LIVE,
    },
    "opencode": {
        ("config", "permission", "bash"): LATER,
        ("prompts", "AGENTS.md"): LATER,
        ("files", ".opencode", "plugin", "p.js"): LATER,
        ("listeners", "plugin", "p.js"): LATER,
    },
    "gemini": {
        ("config", "tools", "allowed"): LATER,
        ("listeners", "BeforeTool", "x"): LATER,
        ("prompts", "commands/c/d"): LATER,
        ("files", ".gemini", "hooks", "h.sh"): LIVE,
    },
}


@pytest.mark.parametrize("client", EXPECTED)
def test_each_kind_of_slot_says_when_its_client_notices_a_change(client: str, tmp_path: Path) -> None:
    root = write_harness(tmp_path, client)
    init_clients(root)
    with closing(open_workspace(root)) as harness:
        found = {slot: harness.adapter.effect(slot) for slot in EXPECTED[client]}  # type: ignore[attr-defined]
    assert found == EXPECTED[client]


def test_entries_plans_and_undos_carry_the_effect(tmp_path: Path) -> None:
    root = write_harness(tmp_path, "claude-code")
    init_clients(root)
    with closing(open_workspace(root)) as harness:
        edit(root, next(one for one in EDITS["claude-code"] if one.path.endswith("guard.sh")))
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted)
        assert adopted.entry.payload["effect"] == [LIVE]
        plan = harness.plan_undo(adopted)
        assert harness.effect_of(plan) == (LIVE,)  # type: ignore[arg-type]
        undone = harness.undo(adopted)
        assert isinstance(undone, Undone)
        assert undone.entry.payload["effect"] == [LIVE]
        assert {entry.effect for entry in harness.log() if entry.kind != "genesis"} == {(LIVE,)}


def test_an_applied_change_carries_the_effect(tmp_path: Path) -> None:
    root = write_harness(tmp_path, "claude-code")
    init_clients(root)
    with closing(open_workspace(root)) as harness:
        applied = harness.apply(candidate(config("env.ONE", "1")))
        assert isinstance(applied, Applied)
        assert applied.entry.payload["effect"] == [LATER]
