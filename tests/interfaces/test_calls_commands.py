"""Calls by the command line, the MCP server and evolve: the class beside the grade, approvals, open undos."""

from __future__ import annotations

import json

import pytest
from tests.support.running import op
from tests.support.terminal import run

from takeback import evolve, open_workspace
from takeback.harness import Applied, Refused
from takeback.language import read_candidate
from takeback.state.surface import SURFACES, unregister

PROGRAM = """#!/bin/sh
[ -e "broken-$1" ] && exit 3
echo "$1" >> sent
"""
MAIL = '\n[calls.mail]\nrun = ["./mail", "send"]\ncompensate = ["./mail", "correct"]\nstays = "sent"\n'
FIRE = '\n[calls.fire]\nrun = ["./mail", "fire"]\n'
YES = '\n[admit]\ncompensable = "yes"\n'


@pytest.fixture(autouse=True)
def calls():
    yield
    if "calls" in SURFACES:
        unregister("calls")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("# Rules\n")
    assert run("init", tmp_path).code == 0
    (tmp_path / "mail").write_text(PROGRAM)
    (tmp_path / "mail").chmod(0o755)
    (tmp_path / "sent").write_text("")
    return tmp_path


def declare(project, *tables):
    with (project / ".takeback/manifest.toml").open("a") as file:
        file.write("".join(tables))
    assert run("trust", project).code == 0


def change(project, call="mail"):
    plain = {
        "mutation": [
            op("set_prompt", "CLAUDE.md", value="# Others\n"),
            op("make_call", "m1", value={"call": call, "arguments": {"to": "ops"}}),
        ],
        "witness": [op("capture_prompt", "CLAUDE.md", witness_key="p"), op("capture_call", "m1", witness_key="c")],
        "recovery": [
            op("restore_prompt", "CLAUDE.md", witness_key="p"),
            op("compensate_call", "m1", witness_key="c"),
        ],
    }
    (project / "change.json").write_text(json.dumps(plain))
    return plain


def sent(project):
    return (project / "sent").read_text().split()


def test_a_dead_mail_command_exits_1_and_says_open_and_recover_now_sends_one_correction(project):
    declare(project, MAIL, YES)
    change(project)
    made = run("apply", project / "change.json", "-C", project)
    assert made.code == 0
    assert "(proved, compensable: 1 mail stays sent)" in made.out
    (project / "broken-correct").touch()
    undone = run("undo", "HEAD", "--json", "-C", project)
    assert undone.code == 1
    assert [one["call"] for one in json.loads(undone.out)["open"]] == ["mail"]
    assert (project / "CLAUDE.md").read_text() == "# Rules\n"
    status = run("status", "-C", project)
    assert status.code == 1
    assert "is open" in status.out
    assert run("recover", "-C", project).code == 1
    (project / "broken-correct").unlink()
    assert run("recover", "--now", "-C", project).code == 0
    assert run("recover", "--now", "-C", project).code == 0
    assert run("status", "-C", project).code == 0
    assert sent(project) == ["send", "correct"]


def test_the_class_stands_beside_the_grade_in_verify_plan_log_and_show(project):
    declare(project, MAIL, YES)
    change(project)
    with open_workspace(project):  # the surface is this harness's
        verdict = json.loads(run("apply", project / "change.json", "--plan", "--json", "-C", project).out)["verdict"]
    assert verdict["class"] == "compensable"
    assert verdict["stays"][0]["call"] == "mail"
    assert run("apply", project / "change.json", "-C", project).code == 0
    entry = json.loads(run("log", "--json", "-C", project).out)["entries"][0]
    assert (entry["grade"], entry["class"]) == ("proved", "compensable")
    assert "proved, compensable" in run("log", "-C", project).out
    assert "proved, compensable: 1 mail stays sent" in run("show", "HEAD", "-C", project).out


def test_irreversible_needs_an_approval_that_the_entry_names(project):
    declare(project, MAIL, FIRE)
    plain = change(project, call="fire")
    refused = run("apply", project / "change.json", "--force", "-C", project)
    assert refused.code == 1
    with open_workspace(project):
        digest = read_candidate(plain).digest()
    assert f"--approve {digest[:12]}" in refused.out
    done = run("apply", project / "change.json", "--approve", digest[:12], "--by", "ann", "-C", project)
    assert done.code == 0, done
    entry = json.loads(run("log", "--json", "-C", project).out)["entries"][0]
    assert (entry["grade"], entry["class"], entry["approval"]["by"]) == ("declared", "irreversible", "ann")
    assert sent(project) == ["fire"]


def test_evolve_proposes_and_gates_a_call_like_any_other_change(project):
    declare(project, MAIL)
    operations = change(project)["mutation"]
    with open_workspace(project) as harness:
        found = evolve(harness, operations)
        assert isinstance(found.result, Refused)
        assert "needs an approval" in found.result.message
    assert sent(project) == []
    declare(project, YES)
    with open_workspace(project) as harness:
        assert isinstance(evolve(harness, operations).result, Applied)
    assert sent(project) == ["send"]
