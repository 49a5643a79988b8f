"""A model sees the instruction and the state: whatever a postcondition names must be in one of them."""

from __future__ import annotations

import json
import re

import pytest

from takeback_lab.tasks import SETS, Task, load
from takeback_lab.tasks.postconditions import split_address

NOT_NAMES = {"check", "type", "required", "index"}
PLACES = {
    "first": r"front|first|index 0|outermost|ahead",
    "last": r"append|last|\bend\b",
    "before": r"before|ahead|front of|between",
    "after": r"after|behind|follow",
    "middleware_priority": r"priority|slot",
}


def known(task: Task) -> str:
    texts = [*task.state.get("prompts", {}).values()]
    texts += [one.get("content", "") for one in task.state.get("files", {}).values()]
    return "\n".join([task.instruction, json.dumps(task.state, ensure_ascii=False), *texts])


def names(postcondition: dict[str, object]) -> list[str]:
    found: list[str] = []
    for field, value in postcondition.items():
        if field in NOT_NAMES or isinstance(value, bool) or value is None:
            continue
        if field == "address":
            found.append(split_address(str(value))[1])
        elif isinstance(value, str):
            found.append(value)
        elif field == "enum" and isinstance(value, list):
            found += map(str, value)
        else:
            found.append(json.dumps(value, ensure_ascii=False))
    return found


@pytest.mark.parametrize("set_name", SETS)
def test_every_name_and_value_of_a_postcondition_can_be_read(set_name: str) -> None:
    missing = []
    for task in load(set_name):
        text = known(task)
        for one in task.postconditions:
            if one["check"] in {"unchanged", "rest_unchanged"}:
                continue
            listed = [name for field in ("callbacks", "chain", "items") for name in one.get(field, ())]
            listed += [text for edit in one.get("edits", ()) for text in (edit["old"], edit["new"].strip("\n"))]
            if listed:
                missing += [(task.id, name) for name in listed if not all(part in text for part in name.split("\n"))]
                continue
            missing += [(task.id, name) for name in names(one) if name not in text]
    assert missing == []


@pytest.mark.parametrize("set_name", SETS)
def test_an_instruction_says_where_in_the_chain(set_name: str) -> None:
    silent = []
    for task in load(set_name):
        text = task.instruction.lower()
        for one in task.postconditions:
            if one["check"] in PLACES and not re.search(PLACES[one["check"]], text):
                silent.append(task.id)
            if one["check"] == "position" and not re.search(rf"index {one['index']}\b|second|third", text):
                silent.append(task.id)
    assert silent == []
