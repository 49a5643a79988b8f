"""Every folder of examples/candidates, run through the command line by proof and by sample.

A folder is the test: `candidate.json`, an optional nominal `state.json`, and `expected.json` with the verdict of
each rule (admitted, grade, reason codes, exit code, addresses that the counterexample shows).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from takeback.cli import app
from takeback.language import digest_program, read_program
from takeback.state import Stage, State
from takeback.verify import VerifyOptions, verify_json

EXAMPLES = Path(__file__).parents[2] / "examples" / "candidates"
FOLDERS = sorted(EXAMPLES.iterdir())
FAMILIES = {"config", "prompts", "routing", "tools", "middleware", "listeners", "files", "sockets", "multi-surface"}


def _load(path: Path) -> dict:
    return json.loads(path.read_text())


REFUTED = [folder for folder in FOLDERS if _load(folder / "expected.json")["proof"]["grade"] == "refuted"]


def _arguments(folder: Path, expected: dict, rule: str) -> list[str]:
    arguments = ["verify", str(folder / "candidate.json"), "--language", expected["language"], "--rule", rule]
    if (folder / "state.json").exists():
        arguments += ["--state", str(folder / "state.json")]
    for name, value in expected.get("options", {}).items():
        arguments += [f"--{name}", value]
    return arguments


def _addresses(verdict: dict) -> set[str]:
    example = verdict["counterexample"]
    if example is None:
        return set()
    return {residual["address"] for residual in example["residuals"]} | set(example["uncovered"])


@pytest.mark.parametrize("rule", ["proof", "split-wald"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_command_line_gives_the_expected_verdict(folder, rule):
    expected = _load(folder / "expected.json")
    outcome = expected[rule]
    result = CliRunner().invoke(app, [*_arguments(folder, expected, rule), "--json"])
    verdict = json.loads(result.stdout)
    assert result.exit_code == outcome["exit"]
    assert (verdict["admitted"], verdict["grade"]) == (outcome["admitted"], outcome["grade"])
    assert {reason["code"] for reason in verdict["reasons"]} == set(outcome["reasons"])
    assert _addresses(verdict) == set(outcome["addresses"])
    assert verdict["rule"] == rule
    assert verdict["language"] == expected["language"]


@pytest.mark.parametrize("folder", REFUTED, ids=lambda folder: folder.name)
def test_a_counterexample_breaks_the_candidate_when_passed_back(folder, tmp_path):
    expected = _load(folder / "expected.json")
    runner, arguments = CliRunner(), _arguments(folder, expected, "proof")
    shown = tmp_path / "verdict.json"
    shown.write_text(runner.invoke(app, [*arguments, "--json"]).stdout)
    again = runner.invoke(
        app, [*arguments[:2], "--language", expected["language"], "--state", str(shown), "--exact", "--json"]
    )
    assert again.exit_code == 1
    before, after = _load(shown), json.loads(again.stdout)
    assert after["grade"] == "refuted"
    assert after["counterexample"]["residuals"] == before["counterexample"]["residuals"]
    assert after["counterexample"]["failure"] == before["counterexample"]["failure"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_example_describes_itself(folder):
    expected = _load(folder / "expected.json")
    assert len(expected["about"].split()) >= 4
    assert set(expected) <= {"about", "language", "options", "locked_mutation", "proof", "split-wald"}
    assert {file.name for file in folder.iterdir()} <= {"candidate.json", "state.json", "expected.json"}


def test_every_family_has_a_correct_example():
    proved = {folder.name for folder in FOLDERS if _load(folder / "expected.json")["proof"]["grade"] == "proved"}
    assert proved >= FAMILIES


def test_the_locked_digest_is_that_of_the_original_mutation():
    expected = _load(EXAMPLES / "repair-changed-mutation" / "expected.json")
    original = read_program(expected["locked_mutation"], Stage.FORWARD, "original")
    assert digest_program(original) == expected["options"]["locked"]
    raw = _load(EXAMPLES / "repair-changed-mutation" / "candidate.json")
    assert not verify_json(raw, options=VerifyOptions(locked=expected["options"]["locked"])).admitted
    assert verify_json(
        {**raw, "mutation": expected["locked_mutation"]}, options=VerifyOptions(locked=expected["options"]["locked"])
    ).admitted


def test_reversing_the_wrong_order_makes_the_candidate_pass():
    folder = EXAMPLES / "wrong-order-across-surfaces"
    raw, nominal = _load(folder / "candidate.json"), State.read(_load(folder / "state.json"))
    turned = {**raw, "recovery": raw["recovery"][::-1]}
    assert verify_json(raw, options=VerifyOptions(rule="exact", nominal=nominal)).reasons != ()
    assert verify_json(turned, options=VerifyOptions(rule="exact", nominal=nominal)).reasons == ()


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("edit-back", {"prompts": {"system": "Ask first.\nAct first.\n"}}),
        ("list-item-removed", {"config": {"permissions": {"allow": ["Bash(git:*)"]}}}),
    ],
)
def test_removing_an_added_value_fails_where_it_already_existed(name, state):
    raw = _load(EXAMPLES / name / "candidate.json")
    assert verify_json(raw, options=VerifyOptions(rule="exact", nominal=State.read(state))).reasons != ()
    without = json.loads(json.dumps(state).replace("\\nAct first.", "").replace('"Bash(git:*)"', ""))
    assert verify_json(raw, options=VerifyOptions(rule="exact", nominal=State.read(without))).reasons == ()
