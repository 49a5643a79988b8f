"""Random changes on few keys, paths, places and addresses, so that they meet: for undo laws and for torture."""

from __future__ import annotations

import random
from typing import Any

from takeback.lab.naive import Plain
from takeback.state import State
from takeback.state.slots import Slot

PATHS = ("a", "b", "a.b", "a.c", "a.b.c", "a.b.d", "e.f.g", "e.f")
FILES = ("d", "d/x", "d/x/y", "d/z", "w", "v/u/t")
ADDRESSES = tuple(f"tcp://127.0.0.1:{9100 + at}" for at in range(4))
KINDS = (
    "set_config",
    "write_file",
    "allocate_socket",
    "add_middleware",
    "add_listener",
    "set_prompt",
    "set_routing",
    "register_tool",
)
FOCI = (KINDS, KINDS, ("set_config",), ("write_file",), ("allocate_socket",), ("add_middleware", "add_listener"))
"""Kinds of change a history draws from: all, or a few so that changes meet more often."""
VALUES: tuple[Any, ...] = (1, 1.0, True, None, "text", [1, 2], {}, {"b": 5}, {"b": {"c": 1}, "z": 0})


def named_slots() -> list[Slot]:
    """Slots that random changes write, for removing things by hand."""
    return [
        *(("config", *path.split(".")) for path in PATHS),
        *(("files", *path.split("/")) for path in FILES),
        *(("resources", f"r{at}") for at in range(3)),
        ("middleware", "auth"),
        ("middleware", "cache"),
        ("listeners", "on_error", "audit"),
        ("tools", "grep"),
        ("prompts", "system"),
        ("routing", "main"),
    ]


def random_base(rng: random.Random) -> State:
    """A small state that random changes run into."""
    files: tuple[Plain, ...] = ({}, {"d": {"content": "a file"}}, {"d/x": {"content": "x"}, "e": {"directory": True}})
    return State.read(
        {
            "config": {"a": rng.choice((5, {"b": 1}, {"b": {"c": 2, "k": 3}})), "keep": 1},
            "prompts": {"system": "You are careful."},
            "tools": {"grep": {"id": "grep"}},
            "middleware": [{"id": name, "handler": f"mw.{name}"} for name in ("auth", "log", "retry")],
            "listeners": {"on_error": [{"id": "audit", "handler": "audit"}]},
            "files": rng.choice(files),
            "resources": {"r0": {"address": ADDRESSES[0]}} if rng.random() < 0.5 else {},  # noqa: PLR2004 - a coin
        }
    )


def random_op(rng: random.Random, state: State, kinds: tuple[str, ...]) -> Plain:
    """One forward operation of a random kind, on few keys."""
    kind = rng.choice(kinds)
    stamp = rng.randrange(1000)
    if kind == "set_config":
        return {"op_type": kind, "target": rng.choice(PATHS), "value": rng.choice((*VALUES, stamp))}
    if kind == "write_file":
        mode = rng.choice((None, None, "0600", "0755"))
        value = {"content": f"{stamp}"} if mode is None else {"content": f"{stamp}", "mode": mode}
        return {"op_type": kind, "target": rng.choice(FILES), "value": value}
    if kind == "allocate_socket":
        return {"op_type": kind, "target": f"r{rng.randrange(3)}", "value": {"address": rng.choice(ADDRESSES)}}
    if kind == "add_middleware":
        return _random_middleware(rng, state, stamp)
    if kind == "add_listener":
        value = {"id": rng.choice(("audit", "page", "count")), "handler": f"h{stamp}"}
        return {"op_type": kind, "target": rng.choice(("on_error", "on_start")), "value": value}
    if kind == "set_prompt":
        return {"op_type": kind, "target": rng.choice(("system", "planner")), "value": f"text {stamp}"}
    if kind == "set_routing":
        return {"op_type": kind, "target": rng.choice(("main", "spare")), "value": rng.choice((None, f"m{stamp}"))}
    return {"op_type": kind, "target": rng.choice(("grep", "sed")), "value": {"id": f"t{stamp}"}}


def _random_middleware(rng: random.Random, state: State, stamp: int) -> Plain:
    target = rng.choice(("auth", "log", "cache", "trace", "limit"))
    op: Plain = {"op_type": "add_middleware", "target": target, "value": {"handler": f"h{stamp}"}}
    others = [name for name in state.part("middleware").ids() if name != target]
    spot = rng.choice(("index", "index", "before", "after", "priority", None))
    if spot == "index":
        op["index"] = rng.choice((0, 0, 1, 2))
    elif spot in {"before", "after"} and others:
        op[spot] = rng.choice(others)
    elif spot == "priority":
        op["priority"] = op["value"]["priority"] = rng.choice((50, 100, 150))
    return op
