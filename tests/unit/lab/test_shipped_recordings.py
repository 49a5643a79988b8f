"""What ships as recorded replays to exactly what ships as frozen, without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from takeback.cli import app
from takeback.lab.experiments.bank import Case, cohort, load_bank, shipped
from takeback.lab.experiments.factorial import CELLS, Plan, report_data, run_cells
from takeback.lab.experiments.natural import answer
from takeback.synthesize.method import method_of
from takeback.synthesize.models import ReplayModel
from takeback.synthesize.models.recording import read_lines
from takeback.synthesize.spec import Spec

BANK = load_bank()
RESULTS = Path(__file__).parents[3] / "results"


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    return cohort(BANK.entries)


def test_the_shipped_recording_replays_to_the_frozen_bank() -> None:
    model = ReplayModel(shipped())
    assert [answer(task, model).to_json() for task in BANK.tasks()] == list(BANK.entries)


def test_the_shipped_bank_is_all_of_what_was_locked() -> None:
    assert BANK.tasks() == BANK.locked_tasks()
    assert len(BANK.entries) == 300


def test_the_command_reproduces_the_accounting_of_the_bank() -> None:
    result = CliRunner().invoke(app, ["lab", "natural", "--synthesizer", "replay", "--json"])
    found = json.loads(result.stdout)
    outcomes = [entry["outcome"] for entry in BANK.entries]
    assert result.exit_code == 0
    for outcome in ("admissible", "defective", "inadequate"):
        assert found[outcome] == outcomes.count(outcome)
    assert found["tasks"] == len(outcomes)
    assert found["locked"] == found["tasks"] + found["not_run"]


def test_the_portfolio_recovers_every_defective_task_with_a_proof(cases: tuple[Case, ...]) -> None:
    plan = Plan(cases, rule="proof")
    data = report_data(plan, run_cells(plan, method_of(Spec("portfolio"), None)), "portfolio")
    assert cases
    assert all(row["turns"]["D0L1"] == 1 for row in data["tasks"])
    assert all(set(row["turns"]) == set(CELLS) for row in data["tasks"])


def test_the_shipped_factorial_replays_on_the_whole_cohort_with_four_cells(cases: tuple[Case, ...]) -> None:
    result = CliRunner().invoke(app, ["lab", "factorial", "--synthesizer", "replay", "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert list(found["cells"]) == list(CELLS)
    assert all(parts["all"][1] == len(cases) for parts in found["cells"].values())
    assert all(0 <= contrast["p"] <= contrast["p_holm"] <= 1 for contrast in found["contrasts"].values())
    assert found["account"]["calls"] >= len(list(read_lines(shipped().with_name("factorial")))) > 0


RUNS = ["natural", "factorial", "controlled", "fresh", "replication"]


@pytest.mark.parametrize("name", RUNS)
def test_a_shipped_recording_replays_under_its_lock_to_the_results_that_were_kept(name: str, tmp_path: Path) -> None:
    kept = RESULTS / "local-model"
    (tmp_path / "locks").symlink_to(kept / "locks")
    result = CliRunner().invoke(app, ["lab", name, "--synthesizer", "replay", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    [made] = [path for path in tmp_path.iterdir() if path.name != "locks"]
    assert (made / "result.json").read_bytes() == (kept / made.name / "result.json").read_bytes()


@pytest.mark.parametrize("name", RUNS)
def test_no_shipped_recording_is_large(name: str) -> None:
    files = list(shipped().with_name(name).glob("*"))
    assert sum(path.stat().st_size for path in files) < 5_000_000
