"""Making a counterexample small: nothing can be taken from it without the failure going away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from takeback.state import SURFACES, State
from takeback.state.surface import Edit

_CHUNK = 64


def smallest(state: State, fails: Callable[[State], bool]) -> State:
    """Return a state below `state` on which `fails` still holds and every single removal ends it."""
    for name, surface in SURFACES.items():
        without = state.replace(name, surface.empty)
        if fails(without):
            state = without
    state = _coarse(state, fails)
    shrunk = True
    while shrunk:
        shrunk = False
        for without in one_less(state):
            if fails(without):
                state, shrunk = without, True
                break
    return state


def one_less(state: State) -> Iterator[State]:
    """Yield the states that have one entry less."""
    for name, surface in SURFACES.items():
        part = state.part(name)
        for _, edit in surface.entries(part):
            less = edit(part)
            if less is not part:
                yield state.replace(name, less)


def _coarse(state: State, fails: Callable[[State], bool]) -> State:
    """Remove entries of large surfaces in halving chunks, so that the fine pass has little left to do."""
    for name, surface in SURFACES.items():
        edits = [edit for _, edit in surface.entries(state.part(name))]
        size = len(edits) // 2
        while size >= _CHUNK // 2 and len(edits) > _CHUNK:
            kept: list[Edit] = []
            for at in range(0, len(edits), size):
                chunk, part = edits[at : at + size], state.part(name)
                for edit in chunk:
                    part = edit(part)
                without = state.replace(name, part)
                if fails(without):
                    state = without
                else:
                    kept += chunk
            edits, size = kept, size // 2
    return state
