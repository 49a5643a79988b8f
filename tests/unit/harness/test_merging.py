"""A change put on another version of a text: by lines, by tokens where lines clash, and never a guess."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.harness.merge import MOST_READINGS, find_hunks, iter_merge_results


def merge_texts(base, ours, theirs):
    """Return the one result of a merge; None for a conflict or several results."""
    found = list(iter_merge_results(base, ours, theirs))
    return found[0] if len(found) == 1 else None


def listed(*names: str) -> bytes:
    return b'{\n  "allow": [\n' + b",\n".join(b'    "%s"' % name.encode() for name in names) + b"\n  ]\n}\n"


def test_the_last_item_is_taken_back_after_another_was_added_behind_it():
    assert merge_texts(listed("A", "B"), listed("A", "B", "C"), listed("A")) == listed("A", "C")


def test_an_item_is_taken_back_after_the_one_before_it_went():
    assert merge_texts(listed("A", "B", "C"), listed("B", "C"), listed("A", "C")) == listed("C")


def test_an_item_on_one_line_is_taken_back_after_another_was_added():
    assert merge_texts(b'["A","B"]', b'["A","B","C"]', b'["A"]') == b'["A","C"]'
    assert merge_texts(b'{"a": 1, "b": 2}', b'{"a": 9, "b": 2}', b'{"a": 1}') == b'{"a": 9}'


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        (b"a\nb\nc\n", b"a\nb\nc\nd\n", b"a\nc\n", b"a\nc\nd\n"),
        (b"a\nb\nc\n", b"a\nb\nX\nc\n", b"a\nc\n", b"a\nX\nc\n"),
        (b"a\r\nb\r\nc", b"a\r\nb\r\nc\r\nd", b"A\r\nb\r\nc", b"A\r\nb\r\nc\r\nd"),
        (
            b"\xff\xfe one \x80 two\n",
            b"\xff\xfe ONE \x80 two\n",
            b"\xff\xfe one \x80 TWO\n",
            b"\xff\xfe ONE \x80 TWO\n",
        ),
        (b"", b"", b"new", b"new"),
        (b"old", b"", b"old", b""),
        (b"one two three", b"one two 3", b"1 two three", b"1 two 3"),
        (b"a\nb\n", b"a\nX\nb\n", b"a\nX\nb\n", b"a\nX\nb\n"),
    ],
)
def test_separate_changes_are_both_merged(base, ours, theirs, expected):
    assert merge_texts(base, ours, theirs) == expected
    assert next(iter_merge_results(base, ours, theirs)) == expected


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        (b"timeout = 10\n", b"timeout = 11\n", b"timeout = 12\n"),
        (b"a\nb\nc\n", b"a\nX\nc\n", b"a\nY\nc\n"),
        (b"a\nb\nc\n", b"a\nc\n", b"a\nB\nc\n"),
    ],
)
def test_changes_of_the_same_line_conflict(base, ours, theirs):
    assert merge_texts(base, ours, theirs) is None
    assert ours not in list(iter_merge_results(base, ours, theirs))


def test_two_insertions_at_one_place_have_both_orders_and_no_single_merge():
    base, ours, theirs = listed("A"), listed("A", "C"), listed("A", "B")
    assert merge_texts(base, ours, theirs) is None
    assert set(iter_merge_results(base, ours, theirs)) == {listed("A", "B", "C"), listed("A", "C", "B")}


def test_of_equal_lines_the_unchanged_one_is_removed():
    assert merge_texts(b"x\nb\nb\nb\n", b"x\nB\nb\nBB\n", b"x\nb\nb\n") == b"x\nB\nBB\n"


def test_of_many_equal_lines_the_unchanged_one_is_removed():
    assert merge_texts(b"b\n" * 5, b"1\n2\nb\n4\n5\n", b"b\n" * 4) == b"1\n2\n4\n5\n"


@pytest.mark.parametrize("kept", ["A", "C"])
def test_the_last_two_items_are_taken_back_one_after_the_other(kept):
    both, one = listed(kept, "X", "Y"), listed(kept, "X")
    assert merge_texts(both, one, listed(kept, "Y")) == listed(kept)


def test_equal_lines_separated_by_an_edit_have_several_readings():
    found = list(iter_merge_results(b"a\nb\nb\nc\n", b"a\nb\nX\nb\nc\n", b"a\nb\nc\n"))
    assert set(found) == {b"a\nX\nb\nc\n", b"a\nb\nX\nc\n"}


def test_readings_are_different_and_few():
    base = b"\n".join([b"same"] * 40)
    ours = b"\n".join([b"same"] * 20 + [b"X"] + [b"same"] * 21)
    found = list(iter_merge_results(base, ours, b"\n".join([b"same"] * 38)))
    assert 1 <= len(found) <= MOST_READINGS
    assert len(set(found)) == len(found)


def test_a_large_file_is_compared_in_few_steps():
    lines = [b"line %d\n" % number for number in range(40_000)]
    ours, theirs = list(lines), list(lines)
    ours[17] = b"changed\n"
    ours.insert(30_000, b"new\n")
    del theirs[25_000]
    theirs[39_000] = b"changed too\n"
    compared = Counting.of(lines)
    found = find_hunks(compared, theirs)
    assert [(hunk.start, hunk.end) for hunk in found] == [(25_000, 25_001), (39_001, 39_002)]
    assert compared.looks < 20 * len(lines)
    both = list(ours)
    del both[25_000]
    both[39_001] = b"changed too\n"
    assert merge_texts(b"".join(lines), b"".join(ours), b"".join(theirs)) == b"".join(both)


class Counting(list):
    """A list that counts how often one of its items is looked at."""

    looks = 0

    @classmethod
    def of(cls, items):
        return cls(items)

    def __getitem__(self, at):
        self.looks += len(range(*at.indices(len(self)))) if isinstance(at, slice) else 1
        return super().__getitem__(at)


PIECES = st.lists(st.sampled_from([b"a", b"b", b"c", b"d\n"]), max_size=14)


@settings(max_examples=400, deadline=None)
@given(PIECES, PIECES)
def test_hunks_rebuild_the_new_text_wherever_they_slide(base, new):
    found = find_hunks(base, new)
    for at, hunk in enumerate(found):
        low = found[at - 1].end + 1 if at else 0
        high = found[at + 1].start - 1 if at + 1 < len(found) else len(base)
        for place in hunk.slide_all(base, low, high):
            assert put(base, [*found[:at], place, *found[at + 1 :]]) == new


def put(base, changes):
    result, at = [], 0
    for hunk in changes:
        result += [*base[at : hunk.start], *hunk.pieces]
        at = hunk.end
    return [*result, *base[at:]]


TEXTS = st.lists(st.sampled_from([b"one\n", b"two\n", b"{\n", b"},\n", b'"x": 1,\n', b"\r\n"]), max_size=8).map(
    b"".join
)


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_a_merge_is_the_same_from_both_sides(base, ours, theirs):
    assert set(iter_merge_results(base, ours, base)) == {ours}
    assert set(iter_merge_results(base, base, theirs)) == {theirs}
    one, two = merge_texts(base, ours, theirs), merge_texts(base, theirs, ours)
    assert one is None or two is None or one == two


def minified(*names: str) -> bytes:
    return b'{"allow":[' + b",".join(b'"%s"' % name.encode() for name in names) + b"]}"


def commas_first(*names: str) -> bytes:
    return b'{ "allow":\n  [ ' + b"\n  , ".join(b'"%s"' % name.encode() for name in names) + b"\n  ]\n}"


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([listed, minified, commas_first]),
    st.lists(st.sampled_from("abcdef"), unique=True, min_size=1, max_size=4),
    st.permutations("uvwxyz"),
    st.data(),
)
def test_any_added_item_can_be_removed_from_a_later_text(style, start, added, data):
    texts, now = [style(*start)], list(start)
    for name in added[:4]:
        now.insert(data.draw(st.integers(0, len(now))), name)
        texts.append(style(*now))
    at = data.draw(st.integers(0, 3))
    found = merge_texts(texts[at + 1], texts[-1], texts[at])
    assert found == style(*(name for name in now if name != added[at]))
