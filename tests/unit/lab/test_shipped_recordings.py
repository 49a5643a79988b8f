"""What ships as recorded replays to exactly what ships as results, without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from takeback.cli import app
from takeback.errors import RecordingError
from takeback.repair.synthesizer import Spec, make_method
from takeback_lab.commands.lab.wrapper import recording_meant
from takeback_lab.experiment import Asked
from takeback_lab.experiments.bank import cohort, load_bank
from takeback_lab.experiments.factorial import CELLS, EXPERIMENT, CellsPlan
from takeback_lab.experiments.recorded import EDITIONS, FIRST, PLAIN, recorded_folder, shipped_recording
from takeback_lab.experiments.repairs import Terms
from takeback_lab.lock import read_lock
from takeback_lab.protocol import CODE
from takeback_lab.recordings import has_recording
from takeback_lab.registry import experiment_named
from takeback_lab.results import read_results
from takeback_lab.runner import run_experiment

RESULTS = Path(__file__).parents[3] / "results"
BASE = recorded_folder()
FOLDERS = {
    **{f"{edition}/{path.name}": path for edition in EDITIONS for path in sorted((BASE / edition).iterdir())},
    **{path.name: path for path in sorted(BASE.iterdir()) if has_recording(path)},
}
"""Every recording that ships, by name; earlier ones by their edition too."""
KEPT = {FIRST: "first", PLAIN: "plain-L0", "": "v4"}
"""Where the results of each edition are kept."""


def run(*words: object, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["lab", *map(str, words), "--json"])
    assert result.exit_code in codes, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == f"{FIRST}/replication" else pytest.mark.long) for name in FOLDERS]
)
def test_a_shipped_recording_replays_to_its_kept_results(name: str, tmp_path: Path) -> None:
    kept = RESULTS / KEPT[name.rpartition("/")[0]]
    folder = FOLDERS[name]
    holds_sources = any(part.startswith(CODE) for part in read_lock(folder / "lock.json").parts)
    if not holds_sources:
        (tmp_path / "locks").symlink_to(kept / "locks")
    found = run(folder.name, "--synthesizer", f"replay:{folder}", "--out", tmp_path)
    [made] = [path for path in tmp_path.iterdir() if (path / "result.json").exists()]
    if holds_sources:
        assert read_results(made).data == read_results(kept / made.name).data
    else:
        assert (made / "result.json").read_bytes() == (kept / made.name / "result.json").read_bytes()
    if folder.name == "factorial":
        assert list(found["cells"]) == list(CELLS)
        assert all(parts["all"][1] == found["cases"] for parts in found["cells"].values())
        assert all(0 <= contrast["p"] <= contrast["p_holm"] <= 1 for contrast in found["contrasts"].values())


def test_plain_replay_means_the_latest_recording_of_an_experiment() -> None:
    names = {path.name for path in FOLDERS.values()}
    assert names >= {"natural", "factorial", "controlled", "fresh", "replication"}
    for name in names:
        there = [edition for edition in ("", *EDITIONS) if has_recording(BASE / edition / name)]
        assert shipped_recording(name) == BASE / there[0] / name
    assert shipped_recording("replication") == BASE / FIRST / "replication"


@pytest.mark.parametrize(("words", "edition"), [("replay:plain", PLAIN), ("replay:first", FIRST)])
def test_an_earlier_recording_is_replayed_by_the_name_of_its_edition(words: str, edition: str) -> None:
    experiment = experiment_named("factorial")
    assert recording_meant(experiment, words) == BASE / edition / "factorial"


def test_the_portfolio_recovers_every_defective_task_of_the_first_bank_with_a_proof() -> None:
    failures = cohort(load_bank(BASE / FIRST / "natural").entries)
    plan = CellsPlan(failures, terms=Terms(rule="proof"))
    asked = Asked(None, make_method(Spec("portfolio"), None), "portfolio")
    [data] = run_experiment(EXPERIMENT, plan, asked=asked).data.values()
    assert failures
    assert all(row["turns"]["D0L1"] == 1 for row in data["tasks"])
    assert all(set(row["turns"]) == set(CELLS) for row in data["tasks"])


@pytest.mark.long
def test_recorded_runs_are_rescored_without_a_new_call() -> None:
    found = run("rescore", "--rule", "pooled-wilson", codes=(0, 1))
    assert found["evaluations"] > 500
    assert found["changed"] <= found["evaluations"] / 50
    assert set(found["runs"]) >= {"natural", "factorial", "controlled"}


@pytest.mark.parametrize("words", ["replay", "replay:plain", "replay:first", "portfolio:replay"])
def test_an_unrecorded_experiment_names_the_command_to_record_it(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback_lab.experiments.recorded.recorded_folder", lambda: tmp_path)
    monkeypatch.setattr("takeback_lab.commands.lab.wrapper.recorded_folder", lambda: tmp_path)
    result = CliRunner().invoke(app, ["lab", "conventional", "--synthesizer", words])
    assert isinstance(result.exception, RecordingError)
    said = str(result.exception)
    assert "lab conventional: no recording of it" in said
    assert "takeback lab conventional --synthesizer local --record DIR --freeze DIR" in said
    assert str(tmp_path) not in said


@pytest.mark.parametrize("name", FOLDERS)
def test_no_shipped_recording_is_large(name: str) -> None:
    assert sum(path.stat().st_size for path in FOLDERS[name].glob("*")) < 5_000_000
