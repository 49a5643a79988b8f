"""The smallest failing state is found with few tries; bad limits are named before anything is read."""

import pytest

from takeback.errors import InputError
from takeback.state import State
from takeback.verify import verify_json
from takeback.verify.minimal import MANY, smallest


def test_what_halving_leaves_is_taken_entry_by_entry_not_from_the_start_each_time():
    names = [f"key{number:03}" for number in range(2 * MANY)]
    needed = names[MANY::2]
    state = State.read({"config": dict.fromkeys(names, 1)}, "large")
    tried = []

    def fails(less: State) -> bool:
        tried.append(less)
        return all(("config", key) in less for key in needed)

    found = smallest(state, fails)
    assert found == State.read({"config": dict.fromkeys(needed, 1)}, "needed")
    assert len(tried) < 4 * MANY


@pytest.mark.parametrize("raw", [{}, [], "nothing"])
def test_seconds_that_cannot_be_are_named_also_where_the_candidate_cannot_be_read(raw):
    with pytest.raises(InputError, match="max_seconds"):
        verify_json(raw, max_seconds=-1)
