"""Shrinking of counterexamples: nothing can be taken from the result without the failure going away.

Large surfaces first lose entries by halves of what is left, on their JSON form, so that no step costs more
than the state is large; then every single entry is tried. Texts and lists that a candidate edits lose lines,
characters and items; values that operations only carry stay as they are. A deadline ends the search with what
was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final

from takeback.errors import InputError
from takeback.language import Candidate
from takeback.shrink import shrink_by_steps, shrink_pieces
from takeback.state import SURFACES, State
from takeback.state.file import File
from takeback.state.items import Items
from takeback.state.part_slots import get_parts
from takeback.state.text import Text

MANY: Final = 64
"""Containers with more entries than this lose them by halves first."""
Fails = Callable[[State], bool]
Accepts = Callable[[Any], bool]


def shrink_state(state: State, fails: Fails, *, deadline: float = inf) -> State:
    """Return a state below `state` on which `fails` still holds and every single removal ends it.

    After the `deadline` (of `time.monotonic`) nothing more is tried: the state fails, but may not be the smallest.
    """
    search = _StateShrinker(state, fails, deadline)
    with suppress(TimeoutError):
        search.run()
    return search.state


def list_smaller_states(state: State) -> Iterator[State]:
    """Yield the states that have one entry less."""
    for name, surface in SURFACES.items():
        part = state.part(name)
        for _, edit in surface.entries(part):
            less = edit(part)
            if less is not part:
                yield state.replace(name, less)


class _StateShrinker:
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
                _shrink_plain(surface.write(self.state.part(name)), partial(self._read, name))
                self._one_by_one(name)
        shrink_by_steps(self.state, list_smaller_states, self._take)

    def _take(self, less: State) -> bool:
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


def _shrink_plain(plain: Any, accepts: Accepts) -> Any:
    """Return a list or mapping without what halving takes away from it, and from large ones below."""
    items = list(plain.items()) if isinstance(plain, dict) else list(enumerate(plain))
    items = shrink_pieces(items, lambda rest: accepts(_rebuild_container(plain, rest)), lambda: False, enough=MANY)
    for at, (key, item) in enumerate(items):
        if _count_leaves(item) > MANY:
            items[at] = key, _shrink_plain(item, _accept_within(plain, items, at, accepts))
    return _rebuild_container(plain, items)


def _accept_within(plain: Any, items: list[tuple[Any, Any]], at: int, accepts: Accepts) -> Accepts:
    """Return what accepts a smaller value of one entry: whatever accepts the whole with it."""
    before, (key, _), after = items[:at], items[at], items[at + 1 :]
    return lambda less: accepts(_rebuild_container(plain, [*before, (key, less), *after]))


def _count_leaves(plain: Any) -> int:
    if not isinstance(plain, dict | list):
        return 1
    return sum(map(_count_leaves, plain.values() if isinstance(plain, dict) else plain))


def _rebuild_container(plain: Any, items: list[tuple[Any, Any]]) -> Any:
    return dict(items) if isinstance(plain, dict) else [item for _, item in items]


TextFails = Callable[[State], bool]


def shrink_texts(state: State, candidate: Candidate, fails: TextFails, *, deadline: float) -> State:
    """Return a failing state with the texts and lists that a candidate edits made as small as they get."""
    for name, slot in find_edited_slots(candidate):
        for cut in (_cut_into_lines, list):
            state = _shorten_value(state, name, slot, _cut_into_pieces(state, name, slot, cut), fails, deadline)
    return state


def find_edited_slots(candidate: Candidate) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what a candidate's operations look into, by surface and slot, each once."""
    ops = (*candidate.mutation, *candidate.recovery)
    slots = ((op.kind.surface, op.path if isinstance(op.path, tuple) else (op.path,)) for op in ops if op.kind.inside)
    return iter(dict.fromkeys(slots))


def _cut_into_pieces(state: State, name: str, slot: tuple[str, ...], cut: Callable[[str], list[str]]) -> list[Any]:
    parts = get_parts(SURFACES[name].get_slot(state.part(name), slot))
    if isinstance(parts, Items):
        return list(parts.whole())
    return cut(parts.whole()) if isinstance(parts, Text) else []


def _cut_into_lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _shorten_value(
    state: State, name: str, slot: tuple[str, ...], pieces: Sequence[Any], fails: TextFails, deadline: float
) -> State:
    left = shrink_pieces(
        pieces, lambda less: fails(_put_pieces(state, name, slot, less)), lambda: monotonic() > deadline
    )
    return state if len(left) == len(pieces) else _put_pieces(state, name, slot, left)


def _put_pieces(state: State, name: str, slot: tuple[str, ...], pieces: Sequence[Any]) -> State:
    surface, part = SURFACES[name], state.part(name)
    there = surface.get_slot(part, slot)
    if isinstance(get_parts(there), Items):
        return state.replace(name, surface.put_slot(part, slot, tuple(pieces)))
    text = "".join(pieces)
    content = there.replace_parts(Text.of(text)) if isinstance(there, File) else text
    return state.replace(name, surface.put_slot(part, slot, content))
