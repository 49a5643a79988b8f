"""Replies are hashed into what rests on them: an altered recording is refused, whatever else was made to fit."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from takeback.cli import app
from takeback.errors import InputError, RecordingError
from takeback.repair.models.replies import read_lines
from takeback_lab.experiments.recorded import FIRST, read_run, recorded_folder, write_run
from takeback_lab.lock import read_lock
from takeback_lab.manifest import manifest_of
from takeback_lab.replies import verify_replies
from takeback_lab.results import read_results, verify_results, write_results

SMALL = recorded_folder() / FIRST / "replication"
FROZEN = sorted(path.parent.relative_to(recorded_folder()).as_posix() for path in recorded_folder().rglob("ran.json"))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    shutil.copytree(recorded_folder() / FIRST, tmp_path / "recorded")
    return tmp_path / "recorded" / "replication"


def alter(path: Path) -> None:
    """Change one reply in a packed recording and leave its request, and so its digest, alone."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    line = json.loads(lines[0])
    line["reply"]["text"] += " "
    lines[0] = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


def verify(folder: Path) -> int:
    return CliRunner().invoke(app, ["lab", "verify", str(folder)]).exit_code


def test_the_shipped_recordings_match_their_locks() -> None:
    assert verify_replies(recorded_folder()) == []
    assert verify(recorded_folder()) == 0


def test_an_altered_recording_is_refused_by_verify_and_by_a_replay(recording: Path) -> None:
    assert verify(recording) == 0
    alter(recording / "recording.jsonl.gz")
    assert verify(recording) == 1
    result = CliRunner().invoke(app, ["lab", "replication", "--synthesizer", f"replay:{recording}"])
    assert isinstance(result.exception, RecordingError)
    assert "when it was frozen" in str(result.exception)


def rewrite(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def problems(folder: Path) -> list[str]:
    done = CliRunner().invoke(app, ["lab", "verify", str(folder), "--json"])
    return [f"{one['kind']}: {Path(one['path']).name}" for one in json.loads(done.stdout)["problems"]]


def test_an_altered_or_missing_lock_of_a_recording_is_refused(recording: Path) -> None:
    lock = recording / "lock.json"
    rewrite(lock, parts={**json.loads(lock.read_text())["parts"], "tasks": "0" * 64})
    assert problems(recording) == ["lock: lock.json"]
    lock.unlink()
    assert problems(recording) == ["lock: lock.json"]


def test_an_altered_bank_is_refused(recording: Path) -> None:
    bank = recording.parent / "natural" / "bank.json"
    raw = json.loads(bank.read_text())
    for changes in (
        {"entries": [{**raw["entries"][0], "gain": "2"}, *raw["entries"][1:]]},
        {"lock": "0" * 64},
        {"replies": None},
        {"model": "another"},
        {"condition": {"language": "L0", "prompts": "v3-plain"}},
        {"sampling": {**raw["sampling"], "temperature": 0.9}},
        {"locked": raw["locked"][:-1]},
    ):
        bank.write_text(json.dumps({**raw, **changes}))
        assert problems(bank.parent) == ["altered: bank.json"]


def test_the_run_description_of_a_recording_is_hashed_with_its_lock(recording: Path) -> None:
    ran, lock = json.loads((recording / "ran.json").read_text()), read_lock(recording / "lock.json")
    write_run(recording, ran, lock)
    assert problems(recording) == []
    assert read_run(recording, "replication") == {
        **json.loads((recording / "ran.json").read_text()),
        "folder": str(recording),
    }
    for changes in ({"budget": 3}, {"lock": "0" * 64}):
        write_run(recording, ran, lock)
        rewrite(recording / "ran.json", **changes)
        assert problems(recording) == ["altered: ran.json"]
        with pytest.raises(InputError, match="altered since"):
            read_run(recording, "replication")


@pytest.mark.parametrize("name", FROZEN)
def test_removing_a_digest_does_not_hide_an_altered_recording(name: str, tmp_path: Path) -> None:
    shutil.copytree(recorded_folder() / name, tmp_path / "kept")
    path = tmp_path / "kept" / "ran.json"
    raw = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in raw.items() if key != "digest"}))
    assert problems(path.parent) == ["altered: ran.json"]


def test_a_recording_without_replies_is_reported(recording: Path) -> None:
    (recording / "recording.jsonl.gz").unlink()
    assert problems(recording.parent) == ["altered: replication"]


def test_a_run_without_requests_is_frozen_without_replies(tmp_path: Path) -> None:
    words = ["lab", "controlled", "--tasks", "1", "--feedback", "D1", "--freeze", str(tmp_path / "kept")]
    (tmp_path / "kept").mkdir()
    assert CliRunner().invoke(app, words).exit_code == 0
    assert problems(tmp_path) == []


def test_a_result_with_its_recording_beside_it_refuses_another_recording(recording: Path, tmp_path: Path) -> None:
    words = ["lab", "replication", "--synthesizer", f"replay:{recording}", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, words).exit_code == 0
    [run] = [path.parent for path in (tmp_path / "out").rglob("result.json")]
    assert len(list(read_lines(run))) == len(list(read_lines(SMALL)))
    assert verify(tmp_path / "out") == 0
    alter(run / "recording.jsonl.gz")
    made = manifest_of(run, read_lock(run / "lock.json").digest)
    (run / "MANIFEST.json").write_text(json.dumps(made))
    assert verify_results(tmp_path / "out") == []
    assert verify(tmp_path / "out") == 1


def test_a_result_with_missing_replies_is_reported(recording: Path, tmp_path: Path) -> None:
    words = ["lab", "replication", "--synthesizer", "replay", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert verify(tmp_path / "out") == 0
    [run] = [path.parent for path in (tmp_path / "out").rglob("result.json")]
    data = {**read_results(run).data, "replies": "0" * 64}
    write_results(run, "replication", read_lock(run / "lock.json"), data)
    [problem] = verify_replies(tmp_path / "out")
    assert (problem.kind, "neither beside it nor among the shipped" in problem.detail) == ("missing", True)
