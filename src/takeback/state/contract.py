"""Contracts: the surfaces and addresses a change says it affects.

A contract covers an address if it lists it, something above it, or its whole surface. Anything that is
neither a surface nor an address is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, final

from takeback.errors import InputError, LimitError
from takeback.state.address import Address, read_address
from takeback.state.surface import SURFACES, get_surface

MAX_CONTRACT = 256


@final
class Contract:
    """A set of surfaces and addresses, which cannot be changed; remembers its answers."""

    __slots__ = ("_known", "addresses", "surfaces")
    surfaces: frozenset[str]
    addresses: frozenset[Address]
    _known: dict[Address, bool]

    def __init__(self, surfaces: Iterable[str] = (), addresses: Iterable[Address] = ()) -> None:
        object.__setattr__(self, "surfaces", frozenset(surfaces))
        object.__setattr__(self, "addresses", frozenset(addresses))
        object.__setattr__(self, "_known", {})
        for text in (*self.surfaces, *(part for address in self.addresses for part in _list_address_texts(address))):
            if type(text) is not str:
                raise InputError("contract", found=f"a {type(text).__name__}", expected="plain text")

    def __init_subclass__(cls) -> None:
        raise TypeError("Contract is final: what was verified must be what is kept to")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a contract cannot be changed ({name}): make another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a contract cannot be changed ({name}): make another one")

    def __reduce__(self) -> tuple[type[Contract], tuple[frozenset[str], frozenset[Address]]]:
        return Contract, (self.surfaces, self.addresses)

    @classmethod
    def read(cls, raw: Any, where: str) -> Contract:
        """Return the contract in a JSON list, or raise."""
        if not isinstance(raw, list):
            raise InputError(where, found=raw, expected="a list of surfaces and addresses")
        raw = list.copy(raw)
        if len(raw) > MAX_CONTRACT:
            raise LimitError(where, found=f"{len(raw)} entries", expected=f"at most {MAX_CONTRACT}")
        surfaces, addresses = [], []
        for at, item in enumerate(raw):
            place = f"{where}[{at}]"
            if type(item) is not str:
                raise InputError(place, found=item, expected="the text of a surface or an address")
            address = read_address(item, place)
            if isinstance(address, str):
                get_surface(address, place)
                surfaces.append(address)
            else:
                surface = get_surface(address.surface, place)
                addresses.append(surface.address(surface.target(address.key, place, None)))
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


def _list_address_texts(address: Address) -> tuple[object, ...]:
    return (address.surface, address.key) if type(address) is Address else (address,)
