"""The shipped task sets: their sizes, their variety, and that no task is another one renumbered."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from itertools import combinations

import pytest
from tests.support import naive

from takeback.errors import InputError
from takeback_lab.tasks import FAMILIES, INSIDE_FAMILIES, SETS, Task, capability, families, get, load
from takeback_lab.tasks.model import INSIDE

EVERY_TASK = tuple(task for name in SETS for task in load(name))
SIZES = {"natural": 100, "fresh": 50, "controlled": 20, "l2": 20}
CODES = {
    "config": "cfg",
    "tools": "tool",
    "middleware": "mw",
    "listeners": "lst",
    "resources": "res",
    "multi": "multi",
    **dict(zip(INSIDE_FAMILIES, ("prompt", "file", "list", "rm", "move", "mix"), strict=True)),
}
PREFIXES = {"natural": "nat", "fresh": "fresh", "controlled": "ctl", "l2": "l2"}


def without_digits(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def trigrams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", without_digits(text.lower()))
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)}


def targets(task: Task) -> frozenset[tuple[str, str]]:
    return frozenset((op["op_type"], op["target"]) for op in task.reference)


@pytest.mark.parametrize("set_name", SETS)
def test_each_family_of_a_set_has_its_number_of_tasks(set_name: str) -> None:
    assert Counter(task.family for task in load(set_name)) == dict.fromkeys(families(set_name), SIZES[set_name])


def test_ids_are_unique_and_tell_set_and_family() -> None:
    assert len({task.id for task in EVERY_TASK}) == len(EVERY_TASK)
    for task in EVERY_TASK:
        assert re.fullmatch(rf"{PREFIXES[task.set_name]}_{CODES[task.family]}_\d{{3}}", task.id)
        assert get(task.id) is task


@pytest.mark.parametrize(("set_name", "least"), [("natural", 25), ("fresh", 15)])
def test_each_family_has_many_situations_and_agents(set_name: str, least: int) -> None:
    for family in FAMILIES:
        tasks = [task for task in load(set_name) if task.family == family]
        assert len({task.situation for task in tasks}) >= least
        assert len({task.profile for task in tasks}) >= 12


def test_every_reference_reaches_all_postconditions_and_no_task_starts_satisfied() -> None:
    for task in EVERY_TASK:
        assert capability(task, naive.apply(task.state, list(task.reference))) == 1, task.id
        assert capability(task, task.state) < 1, task.id


def test_every_operation_of_a_reference_is_needed() -> None:
    for task in EVERY_TASK:
        for at in range(len(task.reference)):
            fewer = [op for index, op in enumerate(task.reference) if index != at]
            try:
                after = naive.apply(task.state, fewer)
            except naive.RefusedError:
                continue
            writes_what_is_there = naive.dump(naive.apply(after, [task.reference[at]])) == naive.dump(after)
            assert writes_what_is_there or capability(task, after) < 1, task.id


def test_only_multi_tasks_have_targets_outside_their_family() -> None:
    allowed = {"resources": {"files", "resources"}}
    for task in EVERY_TASK:
        if task.family in INSIDE_FAMILIES:
            continue
        if task.family == "multi":
            assert len(task.surfaces) >= 2, task.id
            assert len(targets(task)) >= 2, task.id
        else:
            assert set(task.surfaces) <= allowed.get(task.family, {task.family}), task.id


def test_states_are_of_believable_size() -> None:
    for task in EVERY_TASK:
        assert 500 <= len(json.dumps(task.state, separators=(",", ":"))) <= 2000, task.id


def test_no_two_tasks_differ_only_in_digits() -> None:
    instructions = Counter(without_digits(task.instruction) for task in EVERY_TASK)
    references = Counter(without_digits(json.dumps(task.reference, sort_keys=True)) for task in EVERY_TASK)
    assert [text for text, times in instructions.items() if times > 1] == []
    assert [text for text, times in references.items() if times > 1] == []


def test_no_two_instructions_share_their_frame_once_names_are_taken_out() -> None:
    frames: dict[str, list[str]] = defaultdict(list)
    for task in EVERY_TASK:
        text = re.sub(r"```.*?```", "_", task.instruction, flags=re.DOTALL)
        frames[without_digits(re.sub(r"`[^`]*`|\"[^\"]*\"", "_", text))].append(task.id)
    assert [ids for ids in frames.values() if len(ids) > 1] == []


def test_no_two_instructions_share_a_third_of_their_word_triples() -> None:
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    grams = [trigrams(task.instruction) for task in EVERY_TASK]
    for at, own in enumerate(grams):
        for gram in own:
            holders[gram].append(at)
    shared = Counter(pair for at in holders.values() for pair in combinations(at, 2))
    close = [
        (EVERY_TASK[one].id, EVERY_TASK[two].id)
        for (one, two), common in shared.items()
        if common / len(grams[one] | grams[two]) > 1 / 3
    ]
    assert close == []


def test_fresh_tasks_share_nothing_with_natural_ones() -> None:
    natural, fresh = load("natural"), load("fresh")
    assert not {task.profile for task in natural} & {task.profile for task in fresh}
    assert not {task.situation for task in natural} & {task.situation for task in fresh}
    assert not {task.instruction for task in natural} & {task.instruction for task in fresh}
    assert not {targets(task) for task in natural} & {targets(task) for task in fresh}
    references = [{json.dumps(task.reference, sort_keys=True) for task in tasks} for tasks in (natural, fresh)]
    assert not references[0] & references[1]


def test_middleware_tasks_use_every_kind_of_place() -> None:
    seen: Counter[str] = Counter()
    for task in load("natural"):
        if task.family != "middleware":
            continue
        there = {link["id"] for link in task.state["middleware"]}
        for op in task.reference:
            place = next((name for name in ("index", "before", "after", "priority") if name in op), "append")
            seen["front" if place == "index" and op["index"] == 0 else place] += 1
            seen["existing" if op["target"] in there else "new"] += 1
    assert min(seen[name] for name in ("front", "index", "before", "after", "priority", "append")) >= 8
    assert min(seen["existing"], seen["new"]) >= 20


def test_tool_tasks_replace_tools_and_use_keys_that_are_not_the_id() -> None:
    ops = [(task, op) for task in load("natural") if task.family == "tools" for op in task.reference]
    assert sum(op["target"] in task.state["tools"] for task, op in ops) >= 20
    assert sum(op["target"] != op["value"]["id"] for _, op in ops) >= 20
    assert all(op["value"]["parameters"]["properties"] for _, op in ops)


def test_a_wrong_set_or_id_is_reported() -> None:
    with pytest.raises(InputError, match=r"task set: found nature, expected one of natural, fresh, controlled, l2"):
        load("nature")
    with pytest.raises(InputError, match=r"task id: found nat_cfg_999"):
        get("nat_cfg_999")


INSIDE_OPERATIONS = {
    "prompt_edits": {"edit_prompt"},
    "file_edits": {"edit_file"},
    "list_items": {"append_config", "insert_config", "remove_config_item"},
    "moves": {"move_middleware", "move_listener", "replace_middleware", "move_file"},
}


def test_a_task_about_changes_inside_values_uses_the_operations_of_its_family() -> None:
    seen = set()
    for task in load("l2"):
        used = {op["op_type"] for op in task.reference}
        seen |= used
        if task.family in INSIDE_OPERATIONS:
            assert used <= INSIDE_OPERATIONS[task.family], task.id
        elif task.family == "removals":
            assert all(name.startswith(("remove_", "unset_", "free_")) for name in used), task.id
        else:
            assert len(targets(task)) >= 2, task.id
    assert seen == set(INSIDE)


def test_a_task_about_changes_inside_values_notices_when_anything_else_was_touched() -> None:
    for task in load("l2"):
        after = naive.apply(task.state, list(task.reference))
        assert capability(task, after) == 1, task.id
        for surface in ("config", "prompts", "routing", "tools", "listeners", "files", "resources"):
            touched = {**after, surface: {**after.get(surface, {}), "touched": {"id": "touched"}}}
            assert capability(task, touched) < 1, (task.id, surface)
        assert capability(task, {**after, "middleware": after.get("middleware", [])[1:]}) < 1 or not after.get(
            "middleware"
        ), task.id


def test_a_task_about_edits_notices_another_change_in_the_same_text_or_list() -> None:
    for task in load("l2"):
        after = naive.apply(task.state, list(task.reference))
        for op in task.reference:
            if op["op_type"] == "edit_prompt":
                prompts = {**after["prompts"], op["target"]: after["prompts"][op["target"]] + "More.\n"}
                assert capability(task, {**after, "prompts": prompts}) < 1, task.id
            elif op["op_type"] == "edit_file":
                file = {**after["files"][op["target"]], "mode": "0600"}
                assert capability(task, {**after, "files": {**after["files"], op["target"]: file}}) < 1, task.id
