"""Many contents are put into a tree at once as if each were put, or dropped, by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from takeback.state import ABSENT, PMap
from takeback.state.file import File
from takeback.state.slots import MANY, get_slot, put_slots
from takeback.state.tree import drop, put, put_all
from takeback.state.values import is_same_value

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
CONTENTS = st.lists(st.tuples(PATHS, st.sampled_from([1, 2, "text", ABSENT])), max_size=12)


def put_in_turn(root: PMap, contents: list[tuple[tuple[str, ...], object]]) -> PMap:
    for path, value in contents:
        root = drop(root, path) if value is ABSENT else put(root, path, value)
    return root


def is_apart(paths: list[tuple[str, ...]]) -> bool:
    """Tell whether no path is another, or lies in another."""
    return not any(a is not b and a == b[: len(a)] for a in paths for b in paths)


@given(CONTENTS, CONTENTS)
def test_contents_put_at_once_are_those_put_in_turn(
    first: list[tuple[tuple[str, ...], object]], second: list[tuple[tuple[str, ...], object]]
) -> None:
    start = put_all(PMap(), first)
    if start is None:
        assert not is_apart([path for path, _ in first])
        return
    assert is_same_value(start, put_in_turn(PMap(), first))
    together = put_all(start, second)
    if together is not None:
        assert is_same_value(together, put_in_turn(start, second))


def test_a_content_in_another_is_not_put_at_once() -> None:
    assert put_all(PMap(), [(("a",), 1), (("a", "b"), 2)]) is None
    assert put_all(PMap(), [(("a", "b"), 2), (("a",), 1)]) is None
    assert put_all(PMap({"a": 1}), [(("a", "b"), 2)]) is None


def test_what_is_dropped_where_nothing_is_leaves_the_tree_itself() -> None:
    root = PMap({"a": PMap({"b": 1})})
    assert put_all(root, [(("a", "c"), ABSENT), (("x", "y"), ABSENT)]) is root


def test_slots_written_twice_end_as_they_were_written_last() -> None:
    from takeback.state import State

    slots = [("files", "m", str(number)) for number in range(MANY)]
    written = [(slot, File(b"1")) for slot in slots]
    gone = [(slot, ABSENT) for slot in slots]
    state = put_slots(State(), written + gone)
    assert all(get_slot(state, slot) is ABSENT for slot in slots)
    assert get_slot(put_slots(state, gone + written), slots[3]) == File(b"1")
