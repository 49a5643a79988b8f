"""Reading a task says exactly where its data is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from takeback.errors import InputError
from takeback_lab.tasks.model import overlay, read_task

PROFILES: dict[str, Any] = {
    "p": {
        "config": {"a": {"b": 1, "c": 2}},
        "middleware": [{"id": "m", "handler": "h"}],
        "prompts": {"s": "x"},
    }
}
GOOD: dict[str, Any] = {
    "id": "nat_cfg_001",
    "situation": "s",
    "profile": "p",
    "instruction": "Set a.b to 2.",
    "surfaces": ["config"],
    "postconditions": [{"check": "equals", "address": 'config["a.b"]', "value": 2}],
    "reference": [{"op_type": "set_config", "target": "a.b", "value": 2}],
}


def read(raw: Any, set_name: str = "natural") -> Any:
    return read_task(raw, set_name=set_name, family="config", profiles=PROFILES, where="file.json[0]")


def test_a_task_extends_its_profile_without_changing_it() -> None:
    task = read({**GOOD, "without": ["prompts"], "with": {"config": {"a": {"b": 5}, "d": {}}}})
    assert task.state["config"] == {"a": {"b": 5, "c": 2}, "d": {}}
    assert "prompts" not in task.state
    assert PROFILES["p"]["config"] == {"a": {"b": 1, "c": 2}}


def test_an_overlay_replaces_the_chain_and_updates_the_rest() -> None:
    state = overlay(PROFILES["p"], without=[], additions={"middleware": [], "prompts": {"t": "y"}})
    assert state["middleware"] == []
    assert state["prompts"] == {"s": "x", "t": "y"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": ""}, r"file\.json\[0\]\.id: found an empty text, expected text"),
        ({"instruction": None}, r"file\.json\[0\]\.instruction: found None"),
        ({"profile": "q"}, r"\(nat_cfg_001\)\.profile: found q, expected one of p"),
        ({"surfaces": ["tools"]}, r"\.surfaces: found \['tools'\], expected \['config'\]"),
        ({"reference": []}, r"\.reference: found \[\], expected a list of forward operations"),
        ({"reference": [{"op_type": "delete_config", "target": "a"}]}, r"\.reference\[0\]: found"),
        ({"postconditions": []}, r"\.postconditions: found \[\]"),
        ({"postconditions": [{"check": "equals"}]}, r"\.postconditions\[0\]: found .* lacks address, value"),
    ],
)
def test_a_wrong_field_is_reported(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read({**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"defect": "typo"}, r"\.defect: found typo, expected one of missing capture"),
        ({"defect": "missing capture"}, r"\.candidate: found None"),
        (
            {"defect": "missing capture", "candidate": {"mutation": [], "witness": [], "recovery": []}},
            r"\.candidate: found .* expected witness, recovery, contract and nothing else",
        ),
    ],
)
def test_a_controlled_task_needs_a_known_defect_and_both_candidates(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read({**GOOD, **change}, set_name="controlled")


def test_a_task_that_is_no_object_is_refused() -> None:
    with pytest.raises(InputError, match=r"file\.json\[0\]: found 3, expected a task object"):
        read(3)
