"""The commands of the core: exit codes, one JSON object on stdout, messages that name the place."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.support.forked import run_text
from typer.testing import CliRunner

from takeback.cli import app
from takeback.cli.display import _NEXT
from takeback.verify import Code

EXAMPLES = Path(__file__).parents[3] / "examples" / "candidates"


def _run(*arguments: str) -> tuple[int, str, str]:
    """Run the real program in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1", "COLUMNS": "120"}
    ran = run_text(arguments, environment)
    return ran.returncode, ran.stdout, ran.stderr


def _invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout


def _candidate(name: str) -> str:
    return str(EXAMPLES / name / "candidate.json")


def _one_object(text: str) -> dict:
    found, end = json.JSONDecoder().raw_decode(text)
    assert text[end:].strip() == ""
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("name", "code"), [("config", 0), ("unconditional-delete", 1), ("malformed-json", 2)])
def test_verify_exits_with_the_answer_and_prints_one_object(name, code):
    ended, out, _ = _run("verify", _candidate(name), "--json")
    assert ended == code
    assert _one_object(out)["admitted"] is (code == 0)


def test_a_missing_file_exits_2_with_the_reason_on_both_streams():
    ended, out, err = _run("verify", "nowhere.json", "--json")
    assert ended == 2
    assert "nowhere.json: found No such file or directory" in _one_object(out)["error"]
    assert "nowhere.json" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "FILE", "--language", "L9"),
        ("verify", "FILE", "--rule", "luck"),
        ("verify", "FILE", "--exact"),
        ("verify", "FILE", "--rule", "split-wald", "--dev", "Q3"),
        ("states", "FILE", "--split", "moon"),
        ("states", "FILE", "--split", "dev", "--n", "21"),
        ("prove", "FILE", "--language", "L3"),
        ("prove", "FILE", "--second-opinion", "a friend"),
        ("check-proof",),
        ("check-proof", "no-such-certificate.json"),
        ("verify", "FILE", "--rule", "split-wald", "--iid", "-1"),
    ],
)
def test_a_wrong_option_is_an_input_error(arguments):
    from takeback.errors import InputError

    arguments = [_candidate("config") if one == "FILE" else one for one in arguments]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, InputError)
    assert result.stdout == ""


def test_a_wrong_option_exits_2_with_what_was_expected():
    ended, _, err = _run("verify", _candidate("config"), "--rule", "luck")
    assert ended == 2
    assert "--rule: found luck, expected one of proof, split-wald" in err


def test_an_internal_fault_exits_2_not_1(monkeypatch, capsys):
    from takeback import cli
    from takeback.cli import program

    def explode(**_: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(program, "app", explode)
    monkeypatch.setattr(sys, "argv", ["takeback", "verify", "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert "ZeroDivisionError: boom" in _one_object(captured.out)["error"]


def test_verify_shows_verdict_state_address_and_next_step():
    code, out = _invoke("verify", _candidate("unconditional-delete"))
    assert code == 1
    assert "not admitted (refuted, rule proof, language L2)" in out
    assert '"verbose"' in out
    assert 'config["verbose"]: expected' in out
    assert "next: Capture these addresses" in out


def test_verify_shows_splits_and_bounds_of_a_sample():
    code, out = _invoke("verify", _candidate("config"), "--rule", "split-wald")
    assert code == 0
    assert "admitted (sampled, rule split-wald" in out
    assert out.count("1.0000") == 2


def test_seed_and_sizes_reach_the_sample():
    _, out = _invoke(
        "verify",
        _candidate("config"),
        "--rule",
        "pooled-wilson",
        "--dev",
        "Q2",
        "--iid",
        "30",
        "--ood",
        "31",
        "--seed",
        "7",
        "--json",
    )
    splits = _one_object(out)["splits"]
    assert [splits[name]["of"] for name in ("dev", "iid", "ood")] == [2, 30, 31]


def test_a_file_over_the_bound_is_rejected_as_a_limit(tmp_path):
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    code, out = _invoke("verify", str(deep), "--json")
    assert code == 2
    assert [reason["code"] for reason in _one_object(out)["reasons"]] == ["LIMIT"]


def test_prove_prints_grade_counterexample_and_classes():
    code, out = _invoke("prove", _candidate("config"), "--json")
    found = _one_object(out)
    assert (code, found["grade"], found["counterexample"]) == (0, "proved", None)
    assert found["classes"] > 1
    code, out = _invoke("prove", _candidate("passes-every-sample"), "--json")
    assert (code, _one_object(out)["grade"]) == (1, "refuted")


def test_check_proof_accepts_a_certificate_only_for_its_candidate(tmp_path):
    certificate = tmp_path / "certificate.json"
    code, out = _invoke("prove", _candidate("config"), "--certificate", str(certificate), "--json")
    assert (code, _one_object(out)["certificate"]) == (0, str(certificate))
    code, out = _invoke("check-proof", str(certificate), "--json")
    found = _one_object(out)
    assert (code, found["accepted"]) == (0, True)
    assert found["classes"] > 1
    assert _invoke("check-proof", str(certificate), "--candidate", _candidate("config"))[0] == 0
    code, out = _invoke("check-proof", str(certificate), "--candidate", _candidate("files"), "--json")
    assert (code, _one_object(out)["reason"]) == (1, "changed candidate")
    certificate.write_text(certificate.read_text().replace('"stops":null', '"stops":0', 1))
    code, out = _invoke("check-proof", str(certificate))
    assert code == 1
    assert out.startswith("rejected: wrong digest")


def test_a_refuted_candidate_gets_no_certificate_file(tmp_path):
    certificate = tmp_path / "certificate.json"
    code, out = _invoke("prove", _candidate("passes-every-sample"), "--certificate", str(certificate))
    assert code == 1
    assert "only a proof has one" in out
    assert not certificate.exists()
    code, out = _invoke("check-proof", "--candidate", _candidate("passes-every-sample"), "--json")
    assert (code, _one_object(out)["reason"]) == (1, "not proved")


def test_a_second_opinion_is_shown_beside_the_first():
    code, out = _invoke("prove", _candidate("config"), "--second-opinion", "z3", "--json")
    assert (code, _one_object(out)["second_opinion"]["answer"]) == (0, "holds")
    code, out = _invoke("prove", _candidate("passes-every-sample"), "--second-opinion", "z3")
    assert code == 1
    assert "z3: refuted by a state" in out


@pytest.mark.parametrize(
    "name", ["missing-capture", "unconditional-delete", "socket-left-open", "wrong-order-across-surfaces"]
)
def test_the_oracle_repairs_a_broken_example(name, tmp_path):
    code, out = _invoke("oracle", _candidate(name), "--language", "L1")
    assert code == 0
    repaired = tmp_path / "repaired.json"
    repaired.write_text(out)
    assert _one_object(out)["mutation"] == json.loads(Path(_candidate(name)).read_text())["mutation"]
    assert _invoke("verify", str(repaired))[0] == 0


def test_the_oracle_says_no_where_the_language_has_no_recovery():
    code, out = _invoke("oracle", _candidate("files"), "--language", "L0", "--json")
    assert code == 1
    found = _one_object(out)
    assert found["candidate"] is None
    assert "belongs to L1" in found["reasons"][0]


def test_schema_prints_a_schema_with_and_without_the_mutation():
    _, out = _invoke("schema", "--language", "L0")
    assert "mutation" in _one_object(out)["properties"]
    _, out = _invoke("schema", "--language", "L0", "--repair", "--json")
    assert "mutation" not in _one_object(out)["properties"]


EDIT = {
    "mutation": [{"op_type": "edit_prompt", "target": "system", "value": {"old": "", "new": "Answer briefly.\n"}}],
    "witness": [{"op_type": "capture_prompt", "target": "system", "witness_key": "w0"}],
    "recovery": [{"op_type": "restore_prompt", "target": "system", "witness_key": "w0"}],
}


@pytest.mark.parametrize("command", ["verify", "prove", "oracle", "repair"])
def test_the_widest_language_is_the_default(tmp_path, command):
    file = tmp_path / "edit.json"
    file.write_text(json.dumps(EDIT))
    assert _invoke(command, str(file))[0] == 0
    assert _invoke(command, str(file), "--language", "L2")[0] == 0
    assert _invoke(command, str(file), "--language", "L1")[0] == 1


def test_the_schema_has_every_operation_of_the_named_language():
    names = {level: _invoke("schema", *level)[1] for level in ((), ("--language", "L1"), ("--language", "L2"))}
    assert names[()] == names["--language", "L2"]
    assert '"edit_prompt"' in names[()]
    assert '"edit_prompt"' not in names["--language", "L1"]


def test_states_shows_the_states_of_a_split_and_their_digests():
    code, out = _invoke("states", _candidate("config"), "--split", "ood", "--n", "3", "--json")
    found = _one_object(out)
    assert code == 0
    assert len(found["states"]) == 3
    from takeback.state import State

    for shown in found["states"]:
        assert State.read(shown["state"]).digest() == shown["digest"]
    _, text = _invoke("states", _candidate("config"), "--split", "ood", "--n", "3")
    assert all(shown["digest"][:12] in text for shown in found["states"])


def test_a_command_without_arguments_shows_its_help_and_an_example():
    for name in ("verify", "prove", "oracle", "schema", "states"):
        code, out = _invoke(name, "--help")
        assert code == 0
        assert "Example" in out


@pytest.mark.parametrize(
    "arguments", [["verify", "--json"], ["verify", "F", "--nonsense", "--json"], ["lab", "bogus", "--json"]]
)
def test_a_usage_error_with_json_is_one_object_with_the_error(monkeypatch, capsys, arguments):
    from takeback import cli

    monkeypatch.setattr(sys, "argv", ["takeback", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert _one_object(capsys.readouterr().out)["error"]


def test_a_path_that_is_no_regular_file_is_refused_unread(tmp_path):
    import os

    from takeback.errors import InputError
    from takeback.language import load_json

    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(InputError, match="no regular file"):
            load_json(path)


def test_a_long_residual_is_shown_as_a_diff(tmp_path):
    lines = "".join(f"line {number}\n" for number in range(1, 41))
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"prompts": {"p": lines}}))
    wrong = tmp_path / "wrong.json"
    restored = lines.replace("line 33\n", "another\n")
    mutation = [{"op_type": "set_prompt", "target": "p", "value": restored}]
    wrong.write_text(json.dumps({"mutation": mutation, "witness": [], "recovery": []}))
    code, out = _invoke("verify", str(wrong), "--exact", "--state", str(state))
    assert code == 1
    assert "    -line 33\n    +another\n" in out
    assert "    @@ -30,7 +30,7 @@" in out


UNDECIDED = {
    "mutation": [
        {"op_type": "set_prompt", "target": "p", "value": "ab"},
        {"op_type": "edit_prompt", "target": "p", "value": {"old": "a", "new": "c"}},
    ],
    "witness": [{"op_type": "capture_prompt", "target": "p", "witness_key": "w"}],
    "recovery": [
        {"op_type": "edit_prompt", "target": "p", "value": {"old": "c", "new": "a"}},
        {"op_type": "restore_prompt", "target": "p", "witness_key": "w"},
    ],
}


def test_an_undecided_candidate_is_rejected_with_advice_to_capture(tmp_path):
    file = tmp_path / "candidate.json"
    file.write_text(json.dumps(UNDECIDED))
    code, text = _invoke("verify", str(file))
    assert code == 1
    assert "not admitted (declared" in text
    assert "capture it before the change and restore it" in text
    assert "next: Capture what is edited before the change and restore it from that" in text
    code, text = _invoke("verify", str(file), "--json")
    assert code == 1
    assert [reason["code"] for reason in _one_object(text)["reasons"]] == ["UNDECIDED"]


def test_editing_back_is_refuted_by_a_text_where_the_edit_succeeds():
    code, text = _invoke("verify", _candidate("edit-back"))
    assert code == 1
    assert "the change succeeds there, and no part of it can be left out" in text
    assert '"system": "Ask first.Act first."' in text or '"system": "Act first.Ask first."' in text


def test_every_reason_against_admission_has_a_next_step():
    assert set(_NEXT) == set(Code)
