"""The state of a harness: one immutable value with a part for each surface.

Reading checks everything and names the place of a mistake; writing gives back the same JSON. The canonical
form and its digest are the same in every process and on every platform.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from takeback.canonical import digest
from takeback.errors import InputError
from takeback.state.address import Address
from takeback.state.pmap import ABSENT
from takeback.state.surface import SURFACES, Change, get_surface

_new = object.__new__


class State:
    """An immutable harness state; `parts` maps surface names to their values and is never changed."""

    __slots__ = ("parts",)

    def __init__(self, parts: Mapping[str, Any] | None = None) -> None:
        given = parts or {}
        self.parts: dict[str, Any] = {name: given.get(name, surface.empty) for name, surface in SURFACES.items()}

    @classmethod
    def of(cls, parts: dict[str, Any]) -> State:
        """Take over `parts` as they are; for code that built them from another state."""
        state = _new(cls)
        state.parts = parts
        return state

    @classmethod
    def read(cls, raw: Any, where: str = "state") -> State:
        """Return the state in a JSON value, or raise naming the place of the mistake."""
        if not isinstance(raw, dict):
            raise InputError(where, found=raw, expected=f"a mapping with {', '.join(SURFACES)}")
        return cls({name: get_surface(name, where).read(part, f"{where}.{name}") for name, part in raw.items()})

    def write(self) -> dict[str, Any]:
        """Return the JSON form; surfaces that are empty are left out."""
        return {
            name: surface.write(self.part(name))
            for name, surface in SURFACES.items()
            if surface.size(self.part(name))
        }

    def complete(self) -> State:
        """Return this state with a part for each surface, also for one that was registered after it was made."""
        return self if len(self.parts) == len(SURFACES) else State(self.parts)

    def part(self, name: str) -> Any:
        """Return the value of one surface."""
        part = self.parts.get(name)
        return SURFACES[name].empty if part is None else part

    def __getitem__(self, address: str | tuple[str, str]) -> Any:
        """Return a surface, or what stands at an address of it, as JSON: `state["config", "a.b"]`."""
        name, key = (address, None) if isinstance(address, str) else address
        surface = get_surface(name, "state")
        if key is None:
            return surface.write(self.part(name))
        content = surface.find(self.part(name), surface.target(key, f"state[{name!r}]", None))
        if content is ABSENT:
            raise KeyError(str(Address(name, key)))
        return surface.describe(content)

    def __contains__(self, address: tuple[str, str]) -> bool:
        name, key = address
        surface = get_surface(name, "state")
        return surface.find(self.part(name), surface.target(key, f"state[{name!r}]", None)) is not ABSENT

    def replace(self, name: str, part: Any) -> State:
        """Return this state with another value for one surface."""
        return State.of({**self.parts, name: part})

    def canonical(self) -> dict[str, Any]:
        """Return the canonical form: volatile parts replaced, file contents hashed, empty surfaces left out."""
        return {
            name: surface.canonical(self.part(name))
            for name, surface in SURFACES.items()
            if surface.size(self.part(name))
        }

    def digest(self) -> str:
        """Return the SHA-256 of the canonical form."""
        return digest(self.canonical())

    def size(self) -> int:
        """Return the number of entries on all surfaces."""
        return sum(surface.size(self.part(name)) for name, surface in SURFACES.items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self is other or next(diff(self, other), None) is None

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sizes = ((name, surface.size(self.part(name))) for name, surface in SURFACES.items())
        return f"State({', '.join(f'{name}: {size}' for name, size in sizes if size)})"


def diff(before: State, after: State) -> Iterator[Change]:
    """Yield what differs between two states, at the deepest addresses."""
    theirs = after.parts
    for name, part in before.parts.items():
        other = theirs.get(name)
        if other is not part:
            surface = SURFACES[name]
            yield from surface.diff(part, surface.empty if other is None else other)
    if len(theirs) > len(before.parts):
        for name in theirs.keys() - before.parts.keys():
            yield from SURFACES[name].diff(SURFACES[name].empty, theirs[name])
