"""Exit codes mean what they say, whatever becomes of the output: full devices, closed pipes, narrow encodings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress

import pytest
from tests.support.changes import candidate, config, tool
from tests.support.terminal import environment, program, raw_characters, run, run_on_terminal, streams

from takeback.adapters import open_workspace
from takeback.cli import main
from takeback.cli.output import out
from takeback.journal.failpoint import arm_failpoints


@pytest.fixture
def workspace(tmp_path):
    assert run("init", tmp_path / "agent").code == 0
    return tmp_path / "agent"


@pytest.fixture
def change(tmp_path):
    def write(*ops, name="change.json", **parts):
        path = tmp_path / name
        path.write_text(json.dumps({**candidate(*ops).to_json(), **parts}))
        return path

    return write


def full():
    return os.open("/dev/full", os.O_WRONLY)


def entries(workspace):
    return [entry["kind"] for entry in json.loads(run("log", "-C", workspace, "--json").out)["entries"]]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_change_stays_done_if_the_output_device_is_full(workspace, change, options):
    ended = run("apply", change(config("a", 1)), "-C", workspace, *options, stdout=full())
    assert ended.code == 0
    assert "the change was made, but the output is incomplete" in ended.err
    assert entries(workspace) == ["apply", "genesis"]
    for line, kind in ((("undo", "HEAD"), "undo"), (("redo", "--last"), "redo")):
        assert run(*line, "-C", workspace, *options, stdout=full()).code == 0
        assert entries(workspace)[0] == kind


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_forget_stays_done_if_the_output_device_is_full(workspace, change, options):
    assert run("apply", change(config("a", "hunter2")), "-C", workspace).code == 0
    ended = run("forget", "HEAD", "--yes", "-C", workspace, *options, stdout=full())
    assert ended.code == 0
    assert "the change was made, but the output is incomplete" in ended.err
    assert "hunter2" not in run("show", "HEAD", "-C", workspace).out
    assert run("forget", "HEAD", "--yes", "-C", workspace, *options).code == 1


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_recovery_stays_done_if_the_output_device_is_full(workspace, options):
    def die(name):
        if name == "file.renamed":
            raise SystemExit

    with open_workspace(workspace, hold=False) as harness, arm_failpoints(die), suppress(SystemExit):
        harness.apply(candidate(config("a", 1)))
    ended = run("recover", "-C", workspace, *options, stdout=full())
    assert ended.code == 0
    assert "the change was made, but the output is incomplete" in ended.err
    assert entries(workspace) == ["apply", "genesis"]


def test_a_read_only_command_fails_if_it_cannot_print(workspace):
    for line in (("log", "-C", workspace), ("status", "-C", workspace, "--json"), ("--help",), ("--version",)):
        ended = run(*line, stdout=full())
        assert ended.code == 2
        assert "No space left on device" in ended.err
        assert "Traceback" not in ended.err


def test_unwritable_messages_change_nothing(workspace, change):
    words = [*program("apply", change(config("a", 1)), "-C", workspace, "--json")]
    ended = subprocess.run(words, env=environment(), stdout=subprocess.PIPE, stderr=full(), check=False, timeout=600)
    assert (ended.returncode, json.loads(ended.stdout)["result"]) == (0, "applied")
    assert run("verify", "nowhere.json", stdout=full()).code == 2


def test_a_closed_pipe_ends_quietly(workspace, change):
    read_end, write_end = os.pipe()
    os.close(read_end)
    ended = run("log", "-C", workspace, stdout=write_end)
    assert (ended.code, ended.err) == (0, "")
    ended = run("--help", stdout=write_end)
    assert (ended.code, ended.err) == (0, "")
    ended = run("apply", change(config("a", 1)), "-C", workspace, stdout=write_end)
    assert (ended.code, ended.err) == (0, "")
    os.close(write_end)
    assert entries(workspace) == ["apply", "genesis"]


def test_a_program_started_without_stdout_still_answers_by_its_exit_code(workspace):
    words = " ".join(map(str, program("status", "-C", workspace)))
    ended = subprocess.run(["sh", "-c", f"{words} >&-"], env=environment(), capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_encoding_that_cannot_hold_a_name_gets_escapes(workspace, change, encoding):
    note = "grün → 漢字"
    assert run("apply", change(config("a", "漢")), "-m", note, "-C", workspace, PYTHONIOENCODING=encoding).code == 0
    for line in (("log", "-p"), ("show", "HEAD"), ("log", "--json")):
        ended = subprocess.run(
            program(*line, "-C", workspace),
            env=environment(PYTHONIOENCODING=encoding),
            capture_output=True,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
        text = ended.stdout.decode(encoding)
        assert (note if encoding == "utf-8" and "--json" not in line else "\\u6f22") in text


def test_help_can_be_read_in_any_encoding():
    for line in (("--help",), ("undo", "--help"), ("lab", "stability", "--help")):
        ended = run(*line, PYTHONIOENCODING="ascii")
        assert (ended.code, ended.err) == (0, "")


def test_a_file_name_outside_utf8_is_shown_with_escapes(tmp_path):
    name = os.fsencode(tmp_path) + b"/no\xffwhere.json"
    ended = subprocess.run(
        [*program("verify"), name], env=environment(), capture_output=True, check=False, timeout=600
    )
    assert ended.returncode == 2
    assert b"no\\udcffwhere.json" in ended.stderr


def test_a_note_that_is_not_utf8_ends_in_a_clear_answer_and_no_half_change(workspace, change):
    words = [*program("apply", change(config("a", 1)), "-C", workspace), "-m", b"caf\xe9"]
    ended = subprocess.run(words, env=environment(), capture_output=True, check=False, timeout=600)
    assert b"Traceback" not in ended.stderr
    made = entries(workspace) == ["apply", "genesis"]
    assert ended.returncode == (0 if made else 2)
    assert run("status", "-C", workspace).code == 0


def test_a_key_that_looks_like_markup_is_printed(workspace, change):
    assert run("apply", change(config("[/zzz]a", 5)), "-C", workspace).code == 0
    assert run("apply", change(config("[/zzz]a", {})), "-C", workspace).code == 0
    ended = run("apply", change(config("[/zzz]a.b", 1), name="two.json"), "-C", workspace)
    assert ended.code == 0
    assert "can now be undone only together" in ended.out
    assert "[/zzz]a" in ended.out


def test_json_errors_are_one_ascii_object(workspace, change):
    for line in (
        ("show", "#99999999999999999999999"),
        ("log", "--nonsense"),
        ("undo", "\x1bevil"),
        ("apply", "no.json"),
    ):
        ended = run(*line, "-C", workspace, "--json")
        assert ended.code == 2
        assert ended.out.isascii()
        assert json.loads(ended.out)["error"]
        assert raw_characters(ended.err) == set()


def test_an_internal_fault_after_the_change_keeps_the_answer(workspace, change, monkeypatch):
    from takeback.cli import outcomes

    def explode(*_: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(outcomes, "weigh_entry", explode)
    monkeypatch.setattr(sys, "argv", ["takeback", "apply", str(change(tool("grep"))), "-C", str(workspace)])
    with pytest.raises(SystemExit) as ended, streams(terminal=False) as (_, told):
        main()
    assert ended.value.code == 0
    assert "the change was made, but the output is incomplete" in told.getvalue()
    assert entries(workspace) == ["apply", "genesis"]


def test_an_interrupt_states_that_the_harness_is_safe(monkeypatch, capsys):
    from takeback.cli import program

    def interrupted(**_: object) -> int:
        return 130

    monkeypatch.setattr(program, "app", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert "finishes or undoes" in capsys.readouterr().err


def test_styles_are_used_only_on_a_terminal_and_respect_no_color(monkeypatch):
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with streams(terminal=True) as (shown, _):
        out.print("red", style="bold red")
    assert shown.getvalue() == "\x1b[1;31mred\x1b[0m\n"
    with streams(terminal=False) as (shown, _):
        out.print("red", style="bold red")
    assert shown.getvalue() == "red\n"
    monkeypatch.setenv("NO_COLOR", "1")
    with streams(terminal=True) as (shown, _):
        out.print("red", style="bold red")
    assert shown.getvalue() == "red\n"


def test_long_output_on_a_terminal_goes_through_the_pager_and_short_does_not(workspace, change, tmp_path):
    lines = "".join(f"line {number}\n" for number in range(100))
    from tests.support.running import op

    assert run("apply", change(op("set_prompt", "p", value=lines)), "-C", workspace).code == 0
    seen = tmp_path / "seen"
    pager = {"TAKEBACK_PAGER": f"sh -c 'cat > {seen}'"}
    ended = run_on_terminal(("show", "HEAD", "-C", workspace), pager)
    assert ended.code == 0
    assert "line 99" not in ended.out
    assert "\x1b[32m+line 99" in seen.read_text()
    seen.unlink()
    assert "+ p: line 0" in run_on_terminal(("log", "-C", workspace), pager).out
    assert "line 99" in run_on_terminal(("show", "HEAD", "--no-pager", "-C", workspace), pager).out
    assert "line 99" in run_on_terminal(("show", "HEAD", "-C", workspace), {"TAKEBACK_PAGER": ""}).out
    assert "line 99" in run("show", "HEAD", "-C", workspace, **pager).out
    assert not seen.exists()


def test_a_pager_that_is_quit_early_is_no_fault(workspace, change):
    from tests.support.running import op

    lines = "".join(f"line {number}\n" for number in range(50_000))
    assert run("apply", change(op("set_prompt", "p", value=lines)), "-C", workspace).code == 0
    ended = run_on_terminal(("show", "HEAD", "-C", workspace), {"TAKEBACK_PAGER": "head -2"})
    assert ended.code == 0
    assert "Traceback" not in ended.out
    assert len(ended.out.splitlines()) == 2


def test_a_terminal_cuts_what_was_done_to_its_width_and_a_pipe_cuts_nothing(workspace, change):
    note = "a note [bold] that goes on and on and never fits into one line of eighty columns at all"
    assert run("apply", change(config("a", 1)), "-m", note, "-C", workspace).code == 0
    for columns in (100, 80):
        for line in run_on_terminal(("log", "-C", workspace), {"NO_COLOR": "1"}, columns).out.splitlines():
            assert len(line) <= columns
    assert note in run("log", "-C", workspace).out
