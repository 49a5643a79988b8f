"""The MCP server, driven by the official client over standard input and output, and over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import anyio
import pytest

mcp = pytest.importorskip("mcp")

import httpx2  # noqa: E402
from tests.support.mcp_story import (  # noqa: E402
    BAD,
    CLAUDE_MD,
    Person,
    call,
    change,
    command,
    environment,
    fault,
    http_server,
    over_http,
    over_stdio,
    project,
    settings,
)

from takeback.adapters import open_workspace  # noqa: E402

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def root(tmp_path):
    return project(tmp_path / "project")


async def story(client, root):
    """A bad recovery is refuted and repaired; five changes; the second is taken back, the others stay."""
    before = (root / ".claude/settings.json").read_bytes()
    proposed = await call(client, "propose_change", **BAD, note="keep less")
    assert proposed["outcome"] == "repaired"
    assert proposed["verdict"]["grade"] == "refuted"
    assert proposed["verdict"]["breaking_state"]["config"]["cleanupPeriodDays"] is not None
    assert "cleanupPeriodDays" in " ".join(proposed["verdict"]["breaks"])
    assert proposed["candidate"]["recovery"] != BAD["recovery"]
    assert (root / ".claude/settings.json").read_bytes() == before
    assert (await call(client, "apply_change", token="p-wrong"))["outcome"] == "unknown token"
    first = await call(client, "apply_change", token=proposed["token"])
    assert first["outcome"] == "applied"
    again = await call(client, "apply_change", token=proposed["token"])
    assert again["entry"] == first["entry"]
    second = await change(client, "edit prompt CLAUDE.md --old 'two spaces' --new 'four spaces'")
    await change(client, "set config permissions.deny+ 'Bash(curl:*)'")
    await change(client, "add tool mcp:docs --json '{\"command\": \"docs\"}'")
    await change(client, "edit prompt CLAUDE.md --old 'no emoji' --new 'no emoji at all'")
    plan = await call(client, "plan_undo", entries=[second["entry"]])
    assert plan["off"] == [second["number"]]
    assert (await call(client, "undo", token="0" * 24))["outcome"] == "unknown token"
    undone = await call(client, "undo", token=plan["token"])
    assert undone["outcome"] == "undone"
    assert (root / "CLAUDE.md").read_text() == CLAUDE_MD.replace("no emoji", "no emoji at all")
    assert settings(root)["cleanupPeriodDays"] == 7
    assert settings(root)["permissions"]["deny"] == ["Bash(rm:*)", "Bash(curl:*)"]
    assert json.loads((root / ".mcp.json").read_text())["mcpServers"] == {"docs": {"command": "docs"}}
    listed = (await call(client, "history", limit=50))["entries"]
    assert [entry["status"] for entry in listed if entry["kind"] == "apply"] == ["live"] * 3 + ["undone", "live"]
    assert all(entry["yours"] and "tester" in entry["by"] for entry in listed if entry["kind"] != "genesis")
    assert (await call(client, "status"))["clean"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_whole_story_over_stdio(root, mode):
    async with over_stdio(root, mode=mode) as client:
        await story(client, root)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_whole_story_over_http(root, mode):
    with http_server(root) as served:
        async with over_http(served, mode=mode) as client:
            await story(client, root)


async def test_tools_have_output_schemas_and_honest_annotations(root):
    async with over_stdio(root) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
        assert reading == {"harness_state", "propose_change", "plan_undo", "history", "status"}
        assert set(tools) - reading == {"apply_change", "undo"}
        assert [name for name, tool in tools.items() if tool.annotations.destructive_hint] == ["undo"]
        assert all(tool.annotations.idempotent_hint and not tool.annotations.open_world_hint for tool in tools.values())
        assert all(tool.output_schema["properties"] for tool in tools.values())
        assert list(tools["apply_change"].input_schema["properties"]) == ["token"]
        assert list(tools["undo"].input_schema["properties"]) == ["token"]


async def test_resources_and_the_prompt(root):
    async with over_stdio(root) as client:
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
    async with over_stdio(root) as client:
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
    async with over_stdio(root) as client:
        operations = [{"op_type": "set_config", "target": "env.API_TOKEN", "value": blank}]
        assert "not shown" in await fault(client, "propose_change", mutation=operations)
        assert "not shown" in await fault(client, "propose_change", lines=[f"set config env.A '{blank}'"])
        assert settings(root)["env"]["API_TOKEN"] == "tok-screaming-secret-1"


async def test_a_change_that_no_recovery_takes_back_gets_no_token_but_a_command_to_force_it(root):
    async with over_stdio(root) as client:
        said = await fault(client, "propose_change", mutation=[{"op_type": "run_shell", "target": "x"}])
        assert "op_type" in said
        assert "neither" in await fault(client, "propose_change")


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
    async with over_stdio(root, mode=mode, person=person) as client:
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
async def test_without_elicitation_it_is_refused_with_the_command_a_person_can_run(root, mode, line):
    before = (root / ".claude/settings.json").read_bytes()
    async with over_stdio(root, mode=mode) as client:
        proposed = await call(client, "propose_change", lines=[line])
        done = await call(client, "apply_change", token=proposed["token"])
    assert done["outcome"] == "declined"
    assert "cannot ask" in done["message"]
    assert (root / ".claude/settings.json").read_bytes() == before
    by_hand = f'"{sys.executable}" -m {done["command"]}'
    subprocess.run(["/bin/sh", "-c", by_hand], check=True, env=environment(), capture_output=True, timeout=60)
    assert (root / ".claude/settings.json").read_bytes() != before


async def test_the_command_for_a_person_runs_nothing_that_a_model_wrote(root, tmp_path):
    trap = tmp_path / "trap"
    async with over_stdio(root) as client:
        proposed = await call(client, "propose_change", lines=[f"set config permissions.allow+ $(touch${{IFS}}{trap})"])
        assert settings(root)["permissions"]["allow"] == ["Read"]
    by_hand = f'"{sys.executable}" -m {proposed["command"]}'
    subprocess.run(["/bin/sh", "-c", by_hand], check=True, env=environment(), capture_output=True, timeout=60)
    assert not trap.exists()
    assert settings(root)["permissions"]["allow"][1].startswith("$(touch")


@pytest.mark.parametrize(("approve", "outcome"), [(True, "undone"), (False, "declined")])
async def test_the_undo_of_anothers_entry_is_asked_about(root, approve, outcome):
    async with over_stdio(root, name="first") as client:
        made = await change(client, "set config cleanupPeriodDays 9")
    person = Person(approve=approve)
    async with over_stdio(root, name="second", person=person) as client:
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
    async with over_stdio(root) as client:
        plan = await call(client, "plan_undo", entries=["HEAD"])
        done = await call(client, "undo", token=plan["token"])
    assert done["outcome"] == "declined"
    assert done["command"].startswith("takeback undo HEAD --dir ")
    assert settings(root)["cleanupPeriodDays"] == 9


async def test_an_undo_that_loosens_is_asked_about(root):
    person = Person()
    async with over_stdio(root, person=person) as client:
        made = await change(client, "set config permissions.deny+ 'Bash(curl:*)'")
        assert person.questions == []
        plan = await call(client, "plan_undo", entries=[made["entry"]])
        assert (await call(client, "undo", token=plan["token"]))["outcome"] == "undone"
    assert "denies less" in person.questions[0]


async def test_a_plan_is_stale_once_things_have_changed(root):
    async with over_stdio(root) as client:
        made = await change(client, "set config cleanupPeriodDays 9")
        plan = await call(client, "plan_undo", entries=[made["entry"]])
        await change(client, "set config cleanupPeriodDays 11")
        assert (await call(client, "undo", token=plan["token"]))["outcome"] == "stale"
        assert settings(root)["cleanupPeriodDays"] == 11


async def test_what_was_changed_behind_its_back_is_told_and_stops_a_change(root):
    (root / "CLAUDE.md").write_text(CLAUDE_MD + "- by hand\n")
    async with over_stdio(root) as client:
        status = await call(client, "status")
        assert not status["clean"]
        assert status["drift"] == ['prompts["CLAUDE.md"]']
        assert status["command"].startswith("takeback adopt ")
        proposed = await call(client, "propose_change", lines=["set config cleanupPeriodDays 9"])
        assert proposed["outcome"] == "refused"
        assert proposed["command"].startswith("takeback adopt ")


async def test_two_clients_at_once_lose_nothing(root):
    async def edit(client, mine):
        for number in range(4):
            assert (await change(client, f"set config env.{mine}{number} v{number}"))["outcome"] == "applied"

    with http_server(root) as served:
        async with (
            over_http(served, name="a") as one,
            over_http(served, name="b", mode="legacy") as two,
            over_stdio(root, name="c") as three,
            anyio.create_task_group() as group,
        ):
            for client, mine in ((one, "A"), (two, "B"), (three, "C")):
                group.start_soon(edit, client, mine)
    with open_workspace(root) as harness:
        assert harness.status().clean
        makers = [entry.by for entry in harness.log() if entry.kind == "apply"]
    assert len(makers) == 12
    assert {maker.split(" ")[0] for maker in makers} == {"a", "b", "c"}
    assert set(settings(root)["env"]) == {f"{one}{n}" for one in "ABC" for n in range(4)} | {"API_TOKEN", "EDITOR"}


async def test_a_token_belongs_to_the_client_that_got_it(root):
    with http_server(root) as served:
        async with over_http(served, name="a") as one, over_http(served, name="b") as two:
            proposed = await call(one, "propose_change", lines=["set config cleanupPeriodDays 9"])
            assert (await call(two, "apply_change", token=proposed["token"]))["outcome"] == "unknown token"
            assert (await call(one, "apply_change", token=proposed["token"]))["outcome"] == "applied"


KILLED = """
import os, signal, sys
from takeback.cli import main
from takeback.journal import failpoint
failpoint._probe = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == sys.argv[1] else None
sys.argv = ["takeback", *sys.argv[2:]]
main()
"""


@pytest.mark.parametrize("boundary", ["change.announced", "file.renamed", "change.written"])
async def test_a_server_killed_in_the_middle_leaves_nothing_half_done(root, boundary):
    from mcp import Client, StdioServerParameters

    line = ["-c", KILLED, boundary, "serve", "--dir", str(root)]
    before = {path: path.read_bytes() for path in (root / "CLAUDE.md", root / ".claude/settings.json")}
    parameters = StdioServerParameters(command=sys.executable, args=line, env=environment())
    with anyio.move_on_after(60):
        try:
            async with Client(parameters) as client:
                await change(client, "set config cleanupPeriodDays 9", "edit prompt CLAUDE.md --old two --new four")
        except Exception:  # noqa: BLE001, S110 - however the client says that the server is gone
            pass
    async with over_stdio(root) as client:
        assert (await call(client, "status"))["clean"]
        (entry, _) = (await call(client, "history"))["entries"]
    after = {path: path.read_bytes() for path in before}
    assert entry["status"] in {"live", "aborted"}
    if entry["status"] == "aborted":
        assert after == before
    else:
        assert all(after[path] != before[path] for path in before)


CLIENT = """
import sys, anyio
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from tests.support.mcp_story import over_stdio, call
async def main():
    async with over_stdio(Path(sys.argv[1]), name="doomed") as client:
        proposed = await call(client, "propose_change", lines=["set config cleanupPeriodDays 9"])
        done = await call(client, "apply_change", token=proposed["token"])
        await call(client, "propose_change", lines=["set config cleanupPeriodDays 11"])
        print(done["entry"], flush=True)
        await anyio.sleep(60)
anyio.run(main)
"""


async def test_a_killed_client_leaves_its_server_to_end_and_nothing_half_done(root):
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    line = [sys.executable, "-c", CLIENT, str(root), here]
    with subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE) as process:
        entry = process.stdout.readline().decode().strip()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=20)
    async with over_stdio(root) as client:
        assert (await call(client, "status"))["clean"]
        listed = (await call(client, "history"))["entries"]
        assert [one["id"] for one in listed if one["kind"] == "apply"] == [entry]
        assert (await change(client, "set config cleanupPeriodDays 12"))["outcome"] == "applied"


async def test_http_wants_the_token_the_host_and_the_origin(root):
    with http_server(root) as served:
        base = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        good = {**base, "authorization": f"Bearer {served.token}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

        def status(headers):
            return httpx2.post(served.url, json=body, headers=headers, timeout=30).status_code

        assert status(base) == 401
        assert status({**base, "authorization": "Bearer wrong"}) == 401
        assert status({**base, "authorization": f"Bearer {served.token}x"}) == 401
        assert status({**good, "host": "evil.example"}) == 421
        assert status({**good, "host": "127.0.0.1:1"}) == 421
        assert status({**good, "origin": "https://evil.example"}) == 403
        assert status({**good, "origin": "http://127.0.0.1:1"}) == 403
        assert status({**good, "origin": "null"}) == 403
        assert status(good) not in {401, 403, 421}
        assert served.url.startswith("http://127.0.0.1:")


async def test_a_named_token_makes_its_entries_verified(root, tmp_path):
    kept = tmp_path / "tokens"
    kept.write_text("planner aaaaaaaaaaaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbbbbbbbbbbb\n")
    kept.chmod(0o600)
    with http_server(root, "--token-file", str(kept)) as served:
        assert served.token == ""
        async with over_http(served, token="a" * 24, name="claude-code") as client:
            await change(client, "set config cleanupPeriodDays 9")
            assert (await call(client, "status"))["you"] == "planner (verified as claude-code)"
        async with over_http(served, token="b" * 24, name="planner") as client:
            assert (await call(client, "history"))["entries"][0]["by"] == "planner (verified as claude-code)"
            assert (await call(client, "status"))["you"] == "planner (declared)"


@pytest.mark.parametrize(
    ("content", "mode", "word"),
    [("a" * 24, 0o644, "0644"), ("short", 0o600, "16"), ("", 0o600, "nothing"), ("a b c", 0o600, "NAME TOKEN")],
)
def test_a_token_file_that_others_can_read_or_that_has_no_token_is_refused(root, tmp_path, content, mode, word):
    kept = tmp_path / "token"
    kept.write_text(content)
    kept.chmod(mode)
    line = command(root, "serve", "--http", "--token-file", str(kept))
    done = subprocess.run(line, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert word in done.stderr


def test_help_does_not_import_the_sdk():
    code = "import sys\nfrom takeback.cli import main\ntry: main()\nexcept SystemExit: pass\nassert 'mcp' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code, "--help"], env=environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"serve" in done.stdout
