"""A map that shares what did not change reads as a plain dict that was changed the same way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from takeback.state.pmap import ABSENT, EMPTY, PMap

KEYS = st.sampled_from("abcd")
STEPS = st.lists(st.tuples(KEYS, st.none() | st.integers(0, 3)), max_size=60)


def changed(held, steps):
    """The map after some steps, and every map on the way; None drops a key."""
    seen = [held]
    for key, value in steps:
        seen.append(seen[-1].drop(key) if value is None else seen[-1].put(key, value))
    return seen


@given(st.dictionaries(KEYS, st.integers(0, 3)), STEPS)
def test_a_map_reads_as_a_dict_changed_the_same_way(start, steps):
    plain = dict(start)
    held = PMap(start) if start else EMPTY
    for (key, value), now in zip(steps, changed(held, steps)[1:], strict=True):
        if value is None:
            plain.pop(key, None)
        else:
            plain[key] = value
        assert dict(now.items()) == plain
        assert (len(now), bool(now), sorted(now)) == (len(plain), bool(plain), sorted(plain))
    assert dict(held.items()) == start


@given(st.dictionaries(KEYS, st.integers(0, 3)), STEPS)
def test_two_maps_differ_in_what_their_dicts_differ_in(start, steps):
    seen = changed(PMap(start), steps)
    for one in seen:
        mine, theirs = dict(one.items()), dict(seen[-1].items())
        keys = {key for key, _, _ in one.changes(seen[-1])}
        assert keys == {key for key in mine | theirs if mine.get(key, ABSENT) != theirs.get(key, ABSENT)}


def test_a_map_that_is_changed_back_is_the_map_it_was():
    held = PMap({"a": 1})
    assert held.put("b", 2).drop("b") is held
    assert held.put("a", 2).put("a", held["a"]) is held
    assert EMPTY.put("a", 1).drop("a") is EMPTY
    assert EMPTY.put("a", 1).put("b", 1).drop("a").drop("b") is EMPTY
