"""Answers from elsewhere: every round of a run exported, answered by a script, imported, until nothing is pending."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from takeback.canonical import write_compact
from takeback.cli import app
from takeback.errors import InputError, RecordingError
from takeback.language import read_program
from takeback.repair.models import RecordingModel, ReplayModel
from takeback.repair.oracle import invert_mutation
from takeback.repair.synthesizer import Spec, make_method
from takeback.state import Stage, State
from takeback_lab.engines import Here
from takeback_lab.experiment import Asked
from takeback_lab.experiments.draws import first_seed
from takeback_lab.registry import experiment_named
from takeback_lab.rounds import Rounds, Unanswered, read_pending
from takeback_lab.runner import run_experiment

Say = Callable[[dict[str, Any]], str]
NOTHING = {"witness": [], "recovery": [], "contract": ["config"]}


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["lab", *map(str, words)])


def said(*words: object) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def answered(folder: Path, say: Say) -> int:
    """Answer the pending requests of a folder by script and import the replies; how many there were."""
    pending = [json.loads(line) for line in (folder / "pending.jsonl").read_text().splitlines()]
    lines = [json.dumps({"digest": one["digest"], "text": say(one["request"])}) for one in pending]
    replies = folder / "replies.jsonl"
    replies.write_text("\n".join(lines) + "\n")
    assert said("import-replies", replies, "--record", folder)["left"] == 0
    return len(pending)


def to_the_end(folder: Path, say: Say, *words: object) -> list[int]:
    """Round by round until nothing is pending: how many requests each round had."""
    rounds = []
    for _ in range(9):
        if not said("export-prompts", *words, "--model", "m", "--record", folder)["pending"]:
            return rounds
        rounds.append(answered(folder, say))
    raise AssertionError("it never ends")


def without_recovery(request: dict[str, Any]) -> str:
    """The reference mutation of the task that is asked for, and nothing to take it back."""
    asked = request["messages"][1]["content"]
    task = next(task for task in TASKS if task.instruction in asked)
    return json.dumps({"mutation": list(task.reference), **NOTHING})


NATURAL = experiment_named("natural")
TASKS = NATURAL.plan({"tasks": 6}).tasks


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    folder = tmp_path / "natural"
    assert to_the_end(folder, without_recovery, "natural", "--tasks", 6) == [6]
    found = said("natural", "--tasks", 6, "--synthesizer", f"replay:{folder}", "--freeze", folder)
    assert (found["tasks"], found["defective"], found["language"]) == (6, 6, "L0")
    return folder


def good_at_the_fourth_turn(request: dict[str, Any]) -> str:
    """Nothing at first; in the fourth turn of a grounded cell, the oracle's recovery."""
    content = request["messages"][1]["content"]
    mutation = json.loads(content.split("runs as it stands:\n")[1].split("\n")[0])
    task = next(task for task in TASKS if json.dumps(list(task.reference)) == json.dumps(mutation))
    turn = request["seed"] - first_seed(task)
    if turn < 4 or "D1_EXACT_ADDRESS" not in content:
        return json.dumps(NOTHING)
    program = read_program(mutation, Stage.FORWARD, task.id)
    made = invert_mutation(program, State.read(task.state, task.id)).to_json()
    return json.dumps({name: made[name] for name in ("witness", "recovery", "contract")})


@pytest.mark.long
def test_a_factorial_of_four_rounds_ends_as_an_ordinary_run(bank: Path, tmp_path: Path) -> None:
    folder = tmp_path / "factorial"
    rounds = to_the_end(folder, good_at_the_fourth_turn, "factorial", "--bank", bank)
    assert len(rounds) == 4
    words = ("factorial", "--bank", bank, "--synthesizer", f"replay:{folder}")
    found = said(*words, "--freeze", folder, "--out", tmp_path / "out")
    assert found["cells"]["D0L1"]["all"][0] == 0
    assert found["cells"]["D1L1"]["all"] == [6, 6]
    assert found["cells"]["D1L0"]["all"][0] == found["cells"]["D1L0"]["S0"][0] == found["strata"]["S0"] > 0
    assert found["account"]["calls"] == 4 * 4 * 6
    assert run("verify", tmp_path / "out").exit_code == 0
    again = said("factorial", "--bank", bank, "--synthesizer", f"replay:{folder}")
    assert again["cells"] == found["cells"]
    packed = said("pack", folder)
    assert packed["calls"] == sum(rounds)
    assert said("factorial", "--bank", bank, "--synthesizer", f"replay:{folder}")["cells"] == found["cells"]


def test_rounds_answered_by_an_engine_give_the_recording_of_an_ordinary_run(bank: Path, tmp_path: Path) -> None:
    experiment = experiment_named("factorial")
    plan = experiment.plan({"bank": bank, "budget": 2})

    def answer(request: Any) -> dict[str, Any]:
        usage = {"prompt_tokens": 1, "completion_tokens": 2}
        return {"text": json.dumps(NOTHING), "finish_reason": "stop", "usage": usage, "latency_s": 0.5}

    unanswered = Unanswered("m")
    with RecordingModel(unanswered, tmp_path / "rounds") as recorded:
        asked = Asked(recorded, make_method(Spec("openai", "m"), recorded), "m")
        ran = run_experiment(experiment, plan, asked=asked, engine=Rounds(recorded, unanswered, Here(), answer))
    replay = ReplayModel(tmp_path / "rounds")
    again = run_experiment(experiment, plan, asked=Asked(replay, make_method(Spec("replay"), replay), "m"))
    assert ran.data == again.data
    [data] = ran.data.values()
    assert data["account"]["calls"] == 6 * 4 * 2


@pytest.fixture
def pending(tmp_path: Path) -> Path:
    folder = tmp_path / "pending"
    said("export-prompts", "natural", "--tasks", 2, "--model", "m", "--record", folder)
    return folder


def imported(folder: Path, *lines: Any) -> Result:
    path = folder / "in.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return run("import-replies", path, "--record", folder, "--json")


def test_a_line_of_a_batch_services_output_is_a_reply(pending: Path) -> None:
    digest = next(iter(read_pending(pending)))
    usage = {"prompt_tokens": 5, "completion_tokens": 3}
    body = {"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}], "usage": usage}
    done = imported(pending, {"custom_id": digest, "response": {"status_code": 200, "body": body}})
    assert json.loads(done.stdout) == {"imported": 1, "known": 0, "left": 1}


def test_a_batch_service_that_gives_no_text_gave_an_empty_reply(pending: Path) -> None:
    digest = next(iter(read_pending(pending)))
    body = {"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}]}
    done = imported(pending, {"custom_id": digest, "response": {"status_code": 200, "body": body}})
    assert json.loads(done.stdout)["imported"] == 1


def test_replies_of_earlier_rounds_may_remain_in_the_file(pending: Path) -> None:
    first, other = ({"digest": digest, "text": "x"} for digest in read_pending(pending))
    imported(pending, first)
    said("export-prompts", "natural", "--tasks", 2, "--model", "m", "--record", pending)
    assert json.loads(imported(pending, first, other).stdout) == {"imported": 1, "known": 1, "left": 0}


def test_a_repeated_reply_is_imported_once(pending: Path) -> None:
    line = {"digest": next(iter(read_pending(pending))), "text": "first"}
    assert json.loads(imported(pending, line, line).stdout) == {"imported": 1, "known": 1, "left": 1}
    assert json.loads(imported(pending, line).stdout) == {"imported": 0, "known": 1, "left": 1}


def test_another_reply_to_an_answered_request_is_refused_and_changes_nothing(pending: Path) -> None:
    first, other = read_pending(pending)
    imported(pending, {"digest": first, "text": "first"})
    before = (pending / "recording.jsonl").read_bytes()
    fault = imported(pending, {"digest": other, "text": "new"}, {"digest": first, "text": "second"}).exception
    assert "in.jsonl:2" in str(fault)
    assert "another reply" in str(fault)
    assert (pending / "recording.jsonl").read_bytes() == before


def test_the_same_text_with_another_finish_reason_is_another_reply(pending: Path) -> None:
    line = {"digest": next(iter(read_pending(pending))), "text": "{}"}
    fault = imported(pending, line, {**line, "finish_reason": "length"}).exception
    assert "another reply" in str(fault)
    assert not (pending / "recording.jsonl").exists()


def test_a_recording_without_a_call_cannot_be_collected(tmp_path: Path) -> None:
    (tmp_path / "recording.jsonl").touch()
    fault = run("collect", "natural", "--record", tmp_path, "--to", tmp_path / "kept").exception
    assert isinstance(fault, RecordingError)
    assert not (tmp_path / "kept").exists()


def test_a_truncated_file_is_refused_whole(pending: Path) -> None:
    first, other = read_pending(pending)
    fault = imported(pending, {"digest": first, "text": "whole"}, f'{{"digest": "{other}", "te').exception
    assert "in.jsonl:2" in str(fault)
    assert not (pending / "recording.jsonl").exists()


def test_a_reply_may_contain_unicode_line_separators(pending: Path) -> None:
    digest = next(iter(read_pending(pending)))
    line = json.dumps({"digest": digest, "text": "a\u2028b\x85c"}, ensure_ascii=False)
    assert json.loads(imported(pending, line).stdout)["imported"] == 1


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"digest": "0" * 64, "text": "x"}, "the digest of a pending request"),
        ({"text": "x"}, "in.jsonl:1"),
        ({"digest": "0" * 64, "text": 5}, "in.jsonl:1"),
        ("[1]", "a JSON object"),
        ("{", "malformed JSON"),
        ({"custom_id": "x", "response": {"status_code": 500, "body": {}}}, "ask this one again"),
        ({"custom_id": "x", "response": None, "error": {"code": "batch_expired"}}, "another form"),
        ({"digest": "0" * 64, "text": "x", "finish_reason": None}, "another form"),
        ({"digest": "0" * 64, "text": "x", "usage": {"prompt_tokens": "many"}}, "another form"),
        ({"digest": "0" * 64, "text": "x", "usage": {"prompt_tokens": -5}}, "tokens are -5"),
        ({"digest": "0" * 64, "text": "x", "usage": {"completion_tokens": 1e30}}, "tokens are 1e+30"),
        ({"digest": "0" * 64, "text": "x", "latency_s": -0.5}, "latency_s is -0.5"),
    ],
)
def test_an_invalid_reply_is_reported_with_its_line(pending: Path, line: Any, what: str) -> None:
    fault = imported(pending, line).exception
    assert isinstance(fault, InputError)
    assert what in str(fault)


def test_a_pending_request_that_was_altered_is_refused(pending: Path) -> None:
    path = pending / "pending.jsonl"
    path.write_text(path.read_text().replace('"seed":7', '"seed":8'))
    assert isinstance(imported(pending, {"digest": "x", "text": "y"}).exception, RecordingError)


def test_a_pending_request_has_the_format_of_a_batch_service(pending: Path) -> None:
    line = json.loads((pending / "pending.jsonl").read_text().splitlines()[0])
    assert (line["custom_id"], line["url"]) == (line["digest"], "/v1/chat/completions")
    assert line["body"]["response_format"]["json_schema"]["schema"]["properties"]["mutation"]
    assert line["body"]["messages"][0]["role"] == "system"
    assert write_compact(line["body"]["response_format"]["json_schema"]["schema"]) == line["request"]["schema"]


def test_results_of_a_stopped_run_are_collected_under_the_full_lock(pending: Path, tmp_path: Path) -> None:
    first = next(iter(read_pending(pending).values()))
    imported(pending, {"digest": first.digest(), "text": without_recovery(first.to_json())})
    target = tmp_path / "kept"
    found = said("collect", "natural", "--tasks", 2, "--record", pending, "--to", target)
    assert (found["units"], found["kept"]) == (2, 1)
    replayed = said("natural", "--synthesizer", f"replay:{target}", "--out", tmp_path / "out")
    assert (replayed["tasks"], replayed["locked"], replayed["not_run"]) == (1, 600, 599)
    assert (replayed["language"], replayed["defective"], sum(replayed["strata"].values())) == ("L0", 1, 1)
    assert run("verify", target).exit_code == 0
    said("report", tmp_path / "out", "--out", tmp_path / "report")
    assert ": 1 of 600 locked natural tasks, m" in (tmp_path / "report" / "report.md").read_text()
    [plot] = (tmp_path / "report" / "plots").rglob("*.svg")
    assert "1 of 600 locked natural tasks, m, prompts v4" in plot.read_text()
    drawn = ("--draw", "S0=24,S1=36", "--bank", target, "--model", "m")
    assert said("lock", "factorial", *drawn, "--out", tmp_path / "out")["name"] == "factorial"
