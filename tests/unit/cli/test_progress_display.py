"""The sign of life: shown only while nothing else is, and only where a person looks."""

from __future__ import annotations

import threading
from contextvars import copy_context

import pytest
from tests.support.terminal import Terminal, converse, streams

from takeback.cli import output, pulse
from takeback.cli.pulse import CLEAR, Pulse
from takeback.progress import listener

PATIENCE = 240.0


class Written:
    """What is put on a terminal, and a way to wait for it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.came = threading.Event()

    def __call__(self, text: str) -> None:
        self.texts.append(text)
        self.came.set()


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(pulse, "AFTER", 0.0)
    monkeypatch.setattr(pulse, "EVERY", 0.01)


def test_long_work_shows_its_activity_and_clears_it(at_once):
    written, shown = Written(), Pulse()
    shown.begin("takeback doctor", written)
    shown.set_activity("chain done")
    assert written.came.wait(PATIENCE)
    shown.end()
    assert written.texts[0].startswith(f"{CLEAR}takeback doctor:")
    assert written.texts[0].endswith(" s")
    assert written.texts[-1] == CLEAR


def test_work_that_is_counted_has_a_bar(at_once):
    written, shown = Written(), Pulse()
    shown.begin("takeback restore", written)
    shown.counting("files written", 1500, 6000)
    written.came.clear()
    assert written.came.wait(PATIENCE)
    shown.end()
    assert f"{CLEAR}takeback restore: [#####...............] 1,500/6,000 files written, 0 s" in written.texts


def test_a_command_on_a_terminal_listens_and_one_in_a_pipe_does_not(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("TAKEBACK_PROGRESS", raising=False)
    for terminal, as_json in ((True, False), (True, True), (False, False)):
        with streams(terminal=terminal):
            output.begin(as_json=as_json)
            heard = copy_context()
            heard.run(output.count_seconds, "restore")
            output.pulse.end()
            assert (heard.get(listener) is not None) == (terminal and not as_json)


def test_short_work_shows_nothing():
    written, shown = Written(), Pulse()
    shown.begin("takeback log", written)
    shown.end()
    assert written.texts == []


def test_the_pulse_ends_when_the_answer_starts(at_once, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("TAKEBACK_PROGRESS", raising=False)
    output.begin()
    with streams(terminal=True) as (out, err):
        output.count_seconds("log")
        for _ in range(2000):
            if err.getvalue():
                break
            threading.Event().wait(0.01)
        output.out.print("the answer")
        told = err.getvalue()
        assert "takeback log:" in told
        assert told.endswith(CLEAR)
        threading.Event().wait(0.05)
        assert err.getvalue() == told
        assert out.getvalue() == "the answer\n"


@pytest.mark.parametrize(("terminal", "term"), [(False, "xterm"), (True, "dumb")])
def test_nothing_is_shown_in_a_pipe_or_on_a_simple_terminal(at_once, monkeypatch, terminal, term):
    monkeypatch.setenv("TERM", term)
    with streams(terminal=terminal) as (_, err):
        assert isinstance(err, Terminal) == terminal
        output.count_seconds("log")
        threading.Event().wait(0.05)
        output.pulse.end()
        assert err.getvalue() == ""


def test_the_bar_of_a_long_run_is_on_a_terminal_only_and_never_with_json(tmp_path):
    words = ("torture", "--kills", "1")
    wanted = {"TAKEBACK_PROGRESS": "1"}
    assert "killing" in converse(words, [], wanted).out
    assert "killing" not in converse((*words, "--json"), [], wanted).out
    assert "killing" not in converse(words, [], {"TAKEBACK_PROGRESS": "0"}).out


def test_counting_stops_when_a_command_ends(monkeypatch):
    monkeypatch.setattr(output, "can_show_progress", lambda: True)
    output.begin()
    output.count_seconds("doctor")
    assert listener.get() is not None
    assert output.end(0, None, as_json=False) == 0
    assert listener.get() is None
