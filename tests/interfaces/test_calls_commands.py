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
    forget_surface()


def forget_surface():
    """Leave the surface out again, as a new process would."""
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


def test_an_undo_with_a_failing_mail_command_stays_open_until_recover(project):
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


def test_an_undo_that_is_left_open_does_not_say_done(project):
    declare(project, MAIL, YES)
    change(project)
    assert run("apply", project / "change.json", "-C", project).code == 0
    (project / "broken-correct").touch()
    undone = run("undo", "HEAD", "-C", project)
    assert undone.code == 1
    assert "open: took back" in undone.out
    assert "done" not in undone.out


def test_verify_plan_log_and_show_print_the_effect_class(project):
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


def test_verify_and_prove_judge_calls_by_the_manifest_at_hand(project, monkeypatch):
    declare(project, MAIL, FIRE)
    plain = change(project)
    monkeypatch.chdir(project)
    verdict = json.loads(run("verify", "change.json", "--json").out)
    assert (verdict["grade"], verdict["class"]) == ("proved", "compensable")
    assert verdict["stays"] == [{"call": "mail", "stays": "sent", "compensation": "another call already answers it"}]
    plain["recovery"].append(op("compensate_call", "theirs"))
    (project / "others.json").write_text(json.dumps(plain))
    forget_surface()
    proved = json.loads(run("prove", "others.json", "--json").out)
    assert (proved["grade"], proved["class"]) == ("refuted", "compensable")
    assert list(proved["counterexample"]["state"]["calls"]) == ["theirs"]
    forget_surface()
    assert run("check-proof", "--candidate", "change.json").code == 0
    monkeypatch.chdir(project.parent)  # no manifest here declares the call
    forget_surface()
    assert json.loads(run("prove", project / "change.json", "--json").out)["class"] == "irreversible"


def test_an_approval_does_not_admit_a_wrong_recovery(project):
    declare(project, MAIL, FIRE)
    plain = change(project, call="fire")
    plain["recovery"] = plain["recovery"][1:]  # the prompt is not brought back
    (project / "change.json").write_text(json.dumps(plain))
    with open_workspace(project):
        digest = read_candidate(plain).digest()
    refused = run("apply", project / "change.json", "--approve", digest[:12], "--by", "ann", "--json", "-C", project)
    assert refused.code == 1
    assert json.loads(refused.out)["verdict"]["grade"] == "refuted"
    assert (project / "CLAUDE.md").read_text() == "# Rules\n"
    assert sent(project) == []


def test_an_approved_change_is_not_forced_and_its_undo_names_what_stays(project):
    declare(project, MAIL, FIRE)
    plain = change(project, call="fire")
    with open_workspace(project):
        digest = read_candidate(plain).digest()
    done = run("apply", project / "change.json", "--approve", digest[:12], "--by", "ann", "-C", project)
    assert "irreversible: 1 fire stays made, approved)" in done.out
    assert "forced" not in f"{done.out}{done.err}".lower()
    told = json.loads(run("undo", "HEAD", "--plan", "--json", "-C", project).out)
    assert (told["class"], told["stays"][0]["compensation"]) == ("irreversible", "none")
    undone = run("undo", "HEAD", "-C", project)
    assert "the call fire (m1) stays made: nothing answers it" in undone.out
    assert "approved, as something of it stays" in undone.out
    assert (project / "CLAUDE.md").read_text() == "# Rules\n"
    assert sent(project) == ["fire"]


def test_plans_name_remaining_calls_and_recover_names_finished_entries(project):
    declare(project, MAIL, YES)
    change(project)
    assert run("apply", project / "change.json", "-C", project).code == 0
    assert "the call mail (m1) stays sent" in run("undo", "HEAD", "--plan", "-C", project).out
    (project / "broken-correct").touch()
    assert run("undo", "HEAD", "-C", project).code == 1
    (project / "broken-correct").unlink()
    recovered = run("recover", "--now", "--json", "-C", project)
    assert (recovered.code, json.loads(recovered.out)["ended"]) == (0, [3])


def test_a_shared_entry_shows_its_class_and_approver(project, tmp_path):
    declare(project, MAIL)
    plain = change(project)
    with open_workspace(project):
        digest = read_candidate(plain).digest()
    assert run("apply", project / "change.json", "--approve", digest, "--by", "ann", "-C", project).code == 0
    out = tmp_path.parent / f"{tmp_path.name}.html"
    assert run("share", "HEAD", "--out", out, "-C", project).code == 0
    assert "compensable: 1 mail stays sent" in out.read_text()
    assert "approved by ann" in out.read_text()
    out.unlink()
    assert run("report", "--out", out, "-C", project).code == 0
    assert "compensable: 1 mail stays sent" in out.read_text()


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
