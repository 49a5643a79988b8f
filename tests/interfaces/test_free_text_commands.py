"""`takeback propose` and `takeback evolve` with a wish in plain words, on real harnesses, over the real protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import files_of, write_harness
from tests.support.fault_server import Act, FaultServer
from typer.testing import CliRunner, Result

from takeback.adapters.clients.init import init_clients
from takeback.cli import app
from takeback.errors import InputError, ServiceFault, TakebackError
from takeback.secret_mask import PLACEHOLDER

WISH = "make the tester ask before deleting files"
SECRET = "hunter2-of-the-settings"
TOKEN = "ghp_" + "a1B2" * 9
EDIT = {
    "op_type": "edit_prompt",
    "target": "agents/tester",
    "value": {"old": "Twice.", "new": "Twice.\nAsk before deleting files."},
}
DENY = {"op_type": "append_config", "target": "permissions.deny", "value": "Bash(rm:*)"}
BACK = {
    "op_type": "edit_prompt",
    "target": "agents/tester",
    "value": {"old": "Ask before deleting files.", "new": ""},
}
BAD: dict[str, Any] = {"mutation": [EDIT, DENY], "witness": [], "recovery": [BACK], "contract": ["config", "prompts"]}
GOOD: dict[str, Any] = {
    "mutation": [EDIT],
    "witness": [{"op_type": "capture_prompt", "target": "agents/tester", "witness_key": "w"}],
    "recovery": [{"op_type": "restore_prompt", "target": "agents/tester", "witness_key": "w"}],
    "contract": ["prompts"],
}
CHECK = "grep -q 'Ask before deleting' .claude/agents/tester.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    write_harness(place, "claude-code")
    local = {"env": {"DB_PASSWORD": SECRET}, "permissions": {"allow": ["Bash(cat:*)"]}}
    (place / ".claude/settings.local.json").write_text(json.dumps(local))
    (place / "CLAUDE.md").write_text(f"# Ledger\n\n- push with {TOKEN}\n- cents, never floats\n")
    init_clients(place, ("claude-code",))
    return place


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"config": {"planner": {"confirm": []}}, "prompts": {"planner": "Plan.\nDo it.\n"}}))
    assert CliRunner().invoke(app, ["init", str(tmp_path / "agent"), "--state", str(state)]).exit_code == 0
    return tmp_path / "agent"


def run(*words: object, home: Path, server: FaultServer | None = None) -> Result:
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "TAKEBACK_CACHE": str(home), "COLUMNS": "200"}
    if server is not None:
        environment |= {"TAKEBACK_BASE_URL": server.base_url, "TAKEBACK_API_KEY": "none"}
    return CliRunner(env=environment).invoke(app, [str(word) for word in words])


def asked(*words: object, home: Path, replies: list[Any]) -> tuple[Result, dict[str, Any], FaultServer]:
    texts = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
    with FaultServer([Act(text=text) for text in texts]) as server:
        result = run(*words, "--synthesizer", "openai:m", "--json", home=home, server=server)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result, json.loads(result.stdout), server


def sent_to(server: FaultServer) -> str:
    return json.dumps([seen.body for seen in server.seen], ensure_ascii=False)


def test_evolve_repairs_checks_and_applies_and_its_undo_restores_every_byte(root: Path, tmp_path: Path) -> None:
    before = files_of(root)
    result, told, server = asked("evolve", root, WISH, "--check", CHECK, home=tmp_path, replies=[BAD])
    assert result.exit_code == 0, told
    assert told["applied"]
    assert told["verdict"]["grade"] == "refuted"
    assert (told["repair"]["source"], told["repair"]["verdict"]["grade"]) == ("oracle", "proved")
    assert (told["check"]["passed"], told["check"]["exit"]) == (True, 0)
    assert "Ask before deleting files." in (root / ".claude/agents/tester.md").read_text()
    assert len(server.seen) == 1
    shown = json.loads(run("show", told["entry"], "--dir", root, "--json", home=tmp_path).stdout)
    assert (shown["check"]["passed"], shown["check"]["command"]) == (True, CHECK)
    assert (shown["evidence"]["grade"], shown["note"], shown["by"]) == ("proved", WISH, "model m")
    [entry] = json.loads(run("log", "-n", 1, "--dir", root, "--json", home=tmp_path).stdout)["entries"]
    assert entry["check"] == shown["check"]
    assert (
        f"check: passed (exit code 0, {shown['check']['seconds']} s)"
        in run("show", told["entry"], "--dir", root, home=tmp_path).stdout
    )
    assert run("undo", told["entry"], "--dir", root, home=tmp_path).exit_code == 0
    assert files_of(root) == before


def test_a_workspace_evolves_with_a_repair_by_the_model(workspace: Path, tmp_path: Path) -> None:
    mutation = [{"op_type": "append_config", "target": "planner.confirm", "value": "delete"}]
    bad = {"mutation": mutation, "witness": [], "recovery": [], "contract": ["config"]}
    mended = {
        "witness": [{"op_type": "capture_config", "target": "planner.confirm", "witness_key": "w"}],
        "recovery": [{"op_type": "restore_config", "target": "planner.confirm", "witness_key": "w"}],
        "contract": ["config"],
    }
    words = ("propose", workspace, "let the planner confirm deletes", "--no-oracle")
    result, told, server = asked(*words, home=tmp_path, replies=[bad, mended])
    assert result.exit_code == 0, told
    assert (told["repair"]["source"], len(told["repair"]["turns"]), len(server.seen)) == ("model", 1, 2)
    assert (told["admitted"], told["applied"], told["entry"]) == (True, False, None)
    before = files_of(workspace)
    result, told, _ = asked("evolve", workspace, "let the planner confirm deletes", home=tmp_path, replies=[bad])
    assert (result.exit_code, told["repair"]["source"]) == (0, "oracle")
    assert run("undo", "--last", "--dir", workspace, home=tmp_path).exit_code == 0
    assert files_of(workspace) == before


@pytest.mark.parametrize(
    ("client", "prompt"), [("codex", "AGENTS.md"), ("opencode", "AGENTS.md"), ("gemini", "GEMINI.md")]
)
def test_every_client_can_evolve_and_be_undone(client: str, prompt: str, tmp_path: Path) -> None:
    place = tmp_path / "project"
    place.mkdir()
    write_harness(place, client)
    init_clients(place, (client,))
    before = files_of(place)
    added = {"op_type": "edit_prompt", "target": prompt, "value": {"old": "", "new": "Ask before deleting files.\n"}}
    reply = {"mutation": [added], "witness": [], "recovery": [], "contract": ["prompts"]}
    check = f"grep -q 'Ask before deleting' {prompt}"
    result, told, server = asked("evolve", place / ".", WISH, "--check", check, home=tmp_path, replies=[reply])
    assert (result.exit_code, told["applied"], told["files"]) == (0, True, [prompt])
    assert f"an agent's harness ({client})" in server.seen[0].body["messages"][1]["content"]
    assert run("undo", "--last", "--dir", place, home=tmp_path).exit_code == 0
    assert files_of(place) == before


def test_propose_shows_candidate_verdict_check_and_changes_and_changes_nothing(root: Path, tmp_path: Path) -> None:
    before, head = files_of(root), run("log", "--dir", root, "--json", home=tmp_path).stdout
    with FaultServer([Act(text=json.dumps(BAD))]) as server:
        words = ("propose", root, WISH, "--synthesizer", "portfolio:openai:m", "--check", CHECK)
        result = run(*words, home=tmp_path, server=server)
    assert result.exit_code == 0, result.output
    for shown in (
        "as proposed: not admitted",
        "repaired (oracle): admitted",
        "check passed (exit code 0",
        "+Ask before",
    ):
        assert shown in result.stdout, result.stdout
    assert "nothing was changed" in result.stdout
    assert files_of(root) == before
    assert run("log", "--dir", root, "--json", home=tmp_path).stdout == head


@pytest.mark.parametrize("command", ["propose", "evolve"])
def test_a_failing_check_changes_nothing_and_is_reported(root: Path, tmp_path: Path, command: str) -> None:
    before, head = files_of(root), run("log", "--dir", root, "--json", home=tmp_path).stdout
    words = (command, root, WISH, "--check", "echo not good enough; exit 3")
    result, told, _ = asked(*words, home=tmp_path, replies=[GOOD])
    assert result.exit_code == 1
    assert (told["applied"], told["check"]["passed"], told["check"]["exit"]) == (False, False, 3)
    assert told["check"]["output"] == "not good enough"
    assert files_of(root) == before
    assert run("log", "--dir", root, "--json", home=tmp_path).stdout == head
    with FaultServer([Act(text=json.dumps(GOOD))]) as server:
        plain = run(*words, "--synthesizer", "openai:m", home=tmp_path, server=server)
    assert (plain.exit_code, "the check failed; nothing was changed" in plain.stdout) == (1, True)
    assert "| not good enough" in plain.stdout


def test_the_check_runs_in_a_changed_copy_within_a_time_limit(root: Path, tmp_path: Path) -> None:
    spoil = f"{CHECK} && rm -rf .claude && pwd"
    result, told, _ = asked("propose", root, WISH, "--check", spoil, home=tmp_path, replies=[GOOD])
    assert (result.exit_code, told["check"]["passed"]) == (0, True)
    assert told["check"]["output"] != str(root)
    assert (root / ".claude").is_dir()
    words = ("evolve", root, WISH, "--check", "sleep 60", "--check-timeout", "0.3")
    result, told, _ = asked(*words, home=tmp_path, replies=[GOOD])
    assert (result.exit_code, told["check"]["exit"], told["check"]["why"]) == (1, None, "it took longer than 0.3 s")


def test_no_secret_of_the_harness_reaches_the_model_not_even_when_it_repairs(root: Path, tmp_path: Path) -> None:
    touching = {
        "mutation": [{"op_type": "unset_config", "target": "local:env.DB_PASSWORD"}],
        "witness": [],
        "recovery": [],
        "contract": ["config"],
    }
    for mode in ("D1", "raw", "counterexample", "adaptive"):
        words = ("propose", root, "forget the password of the database", "--no-oracle", "--feedback", mode)
        _, _, server = asked(*words, home=tmp_path, replies=[touching])
        assert len(server.seen) == 5
        sent = sent_to(server)
        assert PLACEHOLDER in sent
        assert SECRET not in sent, mode
        assert TOKEN not in sent, mode


def test_a_masked_value_sent_back_is_refused_and_explained_to_the_model(root: Path, tmp_path: Path) -> None:
    masked = {"op_type": "set_config", "target": "local:env.DB_PASSWORD", "value": PLACEHOLDER}
    before = files_of(root)
    replies = [{**GOOD, "mutation": [masked]}]
    result, told, server = asked("evolve", root, WISH, "--budget", 2, home=tmp_path, replies=replies)
    assert (result.exit_code, told["shortfall"], told["candidate"]) == (1, "masked_value", None)
    assert len(server.seen) == 2
    assert "masked_value" in server.seen[1].body["messages"][-1]["content"]
    assert files_of(root) == before


def test_a_reply_that_cannot_run_here_is_sent_back_with_the_reason(root: Path, tmp_path: Path) -> None:
    twice = {**GOOD, "mutation": [{**EDIT, "value": {"old": "e", "new": "E"}}]}
    result, told, server = asked("evolve", root, WISH, home=tmp_path, replies=["Sure!", twice, GOOD])
    assert (result.exit_code, told["applied"]) == (0, True), told
    assert [one["shortfall"] for one in told["fell_short"]] == ["prose", "cannot_run"]
    assert told["account"]["calls"] == len(server.seen) == 3


def test_evolve_loosens_permissions_only_with_the_loosen_option(root: Path, tmp_path: Path) -> None:
    allow = {"op_type": "append_config", "target": "permissions.allow", "value": "Bash(rm:*)"}
    loose = {"mutation": [allow], "witness": [], "recovery": [], "contract": ["config"]}
    before = files_of(root)
    result, told, _ = asked("evolve", root, "allow rm", home=tmp_path, replies=[loose])
    assert (result.exit_code, told["applied"]) == (1, False)
    assert "Bash(rm:*)" in told["looser"][0]
    assert "loosens permissions" in told["refused"]
    assert files_of(root) == before
    result, told, _ = asked("evolve", root, "allow rm", "--loosen", home=tmp_path, replies=[loose])
    assert (result.exit_code, told["applied"]) == (0, True)


def test_a_task_can_be_checked_too(workspace: Path, tmp_path: Path) -> None:
    task = tmp_path / "change.json"
    task.write_text(json.dumps({"mutation": [{"op_type": "set_config", "target": "planner.asks", "value": True}]}))
    words = ("evolve", workspace, "--task", task, "--json", "--check")
    refused = run(*words, "! grep -q asks config.toml", home=tmp_path)
    assert (refused.exit_code, json.loads(refused.stdout)["check"]["passed"]) == (1, False)
    made = run(*words, "grep -q asks config.toml", home=tmp_path)
    assert (made.exit_code, json.loads(made.stdout)["applied"]) == (0, True)


def test_a_hand_edit_stops_a_change_in_words_only_where_that_writes(root: Path, tmp_path: Path) -> None:
    (root / "CLAUDE.md").write_text("by hand\n")
    result, told, _ = asked("evolve", root, WISH, home=tmp_path, replies=[GOOD])
    assert (result.exit_code, told["applied"]) == (0, True)
    assert (root / "CLAUDE.md").read_text() == "by hand\n"


def test_a_change_in_words_over_a_hand_edit_is_refused(root: Path, tmp_path: Path) -> None:
    tester = root / ".claude/agents/tester.md"
    tester.write_text(tester.read_text().replace("Twice.", "Once."))
    by_hand = tester.read_bytes()
    result, told, _ = asked("evolve", root, WISH, home=tmp_path, replies=[GOOD])
    assert (result.exit_code, told["applied"]) == (1, False)
    assert tester.read_bytes() == by_hand


def test_a_recorded_proposal_replays_without_a_server(root: Path, tmp_path: Path) -> None:
    words = ("propose", root, WISH)
    with FaultServer([Act(text=json.dumps(BAD))]) as server:
        first = run(
            *words, "--synthesizer", "openai:m", "--record", tmp_path / "rec", "--json", home=tmp_path, server=server
        )
    again = run(*words, "--synthesizer", f"replay:{tmp_path / 'rec'}", "--json", home=tmp_path)
    assert again.stdout == first.stdout
    assert SECRET not in (tmp_path / "rec" / "recording.jsonl").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evolve", "ROOT", WISH), "which has no model"),
        (("evolve", "ROOT", WISH, "--synthesizer", "oracle"), "which has no model"),
        (("propose", "ROOT", WISH), "which answers tasks of the lab only"),
        (("evolve", "ROOT", "  ", "--synthesizer", "openai:m"), "an empty text"),
        (("evolve", "ROOT", WISH, "--task", "nat_cfg_001"), "a text and --task"),
        (("propose", "ROOT", WISH, "--task", "nat_cfg_001"), "a text and --task"),
        (("evolve", "ROOT"), "and no text"),
        (("propose", "ROOT"), "and no text"),
        (("propose",), "neither a text nor --task"),
        (("propose", "EMPTY", WISH, "--synthesizer", "openai:m"), "or a workspace"),
        (("propose", "ROOT", WISH, "--synthesizer", "openai:m", "--joint", "3"), "a task of the lab"),
        (("propose", "ROOT", "--task", "nat_cfg_001"), "what to change in DIR"),
        (("propose", "--task", "nat_cfg_001", "--check", "true"), "what to change in DIR"),
    ],
)
def test_an_incomplete_command_line_names_what_is_missing(
    root: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "empty").mkdir()
    places = {"ROOT": str(root), "EMPTY": str(tmp_path / "empty")}
    result = run(*(places.get(word, word) for word in words), home=tmp_path)
    assert isinstance(result.exception, InputError), result.output
    assert said in str(result.exception)


def test_an_unreachable_model_is_reported_by_name(root: Path, tmp_path: Path) -> None:
    with FaultServer([Act(status=404, error="no such model")]) as server:
        words = ("evolve", root, WISH, "--synthesizer", "openai:m")
        result = run(*words, home=tmp_path, server=server)
    assert isinstance(result.exception, ServiceFault)
    assert "(m)" in str(result.exception)
    assert isinstance(result.exception, TakebackError)
