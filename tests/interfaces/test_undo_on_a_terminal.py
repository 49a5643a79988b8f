"""`takeback undo` without a name, on a real terminal: the list, the preview beside it, the plain questions."""

from __future__ import annotations

import json
import signal

import pytest
from tests.support.terminal import Done, converse
from tests.support.terminal import run as run_alone
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.cli import app

DOWN, UP = "\x1b[B", "\x1b[A"
PLAIN = {"NO_COLOR": "1"}


def run(*arguments) -> Done:
    """Run a command in this process, which is faster."""
    ended = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    return Done(ended.exit_code, ended.stdout, "")


@pytest.fixture
def agent(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"config": {"allow": ["a"]}, "prompts": {"p": "one\n"}}))
    place = tmp_path / "agent"
    lines = [
        ("init", place, "--state", tmp_path / "state.json"),
        ("set", "prompt", "q", "base\n", "-C", place),
        ("edit", "prompt", "q", "--append", "more", "-C", place, "--by", "bot"),
        ("edit", "prompt", "p", "--append", "two", "-C", place),
        ("set", "config", "allow+", "b", "-C", place),
    ]
    for line in lines:
        assert run(*line).code == 0
    return place


def state_of(agent):
    with open_workspace(agent, hold=False) as harness:
        return harness.state.write()


def undo(agent, *steps: tuple[str, str | signal.Signals], **variables: str) -> Done:
    return converse(("undo", "-C", agent), steps, {**PLAIN, **variables})


def pages(done: Done) -> list[str]:
    return [page.replace("\x1b[K", "") for page in done.out.split("\x1b[H")[1:]]


def test_enter_undoes_the_newest_change_and_goes_further_back_when_repeated(agent):
    assert undo(agent, ("q leave", "\r")).code == 0
    assert state_of(agent)["config"]["allow"] == ["a"]
    done = undo(agent, ("q leave", "\n"))
    assert "> [ ] #4 + two" in pages(done)[0]
    assert "[ ] #6 took back #5" in pages(done)[0], "an undo can be taken back from the same list"
    assert state_of(agent)["prompts"]["p"] == "one\n"
    assert undo(agent, ("q leave", "\n")).code == 0
    assert state_of(agent)["prompts"]["q"] == "base\n"


def test_the_preview_follows_the_cursor_and_shows_file_changes(agent):
    done = undo(agent, ("q leave", "j"), ("+++ prompts/p.md", "q"))
    first, second = pages(done)[:2]
    assert "--- config.toml" in first
    assert '│ -  "b"' in first or '-allow = ["a", "b"]' in first
    assert "│ -two" in second
    assert done.code == 1
    assert "nothing was undone" in done.out
    assert len(state_of(agent)["config"]["allow"]) == 2


def test_several_are_selected_with_space_and_taken_back_as_one_entry(agent):
    done = undo(agent, ("q leave", " "), ("1 selected", DOWN), ("> [ ] #4", " "), ("2 selected", "\r"))
    assert done.code == 0
    assert state_of(agent) == {"config": {"allow": ["a"]}, "prompts": {"p": "one\n", "q": "base\nmore\n"}}
    assert json.loads(run("log", "-n", "1", "--json", "-C", agent).out)["entries"][0]["off"] == [4, 5]


def test_blocking_entries_are_named_and_c_includes_them(agent):
    steps = [("q leave", "G"), ("blocked by later entries", "\r"), ("blocked: press c", "c"), ("q leave", "\r")]
    done = undo(agent, *steps)
    assert done.code == 0
    assert "q" not in state_of(agent)["prompts"]
    assert any("(#3)" in page and "c includes" in page for page in pages(done))


def test_the_preview_shows_values_kept_for_a_later_entry(agent):
    run("set", "prompt", "q", "anew\n", "-C", agent)
    done = undo(agent, ("q leave", DOWN * 3), ("nothing visible would change", "q"))
    assert "#6" in pages(done)[-1]


def test_the_preview_refuses_drift_with_advice(agent):
    settings = agent / "config.toml"
    by_hand = settings.read_text().replace('"b"', '"by hand"')
    settings.write_text(by_hand)
    done = undo(agent, ("takeback adopt", "\r"), ("cannot be done now", "q"))
    assert done.code == 1
    assert settings.read_text() == by_hand


def test_drift_elsewhere_is_only_a_note_in_the_preview(agent):
    (agent / "prompts/p.md").write_text("by hand\n")
    done = undo(agent, ("note: prompts", "\r"), ("done: took back", ""))
    assert done.code == 0
    assert (agent / "prompts/p.md").read_text() == "by hand\n"


def test_pages_fit_the_terminal_and_the_screen_is_restored(agent):
    for columns in (80, 50):
        done = converse(("undo", "-C", agent), [("\x1b[J", "j"), ("> [ ] #4", "q")], PLAIN, columns=columns)
        lines = [line for page in pages(done) for line in page.split("\x1b[J")[0].split("\n")]
        assert max(map(len, lines)) <= columns
        assert done.out.index("\x1b[?1049h") < done.out.index("\x1b[?1049l")
        assert "\x1b[?25h" in done.out


def test_colours_are_used_unless_disabled(agent):
    assert "\x1b[31m" in converse(("undo", "-C", agent), [("leave", "q")], {}).out
    assert "\x1b[31m" not in undo(agent, ("q leave", "q")).out


def test_ctrl_c_in_the_list_changes_nothing_and_restores_the_screen(agent):
    before = state_of(agent)
    done = undo(agent, ("q leave", "\x03"))
    assert done.code == 130
    assert done.out.index("\x1b[?1049l") < done.out.index("interrupted")
    assert state_of(agent) == before


def test_terminating_the_process_restores_the_screen(agent):
    done = undo(agent, ("q leave", signal.SIGTERM))
    assert done.code == 143
    assert "\x1b[?25h\x1b[?1049l" in done.out


def test_a_plan_that_another_process_made_stale_changes_nothing(agent):
    done = converse(("undo", "-C", agent), _changed_after_the_preview(agent), PLAIN)
    assert done.code == 1
    assert "nothing was changed" in done.out
    assert state_of(agent)["prompts"]["p"] == "anew\n"


def _changed_after_the_preview(agent):
    """Steps between which another process changes what was seen."""
    yield "q leave", DOWN
    yield "> [ ] #4", ""
    run("set", "prompt", "p", "anew\n", "-C", agent)
    yield "", "\r"


def test_a_dumb_terminal_is_asked_by_number(agent):
    steps = [("nothing to leave: ", "2\n"), ("undo it? y or n: ", "y\n")]
    done = undo(agent, *steps, TERM="dumb")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "-two" in done.out
    assert state_of(agent)["prompts"]["p"] == "one\n"


def test_a_dumb_terminal_asks_before_including_blocking_entries(agent):
    steps = [("leave: ", "4\n"), ("blocking entries? y or n: ", "y\n"), ("undo it? y or n: ", "y\n")]
    assert undo(agent, *steps, TERM="dumb").code == 0
    assert "q" not in state_of(agent)["prompts"]


@pytest.mark.parametrize("answers", [("\n",), ("two\n",), ("99\n",), ("1\n", "n\n")])
def test_any_other_answer_on_a_dumb_terminal_changes_nothing(agent, answers):
    before = state_of(agent)
    done = undo(agent, *zip(("leave: ", "undo it? y or n: "), answers, strict=False), TERM="dumb")
    assert done.code == 1
    assert state_of(agent) == before


def test_undo_last_without_a_terminal_does_not_ask(agent):
    assert run_alone("undo", "--last", "-C", agent).code == 0
    assert state_of(agent)["config"]["allow"] == ["a"]
    done = converse(("undo", "--last", "-C", agent), [], PLAIN)
    assert done.code == 0
    assert "\x1b[?1049h" not in done.out
    assert state_of(agent)["prompts"]["p"] == "one\n"
