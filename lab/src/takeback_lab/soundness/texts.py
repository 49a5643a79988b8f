"""Small texts and lists for brute force: all up to three pieces, made of what a candidate looks for and puts in.

Pieces are the needles of edits, their halves, line ends and a character nobody names; the items that operations name,
and one nobody does. Where there are too many, some are drawn, and some with every needle in them once. Each stands in
a random state.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import OperationFailed
from takeback.language import Candidate
from takeback.state import PMap, State, tree
from takeback.state.file import File
from takeback.state.operation import Anchor, Operation
from takeback.state.text import TextEdit

LONGEST: Final = 3
MOST: Final = 60
"""States for each candidate that edits; all small texts where there are no more of them."""
_BESIDE: Final = ("\n", "\r\n", "x")
_OTHER: Final = "z"
_ORDERS: Final = 4
TextSlot = tuple[str, Any]


def edited_states(candidate: Candidate, pool: list[State], rng: random.Random, least: int) -> Iterator[State]:
    """Yield random states in which what a candidate edits is a small text or list, or as it happens to be."""
    tried = {slot: _tried(slot, candidate, rng) for slot in _slots(candidate)}
    count = max(least, min(MOST, max((len(values) for values in tried.values()), default=0)))
    for at in range(count):
        state = rng.choice(pool)
        for number, (slot, values) in enumerate(tried.items()):
            if rng.random() > _AS_IT_IS:
                value = values[at % len(values)] if number == 0 else rng.choice(values)
                state = _holding(state, slot, value)
        yield state


_AS_IT_IS: Final = 0.05


def _slots(candidate: Candidate) -> list[TextSlot]:
    ops = (*candidate.mutation, *candidate.recovery)
    return list(dict.fromkeys((op.kind.surface, op.path) for op in ops if op.kind.inside))


def _tried(slot: TextSlot, candidate: Candidate, rng: random.Random) -> list[Any]:
    """All small values of a slot, or a sample of them, shortest first."""
    ops = [op for op in (*candidate.mutation, *candidate.recovery) if (op.kind.surface, op.path) == slot]
    if slot[0] == "config":
        items = [op.value for op in ops if op.kind.inside]
        items += [op.spot.anchor.item for op in ops if op.spot and isinstance(op.spot.anchor, Anchor)]
        values: tuple[Any, ...] = _lists(tuple({encode(_plain(item)): item for item in items}.values()))
    else:
        values = _texts(tuple(sorted({piece for op in ops if isinstance(op.value, TextEdit) for piece in op.value})))
    if len(values) > MOST:
        values = tuple(values[at] for at in sorted(rng.sample(range(len(values)), MOST)))
    return [*_each_once(ops, rng), *values]


def _each_once(ops: list[Operation], rng: random.Random) -> list[str]:
    """Texts with all that edits replace, each once, in some orders: on those most of the edits go through."""
    wanted = list(dict.fromkeys(op.value.old for op in ops if isinstance(op.value, TextEdit)))
    orders = (rng.sample(wanted, len(wanted)) for _ in range(_ORDERS)) if len(wanted) > 1 else ()
    return list(dict.fromkeys("".join(order) for order in orders))


def _plain(item: Any) -> Any:
    if isinstance(item, PMap):
        return {key: _plain(inner) for key, inner in item.items()}
    return [_plain(inner) for inner in item] if isinstance(item, tuple) else item


def _lists(items: tuple[Any, ...]) -> tuple[Any, ...]:
    pieces = (*items, _OTHER)
    return tuple(found for length in range(LONGEST + 1) for found in product(pieces, repeat=length))


@lru_cache(maxsize=4096)
def _texts(needles: tuple[str, ...]) -> tuple[str, ...]:
    halves = (half for needle in needles for half in (needle[: len(needle) // 2], needle[len(needle) // 2 :]))
    pieces = sorted({piece for piece in (*needles, *halves, *_BESIDE) if piece})
    found = {"".join(made) for length in range(LONGEST + 1) for made in product(pieces, repeat=length)}
    return tuple(sorted(found, key=lambda text: (len(text), text)))


def _holding(state: State, slot: TextSlot, value: Any) -> State:
    name, path = slot
    part = state.part(name)
    if name == "prompts":
        return state.replace(name, part.put(path, value))
    try:
        return state.replace(name, tree.put(part, path, File(value.encode()) if name == "files" else value))
    except OperationFailed:
        return state
