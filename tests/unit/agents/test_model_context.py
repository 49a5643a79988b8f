"""What of a harness a model is shown for a request: within a bound, what concerns it first, no secrets."""

from __future__ import annotations

import pytest

from takeback.agents.text_proposal import list_topic_words, select_context
from takeback.secret_mask import PLACEHOLDER
from takeback.state import State

LONG = "".join(f"Line {number} of something else.\n" for number in range(4000))
MANY = {
    "config": {f"setting{number}": "x" * 50 for number in range(400)} | {"planner": {"confirm": ["write"]}},
    "prompts": {"planner": LONG + "Deleting is up to you.\n" + LONG, "other": LONG},
}


def test_a_small_harness_is_shown_whole_with_each_value_once():
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


def test_a_long_text_is_cut_to_unaltered_lines_that_match_the_request():
    shown = select_context(State.read(MANY), "let the planner ask before deleting files", 4000)
    assert "\nDeleting is up to you.\n" in shown
    assert "lines left out …]" in shown
    assert 'prompts["planner"]' in shown
    assert shown.index("Deleting is up to you.") < 4000


def test_the_same_request_gets_the_same_context():
    assert select_context(State.read(MANY), "the planner", 3000) == select_context(
        State.read(MANY), "the planner", 3000
    )


def test_secrets_are_masked_in_whole_states_and_in_excerpts():
    key = "sk-" + "Ab1" * 12
    state = State.read({"config": {"api_key": "plain"}, "prompts": {"p": f"use {key} to delete\n" + LONG}})
    for limit in (2000, 10**6):
        shown = select_context(state, "delete", limit)
        assert key not in shown
        assert f'config["api_key"] = "{PLACEHOLDER}"' in shown
        assert f"use {PLACEHOLDER} to delete" in shown


def test_an_empty_harness_is_reported_as_empty():
    assert select_context(State(), "anything") == "(nothing is there yet)"


@pytest.mark.parametrize(
    ("one", "other"), [("deleting", "deletes"), ("defaultModel", "default model"), ("asked", "ask")]
)
def test_word_forms_count_as_the_same_topic_word(one, other):
    assert list_topic_words(one) == list_topic_words(other)
