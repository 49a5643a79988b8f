"""Random candidates that write records of other systems, among other operations; right, or broken.

Some restore or remove somebody else's record. The surface is registered for a run and taken out again. Draws of their
own, so that all other candidates of a seed stay what they were.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import KINDS, SURFACES, Stage, State, unregister
from takeback.state.surfaces.external import EXTERNAL, install_external_surface
from takeback_lab.soundness import calls
from takeback_lab.soundness.candidates import BREAKS, MAKERS, NAMES, Plain
from takeback_lab.soundness.edits import ANY

FIELDS: Final = ("text", "weight")
PLANTED: Final[Plain] = {
    "mutation": [{"op_type": "set_external", "target": "memory/p", "value": {"text": "x"}}],
    "witness": [{"op_type": "capture_external", "target": "memory/p", "witness_key": "w"}],
    "recovery": [
        {"op_type": "restore_external", "target": "memory/p", "witness_key": "w"},
        {"op_type": "delete_external", "target": "memory/q"},
    ],
    "contract": ["external"],
}
"""It removes somebody else's record; the first of its kind that a run looks at, and it must be refuted."""


@contextmanager
def registered_records() -> Iterator[None]:
    """Have the surface registered."""
    known = EXTERNAL in SURFACES
    install_external_surface()
    try:
        yield
    finally:
        if not known:
            unregister(EXTERNAL)


def candidate(rng: random.Random, *, wide: bool) -> Plain:
    """Return a candidate as JSON: the oracle's, or with probability 3/4 a broken or rearranged one."""
    makers = (*(_WIDE if wide else (_set,)) * 3, calls.draw_call, *(ANY if wide else MAKERS))
    mutation = [rng.choice(makers)(rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    mutation.insert(rng.randrange(len(mutation) + 1), rng.choice(_WIDE if wide else (_set,))(rng))
    plain = invert_mutation(read_program(mutation, Stage.FORWARD, "soundness")).to_json()
    for _ in range(rng.choice((0, 1, 1, 2))):
        rng.choice((*BREAKS, *_OWN * 2))(plain, rng)
        _name_records(plain)
    return plain


def with_records(state: State, rng: random.Random) -> State:
    """Return a state in which some records are there, with some fields."""
    plain: dict[str, Any] = {
        f"memory/{name}": {field: rng.choice(("x", "y", 1, None)) for field in FIELDS if rng.random() < _HALF}
        for name in (*NAMES, "other")
        if rng.random() < _HALF
    }
    return state.replace(EXTERNAL, SURFACES[EXTERNAL].read(plain, "a random state"))


_HALF: Final = 0.5


def _draw_key(rng: random.Random) -> str:
    return f"memory/{rng.choice(NAMES)}"


def _set(rng: random.Random) -> Plain:
    value = {field: rng.choice(("x", "y")) for field in FIELDS if rng.random() < _HALF}
    return {"op_type": "set_external", "target": _draw_key(rng), "value": value}


def _edit(rng: random.Random) -> Plain:
    value = {"field": rng.choice(FIELDS), "value": rng.choice(("x", "y", None))}
    return {"op_type": "edit_external", "target": _draw_key(rng), "value": value}


def _unset(rng: random.Random) -> Plain:
    return {"op_type": "unset_external", "target": _draw_key(rng)}


_WIDE: Final = (_set, _edit, _edit, _unset)


def _name_records(plain: Plain) -> None:
    """Have each operation on a record name its binding, also where a break gave it another key."""
    for program in ("mutation", "witness", "recovery"):
        for op in plain[program]:
            if KINDS[op["op_type"]].surface == EXTERNAL and "/" not in op["target"]:
                op["target"] = f"memory/{op['target']}"


def _remove_others(plain: Plain, rng: random.Random) -> None:
    """Remove a record that may be somebody else's."""
    at = rng.randrange(len(plain["recovery"]) + 1)
    plain["recovery"].insert(at, {"op_type": "delete_external", "target": _draw_key(rng)})


def _restore_others(plain: Plain, rng: random.Random) -> None:
    """Put a record's capture back under a key that may be another."""
    mine = [op for op in plain["recovery"] if op["op_type"] == "restore_external"]
    if mine:
        rng.choice(mine)["target"] = _draw_key(rng)


def _go_blind(plain: Plain, rng: random.Random) -> None:
    """Remove without a witness what was restored from one, or remove by it, which means the same."""
    mine = [op for op in plain["recovery"] if op["op_type"] == "restore_external"]
    if mine:
        op = rng.choice(mine)
        op["op_type"] = "delete_external"
        if rng.random() < _HALF:
            op.pop("witness_key", None)


_OWN: Final = (_remove_others, _restore_others, _go_blind)
