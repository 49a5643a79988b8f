"""What loosens is said by every command, the page, the recorder and a change in words, for every risky setting.

Settings are changed many at once, so that each way is gone a few times and not hundreds of times.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.risky_documents import CASES, DOCUMENTS, START, batches, is_told, make_project, write_batch
from tests.support.risky_settings import ABSENT, Case
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.adapters.clients.risk_tables import Risk
from takeback.agents.hook_events import read_event
from takeback.agents.recorder import Watched, answer_after
from takeback.cli import app, repair
from takeback.cli.repair import Opened
from takeback.repair.models import Reply
from takeback.repair.synthesizer import make_method, parse_spec
from takeback.web.security import FORM, Session
from takeback.web.server import make_app
from takeback.web.shelf import HarnessShelf

HOST = "127.0.0.1:8765"
MOST = 16
"""So many settings are changed in one proposal."""
BATCHES = [(client, number) for client in DOCUMENTS for number, _ in enumerate(batches(client))]


@pytest.fixture(params=BATCHES, ids=lambda one: f"{one[0]}-{one[1]}")
def batch(request: pytest.FixtureRequest) -> list[Case]:
    client, number = request.param
    return list(batches(client))[number]


@pytest.fixture
def root(batch: list[Case], tmp_path: Path) -> Path:
    """A project with every setting as it is before it is looser; nothing else is known of it."""
    root = make_project(tmp_path / "p", batch[0].client)
    write_batch(root, batch, after=False)
    CliRunner().invoke(app, ["adopt", "--dir", str(root)])
    return root


def _run(root: Path, *words: str) -> Any:
    result = CliRunner().invoke(app, [*words, "--dir", str(root), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _demand_told(batch: list[Case], reasons: list[str]) -> None:
    assert [case for case in batch if not is_told(case, reasons)] == []


def test_there_is_a_batch_for_every_case() -> None:
    for client, every in CASES.items():
        assert sorted(map(repr, every)) == sorted(repr(case) for batch in batches(client) for case in batch)


def test_every_command_that_changes_files_reports_loosening(batch: list[Case], root: Path) -> None:
    start = _run(root, "log")["entries"][0]["id"]
    write_batch(root, batch, after=True)
    made = _run(root, "adopt")
    _demand_told(batch, made["looser"])
    strict = [case for case in batch if case.risk is not Risk.PROTECTED]
    back = _run(root, "undo", made["entry"])["looser"]
    assert [case for case in strict if is_told(case, back) and case not in _shared(batch)] == []
    _demand_told(batch, _run(root, "redo", made["entry"], "--plan")["looser"])
    _demand_told(batch, _run(root, "redo", made["entry"])["looser"])
    write_batch(root, batch, after=False)
    _demand_told(batch, _run(root, "discard")["looser"])
    assert _run(root, "restore", "--to", start)
    _demand_told(batch, _run(root, "restore", "--to", made["entry"], "--plan")["looser"])
    _demand_told(batch, _run(root, "restore", "--to", made["entry"])["looser"])


def _shared(batch: list[Case]) -> list[Case]:
    """Return the cases of settings whose first name those of others have that are protected whatever changes."""
    tops = {case.place.split(".")[0] for case in batch if case.risk is Risk.PROTECTED}
    return [case for case in batch if case.place.split(".")[0] in tops]


def test_the_recorder_and_the_watcher_report_loosening(batch: list[Case], root: Path) -> None:
    client = batch[0].client
    name = "AfterTool" if client == "gemini" else "PostToolUse"
    raw = {"hook_event_name": name, "cwd": str(root), "tool_name": "Bash", "tool_input": {"command": "x"}}
    write_batch(root, batch, after=True)
    _demand_told(batch, [answer_after(read_event(json.dumps(raw).encode(), client, str(root))).err])
    entry = _run(root, "log")["entries"][0]
    _demand_told(batch, [entry["origin"]["loosens"]])
    write_batch(root, batch, after=False)
    _run(root, "adopt")
    write_batch(root, batch, after=True)
    noticed = Watched(root, check=True).record()
    assert noticed is not None
    _demand_told(batch, list(noticed.warnings))


def test_the_page_reports_loosening(batch: list[Case], root: Path) -> None:
    with open_workspace(root) as harness:
        session = Session()
        shelf = HarnessShelf([("p", harness)], places={"p": str(root)})
        page = TestClient(make_app(shelf, session, [HOST], read_only=False), base_url=f"http://{HOST}")
        page.get(f"/open?link={session.link}")
        write_batch(root, batch, after=True)
        _demand_told(batch, [_after(page.get("/1/drift").text, "looser than the journal")])
        sent = {"form_token": session.form_token}
        page.post("/1/adopt", data=sent, headers={"origin": f"http://{HOST}", "content-type": FORM})
        assert harness.undo() is not None
        _demand_told(batch, [_after(page.get("/1/redo?entry=HEAD~1").text, "Looser afterwards")])


def _after(text: str, words: str) -> str:
    """Return what a page lists behind some words."""
    return html.unescape(text.partition(words)[2].partition("</ul>")[0])


class _Scripted:
    """A model that proposes what it is told to."""

    name = "scripted"

    def __init__(self) -> None:
        self.reply = ""

    def complete(self, request: object) -> Reply:
        return Reply(self.reply, "stop")


def test_a_change_in_words_reports_loosening(batch: list[Case], root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _Scripted()

    @contextmanager
    def opened(*_: object) -> Iterator[Opened]:
        yield Opened(parse_spec("openai:scripted"), model, make_method(parse_spec("portfolio"), None))

    monkeypatch.setattr(repair, "open_synthesizer", opened)
    start = START.get(batch[0].client, "")
    for at in range(0, len(batch), MOST):
        part = batch[at : at + MOST]
        mutation = [
            {"op_type": "unset_config", "target": start + case.place}
            if case.after is ABSENT
            else {"op_type": "set_config", "target": start + case.place, "value": case.after}
            for case in part
        ]
        proposed = {"mutation": mutation, "witness": [], "recovery": [], "contract": ["config"]}
        model.reply = json.dumps(proposed)
        told = CliRunner().invoke(app, ["evolve", str(root), "loosen it", "--synthesizer", "openai:m", "--json"])
        found = json.loads(told.stdout)
        _demand_told(part, found["looser"])
        assert told.exit_code == 1
