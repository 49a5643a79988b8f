"""Surfaces of chains: one chain (middleware), or one for each key (listeners).

A slot is an element with its place. A subclass says where its chains are and how records are read; slots, their JSON
and what proof makes of elements are here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from takeback.errors import InputError
from takeback.state.address import Address
from takeback.state.chain import Chain, Link
from takeback.state.part_slots import find_differing_links, is_same_link, link_from_json, link_to_json
from takeback.state.pmap import ABSENT, PMap
from takeback.state.surface import Component, Surface, TreePath, ValueEdit
from takeback.state.values import Reader

LAST = 1_000_000
"""A position behind every element."""


def read_chain(raw: Any, where: str, read: Reader, elements: str) -> Chain:
    """Return the chain in a JSON list of records, or raise naming the place; `elements` is what they are called."""
    if not isinstance(raw, list):
        raise InputError(where, found=raw, expected=f"a list of {elements}")
    records: dict[str, PMap] = {}
    for at, item in enumerate(raw):
        record = read(item, f"{where}[{at}]")
        if record["id"] in records:
            raise InputError(f"{where}[{at}].id", found=record["id"], expected="each id once in the chain")
        records[record["id"]] = record
    return Chain.of(records.items())


class ChainSurface(Surface):
    """Elements in order; `path` names a chain, and a slot's path ends with the element's id."""

    ordered = True

    @abstractmethod
    def paths(self, before: Any, after: Any) -> Iterable[TreePath]:
        """Return the paths of the chains that may differ between two values."""

    @abstractmethod
    def chain(self, value: Any, path: TreePath) -> Chain:
        """Return the chain at a path, or that a slot's path begins with; one without elements where there is none."""

    @abstractmethod
    def with_chain(self, value: Any, path: TreePath, chain: Chain) -> Any:
        """Return the value with another chain at a path."""

    def chains(self, value: Any) -> Iterator[tuple[TreePath, Chain]]:
        """Yield every chain with its path."""
        return ((path, self.chain(value, path)) for path in self.paths(self.empty, value))

    def size(self, value: Any) -> int:
        return sum(len(chain) for _, chain in self.chains(value))

    def is_worth_storing(self, part: Any) -> bool:
        """Tell whether anything is worth storing; an emptied chain still knows which places were used."""
        return any(chain.reach is not None for _, chain in self.chains(part))

    def get_slot(self, part: Any, path: TreePath) -> Any:
        return self.chain(part, path).find(path[-1]) or ABSENT

    def put_slot(self, part: Any, path: TreePath, content: Any) -> Any:
        chain = self.chain(part, path)
        after = chain.drop(path[-1]) if content is ABSENT else chain.put(content)
        return part if after is chain else self.with_chain(part, path, after)

    def differing(self, before: Any, after: Any) -> Iterator[TreePath]:
        for path in self.paths(before, after):
            for name in find_differing_links(self.chain(before, path), self.chain(after, path)):
                yield (*path, name)

    def is_identical(self, old: Any, new: Any) -> bool:
        return is_same_link(old, new)

    def slot_to_json(self, content: Link) -> Any:
        return link_to_json(content)

    def slot_from_json(self, raw: Any, path: TreePath) -> Link:
        return link_from_json(raw, path[-1], self.slot_title(path))

    def entries(self, value: Any) -> Iterator[tuple[Address, ValueEdit]]:
        for path, chain in sorted(self.chains(value), key=lambda item: item[0]):
            for name in chain.ids():
                yield self.address((*path, name)[0]), self.drop_edit((*path, name))

    def element_component(self, path: TreePath, record: PMap, *, moved: bool) -> Component:
        """Return the component of one element: in the chain or not; at either end too where it is moved."""
        at_ends = (self.insert_edit(path, record, 0), self.insert_edit(path, record, LAST)) if moved else ()
        slot = (*path, record["id"])
        return Component(self.slot_title(slot), (self.insert_edit(path, record), *at_ends, self.drop_edit(slot)))

    def insert_edit(self, path: TreePath, record: PMap, at: int | None = None) -> ValueEdit:
        """Return the edit that puts an element into a chain, in the middle unless a position is given."""

        def edit(value: Any) -> Any:
            chain = self.chain(value, path)
            position = len(chain) // 2 if at is None else at
            return self.with_chain(value, path, chain.insert(position, record["id"], record)[0])

        return edit

    def drop_edit(self, path: TreePath) -> ValueEdit:
        """Return the edit that takes an element out."""
        return lambda value: self.put_slot(value, path, ABSENT)
