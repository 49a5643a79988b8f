"""Random candidates that make calls, among other operations; right, or broken: some compensate somebody else's call.

The surface is registered for a run and taken out again. Draws of their own, so that all other candidates of a seed
stay what they were.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import SURFACES, Stage, State, unregister
from takeback.state.surfaces.calls import CALLS, CallFacts, CallsSurface, install_calls_surface
from takeback_lab.soundness.candidates import BREAKS, MAKERS, NAMES, Plain
from takeback_lab.soundness.edits import ANY

DECLARED: Final = ("mail", "pay")
PLANTED: Final[Plain] = {
    "mutation": [{"op_type": "make_call", "target": "p", "value": {"call": "mail", "arguments": {}}}],
    "witness": [{"op_type": "capture_call", "target": "p", "witness_key": "w"}],
    "recovery": [
        {"op_type": "compensate_call", "target": "p", "witness_key": "w"},
        {"op_type": "compensate_call", "target": "q"},
    ],
    "contract": ["calls"],
}
"""It compensates somebody else's call; the first of its kind that a run looks at, and it must be refuted."""


@contextmanager
def declared_calls() -> Iterator[None]:
    """Have the surface registered, with calls that can be compensated."""
    known = CALLS in SURFACES
    install_calls_surface({name: CallFacts(True, "it is answered") for name in DECLARED})
    try:
        yield
    finally:
        if not known:
            unregister(CALLS)
        elif isinstance(SURFACES[CALLS], CallsSurface):
            for name in DECLARED:
                SURFACES[CALLS].declared.pop(name, None)


def candidate(rng: random.Random, *, wide: bool) -> Plain:
    """Return a candidate as JSON: the oracle's, or with probability 3/4 a broken or rearranged one."""
    makers = (draw_call, draw_call, *(ANY if wide else MAKERS))
    mutation = [rng.choice(makers)(rng) for _ in range(rng.choice((1, 2, 2, 3)))]
    mutation.insert(rng.randrange(len(mutation) + 1), draw_call(rng))
    plain = invert_mutation(read_program(mutation, Stage.FORWARD, "soundness")).to_json()
    for _ in range(rng.choice((0, 1, 1, 2))):
        rng.choice((*BREAKS, _go_blind, _go_blind, _answer_others, _answer_others))(plain, rng)
    return plain


def with_calls(state: State, rng: random.Random) -> State:
    """Return a state in which some calls were made, and some of these compensated."""
    plain: dict[str, Any] = {
        name: {
            "call": rng.choice(DECLARED),
            "arguments": {"to": rng.choice("xyz")},
            "state": rng.choice(("made", "compensated")),
        }
        for name in (*NAMES, "other")
        if rng.random() < 0.5  # noqa: PLR2004 - a coin
    }
    return state.replace(CALLS, SURFACES[CALLS].read(plain, "a random state"))


def draw_call(rng: random.Random) -> Plain:
    """Return an operation that makes a call."""
    value = {"call": rng.choice(DECLARED), "arguments": {"to": rng.choice("xy")}}
    return {"op_type": "make_call", "target": rng.choice(NAMES), "value": value}


def _go_blind(plain: Plain, rng: random.Random) -> None:
    """Compensate without a witness."""
    mine = [op for op in plain["recovery"] if op["op_type"] == "compensate_call"]
    if mine:
        rng.choice(mine).pop("witness_key", None)


def _answer_others(plain: Plain, rng: random.Random) -> None:
    """Compensate a call that may be somebody else's."""
    at = rng.randrange(len(plain["recovery"]) + 1)
    plain["recovery"].insert(at, {"op_type": "compensate_call", "target": rng.choice(NAMES)})
