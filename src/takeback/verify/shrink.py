"""Making small the texts and lists that a candidate edits: no line, character or item can be taken out.

Only values that operations look into are made smaller: what other operations carry around they carry as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any

from takeback.language import Candidate
from takeback.state import SURFACES, State
from takeback.state.inside import Partial, parts_of
from takeback.state.items import Items
from takeback.state.text import Text

Fails = Callable[[State], bool]


def shrunk(state: State, candidate: Candidate, fails: Fails, *, deadline: float) -> State:
    """Return a failing state with the texts and lists that a candidate edits made as small as they get."""
    for name, slot in edited_slots(candidate):
        for cut in (_lines, list):
            state = _shorter(state, name, slot, _pieces(state, name, slot, cut), fails, deadline)
    return state


def edited_slots(candidate: Candidate) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what a candidate's operations look into, by surface and slot, each once."""
    ops = (*candidate.mutation, *candidate.recovery)
    slots = ((op.kind.surface, op.path if isinstance(op.path, tuple) else (op.path,)) for op in ops if op.kind.inside)
    return iter(dict.fromkeys(slots))


def _pieces(state: State, name: str, slot: tuple[str, ...], cut: Callable[[str], list[str]]) -> list[Any]:
    """What a value is made of: a list of its items, a text of what it is cut into."""
    parts = parts_of(SURFACES[name].get_slot(state.part(name), slot))
    if isinstance(parts, Items):
        return list(parts.whole())
    return cut(parts.whole()) if isinstance(parts, Text) else []


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _shorter(
    state: State, name: str, slot: tuple[str, ...], pieces: Sequence[Any], fails: Fails, deadline: float
) -> State:
    """Take out halves, quarters and so on down to single pieces, until no single one can go."""
    size, left = max(1, len(pieces) // 2), list(pieces)
    while left:
        at, before = 0, len(left)
        while at < len(left):
            if monotonic() > deadline:
                return state
            less = _with(state, name, slot, [*left[:at], *left[at + size :]])
            if fails(less):
                state = less
                del left[at : at + size]
            else:
                at += size
        if size == 1 and len(left) == before:
            break
        size = max(1, size // 2)
    return state


def _with(state: State, name: str, slot: tuple[str, ...], pieces: Sequence[Any]) -> State:
    surface, part = SURFACES[name], state.part(name)
    there = surface.get_slot(part, slot)
    if isinstance(parts_of(there), Items):
        return state.replace(name, surface.put_slot(part, slot, tuple(pieces)))
    text = "".join(pieces)
    content = there.holding(Text.of(text)) if isinstance(there, Partial) else text
    return state.replace(name, surface.put_slot(part, slot, content))
