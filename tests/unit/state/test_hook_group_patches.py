"""What one edit of a record changed is done to another version of it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from takeback.state.chain import Link
from takeback.state.forgotten import FORGOTTEN_VALUE
from takeback.state.pmap import PMap
from takeback.state.record_merge import is_hook_group, merge3_json, merge_hook_group

A, B, C, D = ({"c": name} for name in "abcd")
A2 = {"c": "a", "t": 2}
A3 = {"c": "a", "s": 3}


@pytest.mark.parametrize(
    ("here", "before", "after", "expected"),
    [
        ([A, B], [A, B], [B, A], [B, A]),
        ([A, B], [B, A], [B, A2], [A2, B]),
        ([A, B], [A2, B], [B, A2], [B, A]),
        ([A, B, C], [A, B], [A2, B], [A2, B, C]),
        ([A, B, C], [A, B, C], [A, C], [A, C]),
        ([A, B, C, D], [A, B, C], [A, C], [A, C, D]),
        ([D, A, B], [A, B], [A, C, B], [D, A, C, B]),
        ([B], [A, B], [A, B, C], [B, C]),
        ([A, A, B], [A, A], [A], [A, B]),
        ([A3, B], [A, B], [A2, B], [{"c": "a", "t": 2, "s": 3}, B]),
        ([A2, C], [A2], [A], [A, C]),
        ([], [A], [A, B], [B]),
        (["x", "y"], ["x"], ["z"], ["z", "y"]),
        ([B, A], [A], [C, D, A], [C, D, B, A]),
    ],
)
def test_items_are_changed_removed_added_and_moved(here: Any, before: Any, after: Any, expected: Any) -> None:
    assert merge3_json(here, before, after) == expected


@pytest.mark.parametrize("record", [FORGOTTEN_VALUE, PMap({"id": "x"}), PMap({"options": FORGOTTEN_VALUE}), "x"])
def test_forgotten_and_ungrouped_records_are_written_whole(record: Any) -> None:
    link = Link(((1, "x"),), "x", record)
    assert not is_hook_group(link)
    assert merge_hook_group(link, link, "after") == "after"


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_edits_of_different_fields_are_undone_in_any_order(order: tuple[int, ...]) -> None:
    edits = ({"m": "x"}, {"t": 1}, {"hooks": [A2]}, {"n": None})
    start: dict[str, Any] = {"m": "y", "hooks": [A]}
    versions = [start]
    for at in order:
        versions.append(versions[-1] | edits[at])
    for gone in range(len(order)):
        here: Any = start
        for at in range(len(order)):
            if at != gone:
                here = merge3_json(here, versions[at], versions[at + 1])
        expected = dict(start)
        for at in (at for place, at in enumerate(order) if place != gone):
            expected |= edits[at]
        assert here == expected
