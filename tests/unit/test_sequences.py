"""One longest rising run, one comparison of two versions: checked against brute force."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.sequences import count_common_ends, find_differing, find_longest_rising, rank_rising

NUMBERS = st.lists(st.integers(0, 8), max_size=8)
PIECES = st.lists(st.sampled_from(["a", "b", "c", "{", "\n"]), max_size=14)


@given(NUMBERS)
def test_the_longest_rising_run_rises_and_no_other_is_longer(numbers):
    found = find_longest_rising(numbers)
    chosen = [numbers[at] for at in found]
    assert found == sorted(found)
    assert all(one < two for one, two in pairwise(chosen))
    longest = max(
        size
        for size in range(len(numbers) + 1)
        for some in combinations(numbers, size)
        if all(one < two for one, two in pairwise(some))
    )
    assert len(found) == longest == max(rank_rising(numbers), default=0)


@given(PIECES, PIECES)
def test_common_ends_are_common_do_not_overlap_and_end_where_versions_differ(old, new):
    begin, end = count_common_ends(old, new)
    assert old[:begin] == new[:begin]
    assert old[len(old) - end :] == new[len(new) - end :]
    left, right = old[begin : len(old) - end], new[begin : len(new) - end]
    assert len(left) + begin + end == len(old)
    assert not (left and right) or (left[0] != right[0] and left[-1] != right[-1])


@settings(max_examples=300)
@given(PIECES, PIECES)
def test_outside_the_stretches_that_differ_two_versions_are_the_same(old, new):
    made, at, to = [], 0, 0
    for low, high, first, last in find_differing(old, new, str.isalpha):
        assert (low, first) >= (at, to)
        assert low < high or first < last
        assert old[at:low] == new[to:first]
        made += [*old[at:low], *new[first:last]]
        at, to = high, last
    assert [*made, *old[at:]] == new
