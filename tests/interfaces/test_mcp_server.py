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
    await change(client, 'add tool mcp:docs --json \'{"command": "docs"}\'')
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
    assert [entry["status"] for entry in listed if entry["kind"] == "change"] == ["live"] * 3 + ["undone", "live"]
    assert all(entry["yours"] and "tester" in entry["by"] for entry in listed if entry["kind"] != "start")
    assert (await call(client, "status"))["clean"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_change_is_proposed_applied_and_undone_over_stdio(root, mode):
    person = Person()
    async with over_stdio(root, mode=mode, person=person) as client:
        await story(client, root)
    assert ["a server that runs a program" in one for one in person.questions] == [True]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_change_is_proposed_applied_and_undone_over_http(root, mode):
    with http_server(root) as served:
        async with over_http(served, mode=mode, person=Person()) as client:
            await story(client, root)


async def test_two_concurrent_clients_lose_no_change(root):
    async def edit(client, mine):
        for number in range(4):
            assert (await change(client, f"set config notes.{mine}{number} v{number}"))["outcome"] == "applied"

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
    assert set(settings(root)["notes"]) == {f"{one}{n}" for one in "ABC" for n in range(4)}


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
boundary = sys.argv[1]
failpoint._probe = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == boundary else None
sys.argv = ["takeback", *sys.argv[2:]]
main()
"""


LOOSENS = "set config permissions.allow+ 'Bash(*)'"


@pytest.mark.parametrize(("approve", "outcome"), [(True, "applied"), (False, "declined")])
async def test_a_person_is_asked_over_stdio_and_over_http(root, approve, outcome):
    one, two = Person(approve=approve), Person(approve=approve)
    async with over_stdio(root, person=one) as client:
        assert (await change(client, LOOSENS))["outcome"] == outcome
    with http_server(root) as served:
        async with over_http(served, mode="legacy", person=two) as client:
            assert (await change(client, LOOSENS.replace("*", "ls")))["outcome"] == outcome
    assert len(one.questions) == len(two.questions) == 1
    assert len(settings(root)["permissions"]["allow"]) == (3 if approve else 1)


@pytest.mark.long
@pytest.mark.parametrize("boundary", ["change.announced", "file.renamed", "change.written"])
async def test_a_server_killed_in_the_middle_leaves_nothing_half_done(root, boundary):
    from mcp import Client, StdioServerParameters

    line = ["-c", KILLED, boundary, "serve", "--dir", str(root)]
    before = {path: path.read_bytes() for path in (root / "CLAUDE.md", root / ".claude/settings.json")}
    parameters = StdioServerParameters(command=sys.executable, args=line, env=environment())
    answers = []
    with anyio.move_on_after(60):
        try:
            async with Client(parameters) as client:
                lines = ["set config cleanupPeriodDays 9", "edit prompt CLAUDE.md --old two --new four"]
                answers.append(await change(client, *lines))
        except Exception:  # noqa: BLE001, S110 - however the client says that the server is gone
            pass
    assert answers == []
    async with over_stdio(root) as client:
        assert (await call(client, "status"))["clean"]
        (entry, _) = (await call(client, "history"))["entries"]
    after = {path: path.read_bytes() for path in before}
    assert entry["status"] in {"live", "aborted"}
    if entry["status"] == "aborted":
        assert after == before
    else:
        assert all(after[path] != before[path] for path in before)


SLOW = KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "__import__('time').sleep(2)")


async def test_a_client_that_disconnects_during_a_change_leaves_it_complete(root):
    from mcp import Client, StdioServerParameters

    line = ["-c", SLOW, "change.announced", "serve", "--dir", str(root)]
    async with Client(StdioServerParameters(command=sys.executable, args=line, env=environment())) as client:
        proposed = await call(client, "propose_change", lines=["set config cleanupPeriodDays 9"])
        with anyio.move_on_after(0.5) as scope:
            await call(client, "apply_change", token=proposed["token"])
        assert scope.cancelled_caught
    async with over_stdio(root) as client:
        assert (await call(client, "status"))["clean"]
        entry = (await call(client, "history"))["entries"][0]
    assert (entry["status"] == "live") is ("cleanupPeriodDays" in settings(root))
    assert entry["status"] in {"live", "aborted"}


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
        process.wait(timeout=240)
    async with over_stdio(root) as client:
        assert (await call(client, "status"))["clean"]
        listed = (await call(client, "history"))["entries"]
        assert [one["id"] for one in listed if one["kind"] == "change"] == [entry]
        assert (await change(client, "set config cleanupPeriodDays 12"))["outcome"] == "applied"


async def test_http_requires_token_host_and_origin(root):
    with http_server(root) as served:
        base = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        good = {**base, "authorization": f"Bearer {served.token}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

        def status(headers):
            return httpx2.post(served.url, json=body, headers=headers, timeout=240).status_code

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
    done = subprocess.run(line, env=environment(), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 2
    assert word in done.stderr


HELP = """
import sys
from takeback.cli import main
try:
    main()
except SystemExit:
    pass
assert not {"mcp", "uvicorn", "takeback.agents"} & set(sys.modules)
"""


def test_help_does_not_import_the_sdk():
    done = subprocess.run([sys.executable, "-c", HELP, "--help"], env=environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"serve" in done.stdout
