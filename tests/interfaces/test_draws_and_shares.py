"""Draws that the bank cannot fill, frozen runs that carry their cases, and shares of requests that stay apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from takeback.cli import app
from takeback.repair.models.replies import read_lines
from takeback_lab.experiments.recorded import recorded_folder, shipped_recording, write_frozen
from takeback_lab.lock import read_json
from takeback_lab.tasks import load

ANSWER = json.dumps(
    {
        "witness": [{"op_type": "capture_config", "target": "a", "witness_key": "w"}],
        "recovery": [{"op_type": "restore_config", "target": "a", "witness_key": "w"}],
    }
)
DRAWN = ("--draw", "S0=1,S1=1", "--cells", "D0L0", "--budget", 1)


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["lab", *map(str, words)])


def said(*words: object) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def digests(path: Path) -> list[str]:
    return [json.loads(line)["digest"] for line in path.read_text().splitlines()]


def answer(folder: Path, name: str) -> dict[str, Any]:
    """Answer a file of requests with the same text each, and import what came of it."""
    replies = folder / "replies.jsonl"
    lines = [json.dumps({"digest": digest, "text": ANSWER}) for digest in digests(folder / name)]
    replies.write_text("".join(f"{line}\n" for line in lines))
    return said("import-replies", replies, "--record", folder)


def test_a_share_keeps_its_requests_when_another_share_is_answered(tmp_path: Path) -> None:
    said("export-prompts", "natural", "--tasks", 6, "--model", "far", "--record", tmp_path, "--shard", "1/2")
    every, first = (digests(tmp_path / name) for name in ("pending.jsonl", "pending-1-of-2.jsonl"))
    answer(tmp_path, "pending-1-of-2.jsonl")
    said("export-prompts", "natural", "--record", tmp_path, "--shard", "2/2")
    second = digests(tmp_path / "pending-2-of-2.jsonl")
    assert (len(first), len(second)) == (3, 3)
    assert {*first, *second} == {*every}
    said("export-prompts", "natural", "--record", tmp_path, "--shard", "1/2")
    assert digests(tmp_path / "pending-1-of-2.jsonl") == []


def test_shares_made_separately_do_not_overlap(tmp_path: Path) -> None:
    shares = []
    for which in (3, 1, 2):
        folder = tmp_path / str(which)
        words = ("natural", "--tasks", 7, "--model", "far", "--record", folder, "--shard", f"{which}/3")
        said("export-prompts", *words)
        shares.append(digests(folder / f"pending-{which}-of-3.jsonl"))
    assert sorted(map(len, shares)) == [2, 2, 3]
    assert len({digest for share in shares for digest in share}) == 7


def test_ten_shards_partition_the_natural_tasks(tmp_path: Path) -> None:
    found = said("export-prompts", "natural", "--model", "far", "--record", tmp_path, "--shard", "all/10")
    assert (found["pending"], found["units"], len(found["shards"])) == (600, 600, 10)
    shares = [digests(Path(path)) for path in found["shards"]]
    assert {len(share) for share in shares} == {60}
    assert len({digest for share in shares for digest in share}) == 600
    assert {json.loads(line)["request"]["model"] for line in Path(found["file"]).read_text().splitlines()} == {"far"}


def test_a_reply_that_repeats_another_request_is_refused_and_names_its_line(tmp_path: Path) -> None:
    said("export-prompts", "natural", "--tasks", 2, "--model", "far", "--record", tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "pending.jsonl").read_text().splitlines()]
    replies = tmp_path / "replies.jsonl"
    replies.write_text("".join(f"{json.dumps({**line, 'text': ANSWER})}\n" for line in lines))
    lines[1]["request"]["messages"][1]["content"] += " Show every step."
    altered = tmp_path / "altered.jsonl"
    altered.write_text("".join(f"{json.dumps({**line, 'text': ANSWER})}\n" for line in lines))
    fault = run("import-replies", altered, "--record", tmp_path).exception
    assert "altered.jsonl:2: request" in str(fault)
    assert not (tmp_path / "recording.jsonl").exists()
    assert said("import-replies", replies, "--record", tmp_path)["imported"] == 2


def test_a_second_answer_to_a_request_is_refused_with_advice(tmp_path: Path) -> None:
    said("export-prompts", "natural", "--tasks", 1, "--model", "far", "--record", tmp_path)
    answer(tmp_path, "pending.jsonl")
    replies = tmp_path / "replies.jsonl"
    replies.write_text(replies.read_text().replace("capture_config", "capture_prompt"))
    fault: Any = run("import-replies", replies, "--record", tmp_path).exception
    assert "take this line out" in fault.hint


@pytest.mark.parametrize("command", ["factorial", "conventional", "lock"])
def test_a_draw_larger_than_the_bank_is_reported_before_any_request(command: str, tmp_path: Path) -> None:
    words = ("--draw", "S0=99999,S1=1", "--bank", shipped_recording("natural"))
    if command == "lock":
        done = run("lock", "factorial", *words, "--model", "far", "--out", tmp_path)
    else:
        done = run("export-prompts", command, *words, "--model", "far", "--record", tmp_path)
    assert "of 99999 wanted, which is all that the bank has" in done.stderr
    assert "S1" not in done.stderr


def test_the_summary_states_undrawn_cases() -> None:
    shipped = shipped_recording("natural")
    words = ("factorial", "--synthesizer", "oracle", "--bank", shipped, "--cells", "D0L0")
    found = said(*words, "--draw", "S0=99999,S1=1")
    assert found["fewer_than_wanted"] == {"S0": [found["s0"], 99999]}
    assert said(*words, "--draw", "S0=1,S1=1")["fewer_than_wanted"] == {}


def test_a_frozen_factorial_replays_without_its_bank(tmp_path: Path) -> None:
    bank, folder = tmp_path / "elsewhere" / "bank", tmp_path / "rec"
    said("export-prompts", "natural", "--tasks", 12, "--model", "far", "--record", bank)
    pending = (bank / "pending.jsonl").read_text().splitlines()
    replies = bank / "replies.jsonl"
    lines = [json.dumps({"digest": json.loads(line)["digest"], "text": made(json.loads(line))}) for line in pending]
    replies.write_text("".join(f"{line}\n" for line in lines))
    said("import-replies", replies, "--record", bank)
    said("natural", "--synthesizer", f"replay:{bank}", "--freeze", bank)
    said("export-prompts", "factorial", *DRAWN, "--bank", bank, "--model", "far", "--record", folder)
    answer(folder, "pending.jsonl")
    ran = said("factorial", "--synthesizer", f"replay:{folder}", "--freeze", folder)
    (tmp_path / "elsewhere").rename(tmp_path / "gone")
    again = said("factorial", "--synthesizer", f"replay:{folder}")
    assert (again["outcomes"], again["bank"], again["lock"]) == (ran["outcomes"], ran["bank"], ran["lock"])
    assert (again["s0"], again["s1"], again["bank"]["defective"]) == (1, 1, 12)


def made(line: dict[str, Any]) -> str:
    """The reference mutation of the task that is asked for, and a recovery that does nothing for it."""
    content = line["request"]["messages"][1]["content"]
    task = next(task for task in load("natural") if task.instruction in content)
    return json.dumps({"mutation": list(task.reference), **json.loads(ANSWER)})


def test_each_imported_reply_records_its_origin_and_time(tmp_path: Path) -> None:
    said("export-prompts", "natural", "--tasks", 1, "--model", "far", "--record", tmp_path)
    answer(tmp_path, "pending.jsonl")
    [line] = read_lines(tmp_path)
    assert line.origin is not None
    assert (line.origin["how"], line.origin["runtime"]) == ("imported", "elsewhere, from replies.jsonl")
    assert line.origin["at"].startswith("20")


def test_a_factorial_frozen_before_runs_held_their_cases_finds_the_shipped_bank_that_its_lock_holds(
    tmp_path: Path,
) -> None:
    bank = recorded_folder() / "plain" / "natural"
    folder = tmp_path / "recorded" / "factorial"
    said("export-prompts", "factorial", *DRAWN, "--bank", bank, "--model", "far", "--record", folder)
    answer(folder, "pending.jsonl")
    ran = said("factorial", "--synthesizer", f"replay:{folder}", "--freeze", folder)
    held = read_json(folder / "ran.json")
    write_frozen(folder / "ran.json", {k: held[k] for k in held if k not in {"cases", "bank", "digest"}})
    other = folder.with_name("natural")
    said("export-prompts", "natural", "--tasks", 2, "--model", "far", "--record", other)
    answer(other, "pending.jsonl")
    said("natural", "--synthesizer", f"replay:{other}", "--freeze", other)
    again = said("factorial", "--synthesizer", f"replay:{folder}")
    assert (again["lock"], again["outcomes"], again["bank"]) == (ran["lock"], ran["outcomes"], ran["bank"])


def test_overlapping_shards_imported_out_of_order_and_twice_carry_the_run_like_one_file(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        words = ("natural", "--tasks", 8, "--model", "far", "--record", folder)
        said("export-prompts", *words, "--shard", "all/3")
    said("export-prompts", "natural", "--record", parts, "--shard", "all/2")
    answer(whole, "pending.jsonl")
    came = [answer(parts, f"pending-{name}.jsonl") for name in ("3-of-3", "2-of-2", "2-of-2", "1-of-3", "2-of-3")]
    assert came[0] == {"imported": 2, "known": 0, "left": 6}
    assert came[2] == {"imported": 0, "known": 4, "left": came[1]["left"]}
    assert came[-1]["left"] == 0
    assert sum(one["imported"] for one in came) == 8
    replies = [{line.digest: line.reply for line in read_lines(folder)} for folder in (whole, parts)]
    assert replies[0] == replies[1]


@pytest.mark.parametrize("cut", ["line", "middle"])
def test_a_shard_that_arrived_cut_short_leaves_the_rest_pending(cut: str, tmp_path: Path) -> None:
    said("export-prompts", "natural", "--tasks", 6, "--model", "far", "--record", tmp_path, "--shard", "1/2")
    shard = tmp_path / "pending-1-of-2.jsonl"
    lines = shard.read_text().splitlines()
    shard.write_text("\n".join(lines[:2]) + "\n")
    found = answer(tmp_path, shard.name)
    assert found == {"imported": 2, "known": 0, "left": 4}
    if cut == "middle":
        replies = tmp_path / "replies.jsonl"
        replies.write_text(replies.read_text()[:-20])
        assert "replies.jsonl:2" in str(run("import-replies", replies, "--record", tmp_path).exception)
    said("export-prompts", "natural", "--record", tmp_path, "--shard", "1/2")
    assert digests(shard) == [json.loads(lines[2])["digest"]]


def test_importing_says_what_to_do_next(tmp_path: Path) -> None:
    said("export-prompts", "natural", "--tasks", 2, "--model", "far", "--record", tmp_path, "--shard", "all/2")
    answer(tmp_path, "pending-1-of-2.jsonl")
    replies = tmp_path / "replies.jsonl"
    assert "next: answer the others" in run("import-replies", replies, "--record", tmp_path).stdout
    answer(tmp_path, "pending-2-of-2.jsonl")
    done = run("import-replies", replies, "--record", tmp_path).stdout
    assert "next: 'takeback lab export-prompts natural --record" in " ".join(done.split())
