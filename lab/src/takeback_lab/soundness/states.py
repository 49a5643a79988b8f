"""Random states over the names that random candidates use; made from JSON, not from the proof's shapes."""

from __future__ import annotations

import random
from typing import Any

from takeback.state import State
from takeback_lab.soundness.candidates import EVENTS, FILES, NAMES, PORTS

_LEAVES: tuple[Any, ...] = (1, 1.0, True, False, None, "x", "y", "other", [1], [])


def random_state(rng: random.Random) -> State:
    """Return a state in which each named slot is there or not, as one thing or another, in any order."""
    plain: dict[str, Any] = {
        "config": _mapping(rng, 3),
        "prompts": {name: rng.choice(("x", "y", "z")) for name in NAMES if rng.random() < _HALF},
        "routing": {name: rng.choice(("x", None, "z")) for name in NAMES if rng.random() < _HALF},
        "tools": {name: {"id": rng.choice(NAMES)} for name in NAMES if rng.random() < _HALF},
        "middleware": _chain(rng),
        "listeners": {event: _callbacks(rng) for event in EVENTS if rng.random() < _HALF},
        "files": _files(rng),
        "resources": _resources(rng),
    }
    return State.read(plain, "a random state")


_HALF = 0.5


def _mapping(rng: random.Random, depth: int) -> dict[str, Any]:
    return {
        name: _mapping(rng, depth - 1) if depth and rng.random() < 0.4 else rng.choice(_LEAVES)  # noqa: PLR2004
        for name in "abcdef"
        if rng.random() < _HALF
    }


def _chain(rng: random.Random) -> list[dict[str, Any]]:
    names = [name for name in (*NAMES, "m1", "m2", "m3", "m4") if rng.random() < _HALF]
    rng.shuffle(names)
    return [
        {"id": name, "handler": rng.choice(("h", "k", "other")), "priority": rng.choice((1, 50, 100, 150, 300))}
        for name in names
    ]


def _callbacks(rng: random.Random) -> list[dict[str, Any]]:
    names = [name for name in (*NAMES, "other") if rng.random() < _HALF]
    rng.shuffle(names)
    return [{"id": name, "handler": rng.choice(("h", "k", "other"))} for name in names]


def _files(rng: random.Random) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for path in rng.sample([*FILES, "u/v/other", "u/other"], rng.randrange(6)):
        inside = any(other.startswith(f"{path}/") for other in plain)
        above = any(path.startswith(f"{other}/") and "content" in plain[other] for other in plain)
        if above:
            continue
        if inside or rng.random() < 0.3:  # noqa: PLR2004
            plain[path] = {"directory": True}
        else:
            plain[path] = {"content": rng.choice(("x", "y", "other")), "mode": rng.choice(("0644", "0755"))}
    return plain


def _resources(rng: random.Random) -> dict[str, Any]:
    free = [*PORTS, "tcp://127.0.0.1:0", "tcp://127.0.0.1:9403", "tcp://127.0.0.1:9404"]
    rng.shuffle(free)
    plain: dict[str, Any] = {}
    for name in (*NAMES, "elsewhere"):
        if free and rng.random() < _HALF:
            kind = "external" if name == "elsewhere" else "socket"
            lifecycle = rng.choice(("open", "draining"))
            plain[name] = {"kind": kind, "address": free.pop(), "lifecycle": lifecycle}
    return plain
