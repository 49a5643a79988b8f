"""The smallest set of entries that breaks something is found, in few tests."""

from __future__ import annotations

from itertools import combinations
from math import ceil, log2

import pytest

from takeback.harness.bisect import find_breaking_entries

ENTRIES = tuple(range(10, 26))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_breaking_set_of_entries_is_found(size: int) -> None:
    for planted in combinations(ENTRIES, size):
        found = find_breaking_entries(ENTRIES, lambda live, planted=planted: live.issuperset(planted))
        assert found.entries == planted
        assert found.tests <= 2 + size * (ceil(log2(len(ENTRIES))) + 1) + size


def test_one_of_several_single_culprits_is_found() -> None:
    found = find_breaking_entries(ENTRIES, lambda live: bool(live & {12, 20}))
    assert found.entries == (12,)


def test_the_found_set_is_minimal_even_if_entries_repair_each_other() -> None:
    broken = lambda live: 14 in live and (21 not in live or 23 in live)  # noqa: E731
    found = find_breaking_entries(ENTRIES, broken)
    assert found.entries
    assert broken(frozenset(found.entries))
    assert not any(broken(frozenset(found.entries) - {entry}) for entry in found.entries)


def test_an_undecided_test_counts_as_not_broken() -> None:
    found = find_breaking_entries(ENTRIES, lambda live: None if len(live) == 8 else live.issuperset({11}))
    assert found.entries == (11,)


def test_nothing_is_searched_if_all_states_work_or_all_fail() -> None:
    works = find_breaking_entries(ENTRIES, lambda _: False)
    assert (works.entries, works.tests, works.reason) == ((), 1, "it works as it is")
    hopeless = find_breaking_entries(ENTRIES, lambda _: True)
    assert (hopeless.entries, hopeless.tests) == ((), 2)
    assert "without any" in hopeless.reason
