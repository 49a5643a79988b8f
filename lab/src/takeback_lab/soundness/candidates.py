"""Random candidates: correct ones, and ones broken by dropping, swapping, retargeting, reordering and relabelling.

Names come from small pools so that operations meet each other: the same key twice, a path and a path below
it, an anchor that is also a target, two sockets that want one address. Some mutations stay on one kind of surface, so
that what takes several operations of a kind is reached too: files that can be written only where no directory is,
restores from captures of other paths, recoveries that go wrong only where the mutation fails elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import KINDS, Stage

Plain = dict[str, Any]

PATHS: Final = ("a", "a.b", "a.b.c", "a.d", "a.d.c", "e", "e.f")
FLAT: Final = ("a", "b", "e")
NAMES: Final = ("p", "q", "r")
EVENTS: Final = ("on_x", "on_y")
FILES: Final = ("u", "u/v", "u/v/w.txt", "u/t.txt", "z", "z/y.txt")
PORTS: Final = ("tcp://127.0.0.1:9401", "tcp://127.0.0.1:9402", "tcp://127.0.0.1:0")
LITERALS: Final[tuple[Any, ...]] = (1, 1.0, True, None, "x", [1], {"b": 2}, {})


def mutation(rng: random.Random, *, keyed: bool) -> list[Plain]:
    """Return a forward program of one to four operations; `keyed`: on flat keyed surfaces only."""
    makers = _KEYED if keyed else rng.choice(_THEMES)
    return [rng.choice(makers)(rng) for _ in range(rng.choice((1, 1, 2, 2, 3, 4)))]


def candidate(rng: random.Random, *, keyed: bool) -> Plain:
    """Return a candidate as JSON: the oracle's, or with probability 3/4 a broken or rearranged one."""
    program = read_program(mutation(rng, keyed=keyed), Stage.FORWARD, "soundness")
    plain = invert_mutation(program).to_json()
    for _ in range(rng.choice((0, 1, 1, 2))):
        rng.choice(BREAKS)(plain, rng)
    return plain


def _set_config(rng: random.Random) -> Plain:
    return {"op_type": "set_config", "target": rng.choice(PATHS), "value": rng.choice(LITERALS)}


def _set_flat(rng: random.Random) -> Plain:
    return {"op_type": "set_config", "target": rng.choice(FLAT), "value": rng.choice((1, "x", None))}


def _set_prompt(rng: random.Random) -> Plain:
    return {"op_type": "set_prompt", "target": rng.choice(NAMES), "value": rng.choice(("x", "y"))}


def _set_routing(rng: random.Random) -> Plain:
    return {"op_type": "set_routing", "target": rng.choice(NAMES), "value": rng.choice(("x", None))}


def _register_tool(rng: random.Random) -> Plain:
    return {"op_type": "register_tool", "target": rng.choice(NAMES), "value": {"id": rng.choice(NAMES)}}


def _add_middleware(rng: random.Random) -> Plain:
    target = rng.choice(NAMES)
    op: Plain = {"op_type": "add_middleware", "target": target, "value": {"handler": rng.choice(("h", "k"))}}
    others = [name for name in NAMES if name != target]
    place = rng.choice(("", "index", "before", "after", "priority"))
    if place in {"before", "after"}:
        op[place] = rng.choice(others)
    elif place:
        op[place] = rng.choice((0, 1, 3) if place == "index" else (1, 100, 200))
    return op


def _add_listener(rng: random.Random) -> Plain:
    value = {"id": rng.choice(NAMES), "handler": rng.choice(("h", "k"))}
    return {"op_type": "add_listener", "target": rng.choice(EVENTS), "value": value}


def _write_file(rng: random.Random) -> Plain:
    content: Any = rng.choice(("x", {"content": "y", "mode": "0755"}))
    return {"op_type": "write_file", "target": rng.choice(FILES), "value": content}


def _allocate(rng: random.Random) -> Plain:
    return {"op_type": "allocate_socket", "target": rng.choice(NAMES), "value": rng.choice(PORTS)}


_KEYED: tuple[Callable[[random.Random], Plain], ...] = (_set_flat, _set_prompt, _set_routing, _register_tool)
MAKERS: tuple[Callable[[random.Random], Plain], ...] = (
    _set_config,
    _set_config,
    _set_prompt,
    _set_routing,
    _register_tool,
    _add_middleware,
    _add_middleware,
    _add_listener,
    _write_file,
    _write_file,
    _allocate,
    _allocate,
)
_THEMES = (MAKERS, MAKERS, MAKERS, (_write_file,), (_set_config, _add_middleware), (_allocate,))


def _drop(plain: Plain, rng: random.Random) -> None:
    program = plain[rng.choice(("witness", "recovery", "contract"))]
    if program:
        del program[rng.randrange(len(program))]


def _swap(plain: Plain, rng: random.Random) -> None:
    program = plain["recovery"]
    if len(program) > 1:
        one, two = rng.sample(range(len(program)), 2)
        program[one], program[two] = program[two], program[one]


def _reorder(plain: Plain, rng: random.Random) -> None:
    rng.shuffle(plain[rng.choice(("witness", "recovery"))])


def _retarget(plain: Plain, rng: random.Random) -> None:
    program = plain[rng.choice(("witness", "recovery"))]
    if program:
        op = rng.choice(program)
        surface = KINDS[op["op_type"]].surface
        if surface == "config":
            flat = all("." not in other["target"] for other in plain["mutation"])
            op["target"] = rng.choice(FLAT if flat else PATHS)
        else:
            op["target"] = rng.choice(_POOLS.get(surface, NAMES))


def _relabel(plain: Plain, rng: random.Random) -> None:
    program = plain[rng.choice(("witness", "recovery"))]
    keyed = [op for op in program if "witness_key" in op]
    if keyed:
        rng.choice(keyed)["witness_key"] = f"w{rng.randrange(3)}"


def _unconditional(plain: Plain, rng: random.Random) -> None:
    program = plain["recovery"]
    if program:
        at = rng.randrange(len(program))
        surface = KINDS[program[at]["op_type"]].surface
        if surface in _REMOVALS:
            program[at] = {"op_type": _REMOVALS[surface], "target": program[at]["target"]}


def _double(plain: Plain, rng: random.Random) -> None:
    program = plain["recovery"]
    if program:
        program.insert(rng.randrange(len(program) + 1), dict(rng.choice(program)))


def _whole(plain: Plain, rng: random.Random) -> None:
    """Take the whole chain, or the whole event, in place of one element."""
    for op in plain["witness"]:
        if op["op_type"] == "capture_listener":
            op.pop("value", None)
        elif op["op_type"] == "capture_middleware":
            op["target"] = "*"
    for op in plain["recovery"]:
        if op["op_type"] == "restore_middleware" and rng.random() < 0.7:  # noqa: PLR2004  (mostly)
            op["target"] = "*"


def _recallback(plain: Plain, rng: random.Random) -> None:
    """Name another callback in a capture, or narrow a removal to one."""
    ops = [
        op
        for op in (*plain["witness"], *plain["recovery"])
        if op["op_type"] in {"capture_listener", "unregister_listener"}
    ]
    if ops:
        rng.choice(ops)["value"] = rng.choice(NAMES)


def _conditional(plain: Plain, rng: random.Random) -> None:
    """Turn a restore into a removal with the same witness, which means the same."""
    program = plain["recovery"]
    if program:
        op = rng.choice(program)
        surface = KINDS[op["op_type"]].surface
        if surface in _REMOVALS and "witness_key" in op:
            op["op_type"] = _REMOVALS[surface]


def _intrude(plain: Plain, rng: random.Random) -> None:
    """Remove something, somewhere in the recovery, that may have nothing to do with the mutation."""
    surface = rng.choice(sorted(_REMOVALS))
    if plain["mutation"] and all("." not in op["target"] for op in plain["mutation"]):
        target = rng.choice(_POOLS.get(surface, FLAT if surface == "config" else NAMES))
    else:
        target = rng.choice(_POOLS.get(surface, PATHS if surface == "config" else NAMES))
    program = plain["recovery"]
    program.insert(rng.randrange(len(program) + 1), {"op_type": _REMOVALS[surface], "target": target})


def _borrow(plain: Plain, rng: random.Random) -> None:
    """Restore something from another capture of its surface first, and rightly later."""
    keyed = [op for op in plain["recovery"] if "witness_key" in op]
    if keyed:
        op = rng.choice(keyed)
        surface = KINDS[op["op_type"]].surface
        lenders = [one["witness_key"] for one in plain["witness"] if KINDS[one["op_type"]].surface == surface]
        at = rng.randrange(plain["recovery"].index(op) + 1)
        plain["recovery"].insert(at, {**op, "witness_key": rng.choice([*lenders, op["witness_key"]])})


def _detour(plain: Plain, rng: random.Random) -> None:
    """Capture other paths, and restore at and below a target from them before it is restored rightly."""
    targets = [op["target"] for op in plain["mutation"] if op["op_type"] in _DETOURS]
    if not targets:
        return
    target = rng.choice(targets)
    kind = next(op["op_type"] for op in plain["mutation"] if op["target"] == target and op["op_type"] in _DETOURS)
    noun, mark, pool = _DETOURS[kind]
    for key in ("lent", "lent_too"):
        plain["witness"].append({"op_type": f"capture_{noun}", "target": rng.choice(pool), "witness_key": key})
    below = mark.join([target, *rng.choices("bcd", k=rng.randrange(3))])
    plain["recovery"][:0] = [
        {"op_type": f"restore_{noun}", "target": target, "witness_key": "lent"},
        {"op_type": f"restore_{noun}", "target": below, "witness_key": "lent_too"},
    ]


def _dip(plain: Plain, rng: random.Random) -> None:
    """Restore below a target that the mutation makes a mapping, before the target is restored rightly.

    Where the mutation fails, which a middleware without its anchor does, the target may be no mapping.
    """
    written = [op for op in plain["mutation"] if op["op_type"] == "set_config"]
    if written:
        op = rng.choice(written)
        op["value"] = {}
        plain["mutation"].append(
            {"op_type": "add_middleware", "target": "p", "value": {"handler": "h"}, "after": "q"}
        )
        plain["witness"] += [
            {"op_type": "capture_config", "target": rng.choice(PATHS), "witness_key": "dipped"},
            {"op_type": "capture_middleware", "target": "p", "witness_key": "beside"},
        ]
        plain["recovery"][:0] = [
            {"op_type": "restore_middleware", "target": "p", "witness_key": "beside"},
            {"op_type": "restore_config", "target": f"{op['target']}.{rng.choice('bcd')}", "witness_key": "dipped"},
        ]
        plain["contract"] = sorted({*plain["contract"], "middleware"})


def _beneath(plain: Plain, _: random.Random) -> None:
    """Write files at the top, and capture and restore below them: nothing is there where they can be written."""
    for program in ("mutation", "witness", "recovery"):
        for op in plain[program]:
            if KINDS[op["op_type"]].surface == "files" and op["op_type"] != "move_file":
                top = op["target"].partition("/")[0]
                op["target"] = top if program == "mutation" else _BELOW.get(top, f"{top}/x")
                plain["contract"] = sorted({*plain["contract"], "files"})


_BELOW = {"u": "u/v", "z": "z/y.txt"}
_DETOURS = {"set_config": ("config", ".", PATHS), "write_file": ("file", "/", FILES)}
_POOLS = {"listeners": EVENTS, "files": FILES}
_REMOVALS = {
    "config": "delete_config",
    "tools": "unregister_tool",
    "listeners": "unregister_listener",
    "files": "delete_file",
    "resources": "release_socket",
}
BREAKS = (
    _drop,
    _swap,
    _reorder,
    _retarget,
    _relabel,
    _unconditional,
    _double,
    _whole,
    _recallback,
    _conditional,
    _intrude,
    _borrow,
    _detour,
    _detour,
    _dip,
    _beneath,
)
