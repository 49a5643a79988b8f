"""The graph beside the log: every dependency can be followed along its lane, and every line is as wide."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from takeback.present.graph import PLAIN, draw_lanes, reduce_to_direct


def drawn(entries, needs, off=frozenset()):
    return [line.rstrip() for line in draw_lanes(entries, {k: set(v) for k, v in needs.items()}, off=off, art=PLAIN)]


def test_independent_entries_are_drawn_in_one_column():
    assert drawn([3, 2, 1], {}) == ["*", "*", "*"]
    assert drawn([3, 2, 1], {}, off={2}) == ["*", "o", "*"]
    assert drawn([], {}) == []


def test_a_lane_leads_past_other_entries_to_a_dependency():
    assert drawn([4, 3, 2, 1], {4: [1]}) == ["*", "| *", "| *", "*"]


def test_two_dependents_of_one_entry_share_a_lane():
    assert drawn([4, 3, 2, 1], {4: [1], 3: [1]}) == ["*", "+-*", "| *", "*"]


def test_an_entry_with_two_dependencies_opens_a_second_lane():
    assert drawn([3, 2, 1], {3: [2, 1]}) == ["*-.", "* |", "  *"]


def test_indirect_dependencies_are_not_drawn():
    needs = {3: {2, 1}, 2: {1}}
    assert reduce_to_direct(needs) == {3: (2,), 2: (1,)}
    assert drawn([3, 2, 1], needs) == ["*", "*", "*"]


def test_dependencies_outside_the_list_are_not_drawn():
    assert drawn([5, 4], {5: [1], 4: [2]}) == ["*", "*"]


@st.composite
def histories(draw):
    size = draw(st.integers(1, 12))
    needs = {}
    for entry in range(2, size + 1):
        found = draw(st.sets(st.integers(1, entry - 1), max_size=4))
        needs[entry] = set(found).union(*(needs.get(one, set()) for one in found))
    return size, {entry: found for entry, found in needs.items() if found}


@given(histories())
def test_every_lane_ends_at_an_entry_and_no_lane_is_lost(history):
    size, needs = history
    entries = list(range(size, 0, -1))
    lines = draw_lanes(entries, needs, art=PLAIN)
    assert len(lines) == size
    assert len({len(line) for line in lines}) == 1
    assert all(sum(line.count(mark) for mark in "*") == 1 for line in lines)
    columns = [line.index("*") for line in lines]
    for entry, near in reduce_to_direct(needs).items():
        start, end = size - entry, size - near[0] if near else 0
        if near:
            assert all(lines[row][columns[end]] in "|*+.'" for row in range(start + 1, end + 1)), "\n".join(lines)
