"""Ctrl-C at any moment: nothing is left half done, and what is said about it is true and can be copied."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys

import pytest
from tests.support.terminal import Done, converse, environment
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.cli import app

AT_A_BOUNDARY = """
import os, signal, sys
from takeback.cli import main
from takeback.journal.failpoint import arm_failpoints
boundary, sys.argv = sys.argv[1], ["takeback", *sys.argv[2:]]
hit = []
def probe(reached):
    if reached == boundary and not hit:
        hit.append(reached)
        os.kill(os.getpid(), signal.SIGINT)
with arm_failpoints(probe):
    main()
"""
BOUNDARIES = ["change.announced", "file.temp.written", "file.renamed", "change.written", "change.settled"]
CHANGE = {
    "mutation": [
        {"op_type": "set_config", "target": "limit", "value": 9},
        {"op_type": "set_prompt", "target": "p", "value": "anew\n"},
    ]
}


def run(*arguments):
    ended = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert ended.exit_code == 0, ended.stdout
    return ended.stdout


def interrupted_at(boundary: str, *arguments: object) -> Done:
    """Run the real program, which gets SIGINT the moment it reaches a boundary."""
    command = [sys.executable, "-c", AT_A_BOUNDARY, boundary, *map(str, arguments)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def agent(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"config": {"limit": 1}, "prompts": {"p": "one\n"}}))
    (tmp_path / "change.json").write_text(json.dumps(CHANGE))
    run("init", tmp_path / "agent", "--state", tmp_path / "state.json")
    return tmp_path / "agent"


def files_of(agent):
    return (agent / "config.toml").read_text(), (agent / "prompts/p.md").read_text()


def pending_of(agent):
    """What the journal alone says is under way, before anyone could finish it."""
    from takeback.harness.ledger import Ledger
    from takeback.journal import open_journal

    store = open_journal(agent / ".takeback/journal.db", create=False)
    try:
        return Ledger(store).pending
    finally:
        store.close()


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_an_interrupt_during_a_change_waits_until_it_is_complete(agent, tmp_path, boundary):
    done = interrupted_at(boundary, "apply", tmp_path / "change.json", "--repair", "-C", agent)
    assert done.code == 130
    assert pending_of(agent) is None
    assert files_of(agent)[0].rstrip().endswith("limit = 9")
    assert files_of(agent)[1] == "anew\n"
    hint = re.search(r"was made and is complete; to undo it: (takeback .*)", done.err)
    assert hint, done.err
    run(*shlex.split(hint[1])[1:])
    assert files_of(agent)[1] == "one\n"


@pytest.mark.parametrize("boundary", ["change.announced", "file.renamed", "change.written"])
@pytest.mark.parametrize("words", [("undo", "--last"), ("restore", "--to", "#1")])
def test_an_interrupted_undo_or_restore_is_complete(agent, tmp_path, boundary, words):
    run("apply", tmp_path / "change.json", "--repair", "-C", agent)
    done = interrupted_at(boundary, *words, "-C", agent)
    assert (done.code, pending_of(agent)) == (130, None)
    assert files_of(agent)[1] == "one\n"
    assert "was made and is complete" in done.err


def test_an_interrupt_before_a_change_reports_that_nothing_changed(agent, tmp_path):
    before = files_of(agent)
    run("set", "config", "limit", "2", "-C", agent)
    run("undo", "--last", "-C", agent)
    script = AT_A_BOUNDARY.replace(
        "with arm_failpoints(probe):",
        "import takeback.harness.toggle as seam\n"
        "def planned(*_, **__): os.kill(os.getpid(), signal.SIGINT)\n"
        "seam.plan_toggle = planned\nwith arm_failpoints(probe):",
    )
    command = [sys.executable, "-c", script, "never", "redo", "--last", "-C", str(agent)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 130
    assert "interrupted; nothing was changed; you can run the same command again" in done.stderr
    assert files_of(agent) == before


def test_an_interrupted_doctor_reports_that_it_changes_nothing(agent):
    script = "import os, signal, sys\nimport takeback.adapters.doctor as seam\n"
    script += "seam.examine_workspace = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
    script += "from takeback.cli import main\nmain()"
    command = [sys.executable, "-c", script, "doctor", "-C", str(agent)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 130
    assert "checking changes nothing" in done.stderr


def test_ctrl_c_ends_a_watcher_and_its_records_stay(agent):
    pytest.importorskip("watchfiles")
    (agent / "prompts/p.md").write_text("by hand\n")
    done = converse(("watch", "--polling", "-C", agent), [("#2", "\x03")], {"NO_COLOR": "1"})
    assert done.code == 130
    assert "recorded changes stay" in done.out
    with open_workspace(agent, hold=False) as harness:
        assert harness.status().clean


def test_an_interrupted_lab_run_reports_what_is_kept(tmp_path):
    pytest.importorskip("scipy")
    words = ("lab", "undo-laws", "--histories", "100000")
    done = converse(words, [("undo-laws", signal.SIGINT)], {"NO_COLOR": "1", "TAKEBACK_PROGRESS": "1"})
    assert done.code == 130
    assert "the same command starts over" in " ".join(done.out.split())
