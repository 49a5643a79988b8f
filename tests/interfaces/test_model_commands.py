"""Commands that ask a model: exit codes, one JSON object, every turn shown, no key anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.fault_server import Act, FaultServer
from typer.testing import CliRunner, Result

from takeback.cli import app
from takeback.errors import InputError, RecordingError, ServiceFault, TakebackError
from takeback_lab.errors import LockChanged, WeightsError
from takeback_lab.experiments.draws import draw_order
from takeback_lab.experiments.recorded import write_frozen
from takeback_lab.tasks import load

CANARY = "sk-canary-command"
MUTATION = [{"op_type": "set_config", "target": "agent.timeout_sec", "value": 60}]
CAPTURE = {"op_type": "capture_config", "target": "agent.timeout_sec", "witness_key": "w0"}
RESTORE = {"op_type": "restore_config", "target": "agent.timeout_sec", "witness_key": "w0"}
GOOD = {"witness": [CAPTURE], "recovery": [RESTORE], "contract": ["config"]}
BAD: dict[str, Any] = {"witness": [], "recovery": [], "contract": ["config"]}
DRAWN = draw_order(load("natural"))[0]
"""The first task of a natural run: of the config family, so that its failure is in S0."""
FAILURE = json.dumps({"mutation": list(DRAWN.reference), **BAD})


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    path = tmp_path / "candidate.json"
    path.write_text(json.dumps({"mutation": MUTATION, **BAD}))
    return path


def run(*words: object, home: Path, server: FaultServer | None = None) -> Result:
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "TAKEBACK_CACHE": str(home), "COLUMNS": "200"}
    if server is not None:
        environment |= {"TAKEBACK_BASE_URL": server.base_url, "TAKEBACK_API_KEY": CANARY}
    return CliRunner(env=environment).invoke(app, [str(word) for word in words])


def test_repair_with_the_portfolio_needs_no_model(candidate: Path, tmp_path: Path) -> None:
    result = run("repair", candidate, "--json", home=tmp_path)
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (found["admitted"], found["source"], found["verdict"]["grade"]) == (True, "oracle", "proved")


def test_repair_shows_fault_request_reply_and_verdict_of_each_turn(candidate: Path, tmp_path: Path) -> None:
    with FaultServer([Act(text="Sure!"), Act(text=json.dumps(BAD)), Act(text=json.dumps(GOOD))]) as server:
        result = run(
            "repair", candidate, "--synthesizer", "openai:m", "--feedback", "D1", home=tmp_path, server=server
        )
    assert result.exit_code == 0
    for shown in (
        "turn 1",
        "turn 3",
        "D1_EXACT_ADDRESS",
        "asked: m, request ",
        "The mutation is fixed",
        "came back: Sure!",
        "verdict: prose",
    ):
        assert shown in result.stdout
    assert "verdict: admitted" in result.stdout
    assert "3 calls" in result.stdout


def test_repair_that_does_not_succeed_exits_1(candidate: Path, tmp_path: Path) -> None:
    with FaultServer([Act(text=json.dumps(BAD))]) as server:
        words = ("repair", candidate, "--synthesizer", "openai:m", "--budget", 2, "--json")
        result = run(*words, home=tmp_path, server=server)
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (found["admitted"], len(found["turns"])) == (False, 2)


def test_a_recorded_repair_replays_to_the_same_bytes(candidate: Path, tmp_path: Path) -> None:
    words = ("repair", candidate, "--json", "--synthesizer")
    with FaultServer([Act(text=json.dumps(BAD)), Act(text=json.dumps(GOOD))]) as server:
        first = run(*words, "openai:m", "--record", tmp_path / "rec", home=tmp_path, server=server)
    assert run(*words, f"replay:{tmp_path / 'rec'}", home=tmp_path).stdout == first.stdout


def test_a_service_receives_exactly_the_given_sampling_options(candidate: Path, tmp_path: Path) -> None:
    said = "temperature=none, top_p=none, max_tokens=300, reasoning_effort=high"
    with FaultServer([Act(text=json.dumps(GOOD))]) as server:
        words = ("repair", candidate, "--synthesizer", "openai:m", "--sampling", said)
        assert run(*words, home=tmp_path, server=server).exit_code == 0
    [seen] = server.seen
    assert not {"temperature", "top_p"} & set(seen.body)
    assert (seen.body["max_tokens"], seen.body["reasoning_effort"]) == (300, "high")


def test_an_outage_is_a_fault_and_the_key_is_nowhere(candidate: Path, tmp_path: Path) -> None:
    with FaultServer([Act(status=401, echo_key=True)]) as server:
        words = ("repair", candidate, "--synthesizer", "openai:m", "--record", tmp_path / "rec")
        result = run(*words, home=tmp_path, server=server)
    assert isinstance(result.exception, ServiceFault)
    heard = result.output + str(result.exception) + "".join(p.read_text() for p in (tmp_path / "rec").iterdir())
    assert CANARY not in heard
    assert "[redacted]" in str(result.exception)


def test_a_replay_without_the_request_names_it(candidate: Path, tmp_path: Path) -> None:
    words = ("repair", candidate, "--synthesizer")
    with FaultServer([Act(text=json.dumps(GOOD))]) as server:
        run(*words, "openai:m", "--record", tmp_path / "rec", home=tmp_path, server=server)
    result = run(*words, f"replay:{tmp_path / 'rec'}", "--feedback", "generic", home=tmp_path)
    assert isinstance(result.exception, RecordingError)
    assert "request " in str(result.exception)


def test_the_local_model_without_weights_says_how_to_get_them(candidate: Path, tmp_path: Path) -> None:
    result = run("repair", candidate, "--synthesizer", "local", home=tmp_path)
    assert isinstance(result.exception, WeightsError)
    assert "takeback model fetch" in str(result.exception)
    status = run("model", "status", "--json", home=tmp_path)
    assert status.exit_code == 1
    assert not any(row["present"] for row in json.loads(status.stdout)["models"])


@pytest.mark.parametrize(
    "words",
    [
        ("--synthesizer", "gpt"),
        ("--feedback", "loud"),
        ("--rule", "mood"),
        ("--language", "L9"),
        ("--record", "somewhere"),
        ("--sampling", "heat=1"),
        ("--sampling", "temperature=hot"),
        ("--sampling", "temperature=2.1"),
        ("--sampling", "top_p=-0.1"),
        ("--sampling", "top_p=nan"),
        ("--sampling", "top_p=0.5,top_p=0.6"),
        ("--sampling", "max_tokens=0"),
        ("--sampling", "max_tokens=none"),
        ("--sampling", "reasoning_effort="),
    ],
)
def test_a_wrong_option_is_reported_by_name(candidate: Path, tmp_path: Path, words: tuple[str, str]) -> None:
    result = run("repair", candidate, *words, home=tmp_path)
    assert isinstance(result.exception, TakebackError)
    assert words[0] in str(result.exception)


@pytest.mark.parametrize("text", ["[1]", '{"mutation": "x"}', "{"])
def test_a_file_without_a_mutation_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text)
    result = run("repair", path, home=tmp_path)
    assert isinstance(result.exception, TakebackError)
    assert "odd.json" in str(result.exception)


def test_propose_asks_judges_repairs_and_chooses(tmp_path: Path) -> None:
    broken = {"mutation": [{**MUTATION[0], "value": 240}], **BAD}
    with FaultServer([Act(text="no"), Act(text=json.dumps(broken))]) as server:
        words = ("propose", "--task", "nat_cfg_001", "--synthesizer", "openai:m", "--joint", 2, "--json")
        result = run(*words, home=tmp_path, server=server)
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (found["chosen"], found["proposals"][0]["shortfall"]) == (1, "prose")
    assert [seen.body["seed"] for seen in server.seen] == [7000, 107000]


@pytest.mark.parametrize("language", [(), ("--language", "L1")])
def test_propose_replays_shipped_repairs_in_their_language(tmp_path: Path, language: tuple[str, ...]) -> None:
    words = ("propose", "--task", "nat_mw_041", "--synthesizer", "replay", "--no-oracle", "--json")
    result = run(*words, *language, home=tmp_path)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["chosen"] == 0


def test_an_unrecorded_repair_names_a_language_to_try(tmp_path: Path) -> None:
    words = ("propose", "--task", "nat_mw_041", "--synthesizer", "replay", "--no-oracle", "--language", "L2")
    result = run(*words, home=tmp_path)
    assert isinstance(result.exception, RecordingError)
    assert "--language L1" in result.exception.hint


def test_lab_natural_freezes_a_bank_that_replays_and_feeds_the_factorial(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    with FaultServer([Act(text=FAILURE)]) as server:
        words = ("lab", "natural", "--synthesizer", "openai:m", "--tasks", 6, "--record", folder, "--freeze", folder)
        first = run(*words, "--json", home=tmp_path, server=server)
    counted = json.loads(first.stdout)
    assert (counted["tasks"], counted["admissible"], counted["defective"], counted["inadequate"]) == (6, 0, 1, 5)
    again = run("lab", "natural", "--synthesizer", f"replay:{folder}", "--json", home=tmp_path)
    replayed = json.loads(again.stdout)
    assert {k: replayed[k] for k in ("tasks", "defective", "families")} == {
        k: counted[k] for k in ("tasks", "defective", "families")
    }
    cells = run("lab", "factorial", "--bank", folder, "--json", "--out", tmp_path / "out", home=tmp_path)
    assert json.loads(cells.stdout)["cells"]["D0L0"] == {"all": [1, 1], "S0": [1, 1], "S1": [0, 0]}
    assert run("lab", "verify", tmp_path / "out", home=tmp_path).exit_code == 0


def test_a_run_frozen_in_another_folder_replays_from_there(tmp_path: Path) -> None:
    record, frozen = tmp_path / "record", tmp_path / "frozen"
    with FaultServer([Act(text="no")]) as server:
        words = ("lab", "natural", "--synthesizer", "openai:m", "--tasks", 2, "--record", record, "--freeze", frozen)
        made = run(*words, "--json", home=tmp_path, server=server)
    again = run("lab", "natural", "--synthesizer", f"replay:{frozen}", "--json", home=tmp_path)
    assert json.loads(again.stdout)["lock"] == json.loads(made.stdout)["lock"]


def test_freezing_without_recording_is_refused_before_any_request(tmp_path: Path) -> None:
    with FaultServer([Act(text="no")]) as server:
        words = ("lab", "natural", "--synthesizer", "openai:m", "--tasks", 2, "--freeze", tmp_path / "frozen")
        result = run(*words, home=tmp_path, server=server)
    assert isinstance(result.exception, InputError)
    assert "takeback lab natural --record" in result.exception.hint
    assert server.seen == []


def test_a_bank_with_other_sampling_replays_without_options(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    with FaultServer([Act(text="no")]) as server:
        words = ("lab", "natural", "--synthesizer", "openai:m", "--tasks", 2, "--record", folder, "--freeze", folder)
        made = run(*words, "--sampling", "temperature=0.7", "--json", home=tmp_path, server=server)
    assert {seen.body["temperature"] for seen in server.seen} == {0.7}
    again = run("lab", "natural", "--synthesizer", f"replay:{folder}", "--json", home=tmp_path)
    assert json.loads(again.stdout)["lock"] == json.loads(made.stdout)["lock"]


@pytest.mark.long
def test_a_replication_is_locked_as_it_is_run(tmp_path: Path) -> None:
    locking = ("lab", "lock", "replication", "--model", "oracle", "--per-stratum", 1, "--out", tmp_path, "--json")
    locked = run(*locking, home=tmp_path)
    asked = ("lab", "replication", "--out", tmp_path, "--json", "--per-stratum")
    assert json.loads(run(*asked, 1, home=tmp_path).stdout)["lock"] == json.loads(locked.stdout)["digest"]
    assert isinstance(run(*asked, 2, home=tmp_path).exception, LockChanged)


def test_a_run_under_another_lock_than_the_frozen_one_refuses_before_it_asks(tmp_path: Path) -> None:
    words = ("lab", "lock", "controlled", "--model", "m", "--per-defect", 2, "--out", tmp_path)
    assert run(*words, home=tmp_path).exit_code == 0
    with FaultServer([Act(text="no")]) as server:
        asked = ("lab", "controlled", "--synthesizer", "openai:m", "--per-defect", 1, "--out", tmp_path)
        result = run(*asked, home=tmp_path, server=server)
    assert isinstance(result.exception, LockChanged)
    assert server.seen == []


def test_a_frozen_controlled_run_replays_exactly_its_requests(tmp_path: Path) -> None:
    folder = tmp_path / "rec"
    asked = ("lab", "controlled", "--per-defect", 2, "--tasks", 3, "--feedback", "none,D0", "--budget", 1, "--json")
    with FaultServer([Act(text=json.dumps(BAD))]) as server:
        words = ("--synthesizer", "openai:m", "--record", folder, "--freeze", folder)
        first = json.loads(run(*asked, *words, home=tmp_path, server=server).stdout)
    again = run("lab", "controlled", "--synthesizer", f"replay:{folder}", "--json", home=tmp_path)
    found = json.loads(again.stdout)
    assert found["outcomes"] == first["outcomes"]
    assert (found["candidates"], list(found["repaired"])) == (3, ["none", "D0"])


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    folder = tmp_path / "bank"
    with FaultServer([Act(text=FAILURE)]) as server:
        words = ("lab", "natural", "--synthesizer", "openai:m", "--tasks", 6, "--record", folder, "--freeze", folder)
        assert run(*words, home=tmp_path, server=server).exit_code == 0
    return folder


@pytest.mark.parametrize("name", ["factorial", "replication"])
def test_a_frozen_factorial_replays_with_its_own_cases_and_with_its_bank(
    bank: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "rec"
    asked = ("lab", name, "--per-stratum", 1, "--bank", bank, "--budget", 2, "--json")
    with FaultServer([Act(text=json.dumps(BAD))]) as server:
        words = ("--synthesizer", "openai:m", "--record", folder, "--freeze", folder)
        first = json.loads(run(*asked, *words, home=tmp_path, server=server).stdout)
    assert len(server.seen) == 8
    replay = ("lab", name, "--synthesizer", f"replay:{folder}", "--json")
    again = json.loads(run(*replay, "--bank", bank, home=tmp_path).stdout)
    assert (again["outcomes"], again["budget"], again["lock"]) == (first["outcomes"], 2, first["lock"])
    own = json.loads(run(*replay, home=tmp_path).stdout)
    assert (own["outcomes"], own["lock"]) == (first["outcomes"], first["lock"])


def test_a_frozen_fresh_run_replays_only_under_its_lock(tmp_path: Path) -> None:
    folder = tmp_path / "rec"
    asked = ("lab", "fresh", "--tasks", 2, "--suites", "Q2,Q5", "--budget", 1, "--json")
    with FaultServer([Act(text=json.dumps(BAD))]) as server:
        words = ("--synthesizer", "openai:m", "--record", folder, "--freeze", folder)
        first = json.loads(run(*asked, *words, home=tmp_path, server=server).stdout)
    replay = ("lab", "fresh", "--synthesizer", f"replay:{folder}", "--json")
    again = json.loads(run(*replay, home=tmp_path).stdout)
    assert (again["suites"], again["lock"]) == (first["suites"], first["lock"])
    assert again["account"]["calls"] == first["account"]["calls"] == 4
    ran = folder / "ran.json"
    altered = {**json.loads(ran.read_text()), "budget": 2}
    ran.write_text(json.dumps(altered))
    assert "it was altered since" in str(run(*replay, home=tmp_path).exception)
    write_frozen(ran, altered)
    assert isinstance(run(*replay, home=tmp_path).exception, LockChanged)
    ran.write_text("{}")
    assert isinstance(run(*replay, home=tmp_path).exception, InputError)


@pytest.fixture
def recorded(bank: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "rec"
    words = ("lab", "factorial", "--bank", bank, "--budget", 2, "--record", folder, "--freeze", folder)
    with FaultServer([Act(text=json.dumps(BAD))]) as server:
        assert run(*words, "--synthesizer", "openai:m", home=tmp_path, server=server).exit_code == 0
    return folder


def test_options_of_a_replay_are_respected_or_refused(recorded: Path, bank: Path, tmp_path: Path) -> None:
    replay = ("lab", "factorial", "--synthesizer", f"replay:{recorded}", "--bank", bank, "--json")
    assert json.loads(run(*replay, "--budget", 1, home=tmp_path).stdout)["account"]["calls"] == 4
    assert json.loads(run(*replay, home=tmp_path).stdout)["account"]["calls"] == 8
    for more in (("--budget", 3), ("--sampling", "temperature=1"), ("--rule", "proof")):
        assert isinstance(run(*replay, *more, home=tmp_path).exception, RecordingError)


def test_a_recording_of_one_experiment_is_not_replayed_as_another(recorded: Path, bank: Path, tmp_path: Path) -> None:
    result = run("lab", "replication", "--synthesizer", f"replay:{recorded}", "--bank", bank, home=tmp_path)
    assert "a recording of factorial, expected one of replication" in str(result.exception)


def test_a_recording_of_another_model_than_was_frozen_is_refused(recorded: Path, bank: Path, tmp_path: Path) -> None:
    ran = recorded / "ran.json"
    write_frozen(ran, {**json.loads(ran.read_text()), "model": "other"})
    result = run("lab", "factorial", "--synthesizer", f"replay:{recorded}", "--bank", bank, home=tmp_path)
    assert isinstance(result.exception, RecordingError)


def test_a_model_alone_and_behind_the_oracle_have_different_locks(bank: Path, tmp_path: Path) -> None:
    with FaultServer([Act(text=json.dumps(BAD))]) as server:
        words = ("lab", "factorial", "--bank", bank, "--budget", 1, "--json", "--synthesizer")
        locks = [
            json.loads(run(*words, who, home=tmp_path, server=server).stdout)["lock"]
            for who in ("openai:m", "portfolio:openai:m", "oracle")
        ]
    assert len(set(locks)) == 3


@pytest.mark.parametrize(("old", "new"), [('"gain": "1"', '"gain": "1/2"'), (DRAWN.reference[0]["target"], "other")])
def test_a_bank_that_was_altered_is_refused(bank: Path, tmp_path: Path, old: str, new: str) -> None:
    path = bank / "bank.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    for words in (("factorial", "--bank", bank), ("natural", "--synthesizer", f"replay:{bank}")):
        result = run("lab", *words, home=tmp_path)
        assert isinstance(result.exception, InputError)
        assert "bank.json: digest" in str(result.exception)


def test_a_bank_is_refused_beside_another_lock_or_an_altered_recording(bank: Path, tmp_path: Path) -> None:
    replay = ("lab", "natural", "--synthesizer", f"replay:{bank}")
    line = (bank / "recording.jsonl").read_text()
    (bank / "recording.jsonl").write_text(line.replace('\\"recovery\\": []', '\\"recovery\\": [1]'))
    for more in ((), ("--freeze", tmp_path / "anew")):
        refused = run(*replay, *more, home=tmp_path).exception
        assert isinstance(refused, RecordingError)
        assert "which they gave when it was frozen" in str(refused)
    (bank / "recording.jsonl").write_text(line)
    assert run(*replay, "--freeze", tmp_path / "anew", home=tmp_path).exit_code == 0
    other = tmp_path / "other"
    with FaultServer([Act(text="no")]) as server:
        words = ("lab", "natural", "--synthesizer", "openai:n", "--tasks", 6, "--record", other, "--freeze", other)
        run(*words, home=tmp_path, server=server)
    (bank / "lock.json").write_bytes((other / "lock.json").read_bytes())
    assert "bank.json: lock" in str(run(*replay, home=tmp_path).exception)


def test_the_first_of_the_locked_candidates_may_be_run_under_their_lock(tmp_path: Path) -> None:
    assert (
        run(
            "lab", "lock", "controlled", "--model", "oracle", "--per-defect", 1, "--out", tmp_path, home=tmp_path
        ).exit_code
        == 0
    )
    words = ("lab", "controlled", "--per-defect", 1, "--tasks", 2, "--out", tmp_path, "--json")
    found = json.loads(run(*words, home=tmp_path).stdout)
    assert (found["candidates"], found["account"]["calls"]) == (2, 0)


def test_propose_refuses_an_unknown_rule_before_it_asks(tmp_path: Path) -> None:
    with FaultServer([Act(text="no")]) as server:
        words = ("propose", "--task", "nat_cfg_001", "--synthesizer", "openai:m", "--rule", "mood")
        result = run(*words, home=tmp_path, server=server)
    assert "proof" in str(result.exception)
    assert server.seen == []
