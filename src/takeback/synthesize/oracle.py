"""The oracle: a capture and an inverse for each forward operation, unwound last in, first out.

One pass, no search, no model. Where restores could stand in each other's way (sockets that swapped
addresses) the touched slots are cleared first. Restores are at element level, so that what others change on
the same surface later survives. The contract lists the addresses the mutation names and those it was seen to affect.
"""

from __future__ import annotations

from takeback.canonical import encode
from takeback.language import Candidate, Program, gate, widest_level
from takeback.language.program import infer_contract, read_operation
from takeback.runtime import effects, forward
from takeback.state import SURFACES, Contract, Level, Operation, Stage, State


def oracle(mutation: Program, level: Level | None = None, nominal: State | None = None) -> Candidate | None:
    """Return the mutation with a recovery in the language, or None where the language has none.

    The language is the widest installed one where none is given.
    """
    candidate = invert(mutation, nominal)
    return None if gate(candidate, level or widest_level()) else candidate


def invert(mutation: Program, nominal: State | None = None) -> Candidate:
    """Return the candidate that takes `mutation` back, in whatever language that needs."""
    captures: dict[str, Operation] = {}
    restores: list[Operation] = []
    touched: dict[str, list[Operation]] = {}
    for op in mutation:
        surface = SURFACES[op.kind.surface]
        touched.setdefault(surface.name, []).append(op)
        for capture, restore in surface.invert(op):
            taken = encode(capture)
            key = {"witness_key": captures[taken].witness_key if taken in captures else f"w{len(captures)}"}
            captures.setdefault(taken, read_operation({**capture, **key}, Stage.CAPTURE, "oracle.witness"))
            restores.append(read_operation({**restore, **key}, Stage.RECOVERY, "oracle.recovery"))
    cleared = [
        read_operation(plain, Stage.RECOVERY, "oracle.recovery")
        for name, ops in touched.items()
        for plain in SURFACES[name].clear(ops)
    ]
    return Candidate(
        mutation, tuple(captures.values()), (*cleared, *reversed(restores)), _contract(mutation, nominal)
    )


def _contract(mutation: Program, nominal: State | None) -> Contract:
    named = infer_contract(mutation)
    if nominal is None:
        return named
    changed, receipt = forward(mutation, nominal)
    seen = {address for address in effects(nominal, changed, receipt) if not named.covers(address)}
    return Contract(addresses={*named.addresses, *seen})
