"""The smallest set of entries that breaks something is found, in few tests."""

from __future__ import annotations

from itertools import combinations
from math import ceil, log2

import pytest

from takeback.harness.bisect import find_breaking_entries

ENTRIES = tuple(range(10, 26))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_set_that_breaks_it_together_is_found(size: int) -> None:
    for planted in combinations(ENTRIES, size):
        found = find_breaking_entries(ENTRIES, lambda live, planted=planted: live.issuperset(planted))
        assert found.entries == planted
        assert found.tests <= 2 + size * (ceil(log2(len(ENTRIES))) + 1) + size


def test_one_of_several_that_break_it_alone_is_found() -> None:
    found = find_breaking_entries(ENTRIES, lambda live: bool(live & {12, 20}))
    assert found.entries == (12,)


def test_no_member_of_what_is_found_can_be_left_out_even_if_entries_mend_each_other() -> None:
    broken = lambda live: 14 in live and (21 not in live or 23 in live)  # noqa: E731
    found = find_breaking_entries(ENTRIES, broken)
    assert found.entries
    assert broken(frozenset(found.entries))
    assert not any(broken(frozenset(found.entries) - {entry}) for entry in found.entries)


def test_what_cannot_be_told_counts_as_not_broken() -> None:
    found = find_breaking_entries(ENTRIES, lambda live: None if len(live) == 8 else live.issuperset({11}))
    assert found.entries == (11,)


def test_without_ground_to_stand_on_nothing_is_searched() -> None:
    works = find_breaking_entries(ENTRIES, lambda _: False)
    assert (works.entries, works.tests, works.reason) == ((), 1, "it works as it is")
    hopeless = find_breaking_entries(ENTRIES, lambda _: True)
    assert (hopeless.entries, hopeless.tests) == ((), 2)
    assert "without any" in hopeless.reason
