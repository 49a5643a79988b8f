"""Answers from elsewhere: export, answer in shards, import, round by round, then replay; what it says is imported."""

import csv
import json

import pytest
from typer.testing import CliRunner

from takeback.cli import app
from takeback_lab.experiments.factorial import EXPERIMENT as FACTORIAL
from takeback_lab.results import read_results

RECOVERY = {"witness": [{"op_type": "capture_config", "target": "a", "witness_key": "w"}]}
RECOVERY |= {"recovery": [{"op_type": "restore_config", "target": "a", "witness_key": "w"}]}


def run(*words):
    done = CliRunner().invoke(app, ["lab", *map(str, words)])
    assert done.exit_code in {0, 1}, done.output
    return done.output


def answer(folder, number, of):
    """Answer one shard of what is pending, as a batch service would."""
    lines = (folder / f"pending-{number}-of-{of}.jsonl").read_text().splitlines()
    replies = folder / "replies.jsonl"
    found = [{"digest": json.loads(line)["digest"], "text": json.dumps(RECOVERY)} for line in lines]
    replies.write_text("".join(f"{json.dumps(one)}\n" for one in found))
    return run("import-replies", replies, "--record", folder)


def test_two_imported_shards_complete_the_natural_experiment(tmp_path):
    folder, results = tmp_path / "rec", tmp_path / "results"
    first = run("export-prompts", "natural", "--tasks", 4, "--model", "far", "--record", folder, "--shard", "1/2")
    assert "4 requests pending" in first
    run("export-prompts", "natural", "--record", folder, "--shard", "2/2")
    assert "2 replies taken in" in answer(folder, 1, 2)
    assert "0 still open" in answer(folder, 2, 2)
    assert "0 requests pending" in run("export-prompts", "natural", "--record", folder)
    shown = run("natural", "--synthesizer", f"replay:{folder}", "--freeze", folder, "--out", results)
    assert "4 tasks of" in shown
    assert "answers imported: 4" in shown
    assert "no problem" in run("verify", results) or "0 problems" in run("verify", results)
    told = json.loads(run("paper", "--results", results, "--table", 6, "--json"))["tables"][0]
    assert told["ours"]["imported"] == 4
    assert "4 answers imported" in told["ours"]["population"]
    run("report", results)
    for path in sorted(results.glob("report/tables/*/*.csv")):
        head, *rows = csv.reader(path.read_text().splitlines())
        assert (head[-1], {row[-1] for row in rows}) == ("answers imported", {"4"}), path.name


def test_four_imported_rounds_complete_a_factorial(tmp_path):
    folder, results = tmp_path / "rec", tmp_path / "results"
    words = ("--draw", "S0=1,S1=1", "--cells", "D0L0", "--model", "far")
    for number in range(1, 5):
        run("export-prompts", "factorial", "--record", folder, "--shard", "all/2", *words)
        words = ()
        answer(folder, 1, 2)
        assert "0 still open" in answer(folder, 2, 2), number
    assert "0 requests pending" in run("export-prompts", "factorial", "--record", folder)
    found = json.loads(
        run("factorial", "--synthesizer", f"replay:{folder}", "--freeze", folder, "--out", results, "--json")
    )
    assert (found["cases"], found["prompts"], found["imported"]) == (2, "v4", 8)
    tables = list(FACTORIAL.tables(read_results(results / "factorial-far").data))
    assert tables
    assert [table.slug for table in tables if "8 answers imported" not in table.title] == []


@pytest.mark.parametrize("other", ["fresh", "controlled"])
def test_options_of_another_experiment_are_refused(tmp_path, other):
    run("export-prompts", "natural", "--tasks", 2, "--model", "far", "--record", tmp_path)
    done = CliRunner().invoke(app, ["lab", "export-prompts", other, "--record", str(tmp_path)])
    assert "options of natural" in str(done.exception)
