"""What the MCP server's tools answer, by the official client in one process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

mcp = pytest.importorskip("mcp")

from tests.support.changes import candidate  # noqa: E402
from tests.support.mcp_story import (  # noqa: E402
    BAD,
    CLAUDE_MD,
    Person,
    call,
    change,
    command,
    environment,
    fault,
    in_process,
    project,
    settings,
)
from tests.support.running import op  # noqa: E402

from takeback import Applied, open_workspace, oracle  # noqa: E402
from takeback.harness.recorded_evidence import NoEvidence  # noqa: E402
from takeback.language import read_candidate  # noqa: E402
from takeback.language.program import read_program  # noqa: E402
from takeback.repair.loop import Repair  # noqa: E402
from takeback.state import Stage  # noqa: E402

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def root(tmp_path):
    return project(tmp_path / "project")


async def test_tools_have_output_schemas_and_honest_annotations(root):
    async with in_process(root) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
        assert reading == {"harness_state", "propose_change", "plan_undo", "history", "diff", "status"}
        assert set(tools) - reading == {"apply_change", "undo", "redo"}
        assert [name for name, tool in tools.items() if tool.annotations.destructive_hint] == ["undo"]
        assert all(
            tool.annotations.idempotent_hint and not tool.annotations.open_world_hint for tool in tools.values()
        )
        assert all(tool.output_schema["properties"] for tool in tools.values())
        assert list(tools["apply_change"].input_schema["properties"]) == ["token"]
        assert list(tools["undo"].input_schema["properties"]) == ["token"]


async def test_resources_and_the_prompt_are_served(root):
    async with in_process(root, person=Person()) as client:
        done = await change(client, "set config env.API_TOKEN tok-screaming-secret-2", note="rotate")
        history = json.loads((await client.read_resource("takeback://history")).contents[0].text)
        assert history["entries"][0]["id"] == done["entry"]
        for name in (done["entry"], str(done["number"])):
            text = (await client.read_resource(f"takeback://entry/{name}")).contents[0].text
            entry = json.loads(text)
            assert entry["changes"][0]["address"] == 'config["env.API_TOKEN"]'
            assert "screaming" not in text
        prompt = (await client.get_prompt("change_harness", {"goal": "be calm"})).messages[0].content.text
        assert "be calm" in prompt
        assert "propose_change" in prompt


async def test_state_is_filtered_and_secrets_are_masked(root):
    async with in_process(root) as client:
        whole = await call(client, "harness_state")
        text = json.dumps(whole)
        assert "screaming" not in text
        assert "sk-ant" not in text
        assert "no emoji" in text
        config = await call(client, "harness_state", surfaces=["config"], match="env.*")
        found = {item["address"]: item["value"] for item in config["items"]}
        assert found == {'config["env.API_TOKEN"]': "[masked by takeback]", 'config["env.EDITOR"]': "vi"}
        part = await call(client, "harness_state", limit=1, offset=1)
        assert part["items"] == whole["items"][1:2]
        assert part["left_out"] == len(whole["items"]) - 2
        assert "surfaces" in await fault(client, "harness_state", surfaces=["nope"])


@pytest.mark.parametrize("blank", ["[masked by takeback]", "x [masked by takeback] y", "[REDACTED]", "****"])
async def test_a_placeholder_sent_back_as_a_value_is_refused(root, blank):
    async with in_process(root) as client:
        operations = [{"op_type": "set_config", "target": "env.API_TOKEN", "value": blank}]
        assert "not shown" in await fault(client, "propose_change", mutation=operations)
        assert "not shown" in await fault(client, "propose_change", lines=[f"set config env.A '{blank}'"])
        assert settings(root)["env"]["API_TOKEN"] == "tok-screaming-secret-1"


async def test_unreadable_arguments_are_faults_with_a_reason(root):
    async with in_process(root) as client:
        assert "op_type" in await fault(client, "propose_change", mutation=[{"op_type": "run_shell", "target": "x"}])
        assert "neither" in await fault(client, "propose_change")
        assert "both" in await fault(client, "propose_change", lines=["set config a 1"], mutation=BAD["mutation"])
        assert "verb" in await fault(client, "propose_change", lines=["delete config env"])
        assert "#99" in await fault(client, "plan_undo", entries=["#99"])


async def test_a_rejected_proposal_gets_no_token(root):
    def finds_nothing(start, judge, settings, nominal):
        return Repair(None, judge(start.candidate))

    before = (root / ".claude/settings.json").read_bytes()
    async with in_process(root, method=finds_nothing) as client:
        proposed = await call(client, "propose_change", **BAD)
    assert proposed["outcome"] == "not admitted"
    assert proposed["token"] is None
    assert proposed["verdict"]["reasons"]
    assert "--force" in proposed["command"]
    assert (root / ".claude/settings.json").read_bytes() == before


async def test_a_clients_own_write_does_not_stop_a_change(root):
    plain = {**settings(root), "enabledMcpjsonServers": ["docs"]}
    (root / ".claude/settings.json").write_text(json.dumps(plain, indent=2) + "\n")
    async with in_process(root) as client:
        assert (await change(client, "set config cleanupPeriodDays 9"))["outcome"] == "applied"
        kinds = [entry["kind"] for entry in (await call(client, "history"))["entries"]]
    assert kinds[:2] == ["change", "change made elsewhere"]


LOOSENS = "set config permissions.allow+ 'Bash(*)'"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("person", "outcome"),
    [
        (Person, "applied"),
        (lambda: Person(approve=False), "declined"),
        (lambda: Person("decline"), "declined"),
        (lambda: Person("cancel"), "declined"),
    ],
)
async def test_a_person_is_asked_before_permissions_are_loosened(root, mode, person, outcome):
    person = person()
    async with in_process(root, mode=mode, person=person) as client:
        proposed = await call(client, "propose_change", lines=[LOOSENS])
        assert proposed["person"] == ['config["permissions.allow"] allows more: Bash(*)']
        assert person.questions == []
        done = await call(client, "apply_change", token=proposed["token"])
        assert done["outcome"] == outcome
        assert len(person.questions) == 1
        assert "Bash(*)" in person.questions[0]
        assert ("Bash(*)" in settings(root)["permissions"]["allow"]) is (outcome == "applied")
        if outcome == "declined":
            assert done["command"].startswith("takeback set config permissions.allow+ 'Bash(*)'")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    "line",
    [
        LOOSENS,
        "remove config permissions.deny 'Bash(rm:*)'",
        "set config permissions.defaultMode bypassPermissions",
        "set config disableAllHooks true",
        "remove listener PreToolUse",
    ],
)
async def test_without_elicitation_a_loosening_is_refused_with_a_command(root, mode, line):
    before = (root / ".claude/settings.json").read_bytes()
    async with in_process(root, mode=mode) as client:
        proposed = await call(client, "propose_change", lines=[line])
        done = await call(client, "apply_change", token=proposed["token"])
    assert done["outcome"] == "declined"
    assert "cannot ask" in done["message"]
    assert (root / ".claude/settings.json").read_bytes() == before
    by_hand = f'"{sys.executable}" -m {done["command"]}'
    subprocess.run(["/bin/sh", "-c", by_hand], check=True, env=environment(), capture_output=True, timeout=600)
    assert (root / ".claude/settings.json").read_bytes() != before


@pytest.mark.parametrize(("mode", "asked", "outcome"), [("auto", 2, "applied"), ("legacy", 1, "declined")])
async def test_a_yes_to_another_question_does_not_count(root, mode, asked, outcome):
    class Slow(Person):
        async def __call__(self, context, params):
            if not self.questions:
                with open_workspace(root) as other:
                    op = {"op_type": "append_config", "target": "permissions.allow", "value": "A"}
                    assert isinstance(other.apply(oracle(read_program([op], Stage.FORWARD, "m"))), Applied)
            return await super().__call__(context, params)

    person = Slow()
    line = 'set config permissions.allow --json \'["Read", "A", "B"]\''
    async with in_process(root, mode=mode, person=person) as client:
        done = await change(client, line)
    assert done["outcome"] == outcome
    assert len(person.questions) == asked
    assert "A, B" in person.questions[0]
    if outcome == "applied":
        assert "A, B" not in person.questions[1]
    else:
        assert "the harness changed while" in done["message"]
        assert settings(root)["permissions"]["allow"] == ["Read", "A"]


async def test_the_command_for_a_person_runs_nothing_that_a_model_wrote(root, tmp_path):
    trap = tmp_path / "trap"
    async with in_process(root) as client:
        proposed = await call(
            client, "propose_change", lines=[f"set config permissions.allow+ $(touch${{IFS}}{trap})"]
        )
        assert settings(root)["permissions"]["allow"] == ["Read"]
    by_hand = f'"{sys.executable}" -m {proposed["command"]}'
    subprocess.run(["/bin/sh", "-c", by_hand], check=True, env=environment(), capture_output=True, timeout=600)
    assert not trap.exists()
    assert settings(root)["permissions"]["allow"][1].startswith("$(touch")


@pytest.mark.parametrize(("approve", "outcome"), [(True, "undone"), (False, "declined")])
async def test_a_person_is_asked_before_undoing_anothers_entry(root, approve, outcome):
    async with in_process(root, name="first") as client:
        made = await change(client, "set config cleanupPeriodDays 9")
    person = Person(approve=approve)
    async with in_process(root, name="second", person=person) as client:
        plan = await call(client, "plan_undo", entries=[made["entry"][:12]])
        assert "first (declared)" in plan["person"][0]
        done = await call(client, "undo", token=plan["token"])
    assert done["outcome"] == outcome
    assert len(person.questions) == 1
    assert ("cleanupPeriodDays" in settings(root)) is not approve


async def test_the_undo_of_a_persons_entry_is_refused_without_elicitation(root):
    subprocess.run(
        command(root, "set", "config", "cleanupPeriodDays", "9"), check=True, env=environment(), capture_output=True
    )
    async with in_process(root) as client:
        plan = await call(client, "plan_undo", entries=["HEAD"])
        done = await call(client, "undo", token=plan["token"])
    assert done["outcome"] == "declined"
    assert done["command"].startswith("takeback undo HEAD --dir ")
    assert settings(root)["cleanupPeriodDays"] == 9


async def test_a_person_is_asked_before_an_undo_that_loosens(root):
    person = Person()
    async with in_process(root, person=person) as client:
        made = await change(client, "set config permissions.deny+ 'Bash(curl:*)'")
        assert person.questions == []
        plan = await call(client, "plan_undo", entries=[made["entry"]])
        assert (await call(client, "undo", token=plan["token"]))["outcome"] == "undone"
    assert "denies less" in person.questions[0]


async def test_a_change_to_an_equal_value_makes_no_entry(root):
    async with in_process(root) as client:
        first = await change(client, "set config cleanupPeriodDays 9")
        assert first["outcome"] == "applied"
        proposed = await call(client, "propose_change", lines=["set config cleanupPeriodDays 9"])
        assert proposed["changes"] == []
        assert "the harness is already so" in proposed["message"]
        done = await call(client, "apply_change", token=proposed["token"])
        assert (done["outcome"], done["entry"], done["number"]) == ("unchanged", None, None)
        again = await call(client, "apply_change", token=proposed["token"])
        assert again["outcome"] == "unchanged"
    with open_workspace(root, hold=False) as harness:
        assert next(iter(harness.log())).id == first["entry"]


async def test_a_plan_is_stale_once_things_have_changed(root):
    async with in_process(root) as client:
        made = await change(client, "set config cleanupPeriodDays 9")
        plan = await call(client, "plan_undo", entries=[made["entry"]])
        await change(client, "set config cleanupPeriodDays 11")
        assert (await call(client, "undo", token=plan["token"]))["outcome"] == "stale"
        assert settings(root)["cleanupPeriodDays"] == 11


async def test_drift_is_reported_and_stops_only_changes_of_the_same_slot(root):
    (root / "CLAUDE.md").write_text(CLAUDE_MD + "- by hand\n")
    async with in_process(root) as client:
        status = await call(client, "status")
        assert not status["clean"]
        assert status["drift"] == ['prompts["CLAUDE.md"]']
        assert status["command"].startswith("takeback adopt ")
        proposed = await call(client, "propose_change", lines=["set prompt CLAUDE.md anew"])
        assert proposed["outcome"] == "refused"
        assert proposed["command"].startswith("takeback adopt ")
        assert proposed["changes"]
        made = await change(client, "set config cleanupPeriodDays 9")
        plan = await call(client, "plan_undo", entries=[made["entry"]])
        assert (await call(client, "undo", token=plan["token"]))["outcome"] == "undone"
        assert (await call(client, "status"))["drift"] == ['prompts["CLAUDE.md"]']
    assert (root / "CLAUDE.md").read_text() == CLAUDE_MD + "- by hand\n"


async def test_a_plan_over_drift_is_shown_and_refused_with_the_way_out(root):
    async with in_process(root) as client:
        made = await change(client, "set prompt CLAUDE.md anew")
        (root / "CLAUDE.md").write_text("by hand\n")
        plan = await call(client, "plan_undo", entries=[made["entry"]])
        assert (plan["outcome"], bool(plan["changes"])) == ("refused", True)
        assert plan["command"].startswith("takeback adopt ")


async def test_a_plan_names_entries_that_have_no_admitted_recovery(root, monkeypatch):
    path = root / "CLAUDE.md"
    path.write_text(path.read_text() + "One more line.\n")
    with open_workspace(root) as harness:
        proved = harness.adopt(by="someone").entry
        monkeypatch.setattr(
            "takeback.harness.recorded_evidence.make_evidence", lambda *_, **__: NoEvidence("planted")
        )
        path.write_text(path.read_text() + "Another line.\n")
        adopted = harness.adopt(by="someone").entry
    async with in_process(root) as client:
        assert (await call(client, "plan_undo", entries=[proved.id]))["unadmitted"] == []
        assert (await call(client, "plan_undo", entries=[adopted.id]))["unadmitted"] == [adopted.number]
        last, first = (await call(client, "history", limit=2))["entries"]
        assert (first["grade"], first["recorded"], first["unproved"]) == ("proved", True, None)
        assert (last["grade"], last["recorded"], last["unproved"]) == (None, True, "planted")


async def test_a_blocked_plan_names_unadmitted_entries_of_the_cascade(root):
    with open_workspace(root) as harness:
        whole = read_candidate({"mutation": [op("set_config", "own", value=["a", "c"])]})
        forced = harness.apply(whole, force=True).entry
        later = harness.apply(candidate(op("append_config", "own", value="b"))).entry
    async with in_process(root) as client:
        blocked = await call(client, "plan_undo", entries=[forced.id])
        assert (blocked["outcome"], blocked["off"]) == ("blocked", [later.number])
        assert blocked["unadmitted"] == [forced.number]
        assert "with cascade the others are undone too" in blocked["message"]
        instead = json.loads(blocked["message"].partition("Send this instead: plan_undo ")[2])
        assert (await call(client, "plan_undo", **instead))["off"] == [forced.number, later.number]
