"""Recorded runs under today's sources: relocked if they come out as before, left if not; missing locks are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from takeback.cli import app
from takeback_lab import protocol
from takeback_lab.lock import read_json, read_lock
from takeback_lab.protocol import ORIGINS
from takeback_lab.results import read_results
from takeback_lab.runner import run_experiment
from takeback_lab.tasks import load

ANSWER = {
    "witness": [{"op_type": "capture_config", "target": "a", "witness_key": "w"}],
    "recovery": [{"op_type": "restore_config", "target": "a", "witness_key": "w"}],
}


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["lab", *map(str, words)])


def said(*words: object, code: int = 0) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def say(request: dict[str, Any]) -> str:
    """A recovery that does nothing for it; at turn 0 for the reference mutation of the task."""
    content = request["messages"][1]["content"]
    task = next((task for task in load("natural") if task.instruction in content), None)
    mutation = {"mutation": list(task.reference)} if task is not None else {}
    return json.dumps({**mutation, **ANSWER})


def record(name: str, folder: Path, *words: object) -> None:
    """Export, answer every request, import and freeze."""
    said("export-prompts", name, *words, "--model", "far", "--record", folder)
    lines = (folder / "pending.jsonl").read_text().splitlines()
    replies = folder / "replies.jsonl"
    asked = [json.loads(line) for line in lines]
    answers = [json.dumps({"digest": line["digest"], "text": say(line["request"])}) for line in asked]
    replies.write_text("".join(f"{line}\n" for line in answers))
    said("import-replies", replies, "--record", folder)
    said(name, "--synthesizer", f"replay:{folder}", "--freeze", folder, "--out", folder.parents[1])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    record("natural", tmp_path / "recorded" / "natural", "--tasks", 4)
    lock = read_lock(tmp_path / "recorded" / "natural" / "lock.json")
    protocol.freeze_lock(tmp_path, lock)
    assert said("verify", tmp_path)["outdated"] == []
    return tmp_path


@pytest.fixture
def other_verifier(results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    now = {**protocol.digest_sources(), "code.verifier": "other"}
    monkeypatch.setattr(protocol, "digest_sources", lambda *only: now)
    assert said("verify", results)["outdated"]
    return results


def test_a_reproduced_run_is_relocked_under_current_sources(other_verifier: Path) -> None:
    recorded, run_folder = other_verifier / "recorded" / "natural", other_verifier / "natural-far"
    old = read_lock(recorded / "lock.json")
    replies = (recorded / "recording.jsonl").read_bytes()
    [one] = said("relock", other_verifier)["recordings"]
    assert (one["units"], one["compared"], one["changed_outcomes"], one["left"]) == (4, True, [], None)
    assert (one["old_lock"], one["changed_parts"]) == (old.digest, ["verifier"])
    checked = said("verify", other_verifier)
    assert (checked["problems"], checked["outdated"]) == ([], [])
    kept = f"-{old.digest[:16]}.json"
    assert read_lock(recorded / f"lock{kept}") == read_lock(other_verifier / "locks" / f"natural{kept}") == old
    assert read_results(run_folder).lock == one["new_lock"] == read_lock(recorded / "lock.json").digest
    assert list((run_folder / "superseded").iterdir())
    assert (recorded / "recording.jsonl").read_bytes() == replies
    again = said("natural", "--synthesizer", f"replay:{recorded}", "--out", other_verifier)
    assert again["lock"] == one["new_lock"]


def test_relocking_a_current_run_changes_no_file(results: Path) -> None:
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    said("relock", results)
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


def test_a_run_with_other_results_is_relocked_only_on_request(
    other_verifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import takeback_lab.relocking as module

    def judge_otherwise(*words: Any, **more: Any) -> Any:
        ran = run_experiment(*words, **more)
        first = next(iter(ran.done))
        ran.done[first]["entry"]["outcome"] = "inadequate"
        ran.done[first]["entry"]["gain"] = "1/7"
        return ran

    monkeypatch.setattr(module, "run_experiment", judge_otherwise)
    before = {path: path.read_bytes() for path in other_verifier.rglob("*") if path.is_file()}
    [one] = said("relock", other_verifier, code=1)["recordings"]
    assert len(one["changed_outcomes"]) == 1
    assert one["left"] == "1 outcomes are others under today's sources"
    assert {path: path.read_bytes() for path in other_verifier.rglob("*") if path.is_file()} == before
    [one] = said("relock", other_verifier, "--accept-changes")["recordings"]
    recorded = other_verifier / "recorded" / "natural"
    assert read_json(recorded / f"bank-{one['old_lock'][:16]}.json")["lock"] == one["old_lock"]
    assert read_json(recorded / "bank.json")["entries"][0]["gain"] == "1/7"


def test_a_run_with_unrecorded_requests_is_not_relocked(
    other_verifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback_lab.experiments.draws.FIRST_SEED", 9000)
    monkeypatch.setattr(protocol, "check_replayable", lambda *words: None)
    monkeypatch.setattr("takeback_lab.experiments.natural.check_replayable", lambda *words: None)
    [one] = said("relock", other_verifier, code=1)["recordings"]
    assert "asks now for what was not recorded" in one["left"]


def test_the_runtime_that_answered_stays_in_the_lock(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = read_lock(results / "recorded" / "natural" / "lock.json")
    real = protocol.rests_on
    for module in ("natural", "repairs"):
        monkeypatch.setattr(
            f"takeback_lab.experiments.{module}.rests_on", lambda who: {**real(who), "runtime": "another build"}
        )
    again = said("natural", "--synthesizer", f"replay:{results / 'recorded' / 'natural'}", "--out", results)
    assert again["lock"] == held.digest
    [one] = said("relock", results)["recordings"]
    assert one["new_lock"] == held.digest
    assert set(ORIGINS) <= set(held.parts)


def test_a_factorial_is_relocked_from_its_own_cases(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bank, folder = results / "recorded" / "natural", results / "recorded" / "factorial"
    words = ("--cells", "D0L0", "--budget", 1, "--bank", bank, "--tasks", 1)
    record("factorial", folder, *words)
    monkeypatch.setattr(protocol, "digest_sources", lambda *only: {"code.verifier": "other"})
    shutil.rmtree(bank)
    [one] = said("relock", results)["recordings"]
    assert (one["experiment"], one["units"], one["compared"], one["left"]) == ("factorial", 1, True, None)
    assert one["changed_parts"] == ["diagnosis", "generators", "synthesis", "tasks", "verifier"]


def test_recordings_without_source_locks_are_skipped(tmp_path: Path) -> None:
    from takeback_lab.experiments.recorded import recorded_folder

    shutil.copytree(recorded_folder() / "first" / "replication", tmp_path / "replication")
    [one] = said("relock", tmp_path)["recordings"]
    assert one["left"] == "its lock holds no sources"


def test_verify_notices_a_lock_deleted_above_a_frozen_recording(results: Path) -> None:
    shutil.rmtree(results / "natural-far")
    said("lock", "fresh", "--tasks", 1, "--model", "far", "--out", results)
    assert said("verify", results)["problems"] == []
    (results / "locks" / "natural.json").unlink()
    [found] = said("verify", results, code=1)["problems"]
    assert (found["kind"], Path(found["path"]).name) == ("missing", "natural.json")


def test_a_stopped_run_of_all_experiments_resumes_after_the_finished_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from takeback_lab.commands.lab import all as command

    asked: list[str] = []
    real = command.conduct

    def stop_at_sensitivity(experiment: Any, *words: Any) -> Any:
        asked.append(experiment.name)
        if experiment.name == "sensitivity" and asked.count("sensitivity") == 1:
            raise KeyboardInterrupt
        return real(experiment, *words)

    monkeypatch.setattr(command, "NAMES", ("contract-audit", "sensitivity"))
    monkeypatch.setattr(command, "conduct", stop_at_sensitivity)
    words = ("all", "--tasks", 10, "--workers", 1, "--out", tmp_path)
    assert run(*words).exit_code == 130
    found = said(*words)
    assert asked == ["contract-audit", "sensitivity", "sensitivity"]
    assert set(found["holds"]) == {"contract-audit", "sensitivity"}
    said(*words)
    assert asked[3:] == ["contract-audit", "sensitivity"]
