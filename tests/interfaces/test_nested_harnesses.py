"""A sub-package gets a harness of its own: the outer one leaves its files alone, and says so."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.support.client_harnesses import HARNESSES, write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_own_copy, open_workspace
from takeback.adapters.workspace.adapter import make_workspace
from takeback.agents.scratch_copy import make_scratch_copy
from takeback.agents.server.lookups import read_status
from takeback.agents.server.service import ProposalService
from takeback.cli import app
from takeback.repair.synthesizer import make_method, parse_spec
from takeback.web.security import Session
from takeback.web.server import make_app
from takeback.web.shelf import HarnessShelf

INNER = "packages/api"
NESTED = f"{INNER}/CLAUDE.md"


def run(root: Path, *words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*words, "-C", str(root)])
    assert done.exit_code == code, done.output
    return done.output


def status(root: Path) -> dict:
    with closing(open_workspace(root, hold=False)) as harness:
        found = harness.status()
    return {"drift": [str(one.slot) for one in found.drift], "notes": list(found.notes), "clean": found.clean}


def everything(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without Takeback's own."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".takeback" not in path.parts
    }


@pytest.fixture
def outer(tmp_path):
    """A client's project with an entry in a sub-package and one outside of it."""
    root = tmp_path / "outer"
    root.mkdir()
    write_harness(root, "claude-code")
    init_clients(root, ("claude-code",))
    (root / NESTED).write_text("# API\n\nBreak nothing.\n")
    run(root, "adopt", "--note", "the package's own")
    (root / "CLAUDE.md").write_text("# Ledger\n")
    run(root, "adopt", "--note", "the top")
    return root


@pytest.fixture
def both(outer):
    init_clients(outer / INNER, ("claude-code",))
    return outer


def test_init_in_a_sub_package_reports_the_outer_harness(outer):
    done = CliRunner().invoke(app, ["init", str(outer / INNER)])
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert f"the harness in {outer} covers these files already" in said
    assert f"takeback leave -C {outer / INNER}" in said
    again = CliRunner().invoke(app, ["init", str(outer / INNER), "--json"])
    assert json.loads(again.stdout)["problems"] == []


def test_leaving_the_inner_harness_returns_its_files_to_the_outer(both):
    (both / NESTED).write_text("# API\n\nChanged inside.\n")
    run(both / INNER, "leave", "--yes")
    assert status(both)["drift"]
    assert status(both)["notes"] == []


def test_files_of_the_inner_harness_are_neither_drift_nor_deleted(both):
    found = status(both)
    assert found["drift"] == []
    assert found["clean"]
    (both / NESTED).write_text("# API\n\nChanged inside.\n")
    assert status(both)["drift"] == []
    (both / NESTED).unlink()
    assert status(both)["drift"] == []


def test_status_names_the_inner_harness_once(both):
    told = [line for line in status(both)["notes"] if INNER in line]
    assert len(told) == 1
    assert told[0].startswith(f"{INNER}: it has a harness of its own now")


def test_adopt_and_discard_of_the_outer_harness_leave_the_inner_files_alone(both):
    (both / NESTED).write_text("# API\n\nChanged inside.\n")
    (both / "CLAUDE.md").write_text("# Other\n")
    run(both, "adopt", "--note", "the top again")
    (both / "CLAUDE.md").write_text("# Thrown away\n")
    run(both, "discard")
    assert (both / "CLAUDE.md").read_text() == "# Other\n"
    assert (both / NESTED).read_text() == "# API\n\nChanged inside.\n"
    assert status(both)["clean"]
    assert status(both / INNER)["drift"]


def test_an_undo_that_would_write_into_the_inner_harness_is_refused_and_names_a_way(both):
    before = everything(both)
    said = " ".join(run(both, "undo", "#2", code=1).split())
    assert f"it belongs to the harness in {both / INNER}" in said
    assert "takeback leave" in said
    assert "nothing was changed" in said
    assert everything(both) == before
    run(both / INNER, "leave", "--yes")
    run(both, "undo", "#2")
    assert (both / NESTED).read_text() == HARNESSES["claude-code"][NESTED]


def test_an_undo_outside_the_inner_harness_works(both):
    inside = everything(both / INNER)
    run(both, "undo", "#3")
    assert (both / "CLAUDE.md").read_text() == HARNESSES["claude-code"]["CLAUDE.md"]
    assert everything(both / INNER) == inside


def test_the_inner_harness_records_and_undoes_its_files(both):
    (both / NESTED).write_text("# API\n\nChanged inside.\n")
    run(both / INNER, "adopt", "--note", "inside")
    run(both / INNER, "undo", "#2")
    assert (both / NESTED).read_text() == "# API\n\nBreak nothing.\n"
    assert status(both)["clean"]


def test_settings_in_a_folder_with_its_own_harness_are_left_alone(tmp_path):
    root = tmp_path / "outer"
    root.mkdir()
    for kind in ("claude-code", "codex", "opencode"):
        write_harness(root, kind)
    init_clients(root, ("claude-code", "codex", "opencode"))
    for folder in (".claude", ".codex", ".opencode"):
        make_workspace(root / folder)
    for folder in (".claude", ".codex", ".opencode"):
        for path in everything(root / folder):
            if path != "takeback.toml":
                (root / folder / path).write_bytes(b"# spoilt {")
    found = status(root)
    assert found["drift"] == []
    assert found["clean"]
    told = [line.partition(":")[0] for line in found["notes"] if "harness of its own" in line]
    assert told == [".claude", ".codex", ".opencode"]
    before = everything(root)
    said = run(root, "set", "config", "model", "haiku", code=1)
    assert "belongs to the harness in" in " ".join(said.split())
    assert everything(root) == before


def test_a_folder_with_an_untrusted_harness_stays_with_the_outer(outer, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_harness(elsewhere, "claude-code")
    init_clients(elsewhere, ("claude-code",))
    shutil.copytree(elsewhere / ".takeback", outer / INNER / ".takeback")
    (outer / INNER / ".takeback/trusted").write_text("0" * 32 + "\n")
    (outer / NESTED).write_text("# API\n\nPlanted.\n")
    assert len(status(outer)["drift"]) > 0


def test_a_scratch_copy_still_separates_inner_and_outer_harness(both):
    (both / NESTED).write_text("# API\n\nChanged inside.\n")
    with make_scratch_copy(both) as place, closing(open_own_copy(place)) as copy:
        assert copy.status().drift == ()


@pytest.fixture
def workspace(tmp_path):
    """A workspace with sandboxed files in a folder, and an entry for one of them."""
    root = tmp_path / "workspace"
    make_workspace(root)
    for path in ("files/pkg/a.txt", "files/b.txt"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("one\n")
    run(root, "adopt", "--note", "files")
    (root / "files/pkg/a.txt").write_text("two\n")
    run(root, "adopt", "--note", "inside")
    (root / "files/b.txt").write_text("two\n")
    run(root, "adopt", "--note", "outside")
    make_workspace(root / "files/pkg")
    return root


def test_a_workspace_leaves_files_of_an_inner_harness_alone(workspace):
    (workspace / "files/pkg/a.txt").write_text("three\n")
    (workspace / "files/pkg/c.txt").write_text("new\n")
    found = status(workspace)
    assert found["drift"] == []
    assert [line.partition(":")[0] for line in found["notes"]] == ["files/pkg"]
    (workspace / "files/pkg/a.txt").unlink()
    assert status(workspace)["clean"]
    run(workspace, "undo", "#4")
    assert (workspace / "files/b.txt").read_text() == "one\n"


def test_a_workspace_refuses_an_undo_into_an_inner_harness(workspace):
    before = everything(workspace)
    said = " ".join(run(workspace, "undo", "#3", code=1).split())
    assert f"it belongs to the harness in {workspace / 'files/pkg'}" in said
    assert everything(workspace) == before


def test_a_workspace_folder_that_is_itself_a_harness_is_left_alone(workspace):
    (workspace / "prompts/system.md").write_text("one\n")
    run(workspace, "adopt", "--note", "prompt")
    make_workspace(workspace / "prompts")
    (workspace / "prompts/system.md").unlink()
    assert status(workspace)["drift"] == []
    said = " ".join(run(workspace, "undo", "#5", code=1).split())
    assert "belongs to the harness in" in said


def test_doctor_the_mcp_server_and_the_page_name_the_inner_harness_too(both):
    note = f"{INNER}: it has a harness of its own now"
    told = json.loads(run(both, "doctor", "--json"))
    assert [one["good"] for one in told["findings"] if note in one["detail"]] == [True]
    assert note in " ".join(run(both, "doctor").split())
    with closing(open_workspace(both, hold=False)) as harness, closing(open_workspace(both / INNER)) as inner:
        answer = read_status(ProposalService(harness, str(both), make_method(parse_spec("portfolio"), None)), "agent")
        assert answer.clean
        assert [line.startswith(note) for line in answer.notes] == [True]
        shelf = HarnessShelf([("outer", harness), ("inner", inner)])
        session = Session()
        host = "127.0.0.1:8765"
        page = TestClient(make_app(shelf, session, [host]), base_url=f"http://{host}")
        page.get(f"/open?link={session.link}")
        assert note in page.get("/1/drift").text
        assert note not in page.get("/2/drift").text
        assert page.get("/").text.count(note) == 1
