"""Whatever stands in values, names, notes, paths and errors, nothing printed is obeyed by a terminal or hidden."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.changes import candidate
from tests.support.running import op
from tests.support.terminal import in_process, raw_characters, streams

from takeback import init_workspace
from takeback.cli.changes import show_changes
from takeback.cli.line_breaks import cut_text, measure_cells
from takeback.cli.outcomes import show_outcome
from takeback.cli.output import err, out
from takeback.errors import InputError
from takeback.harness import RefusalReason, Refused
from takeback.undo import SlotChange

EVIL = "[/zzz][red]\x1b[31m\x9b2J\u202e\u2066\x07\x7f\r\u200b\U000e0041 [link=x]"
TEXT = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from([EVIL, f"a\n{EVIL}\nb\n"])
ANY_TEXT = st.text(st.characters(codec=None), max_size=40) | st.just(f"{EVIL}\udcff")
MODES = pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(max_examples=60, deadline=None)


def demand_plain(*printed: str) -> None:
    for text in printed:
        assert raw_characters(text) == set()


@MODES
@FEW
@given(TEXT, TEXT, TEXT)
@example(EVIL, EVIL, f"x\n{EVIL}\n")
def test_every_everyday_command_prints_plain_text(terminal, note, value, drift):
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "agent"
        init_workspace(root)
        change = Path(place) / "change.json"
        ops = [op("set_prompt", "p", value=value), op("set_config", "k", value={"x": value, "list": [value, 1]})]
        change.write_text(json.dumps(candidate(*ops).to_json()))
        at = ("-C", root)
        printed = [*in_process("apply", change, "-m", note, *at, terminal=terminal)]
        (root / "prompts/p.md").write_text(drift, encoding="utf-8")
        for line in (("status",), ("diff",), ("diff", "--stat"), ("undo", "HEAD"), ("adopt", "-m", note)):
            printed += in_process(*line, *at, terminal=terminal)
        for line in (("undo", "HEAD", "--plan"), ("undo", "HEAD"), ("redo", "--last"), ("diff", "#1", "HEAD")):
            printed += in_process(*line, *at, terminal=terminal)
        for line in (("log",), ("log", "-p"), ("log", note), ("log", "--format", "{note}|{what}"), ("show", "#3")):
            printed += in_process(*line, *at, terminal=terminal)
        for line in (("doctor",), ("undo", note), ("log", "--surface", note), ("log", "--format", f"{{{note}}}")):
            printed += in_process(*line, *at, terminal=terminal)
        demand_plain(*printed)
        for line in (("log", "-p"), ("show", "#3"), ("status",), ("undo", note), ("diff", "#1", "HEAD")):
            shown, _ = in_process(*line, *at, "--json", terminal=terminal)
            assert shown.isascii()
            assert isinstance(json.loads(shown), dict)


@MODES
@MANY
@given(ANY_TEXT, ANY_TEXT)
@example(EVIL, f"{EVIL}\udcff")
def test_lines_tables_and_errors_are_plain_whatever_they_hold(terminal, one, two):
    with streams(terminal=terminal) as (shown, told):
        out.print(one, (two, "bold red"), style="dim")
        out.table(("a", one), ((two, "1"), ("2", one)))
        err.print(str(InputError(one, found=two, expected=one, hint=two)))
        show_changes([SlotChange(("prompts", one), one, two), SlotChange(("config", one), {one: two}, [one])])
        show_outcome(Refused(RefusalReason.REAL, f"{one}{two}"), None)
    demand_plain(shown.getvalue(), told.getvalue())


@MANY
@given(ANY_TEXT, st.integers(1, 30))
def test_a_cut_text_is_no_wider_than_asked_and_the_whole_one_if_it_fits(text, width):
    assert measure_cells(cut_text(text, width)) <= max(width, 1)
    if measure_cells(text) <= width:
        assert cut_text(text, width) == text


@MODES
@MANY
@given(ANY_TEXT)
def test_a_candidate_of_any_text_is_answered_with_plain_text(terminal, text):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps({"mutation": [op("set_prompt", text, value=text)], text: text}))
        file.flush()
        demand_plain(*in_process("verify", file.name, terminal=terminal))
        shown, _ = in_process("verify", file.name, "--json", terminal=terminal)
        assert json.loads(shown)["admitted"] is False
