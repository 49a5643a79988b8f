"""Calls through the MCP server: proposed and gated like any change, never approved there, and told when open."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from tests.support.mcp_story import call, change, in_process, project
from tests.support.running import op
from tests.support.terminal import run

from takeback.state.surface import SURFACES, unregister

pytestmark = pytest.mark.anyio
PROGRAM = '#!/bin/sh\n[ -e "broken-$1" ] && exit 3\necho "$1" >> sent\n'
TABLES = """
[calls.mail]
run = ["./mail", "send"]
compensate = ["./mail", "correct"]
stays = "sent"
says = "a correction is sent"
[calls.fire]
run = ["./mail", "fire"]
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def root(tmp_path):
    made = project(tmp_path / "project")
    (made / "mail").write_text(PROGRAM)
    (made / "mail").chmod(0o755)
    (made / "sent").write_text("")
    yield made
    if "calls" in SURFACES:
        unregister("calls")


def declare(root, rule):
    with (root / ".takeback/manifest.toml").open("a") as file:
        file.write(f'{TABLES}\n[admit]\ncompensable = "{rule}"\n')
    assert run("trust", root).code == 0


def make(name):
    return [op("make_call", "m1", value={"call": name, "arguments": {"to": "ops"}})]


async def test_a_call_is_proposed_with_its_class_and_an_open_undo_is_reported(root):
    declare(root, "yes")
    async with in_process(root) as client:
        proposed = await call(client, "propose_change", mutation=make("mail"))
        assert (proposed["verdict"]["grade"], proposed["verdict"]["effect_class"]) == ("proved", "compensable")
        assert "compensable: 1 mail stays sent" in proposed["message"]
        done = await call(client, "apply_change", token=proposed["token"])
        assert done["outcome"] == "applied"
        plan = await call(client, "plan_undo", entries=[done["entry"]])
        assert plan["outside"] == ["note: the call mail (m1) stays sent: a correction is sent"]
        (root / "broken-correct").touch()
        undone = await call(client, "undo", token=plan["token"])
        assert "is open" in undone["message"]
    assert (root / "sent").read_text().split() == ["send"]


@pytest.mark.parametrize("name", ["mail", "fire"])
async def test_only_a_person_can_approve_a_lasting_call(root, name):
    declare(root, "ask")
    async with in_process(root) as client:
        if name == "mail":
            answer = await change(client, mutation=make(name))
        else:
            answer = await call(client, "propose_change", mutation=make(name))
    assert answer["outcome"] == ("refused" if name == "mail" else "not admitted")
    assert "--approve" in answer["command"]
    assert "--force" not in answer["command"]
    assert (root / "sent").read_text() == ""
