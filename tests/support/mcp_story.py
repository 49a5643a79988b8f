"""What the tests of the MCP server share: a small Claude Code project, clients, answers of a person."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult, Implementation

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.agents.server.service import ProposalService
from takeback.agents.server.tools import build_mcp_server
from takeback.repair.synthesizer import Method, make_method, parse_spec

SOURCE = Path(__file__).parents[2] / "src"
GUARD = {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}
SETTINGS = {
    "model": "opus",
    "env": {"API_TOKEN": "tok-screaming-secret-1", "EDITOR": "vi"},
    "permissions": {"allow": ["Read"], "deny": ["Bash(rm:*)"]},
    "hooks": {"PreToolUse": [GUARD]},
}
CLAUDE_MD = "# Rules\n\n- two spaces\n- no emoji\n\nThe key is sk-ant-abcdefghijklmnop1234.\n"
BAD = {
    "mutation": [{"op_type": "set_config", "target": "cleanupPeriodDays", "value": 7}],
    "witness": [],
    "recovery": [{"op_type": "delete_config", "target": "cleanupPeriodDays"}],
}


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


def command(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "takeback", *words, "--dir", str(root)]


def project(root: Path) -> Path:
    """A Claude Code project that Takeback tracks."""
    (root / ".claude").mkdir(parents=True)
    (root / ".claude" / "settings.json").write_text(json.dumps(SETTINGS, indent=2) + "\n")
    (root / "CLAUDE.md").write_text(CLAUDE_MD)
    init_clients(root, ("claude-code",))
    return root


class Person:
    """Answers questions as told, and keeps them."""

    def __init__(self, action: str = "accept", *, approve: bool = True) -> None:
        self.questions: list[str] = []
        self._action = action
        self._approve = approve

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.questions.append(params.message)
        content = {"approve": self._approve} if self._action == "accept" else None
        return ElicitResult(action=self._action, content=content)


@asynccontextmanager
async def over_stdio(root: Path, *words: str, mode: str = "auto", name: str = "tester", person: Any = None):
    """A client of a server of its own, over standard input and output."""
    line = command(root, "serve", *words)
    parameters = StdioServerParameters(command=line[0], args=line[1:], env=environment())
    info = Implementation(name=name, version="1")
    async with Client(parameters, mode=mode, client_info=info, elicitation_callback=person) as client:
        yield client


@asynccontextmanager
async def in_process(
    root: Path, *, mode: str = "auto", name: str = "tester", person: Any = None, method: Method | None = None
):
    """A client of a server in this process; everything but the transport is the same."""
    with open_workspace(root, hold=False) as harness:
        finds = method or make_method(parse_spec("portfolio"), None)
        server = build_mcp_server(ProposalService(harness, str(root), finds), session="here")
        info = Implementation(name=name, version="1")
        async with Client(server, mode=mode, client_info=info, elicitation_callback=person) as client:
            yield client


class Served(NamedTuple):
    url: str
    token: str
    process: subprocess.Popen[bytes]


@contextmanager
def http_server(root: Path, *words: str) -> Iterator[Served]:
    """A server on loopback; ends with the block."""
    line = command(root, "serve", "--http", "--json", *words)
    with subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            told = json.loads(_until_brace(process))
            yield Served(told["url"], told["token"] or "", process)
        finally:
            process.terminate()
            process.wait(timeout=240)


def _until_brace(process: subprocess.Popen[bytes]) -> bytes:
    """The JSON object that a process begins with, within a minute."""
    assert process.stdout is not None
    found, end = b"", time.monotonic() + 240
    while not re.search(rb"^\}", found, re.MULTILINE):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
        part = os.read(process.stdout.fileno(), 4096) if ready else b""
        assert part, f"the server said nothing more: {found!r}"
        found += part
    return found


@asynccontextmanager
async def over_http(served: Served, *, mode: str = "auto", name: str = "tester", person: Any = None, token: str = ""):
    """A client of a server on loopback."""
    headers = {"authorization": f"Bearer {token or served.token}"}
    info = Implementation(name=name, version="1")
    async with httpx2.AsyncClient(headers=headers, timeout=600) as http:
        transport = streamable_http_client(served.url, http_client=http)
        async with Client(transport, mode=mode, client_info=info, elicitation_callback=person) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's answer, which must not be a fault."""
    done = await client.call_tool(tool, arguments)
    assert not done.is_error, done.content[0].text
    return done.structured_content


async def fault(client: Client, tool: str, **arguments: Any) -> str:
    """A tool's fault, which there must be."""
    done = await client.call_tool(tool, arguments)
    assert done.is_error
    return done.content[0].text


async def change(client: Client, *lines: str, **sent: Any) -> dict[str, Any]:
    """Propose a change and apply it."""
    proposed = await call(client, "propose_change", lines=list(lines), **sent)
    assert proposed["token"], proposed
    return await call(client, "apply_change", token=proposed["token"])


def settings(root: Path) -> dict[str, Any]:
    return json.loads((root / ".claude" / "settings.json").read_text())
