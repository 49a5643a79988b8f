"""Contracts: the surfaces and addresses a change says it affects.

A contract covers an address if it lists it, something above it, or its whole surface. Anything that is
neither a surface nor an address is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from takeback.errors import InputError, LimitError
from takeback.state.address import Address, read_address
from takeback.state.installed import surface_named
from takeback.state.surface import SURFACES

MAX_CONTRACT = 256


class Contract:
    """A set of surfaces and addresses; remembers its answers."""

    __slots__ = ("_known", "addresses", "surfaces")

    def __init__(self, surfaces: Iterable[str] = (), addresses: Iterable[Address] = ()) -> None:
        self.surfaces = frozenset(surfaces)
        self.addresses = frozenset(addresses)
        self._known: dict[Address, bool] = {}

    @classmethod
    def read(cls, raw: Any, where: str) -> Contract:
        """Return the contract in a JSON list, or raise."""
        if not isinstance(raw, list):
            raise InputError(where, found=raw, expected="a list of surfaces and addresses")
        if len(raw) > MAX_CONTRACT:
            raise LimitError(where, found=f"{len(raw)} entries", expected=f"at most {MAX_CONTRACT}")
        surfaces, addresses = [], []
        for at, item in enumerate(raw):
            place = f"{where}[{at}]"
            if not isinstance(item, str):
                raise InputError(place, found=item, expected="the text of a surface or an address")
            found = read_address(item, place)
            if isinstance(found, str):
                surface_named(found, place)
                surfaces.append(found)
            else:
                surface = surface_named(found.surface, place)
                addresses.append(surface.address(surface.target(found.key, place, None)))
        return cls(surfaces, addresses)

    def covers(self, address: Address) -> bool:
        """Tell whether the contract covers `address`."""
        known = self._known.get(address)
        if known is None:
            known = self._known[address] = self._covers(address)
        return known

    def _covers(self, address: Address) -> bool:
        if address.surface in self.surfaces or address in self.addresses:
            return True
        surface = SURFACES[address.surface]
        return any(
            outer.surface == address.surface and surface.covers(outer.key, address.key) for outer in self.addresses
        )

    def to_json(self) -> list[str]:
        """Return the sorted list, as it stands in a candidate."""
        return sorted([*self.surfaces, *map(str, self.addresses)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contract) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.surfaces, self.addresses))

    def __repr__(self) -> str:
        return f"Contract({self.to_json()})"
