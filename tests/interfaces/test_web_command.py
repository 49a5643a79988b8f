"""`takeback web` as a person runs it: a real server on a loopback port, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from tests.support.changes import candidate, config
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.adapters.workspace.adapter import init_workspace
from takeback.cli import app
from takeback.state import State

PATIENCE = 240
RESULTS = Path(__file__).parents[2] / "results" / "first"


@pytest.fixture
def agent(tmp_path):
    root = tmp_path / "agent"
    init_workspace(root, start=State.read({"config": {"timeout": 30}}))
    return root


def change(root, value):
    with open_workspace(root, hold=False) as harness:
        assert harness.apply(candidate(config("timeout", value)), note=f"timeout {value}").entry


@contextmanager
def serving(*arguments, cwd=None):
    """What a server in a process of its own printed, as long as it runs; its end must be a good one."""
    command = [sys.executable, "-m", "takeback", "web", *map(str, arguments), "--no-open", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}, cwd=cwd) as served:
        late = threading.Timer(PATIENCE, served.kill)
        late.start()
        text = ""
        while not text.endswith("}\n"):
            line = served.stdout.readline()
            assert line, "the server ended before it printed its link"
            text += line
        yield json.loads(text)
        assert _interrupted(served) == 0
        late.cancel()


@pytest.fixture
def link(agent):
    with serving(agent) as told:
        assert told["harnesses"] == ["agent"]
        yield told["link"]


def _interrupted(served):
    """How it ended, by an impatient person: Ctrl-C again and again until it has, also while it ends."""
    while served.poll() is None:
        served.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            served.wait(0.02)
    return served.returncode


def test_the_page_needs_its_link_and_follows_other_processes(agent, link):
    with httpx.Client(base_url=link.partition("/open")[0], timeout=PATIENCE, follow_redirects=True) as client:
        assert client.get("/1/").status_code == 403
        assert client.get(link).status_code == 200
        assert client.get(link).status_code == 403
        assert "server" not in client.get("/1/").headers
        with client.stream("GET", "/1/events?after=1") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            change(agent, 60)
            lines = []
            for line in stream.iter_lines():
                lines.append(line)
                if line == "" and len(lines) > 1:
                    break
        assert lines[0] == "id: 2"
        assert all(line.startswith("data: ") for line in lines[1:-1])
        assert "timeout 60" in "\n".join(lines)


def test_the_web_server_listens_on_loopback_only(link):
    assert link.startswith("http://127.0.0.1:")


def test_a_taken_port_is_reported(agent, link):
    port = link.split(":")[2].split("/")[0]
    result = CliRunner().invoke(app, ["web", str(agent), "--no-open", "--port", port])
    assert result.exit_code == 1
    assert "expected a free port" in str(result.exception)


def test_help_of_web_does_not_import_the_server():
    code = "import sys; from typer.testing import CliRunner; from takeback.cli import app; "
    code += "CliRunner().invoke(app, ['web', '--help']); "
    code += "print([name for name in ('starlette', 'jinja2', 'uvicorn', 'takeback.web') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.strip() == "[]"


def test_web_without_its_extra_names_the_package_to_install(agent, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("takeback.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(app, ["web", str(agent)])
    assert "pip install 'takeback[web]'" in str(result.exception)


def test_lab_reports_are_served_without_a_workspace(tmp_path):
    with serving("--lab", RESULTS, cwd=tmp_path) as told:
        assert told["harnesses"] == []
        with httpx.Client(timeout=PATIENCE, follow_redirects=True) as client:
            answer = client.get(told["link"])
    assert answer.url.path == "/lab"
    assert "natural-qwen" in answer.text


def test_a_missing_folder_is_reported(tmp_path):
    result = CliRunner().invoke(app, ["web", "--lab", str(tmp_path / "nothing"), "--no-open"])
    assert "expected a folder of results" in str(result.exception)


def test_a_fleet_is_served_and_its_password_is_printed_nowhere(postgres_url, tmp_path):
    init_workspace(tmp_path / "agent", journal=f"{postgres_url}#served", start=State.read({"config": {"a": 1}}))
    secret = "never-printed"
    with serving(postgres_url.replace("postgres:@", f"postgres:{secret}@")) as told:
        assert secret not in json.dumps(told)
        assert told["fleets"][0].startswith("postgresql://postgres@")
        with httpx.Client(timeout=PATIENCE, follow_redirects=True) as client:
            text = client.get(told["link"]).text
    assert "/fleet/1/takeback_served" in text
    assert secret not in text


def test_a_workspace_is_always_served_on_the_same_port(agent):
    with serving(agent) as first, serving(agent) as beside:
        assert beside["port"] != first["port"]
    with serving(agent) as again:
        assert again["port"] == first["port"]
