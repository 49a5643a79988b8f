"""`takeback lab` as people and machines call it: JSON on stdout, exit codes, errors that say what to do."""

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from takeback.cli import app
from takeback.errors import InputError, MissingExtraError
from takeback_lab import published
from takeback_lab.commands.lab import register
from takeback_lab.commands.lab.extra import lab_extra
from takeback_lab.lock import make_lock
from takeback_lab.results import write_results

AUDIT = {"population": "300 mutations", "incomplete": [300, 300], "complete": [0, 300], "nondeterminism": [0, 300]}


def run(*arguments):
    return CliRunner().invoke(app, ["lab", *map(str, arguments)])


@pytest.fixture
def results(tmp_path):
    write_results(tmp_path / "contract-audit", "contract-audit", make_lock("audit", {"tasks": []}), AUDIT)
    return tmp_path


def test_published_prints_checks_and_exits_0_because_every_exception_is_explained():
    result = run("published", "--json")
    payload = json.loads(result.stdout)
    assert result.exit_code == 0
    assert {"name", "published", "recomputed", "equal", "note"} <= set(payload["checks"][0])
    assert (
        payload["count"] == len(payload["checks"]) == payload["equal"] + payload["differs"] + payload["not_derivable"]
    )
    assert not payload["all_equal"]
    assert payload["all_explained"]
    assert [c["name"] for c in payload["exceptions"]] == [c["name"] for c in payload["checks"] if not c["equal"]]


def test_published_exits_1_when_a_count_no_longer_adds_up(monkeypatch):
    paper = published.load_paper()
    entries = {**paper.entries, "accounting.yield": {**paper.entries["accounting.yield"], "k": 460}}
    whole = published.recompute(published.Paper(entries))
    monkeypatch.setattr(published, "recompute", lambda: whole)
    result = run("published", "--json")
    assert result.exit_code == 1
    assert not json.loads(result.stdout)["all_explained"]


def test_published_for_people_lists_the_exceptions_and_all_on_request():
    short, whole = run("published"), run("published", "--all")
    assert "differs: responses.D1L0 on S0" in short.stdout
    assert "equal: contrast.C1" not in short.stdout
    assert "equal: contrast.C1: Holm p" in whole.stdout


def test_verify_exits_0_for_sound_results_and_1_with_the_problems_otherwise(results):
    sound = run("verify", results, "--json")
    assert (sound.exit_code, json.loads(sound.stdout)["problems"]) == (0, [])
    (results / "contract-audit" / "result.json").write_text("{}")
    broken = run("verify", results, "--json")
    payload = json.loads(broken.stdout)
    assert broken.exit_code == 1
    assert not payload["ok"]
    assert {problem["kind"] for problem in payload["problems"]} == {"altered", "lock"}
    assert "problems" in run("verify", results).stdout


def test_report_writes_the_files_it_names(results, tmp_path):
    target = tmp_path / "elsewhere"
    result = run("report", results, "--out", target, "--json")
    payload = json.loads(result.stdout)
    assert result.exit_code == 0
    assert "tables/contract-audit/contract-audit.csv" in payload["files"]
    assert all((target / name).is_file() for name in payload["files"])
    assert "report.md" in run("report", results).stdout


def test_a_missing_folder_exits_2(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "takeback", "lab", "verify", str(tmp_path / "none"), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "none" in json.loads(done.stdout)["error"]
    assert done.stderr.startswith("takeback: ")
    assert isinstance(run("report", tmp_path / "none").exception, InputError)


def test_only_a_missing_extra_is_reported_as_missing_extra():
    with pytest.raises(MissingExtraError, match="scipy"), lab_extra():
        raise ModuleNotFoundError(name="scipy.stats")
    with pytest.raises(ModuleNotFoundError), lab_extra():
        raise ModuleNotFoundError(name="takeback_lab.nothing")


def test_the_command_line_starts_without_the_lab_extra():
    script = "import sys, takeback.cli; print(sorted({'scipy', 'statsmodels', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_subcommand_has_help_with_an_example():
    own = typer.Typer()
    own.callback()(lambda: None)
    register(own)
    for name in ("published", "report", "verify"):
        shown = CliRunner().invoke(own, ["lab", name, "--help"])
        assert shown.exit_code == 0
        assert "Example:" in shown.stdout
