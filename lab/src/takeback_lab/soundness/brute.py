"""Brute force: one candidate on many states, compared as JSON, with no code of the verifier.

What programs do is the interpreter's business and the same for everybody. Whether the state came back is decided on
the JSON of the surfaces, and whether a state can be made smaller by taking pieces out of that JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from takeback.canonical import encode
from takeback.errors import InputError, RecoveryFailed
from takeback.language import Candidate
from takeback.runtime import capture, find_effects, recover, run_forward
from takeback.state import SURFACES, State, Surface
from takeback.state.chain import Chain

Plain = dict[str, Any]


class BruteTrip(NamedTuple):
    """How a candidate fared on one state: whether all came back as it was, and whether the mutation went through."""

    held: bool
    through: bool


def fate(candidate: Candidate, state: State) -> BruteTrip:
    """Run one round trip and compare."""
    witness = capture(candidate.witness, state)
    changed, receipt = run_forward(candidate.mutation, state)
    covers = candidate.contract.covers
    told = all(covers(address) for address in find_effects(state, changed, receipt))
    try:
        back = recover(candidate.recovery, changed, witness)
    except RecoveryFailed:
        return BruteTrip(False, receipt.succeeded)
    return BruteTrip(told and _same(state, back), receipt.succeeded)


def breaks(candidate: Candidate, states: Iterable[State]) -> bool:
    """Tell whether one of the states breaks a candidate."""
    return any(not fate(candidate, state).held for state in states)


def goes_through(candidate: Candidate, states: Iterable[State]) -> bool:
    """Tell whether the mutation of a candidate goes through on one of the states."""
    return any(run_forward(candidate.mutation, state)[1].succeeded for state in states)


def is_smallest(candidate: Candidate, plain: Plain, *, through: bool) -> bool:
    """Tell whether a state, as JSON, breaks a candidate and nothing can be taken from it.

    With `through`: nothing can be taken from it so that the mutation still goes through.
    """
    known = fate(candidate, State.read(plain, "counterexample"))
    if known.held or (through and not known.through):
        return False
    for less in _less(candidate, plain):
        try:
            found = fate(candidate, State.read(less, "a smaller state"))
        except InputError:
            continue
        if not found.held and (found.through or not through):
            return False
    return True


def _same(one: State, two: State) -> bool:
    for name, surface in SURFACES.items():
        mine, theirs = one.part(name), two.part(name)
        if mine is not theirs and _plain(surface, mine) != _plain(surface, theirs):
            return False
    return True


def _plain(surface: Surface, part: Any) -> tuple[str, Any]:
    """The JSON of a surface's value; of a chain also its ids, because a foreign record keeps the id it had.

    A call that was compensated means the same as none.
    """
    if surface.name == "calls":
        return encode({key: call for key, call in surface.write(part).items() if call["state"] == "made"}), None
    return encode(surface.write(part)), part.ids() if isinstance(part, Chain) else None


def _less(candidate: Candidate, plain: Plain) -> Iterator[Plain]:
    """Yield the state with one entry less, and with one character or item less of what is edited."""
    for name, part in plain.items():
        for less in _without_one(part, deep=name in {"config", "listeners"}, rows=name != "config"):
            yield {**plain, name: less}
    edited = {(op.kind.surface, op.target) for op in (*candidate.mutation, *candidate.recovery) if op.kind.inside}
    for name, target in sorted(edited):
        keys = target.split(".") if name == "config" else [target]
        yield from ({**plain, name: less} for less in _cut(plain.get(name, {}), keys))


def _without_one(part: Any, *, deep: bool, rows: bool) -> Iterator[Any]:
    if isinstance(part, list):
        yield from (part[:at] + part[at + 1 :] for at in range(len(part))) if rows else ()
        return
    for key, item in part.items():
        rest = {other: value for other, value in part.items() if other != key}
        yield rest
        if deep and isinstance(item, dict | list):
            yield from ({**rest, key: less} for less in _without_one(item, deep=deep, rows=rows))


def _cut(part: Any, keys: list[str]) -> Iterator[Any]:
    """Yield a part of the state with one piece less in the text or list at a path."""
    if not isinstance(part, dict) or keys[0] not in part:
        return
    item = part[keys[0]]
    if len(keys) > 1:
        shorter: Iterator[Any] = _cut(item, keys[1:])
    elif isinstance(item, dict) and isinstance(item.get("content"), str):
        shorter = ({**item, "content": less} for less in _pieces_less(item["content"]))
    else:
        shorter = _pieces_less(item)
    yield from ({**part, keys[0]: less} for less in shorter)


def _pieces_less(item: Any) -> Iterator[Any]:
    for at in range(len(item)) if isinstance(item, str | list) else ():
        yield item[:at] + item[at + 1 :]
