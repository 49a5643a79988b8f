"""Random candidates whose mutation fails on every state, or on most, with contracts that leave something out.

A failed run changes nothing, but its trace counts: what it wrote before it failed must be in the contract. How far it
gets depends on several places at once, so names are few, and paths lie below files. Somewhere in the mutation two
operations contradict each other, whatever the state.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage
from takeback_lab.soundness.candidates import BREAKS, Plain

Ops = list[Plain]
Maker = Callable[[random.Random], Plain]
TOPS: Final = ("a", "b", "c")
BELOW: Final = ("", "", "", "", "/x", "/y")
_SHORT_SHARE: Final = 0.8
_CROSSED_SHARE: Final = 0.5
_STIRRED_SHARE: Final = 0.3
_NEVER_SHARE: Final = 0.7
_BROKEN_SHARE: Final = 0.2
_BARE_SHARE: Final = 0.4


def candidate(rng: random.Random, *, wide: bool) -> Plain:
    """Return a candidate as JSON; `wide`: with operations of L2."""
    mutation = _crossed(rng, wide=wide) if rng.random() < _CROSSED_SHARE else _clashing(rng, wide=wide)
    plain = invert_mutation(read_program(mutation, Stage.FORWARD, "soundness")).to_json()
    if rng.random() < _BARE_SHARE:
        plain.update(witness=[], recovery=[])
    if rng.random() < _SHORT_SHARE:
        _shorten(plain, rng)
    if rng.random() < _BROKEN_SHARE:
        rng.choice(BREAKS)(plain, rng)
    return plain


def _clashing(rng: random.Random, *, wide: bool) -> Ops:
    """Some operations, mostly with two among them that contradict each other."""
    makers, clashes = (_WIDE, _WIDE_CLASHES) if wide else (_NARROW, _CLASHES)
    mutation = [rng.choice(makers)(rng) for _ in range(rng.choice((1, 2, 2, 3)))]
    if rng.random() < _NEVER_SHARE:
        _plant(mutation, rng.choice(clashes)(rng), rng)
    return mutation


def _crossed(rng: random.Random, *, wide: bool) -> Ops:
    """Files at several names, then paths below those: each can be written only where its own name is no directory."""
    names = rng.sample(TOPS, 2 if wide else rng.choice((2, 2, 3)))
    firsts: tuple[Maker, ...] = (_write, _write, _remove, _remove_directory, _move) if wide else (_write,)
    mutation = [{**rng.choice(firsts)(rng), "target": name} for name in names]
    for op in mutation:
        if op["op_type"] == "move_file":
            op["value"] = rng.choice([name for name in TOPS if name != op["target"]]) + rng.choice(("", "", "/y"))
    below = [{"op_type": "write_file", "target": f"{name}/x", "value": "x"} for name in names]
    mutation += rng.sample(below, rng.randint(1, len(below)))
    if rng.random() < _STIRRED_SHARE:
        one, two = rng.sample(range(len(mutation)), 2)
        mutation[one], mutation[two] = mutation[two], mutation[one]
    return mutation


def _plant(mutation: Ops, clash: Ops, rng: random.Random) -> None:
    """Put operations that contradict each other among the others, in their order; mostly late."""
    at = 0
    for op in clash:
        at = max(rng.randint(at, len(mutation)), rng.randint(at, len(mutation)))
        mutation.insert(at, op)
        at += 1


def _shorten(plain: Plain, rng: random.Random) -> None:
    """Leave one or two places out of the contract."""
    contract = plain["contract"]
    for _ in range(rng.choice((1, 1, 2))):
        if contract:
            del contract[rng.randrange(len(contract))]


def _path(rng: random.Random) -> str:
    return rng.choice(TOPS) + rng.choice(BELOW)


def _write(rng: random.Random) -> Plain:
    return {"op_type": "write_file", "target": _path(rng), "value": rng.choice(("x", "y"))}


def _set(rng: random.Random) -> Plain:
    return {"op_type": "set_config", "target": _path(rng).replace("/", "."), "value": rng.choice((1, "x"))}


def _anchored(rng: random.Random) -> Plain:
    target, other = rng.sample(("p", "q", "r"), 2)
    return {"op_type": "add_middleware", "target": target, "value": {"handler": "h"}, "after": other}


def _allocate(rng: random.Random) -> Plain:
    address = f"tcp://127.0.0.1:{rng.choice((9401, 9402))}"
    return {"op_type": "allocate_socket", "target": rng.choice(("p", "q", "r")), "value": address}


def _remove(rng: random.Random) -> Plain:
    return {"op_type": "remove_file", "target": _path(rng)}


def _remove_directory(rng: random.Random) -> Plain:
    return {"op_type": "remove_directory", "target": _path(rng)}


def _unset(rng: random.Random) -> Plain:
    return {"op_type": "unset_config", "target": _path(rng).replace("/", ".")}


def _move(rng: random.Random) -> Plain:
    source, goal = rng.sample(TOPS, 2)
    return _moved(source + rng.choice(BELOW), goal + rng.choice(BELOW))


def _moved(source: str, goal: str) -> Plain:
    return {"op_type": "move_file", "target": source, "value": goal}


def _beside(rng: random.Random) -> Plain:
    target, other = rng.sample(("p", "q", "r"), 2)
    return {"op_type": "move_middleware", "target": target, rng.choice(("before", "after")): other}


def _below_a_file(rng: random.Random) -> Ops:
    """A file and a path below it, in either order."""
    top = rng.choice(TOPS)
    pair = [{"op_type": "write_file", "target": path, "value": "x"} for path in (top, f"{top}/x")]
    return pair if rng.random() < _HALF else pair[::-1]


def _below_a_value(rng: random.Random) -> Ops:
    top = rng.choice(TOPS)
    return [{"op_type": "set_config", "target": path, "value": 1} for path in (top, f"{top}.x")]


def _one_address(rng: random.Random) -> Ops:
    """Two sockets that want one address."""
    one, two = rng.sample(("p", "q", "r"), 2)
    return [{"op_type": "allocate_socket", "target": key, "value": "tcp://127.0.0.1:9401"} for key in (one, two)]


def _edited_after_removal(rng: random.Random) -> Ops:
    path = _path(rng)
    return [
        {"op_type": "remove_file", "target": path},
        {"op_type": "edit_file", "target": path, "value": {"old": "x", "new": "y"}},
    ]


def _turned(rng: random.Random) -> Ops:
    """A file removed as if it were a directory, or a directory as if it were a file."""
    top = rng.choice(TOPS)
    written = {"op_type": "write_file", "target": rng.choice((top, f"{top}/x")), "value": "x"}
    return [written, {"op_type": rng.choice(("remove_file", "remove_directory")), "target": top}]


def _moved_twice(rng: random.Random) -> Ops:
    """One file moved to two places, or two to one."""
    one, two, three = rng.sample(TOPS, 3)
    ways = (
        ((one, two), (one, three)),
        ((one, two), (three, two)),
        ((one, two), (two, one), (one, two), (one, three)),
    )
    return [_moved(*pair) for pair in rng.choice(ways)]


def _beside_nothing(rng: random.Random) -> Ops:
    one, two = rng.sample(("p", "q", "r"), 2)
    added: dict[str, Any] = {"op_type": "add_middleware", "target": one, "value": {"handler": "h"}, "before": two}
    return [{"op_type": "remove_middleware", "target": two}, added]


def _appended_to_nothing(rng: random.Random) -> Ops:
    path = _path(rng).replace("/", ".")
    return [
        {"op_type": "unset_config", "target": path},
        {"op_type": "append_config", "target": path, "value": "i"},
    ]


_HALF: Final = 0.5
_NARROW: Final[tuple[Maker, ...]] = (_write, _write, _write, _write, _set, _anchored, _allocate)
_WIDE: Final[tuple[Maker, ...]] = (
    *(_write, _write, _move, _move, _move, _remove, _remove_directory, _set, _unset, _anchored, _beside),
)
_CLASHES: Final = (_below_a_file, _below_a_file, _below_a_file, _below_a_value, _one_address)
_WIDE_CLASHES: Final = (
    _below_a_file,
    _below_a_file,
    _moved_twice,
    _moved_twice,
    _edited_after_removal,
    _turned,
    _beside_nothing,
    _appended_to_nothing,
)
