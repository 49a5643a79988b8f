"""`[capture]` of a policy: what matches is never stored, a change of it says beforehand that it is irreversible."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from tests.support.raw_bytes import files_holding
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.doctor import examine_workspace
from takeback.adapters.init import NewHarness
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.errors import InputError
from takeback.govern.policy import POLICY, read_policy
from takeback.harness.calls import CallApproval
from takeback.harness.outcomes import Applied, Refused, Undone
from takeback.undo import Gone

SECRET, OTHER = "sk-ant-api03-4711aaaabbbbcccc0815", "sk-ant-api03-9999ddddeeeeffff2222"


def write_settings(root, key=SECRET, colour="red"):
    settings = {"model": "opus", "env": {"API_KEY": key, "COLOUR": colour}}
    (root / ".claude/settings.json").write_text(json.dumps(settings, indent=2))


def make(root, capture):
    (root / ".claude").mkdir()
    (root / "CLAUDE.md").write_text("one\n")
    write_settings(root)
    init_clients(root, ("claude-code",), NewHarness(policy=f"[capture]\n{capture}\n".encode()))
    return root


RULES = {
    "secrets": 'redact = ["secrets"]',
    "true": "redact = true",
    "redacted address": """redact = ['config["env.API*"]']""",
    "never": """never = ['config["env.API_KEY"]']""",
    "only": """only = ['config["env.COLOUR"]', 'config["model"]', 'files*', 'prompts*']""",
}


@pytest.fixture(params=RULES.values(), ids=RULES.keys())
def root(request, tmp_path):
    return make(tmp_path, request.param)


def approve(harness, target, value):
    shown = harness.preview([{"op_type": "set_config", "target": target, "value": value}])
    return CallApproval(shown.candidate.digest(), "alice")


def test_matching_values_are_never_stored_in_the_journal(root):
    assert files_holding(root / ".takeback", SECRET) == []
    with closing(open_workspace(root)) as harness:
        change = [{"op_type": "set_config", "target": "env.API_KEY", "value": OTHER}]
        done = harness.apply(change, approval=approve(harness, "env.API_KEY", OTHER))
        assert isinstance(done, Applied), done
        assert isinstance(harness.set("config", "env.COLOUR", "blue"), Applied)
    write_settings(root, SECRET + "-by-hand", "blue")
    with closing(open_workspace(root)) as harness:
        harness.adopt()
        harness.ledger.checkpoint()
    for value in (SECRET, OTHER):
        assert files_holding(root / ".takeback", value) == []
    assert all(finding.good for finding in examine_workspace(root, None, None))


def test_an_unrecorded_change_is_announced_irreversible_and_needs_approval(root):
    with closing(open_workspace(root)) as harness:
        change = [{"op_type": "set_config", "target": "env.API_KEY", "value": OTHER}]
        assert harness.preview(change).unkept == ('config["env.API_KEY"]',)
        refused = harness.apply(change)
        assert isinstance(refused, Refused)
        assert refused.why == "irreversible"
        assert SECRET in (root / ".claude/settings.json").read_text()
        done = harness.apply(change, approval=approve(harness, "env.API_KEY", OTHER))
        assert isinstance(done, Applied)
        assert done.entry.approval["by"] == "alice"
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.undo("HEAD"), Gone)
    assert OTHER in (root / ".claude/settings.json").read_text()


def test_other_values_of_the_same_file_can_be_changed_and_undone(root):
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.set("config", "env.COLOUR", "blue"), Applied)
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.undo("HEAD"), Undone)
    told = json.loads((root / ".claude/settings.json").read_text())
    assert told["env"] == {"API_KEY": SECRET, "COLOUR": "red"}


def test_a_new_value_is_taken_back_by_removing_it(root):
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.set("config", "env.API_TOKEN", OTHER), Applied)
    with closing(open_workspace(root)) as harness:
        assert isinstance(harness.undo("HEAD"), Undone)
    assert OTHER not in (root / ".claude/settings.json").read_text()


@pytest.mark.parametrize("rule", ["secrets", "redacted address"])
def test_a_hand_edit_of_a_redacted_value_is_noticed_by_its_digest(tmp_path, rule):
    root = make(tmp_path, RULES[rule])
    with closing(open_workspace(root)) as harness:
        assert not harness.status().drift
    write_settings(root, OTHER)
    with closing(open_workspace(root)) as harness:
        assert harness.status().drift
        assert harness.adopt() is not None
        assert not harness.status().drift
    for value in (SECRET, OTHER):
        assert files_holding(root / ".takeback", value) == []


def test_a_reference_is_no_secret_and_is_taken_back(tmp_path):
    root = make(tmp_path, RULES["secrets"])
    write_settings(root, "${API_KEY}")
    with closing(open_workspace(root)) as harness:
        harness.adopt()
        assert isinstance(harness.set("config", "env.API_KEY", "${OTHER_KEY}"), Applied)
        assert isinstance(harness.undo("HEAD"), Undone)
    assert "${API_KEY}" in (root / ".claude/settings.json").read_text()


def test_the_commands_announce_it_and_accept_the_approval(tmp_path):
    root = make(tmp_path, RULES["secrets"])
    runner = CliRunner()
    line = ["set", "config", "env.API_KEY", OTHER, "-C", str(root)]
    shown = runner.invoke(app, [*line, "--plan"])
    assert shown.exit_code == 0, shown.output
    assert "irreversible" in shown.output
    refused = runner.invoke(app, line)
    assert refused.exit_code == 1
    assert "irreversible" in refused.output
    digest = refused.output.partition("--approve ")[2].split()[0]
    done = runner.invoke(app, [*line, "--approve", digest, "--by", "alice", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["irreversible"] == ['config["env.API_KEY"]']


def test_a_policy_may_require_no_approval(tmp_path):
    root = make(tmp_path, 'redact = true\nirreversible = "yes"')
    with closing(open_workspace(root)) as harness:
        done = harness.set("config", "env.API_KEY", OTHER)
        assert done.unkept == ('config["env.API_KEY"]',)


@pytest.mark.parametrize(
    "capture", ["redact = 3", "onyl = []", "never = ['nothing[\"x\"]']", 'irreversible = "no"', "only = 'config*'"]
)
def test_an_invalid_capture_policy_is_refused(tmp_path, capture):
    (tmp_path / ".takeback").mkdir()
    (tmp_path / POLICY).write_text(f"[capture]\n{capture}\n")
    with pytest.raises(InputError):
        read_policy(tmp_path)
