"""The smallest failing state is found with few tries; bad limits are named before anything is read."""

import pytest
from tests.support.running import op

from takeback.errors import InputError
from takeback.language import read_candidate
from takeback.state import State
from takeback.verify import Trial, VerifyOptions, prove, verify_json
from takeback.verify.shrink import MANY, shrink_state
from takeback_lab.soundness import brute


def test_shrinking_does_not_restart_after_each_removal():
    names = [f"key{number:03}" for number in range(2 * MANY)]
    needed = names[MANY::2]
    state = State.read({"config": dict.fromkeys(names, 1)}, "large")
    tried = []

    def fails(less: State) -> bool:
        tried.append(less)
        return all(("config", key) in less for key in needed)

    found = shrink_state(state, fails)
    assert found == State.read({"config": dict.fromkeys(needed, 1)}, "needed")
    assert len(tried) < 4 * MANY


@pytest.mark.parametrize("raw", [{}, [], "nothing"])
def test_an_invalid_time_limit_is_reported_even_for_an_unreadable_candidate(raw):
    with pytest.raises(InputError, match="max_seconds"):
        verify_json(raw, options=VerifyOptions(max_seconds=-1))


MOVED = {
    "mutation": [
        op("move_middleware", "p", index=1),
        op("move_listener", "on_y", value="q", after="m1"),
        op("move_middleware", "r", before="p"),
        op("remove_listener", "on_x", value="r"),
    ],
    "witness": [
        op("capture_middleware", "p", witness_key="w0"),
        op("capture_listener", "on_y", value="q", witness_key="w1"),
        op("capture_middleware", "r", witness_key="w2"),
        op("capture_listener", "on_x", value="r", witness_key="w3"),
    ],
    "recovery": [
        op("restore_listener", "on_x", witness_key="w3"),
        op("restore_listener", "on_y", witness_key="w1"),
        op("restore_middleware", "p", witness_key="w0"),
    ],
    "contract": ["listeners", "middleware"],
}


def test_a_counterexample_of_moved_elements_is_minimal_as_shown():
    """Where elements stand between each other is not in the JSON: read back, they stand at places of their own."""
    candidate = read_candidate(MOVED)
    example = prove(candidate).counterexample
    assert example is not None
    assert not Trial(candidate).run(State.read(example.state.write())).passed
    assert brute.is_smallest(candidate, example.state.write(), through=False)
