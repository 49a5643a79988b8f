"""What of a harness a model is shown for a request: within a bound, what concerns it first, no secrets."""

from __future__ import annotations

import pytest

from takeback.agents.text_proposal import list_topic_words, select_context
from takeback.present.secrets import PLACEHOLDER
from takeback.state import State

LONG = "".join(f"Line {number} of something else.\n" for number in range(4000))
MANY = {
    "config": {f"setting{number}": "x" * 50 for number in range(400)} | {"planner": {"confirm": ["write"]}},
    "prompts": {"planner": LONG + "Deleting is up to you.\n" + LONG, "other": LONG},
}


def test_everything_is_shown_where_it_fits_each_innermost_thing_once():
    state = {
        "config": {"a": {"b": 1, "c.d": 2}},
        "prompts": {"system": "One.\r\nTwo.\r\n"},
        "files": {"d/x": {"content": "hello"}},
    }
    assert select_context(State.read(state), "anything").splitlines() == [
        'config["a.b"] = 1',
        'config["a.c\\.d"] = 2',
        'prompts["system"] (its lines end in \\r\\n)',
        "<<<",
        "One.",
        "Two.",
        ">>>",
        'files["d/x"] {"mode":"0644"}',
        "<<<",
        "hello",
        ">>>",
    ]


@pytest.mark.parametrize("limit", [400, 2000, 16_000])
def test_a_large_harness_is_cut_to_the_bound(limit):
    shown = select_context(State.read(MANY), "let the planner ask before deleting files", limit)
    assert len(shown) <= limit
    assert 'config["planner.confirm"] = ["write"]' in shown
    assert "Also there, not shown:" in shown


def test_a_long_text_is_cut_to_the_lines_that_concern_the_request_letter_for_letter():
    shown = select_context(State.read(MANY), "let the planner ask before deleting files", 4000)
    assert "\nDeleting is up to you.\n" in shown
    assert "lines left out …]" in shown
    assert 'prompts["planner"]' in shown
    assert shown.index("Deleting is up to you.") < 4000


def test_the_same_request_is_shown_the_same():
    assert select_context(State.read(MANY), "the planner", 3000) == select_context(
        State.read(MANY), "the planner", 3000
    )


def test_secrets_are_masked_by_name_and_by_look_also_in_an_excerpt():
    key = "sk-" + "Ab1" * 12
    state = State.read({"config": {"api_key": "plain"}, "prompts": {"p": f"use {key} to delete\n" + LONG}})
    for limit in (2000, 10**6):
        shown = select_context(state, "delete", limit)
        assert key not in shown
        assert f'config["api_key"] = "{PLACEHOLDER}"' in shown
        assert f"use {PLACEHOLDER} to delete" in shown


def test_an_empty_harness_says_so():
    assert select_context(State(), "anything") == "(nothing is there yet)"


@pytest.mark.parametrize(
    ("one", "other"), [("deleting", "deletes"), ("defaultModel", "default model"), ("asked", "ask")]
)
def test_forms_of_a_word_are_one_word(one, other):
    assert list_topic_words(one) == list_topic_words(other)
