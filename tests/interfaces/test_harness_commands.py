"""The everyday commands: exit codes, one JSON object on stdout, names as in git, clear refusals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib

import psycopg
import pytest
from tests.support.changes import candidate, config, middleware, tool
from tests.support.running import op
from tests.support.terminal import COLOUR, in_process
from typer.testing import CliRunner

from takeback.cli import app, main
from takeback.errors import InputError


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def run_json(*arguments):
    code, text = run(*arguments, "--json")
    return code, json.loads(text)


@pytest.fixture
def workspace(tmp_path):
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"config": {"a": 5}, "middleware": [{"id": "auth", "handler": "h"}]}))
    assert run("init", tmp_path / "agent", "--state", state)[0] == 0
    return tmp_path / "agent"


@pytest.fixture
def change(tmp_path):
    def write(*ops, name="change.json", **parts):
        path = tmp_path / name
        path.write_text(json.dumps({**candidate(*ops).to_json(), **parts}))
        return path

    return write


def applied(workspace, path, *options):
    code, told = run_json("apply", path, "-C", workspace, *options)
    assert (code, told["result"]) == (0, "applied"), told
    return told["entry"]


def test_apply_log_show_diff_undo_redo_and_restore_work(workspace, change):
    one = applied(workspace, change(config("x.y", 1)), "-m", "first")
    two = applied(workspace, change(middleware("limit", index=0)), "-m", "second")
    code, told = run_json("log", "-C", workspace)
    assert code == 0
    assert [(e["kind"], e["status"], e["grade"], e["note"]) for e in told["entries"]] == [
        ("apply", "live", "proved", "second"),
        ("apply", "live", "proved", "first"),
        ("genesis", "done", None, ""),
    ]
    assert run_json("show", one[:7], "-C", workspace)[1]["candidate"]["mutation"][0]["target"] == "x.y"
    code, diff = run_json("diff", two[:6], "-C", workspace)
    assert (code, diff["changes"][0]["address"]) == (0, 'middleware["limit"]')
    code, plan = run_json("undo", one[:8], "--plan", "-C", workspace)
    assert (code, plan["result"]) == (0, "plan")
    code, done = run_json("undo", one[:8], "--token", plan["token"], "-C", workspace)
    assert (code, done["result"], done["off"]) == (0, "done", plan["off"])
    assert "x" not in (workspace / "config.toml").read_text()
    assert run_json("log", "-C", workspace)[1]["entries"][2]["status"] == "undone"
    assert run("redo", "--last", "-C", workspace)[0] == 0
    assert run_json("restore", "--to", one, "-C", workspace)[0] == 0
    assert "limit" not in (workspace / "middleware.toml").read_text()
    assert run("undo", "HEAD", "-C", workspace)[0] == 0
    assert "limit" in (workspace / "middleware.toml").read_text()
    assert run_json("doctor", "-C", workspace)[1]["good"] is True


def test_blocked_and_stale_undos_exit_1_and_cascade_includes_dependents(workspace, change):
    one = applied(workspace, change(config("a", {})))
    two = applied(workspace, change(config("a.b", 1)))
    code, told = run_json("undo", one, "-C", workspace)
    assert (code, told["result"]) == (1, "blocked")
    assert list(told["ids"].values()) == [two]
    assert "not a mapping" in run("undo", one, "-C", workspace)[1]
    assert run_json("undo", one, "--token", "stale", "--cascade", "-C", workspace)[1]["result"] == "stale"
    code, done = run_json("undo", one, "--cascade", "-C", workspace)
    assert (code, len(done["off"])) == (0, 2)
    assert "a = 5" in (workspace / "config.toml").read_text()


def test_a_rejected_change_exits_1_and_force_is_recorded(workspace, change):
    bad = change(tool("grep"), witness=[], recovery=[{"op_type": "unregister_tool", "target": "grep"}])
    code, told = run_json("apply", bad, "-C", workspace)
    assert (code, told["result"], told["why"]) == (1, "refused", "verdict")
    assert told["verdict"]["counterexample"]["state"]["tools"]
    code, text = run("apply", bad, "-C", workspace)
    assert (code, "not admitted" in text) == (1, True)
    assert not (workspace / "tools/grep.json").exists()
    code, told = run_json("apply", bad, "--force", "-C", workspace)
    assert (code, told["forced"]) == (0, True)
    code, text = run("log", "-C", workspace)
    assert "refuted, FORCED" in text


@pytest.mark.parametrize("columns", ["100", "80"])
def test_a_narrow_terminal_cuts_only_the_description(workspace, change, monkeypatch, columns):
    bad = change(config("a", 1), witness=[], recovery=[])
    note = "a note [bold] that goes on and on\nand never fits into one line of eighty columns"
    entry = run_json("apply", bad, "--force", "-m", note, "-C", workspace)[1]["entry"]
    monkeypatch.setenv("COLUMNS", columns)
    heading, line, beginning = in_process("log", "-C", workspace, terminal=True)[0].splitlines()
    heading, line, beginning = (COLOUR.sub("", text) for text in (heading, line, beginning))
    assert heading.split() == ["#", "when", "by", "evidence", "what"]
    cells = re.split(r"  +", line)
    assert (cells[0], cells[-2]) == ("2", "FORCED")
    assert (cells[-1][-1], cells[-1][:6], "· a" in cells[-1]) == ("…", "+ a: 1", True)
    assert entry[:10] in run("log", "-C", workspace)[1]
    assert len(line) <= int(columns)
    assert beginning.endswith("the beginning")
    assert " ".join(note.split()) in run("log", "-C", workspace)[1]


def test_a_very_narrow_terminal_breaks_the_headings_between_words(workspace, change, monkeypatch):
    applied(workspace, change(config("a", 1)))
    monkeypatch.setenv("COLUMNS", "20")
    lines = COLOUR.sub("", in_process("log", "-C", workspace, terminal=True)[0]).splitlines()
    assert [line.split() for line in lines[:4]] == [["#", "when"], ["by"], ["evidence"], ["what"]]
    assert all(len(line) <= 80 for line in lines)


def test_ties_are_reported_and_can_be_refused(workspace, change):
    one = applied(workspace, change(config("a", {})))
    code, told = run_json("apply", change(config("a.b", 1)), "--no-ties", "-C", workspace)
    assert (code, told["why"]) == (1, "tied")
    code, text = run("apply", change(config("a.b", 1)), "-C", workspace)
    assert (code, f"{one[:10]} (#2) can now be undone only together" in text) == (0, True)


def test_drift_is_shown_refused_and_adopted(workspace, change):
    (workspace / "config.toml").write_text("a = 6\n")
    code, told = run_json("status", "-C", workspace)
    assert (code, told["clean"], told["drift"][0]["address"]) == (1, False, 'config["a"]')
    code, text = run("apply", change(config("a", 1)), "-C", workspace)
    assert (code, "takeback adopt" in text) == (1, True)
    code, told = run_json("apply", change(config("a", 1)), "-C", workspace, "--plan")
    assert (code, told["result"], told["drift"]["in_the_way"][0]["address"]) == (0, "plan", 'config["a"]')
    code, text = run("apply", change(config("a", 1)), "-C", workspace, "--plan")
    assert "it would be refused now" in text
    assert run("diff", "-C", workspace)[0] == 0
    assert run_json("adopt", "-C", workspace, "-m", "by hand")[1]["changes"][0]["after"] == 6
    assert run("status", "-C", workspace)[0] == 0
    assert run("diff", "-C", workspace) == (0, "")
    assert "nothing to adopt" in run("adopt", "-C", workspace)[1]


def test_drift_elsewhere_is_only_a_note_in_a_plan(workspace, change):
    entry = applied(workspace, change(config("b", 1)))
    prompt_file = workspace / "prompts/by_hand.md"
    prompt_file.parent.mkdir(exist_ok=True)
    prompt_file.write_text("by hand\n")
    code, text = run("undo", entry, "--plan", "-C", workspace)
    assert (code, 'note: prompts["by_hand"] was changed outside Takeback and stays so' in text) == (0, True)
    code, told = run_json("undo", entry, "--plan", "-C", workspace)
    assert [one["address"] for one in told["drift"]["elsewhere"]] == ['prompts["by_hand"]']
    assert run("undo", entry, "--token", told["token"], "-C", workspace)[0] == 0
    assert run_json("set", "config", "c", "1", "-C", workspace)[0] == 0
    assert prompt_file.read_text() == "by hand\n"
    assert [one["address"] for one in run_json("status", "-C", workspace)[1]["drift"]] == ['prompts["by_hand"]']


def test_evolve_repairs_with_the_oracle_and_applies(workspace, change, tmp_path):
    plain = tmp_path / "mutation.json"
    plain.write_text(json.dumps({"mutation": [tool("grep")]}))
    code, told = run_json("evolve", workspace, "--task", plain, "--synthesizer", "oracle")
    assert (code, told["applied"], told["repair"]["source"]) == (0, True, "oracle")
    assert (workspace / "tools/grep.json").exists()
    good = change(config("x", 1))
    code, told = run_json("evolve", workspace, "--task", good, "--synthesizer", "oracle")
    assert (code, told["repair"]) == (0, None)
    assert run("evolve", workspace, "--task", "fresh_cfg_001", "--synthesizer", "oracle")[0] in {0, 1}
    assert run("undo", "HEAD", "-C", workspace)[0] == 0


def test_recover_finishes_the_change_of_a_killed_process(workspace, change):
    path = change(config("x", 1), tool("grep"))
    script = (
        "import os, signal, sys\n"
        "from takeback.journal.failpoint import arm_failpoints\n"
        "from takeback.cli import app\n"
        "def probe(name):\n"
        "    if name == 'file.renamed':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "with arm_failpoints(probe):\n"
        "    app(sys.argv[1:])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, "apply", str(path), "-C", str(workspace)]
    killed = subprocess.run(command, capture_output=True, timeout=600, env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    code, told = run_json("recover", "-C", workspace)
    assert (code, told["kind"]) == (0, "apply")
    assert run_json("recover", "-C", workspace)[1]["entry"] is None
    assert run_json("doctor", "-C", workspace)[1]["good"] is True
    assert (workspace / "tools/grep.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("undo", "zzzz"), "names no entry"),
        (("undo", "abcdef"), "no entry's id begins with"),
        (("undo", "HEAD~9"), "expected HEAD to HEAD~0"),
        (("undo", "HEAD", "--by", "me"), "found entries and a filter, expected one of them"),
        (("undo", "--by", "nobody"), "expected at least one\n  'takeback log -C "),
        (("undo", "@{soon}"), "ISO 8601"),
        (("undo", "#1"), "beginning of the journal"),
        (("redo",), "no active undo"),
        (("show", "#99"), "#99"),
        (("show", "#99999999999999999999999"), "expected the number of an entry"),
        (("log", "--grade", "good"), "one of proved"),
        (("log", "--surface", "moods"), "one of config"),
        (("log", "--since", "soon"), "90m, 2h, 3d"),
        (("log", "--format", "{nonsense}"), "{addresses}"),
        (("apply", "nowhere.json"), "nowhere.json"),
    ],
)
def test_bad_input_exits_2_with_what_was_expected(workspace, arguments, words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["takeback", *arguments, "-C", str(workspace)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


def test_the_doctor_exits_1_for_a_tampered_journal(workspace, change):
    import sqlite3

    applied(workspace, change(config("x", 1)))
    connection = sqlite3.connect(workspace / ".takeback/journal.db")
    connection.execute("DROP TRIGGER records_no_update")
    connection.execute("UPDATE records SET payload = replace(payload, 'config', 'konfig') WHERE seq = 3")
    connection.commit()
    connection.close()
    code, told = run_json("doctor", "-C", workspace)
    assert (code, told["good"]) == (1, False)
    assert any("record 3" in finding["detail"] for finding in told["findings"])
    assert "BAD" in run("doctor", "-C", workspace)[1]


def test_the_demo_tells_the_whole_story():
    code, told = run_json("demo")
    assert (code, told["good"], told["admitted"], told["byte_identical"]) == (0, True, 6, True)
    assert all(told["kept"].values())


def test_undo_laws_and_torture_report_no_violation(postgres_url):
    code, told = run_json("lab", "undo-laws", "--histories", "10")
    assert (code, told["violations"], told["histories"]) == (0, 0, 10)
    code, told = run_json("torture", "--kills", "6")
    assert (code in {0, 1}, told["violations"]) == (True, 0)
    code, told = run_json("torture", "--kills", "6", "--journal", postgres_url)
    assert (told["violations"], told["kills"] >= 6) == (0, True), told["examples"]
    with psycopg.connect(postgres_url) as connection:
        left = connection.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'takeback_scratch%'"
        ).fetchone()
    assert left == (0,)


def test_forget_needs_confirmation_and_the_rest_of_an_undo_can_be_salvaged(workspace, change):
    one = applied(workspace, change(config("a", 1)))
    two = applied(workspace, change(config("a", 2), config("b", 2), config("c.d", 2)))
    with pytest.raises(InputError, match="cannot be brought back"):
        run("forget", one, "-C", workspace)
    assert run_json("forget", one, "--yes", "-C", workspace)[1]["forgotten"] == [one]
    code, told = run_json("undo", two, "-C", workspace)
    assert (code, told["result"], told["slots"]) == (1, "witness gone", ['config["a"]'])
    assert [left["address"] for left in told["left"]] == ['config["b"]', 'config["c.d"]', 'config["c"]']
    assert "what --salvage could still restore" in run("undo", two, "-C", workspace)[1]
    code, told = run_json("undo", two, "--salvage", "-C", workspace)
    assert (code, told["result"]) == (0, "salvaged")
    assert run_json("status", "-C", workspace)[1]["clean"] is True
    assert tomllib.loads((workspace / "config.toml").read_text()) == {"a": 2}
    assert run_json("doctor", "-C", workspace)[1]["good"] is True


def test_the_doctor_exits_2_outside_a_workspace(tmp_path):
    with pytest.raises(InputError, match="no such directory, expected a directory"):
        run("doctor", "-C", tmp_path / "nowhere")


def test_the_doctor_does_not_refer_to_itself(workspace):
    (workspace / ".takeback/journal.db").write_bytes(b"no journal at all" * 99)
    code, text = run("doctor", "-C", workspace)
    text = text.replace("takeback doctor --mend", "")  # that is another thing to do
    assert (code, "takeback doctor" in text, "damaged" in text) == (1, False, True)


def test_a_negative_number_of_entries_is_refused(workspace):
    assert run("log", "-n", "-5", "-C", workspace)[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("undo", "HEAD", "--plan", "--token", "x"),
        ("undo", "HEAD", "--salvage", "--token", "x"),
        ("undo", "HEAD", "--salvage", "--cascade"),
        ("redo", "--plan", "--token", "x"),
        ("restore", "--to", "HEAD", "--plan", "--token", "x"),
    ],
)
def test_contradictory_options_are_refused(workspace, arguments):
    with pytest.raises(InputError, match="expected one of them"):
        run(*arguments, "-C", workspace)


def test_json_names_entries_by_id_and_omits_internal_places(workspace, change):
    entry = applied(workspace, change(middleware("limit", index=0)))
    added = run_json("diff", entry, "-C", workspace)[1]["changes"][0]
    assert (added["before"], added["after"]["id"], "place" in json.dumps(added)) == (None, "limit", False)
    told = run_json("undo", entry, "--plan", "-C", workspace)[1]
    assert told["ids"] == {str(told["off"][0]): entry}
    done = run_json("undo", entry, "-C", workspace)[1]
    assert (done["ids"], done["changes"][0]["before"]["id"]) == (told["ids"], "limit")


def test_a_moved_element_is_shown_as_moved(workspace, change):
    applied(workspace, change(middleware("limit", index=0)))
    path = workspace / "middleware.toml"
    records = tomllib.loads(path.read_text())["middleware"]
    path.write_text("".join(f'[[middleware]]\nid = "{r["id"]}"\nhandler = "{r["handler"]}"\n' for r in records[::-1]))
    moved = [change for change in run_json("status", "-C", workspace)[1]["drift"] if change.get("moved")]
    assert len(moved) == 1


LINES = "".join(f"line {number}\n" for number in range(1, 41))


def test_a_change_inside_a_text_is_shown_as_a_line_diff_everywhere(workspace, change):
    applied(workspace, change(op("set_prompt", "p", value=LINES)))
    entry = applied(workspace, change(op("set_prompt", "p", value=LINES.replace("line 33\n", "changed\n"))))
    hunk = ["@@ -30,7 +30,7 @@", " line 30", " line 31", " line 32", "-line 33", "+changed", " line 34"]
    for line in (("diff", entry), ("show", entry), ("log", "-p", "-n", "1"), ("diff", "#2", entry)):
        shown = run(*line, "-C", workspace)[1].splitlines()
        at = shown.index(hunk[0])
        assert shown[at : at + 7] == hunk
    plan = run("undo", entry, "--plan", "-C", workspace)[1].splitlines()
    assert "-changed" in plan
    assert "+line 33" in plan
    (workspace / "prompts/p.md").write_text(LINES.replace("line 20\n", "by hand\n"))
    for line in ("status", "diff", "adopt"):
        assert "+by hand" in run(line, "-C", workspace)[1].splitlines()


def test_stat_counts_lines_and_two_entries_can_be_compared_either_way(workspace, change):
    one = applied(workspace, change(op("set_prompt", "p", value="a\nb\nc\n"), config("x.y", 1)))
    two = applied(workspace, change(op("set_prompt", "p", value="a\nB\nc\nd\n")))
    applied(workspace, change(config("x", 2)))
    text = run("diff", one, "HEAD", "--stat", "-C", workspace)[1].splitlines()
    assert [line.split("|")[0].strip() for line in text[:-1]] == ['config["x"]', 'prompts["p"]']
    assert text[-1] == " 2 addresses changed, 3 lines added, 2 removed"
    forth = run_json("diff", one, two, "-C", workspace)[1]
    back = run_json("diff", two, one, "-C", workspace)[1]
    assert forth["stat"] == [{"address": 'prompts["p"]', "added": 2, "removed": 1}]
    assert (forth["changes"][0]["before"], forth["changes"][0]["after"]) == ("a\nb\nc\n", "a\nB\nc\nd\n")
    assert (back["changes"][0]["before"], back["changes"][0]["after"]) == ("a\nB\nc\nd\n", "a\nb\nc\n")
    assert run_json("diff", one, one, "-C", workspace)[1]["changes"] == []
    run("undo", one, "-C", workspace)
    told = run_json("diff", "#1", "HEAD", "-C", workspace)[1]
    assert [(c["address"], c["after"]) for c in told["changes"]] == [
        ('config["x"]', 2),
        ('prompts["p"]', "a\nB\nc\nd\n"),
    ]


def test_the_log_names_what_an_undo_reversed_and_filters_by_it(workspace, change):
    one = applied(workspace, change(config("x", 1)), "-m", "a longer timeout")
    applied(workspace, change(op("set_prompt", "p", value="text")), "--by", "planner")
    run("undo", one, "-C", workspace)
    run("redo", "--last", "-C", workspace)
    lines = run("log", "-C", workspace)[1].splitlines()
    assert lines[1].endswith("brought back #2 (a longer timeout)")
    assert lines[2].endswith("took back #2 (a longer timeout)")
    assert lines[3].endswith('set prompts["p"] (by planner)')
    assert lines[4].endswith('a longer timeout: set config["x"] to 1')

    def kinds(*options):
        return [entry["kind"] for entry in run_json("log", "-C", workspace, *options)[1]["entries"]]

    assert kinds("--surface", "prompts") == ["apply"]
    assert kinds("LONGER") == ["redo", "undo", "apply"]
    assert kinds("--grade", "proved") == ["apply", "apply"]
    assert kinds("--grade", "forced") == kinds("--by", "nobody") == []
    assert kinds("--by", "planner") == ["apply"]
    assert kinds("--since", "1h") == kinds()
    assert kinds("--since", "2999-01-01") == []
    assert kinds("-n", "2") == ["redo", "undo"]
    shown = run("log", "--format", "{number} {kind}: {what}", "-n", "1", "-C", workspace)[1]
    assert shown == "5 redo: brought back #2 (a longer timeout)\n"
    patched = run_json("log", "-p", "-n", "3", "-C", workspace)[1]["entries"]
    assert patched[2]["changes"][0]["after"] == "text"


def test_a_terminal_shows_the_last_entries_and_mentions_more(workspace, change):
    for number in range(31):
        applied(workspace, change(config("x", number)))
    shown, told = in_process("log", "--no-pager", "-C", workspace, terminal=True)
    assert len(shown.splitlines()) == 1 + 30
    assert "takeback log -n 0" in told
    assert len(in_process("log", "-n", "0", "--no-pager", "-C", workspace, terminal=True)[0].splitlines()) == 1 + 32
    assert len(run("log", "-C", workspace)[1].splitlines()) == 1 + 32


def test_torture_with_too_few_kills_explains_its_exit_1():
    result = CliRunner().invoke(app, ["torture", "--kills", "1"])
    assert result.exit_code == 1
    assert "not enough kills" in result.stderr
