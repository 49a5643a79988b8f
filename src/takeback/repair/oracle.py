"""The oracle: a capture and an inverse for each forward operation, unwound last in, first out.

One pass, no search, no model. Where restores could stand in each other's way (sockets that swapped
addresses) the touched slots are cleared first. Restores are at element level, so that what others change on
the same surface later survives. The contract lists the addresses the mutation names and those it was seen to affect.
"""

from __future__ import annotations

from collections.abc import Iterator

from takeback.canonical import encode
from takeback.language import Candidate, NoInverse, Program, find_widest_level, gate
from takeback.language.program import MutationLike, infer_contract, read_mutation, read_operation
from takeback.runtime import find_effects, run_forward
from takeback.state import SURFACES, Address, Contract, Level, Operation, Stage, State
from takeback.state.tree_surface import TreeSurface


def oracle(mutation: MutationLike, level: Level | None = None, nominal: State | None = None) -> Candidate | NoInverse:
    """Return the mutation with a recovery in the language, or what the language lacks for one.

    The mutation is a program, a list of operations as JSON, or a candidate, whose recovery is not looked at. `level`
    is the widest language installed if left out.
    """
    level = find_widest_level() if level is None else level
    candidate = invert_mutation(read_mutation(mutation), nominal)
    lacking = gate(candidate, level)
    return NoInverse(level, lacking) if lacking else candidate


def invert_mutation(mutation: Program, nominal: State | None = None) -> Candidate:
    """Return the candidate that takes `mutation` back, in whatever language that needs."""
    captures: dict[str, Operation] = {}
    restores: list[Operation] = []
    touched: dict[str, list[Operation]] = {}
    for op in mutation:
        surface = SURFACES[op.kind.surface]
        earlier = touched.setdefault(surface.name, [])
        covered = {address.key for address in (op.address, *op.also) if _is_inside(address, earlier)}
        earlier.append(op)
        for capture, restore in surface.invert(op):
            if restore["target"] in covered and op.kind.level is Level.L2:
                continue
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
        mutation, tuple(captures.values()), (*cleared, *reversed(restores)), _build_contract(mutation, nominal)
    )


def _is_inside(address: Address, earlier: list[Operation]) -> bool:
    """Tell whether an earlier operation writes what contains an address: restoring that restores the address too."""
    above = (other.key for op in earlier for other in (op.address, *op.also) if other.key != address.key)
    return any(SURFACES[address.surface].covers(key, address.key) for key in above)


def _build_contract(mutation: Program, nominal: State | None) -> Contract:
    named = infer_contract(mutation)
    left = {address for at, op in enumerate(mutation) for address in _find_left_containers(mutation[:at], op)}
    if left:
        named = Contract(addresses={*named.addresses, *left})
    if nominal is None:
        return named
    changed, receipt = run_forward(mutation, nominal)
    seen = {address for address in find_effects(nominal, changed, receipt) if not named.covers(address)}
    return Contract(addresses={*named.addresses, *seen})


def _find_left_containers(earlier: Program, op: Operation) -> Iterator[Address]:
    """Yield containers that an earlier operation may have made and a later one leaves behind empty."""
    surface = SURFACES[op.kind.surface]
    if op.kind.level is not Level.L2 or op.kind.inside or not isinstance(surface, TreeSurface) or len(op.path) == 1:
        return
    made = (
        other for before in earlier if before.kind.surface == surface.name for other in surface.list_targets(before)
    )
    if any(path[: len(op.path)] == op.path for path in made):
        yield surface.address(op.path[:1])
