"""The experiments that need no model, as they are run on the command line. (`main` turns errors into exit 2.)"""

import json

import pytest
from typer.testing import CliRunner

from takeback.cli import app
from takeback.errors import InputError
from takeback_lab.errors import LockChanged
from takeback_lab.results import read_results, verify_results

FOLDERS = {
    "contract-audit": ["contract-audit"],
    "oracle": ["oracle-proof", "oracle-split-wald"],
    "stability": ["stability"],
    "snapshots": ["snapshots"],
    "sensitivity": ["sensitivity"],
}


def _run(*words):
    return CliRunner().invoke(app, ["lab", *map(str, words)])


@pytest.mark.parametrize("name", ["contract-audit", "oracle"])
def test_an_experiment_answers_in_json_and_writes_a_run_that_verifies(name, tmp_path):
    done = _run(name, "--tasks", 6, "--workers", 1, "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    assert isinstance(json.loads(done.stdout), dict)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "progress") == FOLDERS[name]
    assert verify_results(tmp_path) == []
    assert {read_results(tmp_path / folder).experiment for folder in FOLDERS[name]} == {name}


@pytest.mark.long
def test_all_runs_every_experiment_and_the_report_takes_them(tmp_path):
    done = _run("all", "--tasks", 6, "--workers", 1, "--out", tmp_path, "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["holds"]) == (0, dict.fromkeys(FOLDERS, True))
    assert found["experiments"]["contract-audit"]["incomplete"]["caught"] == 6
    assert found["experiments"]["stability"]["migrations"] == 0
    assert verify_results(tmp_path) == []
    report = _run("report", tmp_path)
    assert report.exit_code == 0
    text = (tmp_path / "report" / "report.md").read_text()
    assert all(f"## {folder}" in text for folders in FOLDERS.values() for folder in folders)


def test_tables_for_people_agree_with_the_json():
    assert "incomplete contracts caught            6/6" in _run("contract-audit", "--tasks", 6, "--workers", 1).output
    assert "0 migrations in 12 evaluations" in _run("stability", "--tasks", 6, "--workers", 1, "--seeds", 2).output
    assert "takeback undo" in _run("snapshots", "--tasks", 6).output
    assert "all" in _run("oracle", "--tasks", 6, "--rule", "proof").output


def test_an_experiment_that_falls_short_exits_1(monkeypatch):
    monkeypatch.setattr("takeback_lab.experiments.contract_audit.nondeterminism.alarms", lambda *_: ["planted"])
    done = _run("contract-audit", "--tasks", 6, "--workers", 1, "--json")
    assert (done.exit_code, json.loads(done.stdout)["nondeterminism"]["false_alarms"]) == (1, 6)


def test_a_lock_is_frozen_and_a_run_under_another_protocol_refuses(tmp_path):
    made = _run("lock", "oracle", "--tasks", 6, "--out", tmp_path, "--json")
    lock = json.loads(made.stdout)
    assert json.loads((tmp_path / "locks" / "oracle.json").read_text())["digest"] == lock["digest"]
    same = _run("oracle", "--tasks", 6, "--rule", "proof", "--out", tmp_path)
    assert same.exit_code == 0
    assert read_results(tmp_path / "oracle-proof").lock == lock["digest"]
    other = _run("oracle", "--tasks", 12, "--rule", "proof", "--out", tmp_path)
    assert isinstance(other.exception, LockChanged)
    assert "tasks" in str(other.exception)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("oracle", "--rule", "coin"), "expected one of"),
        (("oracle", "--set", "none"), "expected one of"),
        (("oracle", "--engine", "abacus"), "expected one of local, ray"),
        (("oracle", "--tasks", 901), "expected at most 900"),
        (("contract-audit", "--tasks", 99999), "expected at most 600"),
        (("fresh", "--tasks", 301), "expected at most 300"),
        (("controlled", "--tasks", 121), "expected at most 120"),
        (("natural", "--language", "L7"), "expected L0 or L1"),
        (("natural", "--prompt", "florid"), "expected one of v4, plain, guided"),
        (("factorial", "--draw", "S9=4"), "such as S0=24,S1=36"),
        (("controlled", "--engine", "ray", "--synthesizer", "local:x.gguf"), "expected openai:MODEL"),
        (("controlled", "--engine", "abacus"), "expected one of local, ray"),
    ],
)
def test_bad_input_is_refused_with_the_expected_values(words, expected):
    done = _run(*words)
    assert isinstance(done.exception, InputError)
    assert expected in str(done.exception)


def test_only_experiments_can_be_locked(tmp_path):
    assert _run("lock", "nothing", "--out", tmp_path).exit_code == 2
    done = _run("lock", "natural", "--out", tmp_path)
    assert "no model, expected one, given with --model" in str(done.exception)


@pytest.mark.parametrize("name", ["soundness", "undo-laws"])
def test_the_laws_are_experiments_with_lock_results_and_report(name, tmp_path):
    option = {"soundness": "--cases", "undo-laws": "--histories"}[name]
    done = _run(name, option, 8, "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    assert verify_results(tmp_path) == []
    assert _run("report", tmp_path).exit_code == 0
    assert name in (tmp_path / "report" / "report.md").read_text()
