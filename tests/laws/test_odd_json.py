"""Any edit of any JSON, however it is written: the value comes out as asked, every byte that need not change stays.

Documents come from a seed, in every dialect, in layouts that people and tools write and in some that nobody does.
No edit is refused. What came goes without trace, except in a container that held nothing but blanks.
"""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.odd_json import DIALECTS, OddWriter, any_mapping, any_value, paths

from takeback.adapters.formats.document import (
    arrange_members,
    insert_value,
    look_up,
    move_value,
    put_value,
    remove_value,
    transform_in_order,
)

SEEDS = st.integers(0, 10**9)
EVERY = pytest.mark.parametrize("kind", DIALECTS, ids=lambda kind: kind.__name__)


class Case:
    """A document made from a seed, and a path in it."""

    def __init__(self, kind, seed, wanted=object):
        self.rnd = random.Random(seed)
        self.value = {**any_mapping(self.rnd), "l": [1, [True], {"k": "v"}, 1], "m": {"x": 1, "y": [], "z": {"w": 0}}}
        writer = OddWriter(kind, self.rnd)
        self.document = kind(writer.document(self.value), "f")
        self.data, self.comments = self.document.data, writer.comments
        assert json.dumps(self.document.value) == json.dumps(self.value)
        self.path = self.rnd.choice(
            [p for p in paths(self.value) if p and isinstance(look_up(self.value, p), wanted)]
        )
        self.there = look_up(self.value, self.path)
        self.new = any_value(self.rnd)

    def check(self, after, value):
        assert json.dumps(after.value) == json.dumps(value)
        assert after.data.startswith(self.data[:3]) or not self.data.startswith(b"\xef\xbb\xbf")
        if b"\r\n" in self.data:
            assert b"\n" not in after.data.replace(b"\r\n", b"")
        return after

    def empty_but_blank(self):
        """Whether blanks stand in a container that gets its first item: they go where it comes."""
        span = self.document._find(self.path).span
        return not self.there and self.data[span[0] + 1 : span[1] - 1] != b""


def within(short, long):
    left = iter(long)
    return all(byte in left for byte in short)


def bare(data):
    return re.sub(rb"[\s,]", b"", data)


@EVERY
@settings(max_examples=120, deadline=None)
@given(SEEDS)
def test_setting_a_value_changes_only_its_own_bytes(kind, seed):
    case = Case(kind, seed)
    start, end = case.document._find(case.path).span
    after = case.check(case.document.set(case.path, case.new), put_value(case.value, case.path, case.new))
    assert after.data.startswith(case.data[:start])
    assert after.data.endswith(case.data[end:])


@EVERY
@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_a_removal_takes_only_its_comma_and_the_comments_on_its_line(kind, seed):
    case = Case(kind, seed)
    after = case.check(case.document.remove(case.path), remove_value(case.value, case.path))
    assert within(after.data, case.data)
    above = case.document._find(case.path[:-1])
    node = case.document._find(case.path)
    start, end = next(span for span, item in zip(above.listing.items, above.items, strict=True) if item is node)
    line = (case.data + b"\n").find(b"\n", end)
    own = {mark for mark in case.comments if start <= case.data.find(mark.encode()) < line}
    assert all(
        mark.encode() in after.data for mark in case.comments if mark.encode() in case.data and mark not in own
    )
    assert bare(after.data).startswith(bare(case.data[:start]))
    assert bare(after.data).endswith(bare(case.data[line:]))


@EVERY
@settings(max_examples=150, deadline=None)
@given(SEEDS, st.sampled_from(["first", "middle", "last"]))
def test_an_item_is_inserted_at_its_place_and_removed_without_trace(kind, seed, where):
    case = Case(kind, seed, list)
    at = {"first": 0, "middle": len(case.there) // 2, "last": len(case.there)}[where]
    path = (*case.path, at)
    after = case.check(case.document.insert(path, case.new), insert_value(case.value, path, case.new))
    if not case.empty_but_blank():
        assert within(case.data, after.data)
        assert after.remove(path).data == case.data


@EVERY
@settings(max_examples=200, deadline=None)
@given(SEEDS, st.booleans())
def test_a_member_is_inserted_at_its_place_and_removed_without_trace(kind, seed, nested):
    case = Case(kind, seed, dict)
    path, at = (*case.path, "zz"), case.rnd.randint(0, len(case.there))
    if nested:
        after = case.check(case.document.set((*path, "y"), case.new), put_value(case.value, (*path, "y"), case.new))
    else:
        value = arrange_members(put_value(case.value, path, case.new), path, at)
        after = case.check(case.document.insert_member(path, case.new, at), value)
    if not case.empty_but_blank():
        assert within(case.data, after.data)
        assert after.remove(path).data == case.data


@EVERY
@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_a_move_can_be_reversed_and_loses_no_comment(kind, seed):
    case = Case(kind, seed, dict | list)
    if len(case.there) < 2:
        return
    at, to = case.rnd.sample(range(len(case.there)), 2)
    if isinstance(case.there, list):
        after = case.check(case.document.move((*case.path, at), to), move_value(case.value, (*case.path, at), to))
        back = after.move((*case.path, to), at)
    else:
        path = (*case.path, list(case.there)[at])
        after = case.check(case.document.move_member(path, to), arrange_members(case.value, path, to))
        back = after.move_member(path, at)
    assert sorted(bare(after.data)) == sorted(bare(case.data))
    assert back.data == case.data


@EVERY
@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_an_object_can_be_transformed_into_any_other_in_its_order(kind, seed):
    case = Case(kind, seed, dict)
    names = case.rnd.sample([*case.there, "n1", "n2", "n3"], case.rnd.randint(0, len(case.there) + 3))
    wanted = {name: case.there.get(name, case.new) for name in names}
    case.check(transform_in_order(case.document, wanted, case.path), put_value(case.value, case.path, wanted))


@EVERY
@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_consecutive_edits_add_up(kind, seed):
    case = Case(kind, seed)
    document, value = case.document, case.value
    for _ in range(6):
        path = case.rnd.choice([path for path in paths(value) if path] or [("again",)])
        if case.rnd.random() < 0.5 and look_up(value, path) is not None and path != ("again",):
            document, value = document.remove(path), remove_value(value, path)
        else:
            new = any_value(case.rnd)
            document, value = document.set(path, new), put_value(value, path, new)
        assert json.dumps(document.value) == json.dumps(value)
