"""The verifier checks itself: planted bad recoveries must be caught, a good one must pass.

Runs with every verification. A plant that comes through means that no verdict of this run can be trusted, so
the run is aborted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from takeback.errors import VerifierBroken
from takeback.language import Candidate, read_candidate
from takeback.state import State
from takeback.verify.trip import Trip, round_trip

_SET = {"op_type": "set_config", "target": "plant.value", "value": 2}
_CAPTURE = {"op_type": "capture_config", "target": "plant.value", "witness_key": "w"}
_RESTORE = {"op_type": "restore_config", "target": "plant.value", "witness_key": "w"}
_MOVE = [
    {"op_type": "allocate_socket", "target": "a", "value": "tcp://127.0.0.1:9302"},
    {"op_type": "allocate_socket", "target": "b", "value": "tcp://127.0.0.1:9301"},
]
_HELD = [
    {"op_type": "capture_socket", "target": "a", "witness_key": "a"},
    {"op_type": "capture_socket", "target": "b", "witness_key": "b"},
]
_BACK = [
    {"op_type": "release_socket", "target": "b", "witness_key": "b"},
    {"op_type": "release_socket", "target": "a", "witness_key": "a"},
]

PLANTS: dict[str, tuple[bool, dict[str, Any]]] = {
    "do nothing": (False, {"mutation": [_SET], "witness": [_CAPTURE], "recovery": []}),
    "wrong address": (
        False,
        {"mutation": [_SET], "witness": [_CAPTURE], "recovery": [{**_RESTORE, "target": "plant.other"}]},
    ),
    "wrong order": (False, {"mutation": _MOVE, "witness": _HELD, "recovery": _BACK[::-1]}),
    "unconditional delete": (
        False,
        {"mutation": [_SET], "recovery": [{"op_type": "delete_config", "target": "plant.value"}]},
    ),
    "omitted effect": (
        False,
        {"mutation": [_SET], "witness": [_CAPTURE], "recovery": [_RESTORE], "contract": ["prompts"]},
    ),
    "good": (
        True,
        {"mutation": [_SET, *_MOVE], "witness": [_CAPTURE, *_HELD], "recovery": [*_BACK, _RESTORE]},
    ),
}
_STATE = {"config": {"plant": {"value": 1}}, "resources": {"a": {"address": "tcp://127.0.0.1:9301"}}}


@cache
def _plants() -> tuple[tuple[str, bool, Candidate], ...]:
    return tuple((name, good, read_candidate(plain, name)) for name, (good, plain) in PLANTS.items())


@cache
def _state() -> State:
    return State.read(_STATE, "planted state")


def self_check(trip: Callable[[Candidate, State], Trip] = round_trip) -> None:
    """Run the plants through `trip`; raise `VerifierBroken` if one comes out wrong."""
    state = _state()
    for name, good, candidate in _plants():
        if trip(candidate, state).passed is not good:
            raise VerifierBroken(
                f"the planted recovery {name!r} was {'rejected' if good else 'let through'}",
                hint="no verdict of this run may be used; run the tests of takeback.verify",
            )
