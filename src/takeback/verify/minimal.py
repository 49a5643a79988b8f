"""Making a counterexample small: nothing can be taken from it without the failure going away.

Large surfaces first lose entries by halves of what is left, on their JSON form, so that no step costs more than the
state is large; then every single entry is tried. Whoever has a deadline gets what was reached by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final

from takeback.errors import InputError
from takeback.state import SURFACES, State

MANY: Final = 64
"""Containers with more entries than this lose them by halves first."""
Fails = Callable[[State], bool]
Accepts = Callable[[Any], bool]


def smallest(state: State, fails: Fails, *, deadline: float = inf) -> State:
    """Return a state below `state` on which `fails` still holds and every single removal ends it.

    After the `deadline` (of `time.monotonic`) nothing more is tried: the state fails, but may not be the smallest.
    """
    search = _Shrinking(state, fails, deadline)
    with suppress(TimeoutError):
        search.run()
    return search.state


def one_less(state: State) -> Iterator[State]:
    """Yield the states that have one entry less."""
    for name, surface in SURFACES.items():
        part = state.part(name)
        for _, edit in surface.entries(part):
            less = edit(part)
            if less is not part:
                yield state.replace(name, less)


class _Shrinking:
    """The smallest failing state so far; raises `TimeoutError` where a smaller one is tried after the deadline."""

    def __init__(self, state: State, fails: Fails, deadline: float) -> None:
        self.state = state
        self._fails = fails
        self._deadline = deadline

    def run(self) -> None:
        """Take away whole surfaces, then entries of large ones, then single entries until none can go."""
        for name, surface in SURFACES.items():
            if surface.size(self.state.part(name)):
                self._take(self.state.replace(name, surface.empty))
        for name, surface in SURFACES.items():
            if surface.size(self.state.part(name)) > MANY:
                _shrink(surface.write(self.state.part(name)), partial(self._read, name))
                self._one_by_one(name)
        while any(map(self._take, one_less(self.state))):
            pass

    def _take(self, less: State) -> bool:
        """Go on with a smaller state if it fails too."""
        self._check_time()
        if not self._fails(less):
            return False
        self.state = less
        return True

    def _check_time(self) -> None:
        if monotonic() > self._deadline:
            raise TimeoutError

    def _read(self, name: str, plain: Any) -> bool:
        """Go on with a surface as this JSON has it, if that has fewer entries and fails too."""
        self._check_time()
        surface = SURFACES[name]
        try:
            part = surface.read(plain, "a smaller state")
        except InputError:
            return False
        fewer = surface.size(part) < surface.size(self.state.part(name))
        return fewer and self._take(self.state.replace(name, part))

    def _one_by_one(self, name: str) -> None:
        """Try each entry of a surface once: most of what halving has left of a large one goes here."""
        for _, edit in list(SURFACES[name].entries(self.state.part(name))):
            part = self.state.part(name)
            less = edit(part)
            if less is not part:
                self._take(self.state.replace(name, less))


def _shrink(plain: Any, accepts: Accepts) -> Any:
    """Return a list or mapping without what halving takes away from it, and from large ones below."""
    items = list(plain.items()) if isinstance(plain, dict) else list(enumerate(plain))
    size = len(items) // 2
    while size and len(items) > MANY:
        at = 0
        while at < len(items):
            rest = items[:at] + items[at + size :]
            if accepts(_made(plain, rest)):
                items = rest
            else:
                at += size
        size //= 2
    for at, (key, item) in enumerate(items):
        if _leaves(item) > MANY:
            items[at] = key, _shrink(item, _within(plain, items, at, accepts))
    return _made(plain, items)


def _within(plain: Any, items: list[tuple[Any, Any]], at: int, accepts: Accepts) -> Accepts:
    """Return what accepts a smaller value of one entry: whatever accepts the whole with it."""
    before, (key, _), after = items[:at], items[at], items[at + 1 :]
    return lambda less: accepts(_made(plain, [*before, (key, less), *after]))


def _leaves(plain: Any) -> int:
    if not isinstance(plain, dict | list):
        return 1
    return sum(map(_leaves, plain.values() if isinstance(plain, dict) else plain))


def _made(plain: Any, items: list[tuple[Any, Any]]) -> Any:
    return dict(items) if isinstance(plain, dict) else [item for _, item in items]
