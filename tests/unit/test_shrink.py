"""One search for smaller examples: nothing that is left can be left out, within the tries that are allowed."""

from hypothesis import given
from hypothesis import strategies as st

from takeback.shrink import limit_tries, list_smaller_json, shrink_by_steps, shrink_pieces

JSON = st.recursive(
    st.integers(0, 3), lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below)
)


@given(st.lists(st.integers(0, 9), max_size=30), st.sets(st.integers(0, 9), max_size=3), st.booleans())
def test_every_remaining_piece_is_needed(pieces, wanted, pairs):
    wanted &= set(pieces)

    def holds(some):
        return wanted <= set(some) and (not pairs or len(some) % 2 == len(pieces) % 2)

    found = shrink_pieces(pieces, holds, lambda: False)
    assert holds(found)
    assert not any(holds(found[:at] + found[at + 1 :]) for at in range(len(found)))


def test_pieces_are_retried_after_others_were_removed():
    def holds(some):
        return "x" in some and ("a" not in some or "b" in some)

    assert shrink_pieces("baxab", holds, lambda: False) == ["x"]


def test_a_search_ends_at_its_limit_with_its_best_result():
    tried = []
    found = shrink_pieces(range(100), lambda some: tried.append(some) or 99 in some, limit_tries(3))
    assert len(tried) == 3
    assert 1 < len(found) < 100
    assert len(shrink_pieces(range(100), lambda some: 99 in some, lambda: False, enough=60)) == 50


def _has_three(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value == 3 or any(map(_has_three, inner))


@given(JSON.filter(_has_three))
def test_no_member_of_a_shrunk_json_value_can_be_left_out(value):
    found = shrink_by_steps(value, list_smaller_json, _has_three)
    assert _has_three(found)
    assert not any(map(_has_three, list_smaller_json(found)))
    assert shrink_by_steps(value, list_smaller_json, _has_three, lambda: True) == value
