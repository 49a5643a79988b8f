"""Puts contents away, each once: what a draft refers to becomes ids, equal contents are found again.

A `Shelf` decides what is new; where the bytes go is up to the store behind it, which says whether a content with
this lookup is there already and takes new ones in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from takeback.journal.content import FORGOTTEN, Content, Leaf, Ref, Tree, lookup, tree_bytes
from takeback.journal.counted import told

BATCH = 500

NamedContents: TypeAlias = "Content | Sequence[Content | None] | None"


class Wanted(NamedTuple):
    """A content that is to be on the shelf."""

    lookup: bytes
    data: bytes
    tree: bool


class Shelf(ABC):
    """Where contents are kept."""

    @abstractmethod
    def found(self, lookups: Sequence[bytes]) -> Mapping[bytes, Ref]:
        """Ids of contents that are there, by lookup; at most `BATCH` are asked for."""

    @abstractmethod
    def taken(self, wanted: Sequence[Wanted]) -> Sequence[Ref]:
        """Take in contents that are not there; their new ids."""

    def put(self, contents: Mapping[str, NamedContents]) -> dict[str, Ref | list[Ref | None] | None]:
        """Ids for everything a draft refers to, by name. Leaves learn theirs."""
        leaves: list[Leaf] = []
        for value in contents.values():
            _leaves(value, leaves)
        for start in range(0, len(leaves), BATCH):
            self._shelve(leaves[start : start + BATCH])
            told("contents stored", min(start + BATCH, len(leaves)), len(leaves))
        return {name: self._refs(value) for name, value in contents.items()}

    def _refs(self, value: NamedContents) -> Ref | list[Ref | None] | None:
        if value is None or isinstance(value, str | Leaf | Tree):
            return self._ref(value)
        return [self._ref(item) for item in value]

    def _ref(self, value: Content | None) -> Ref | None:
        if isinstance(value, Leaf):
            return value.ref
        return self._tree(value) if isinstance(value, Tree) else value

    def _tree(self, tree: Tree) -> Ref:
        data = tree_bytes([self._ref(part) or FORGOTTEN for part in tree.parts], tree.value)
        key = lookup(data, tree.scope, tree=True)
        found = self.found([key]).get(key)
        return self.taken([Wanted(key, data, True)])[0] if found is None else found

    def _shelve(self, leaves: Sequence[Leaf]) -> None:
        keys = [lookup(leaf.data, leaf.scope, tree=False) for leaf in leaves]
        there = dict(self.found(keys))
        missing = {
            key: Wanted(key, leaf.data, False) for key, leaf in zip(keys, leaves, strict=True) if key not in there
        }
        there.update(zip(missing, self.taken(list(missing.values())), strict=True))
        for key, leaf in zip(keys, leaves, strict=True):
            leaf.ref = there[key]


def _leaves(value: Content | Iterable[Content | None] | None, found: list[Leaf]) -> None:
    if isinstance(value, Leaf):
        found.append(value)
    elif isinstance(value, Tree):
        for part in value.parts:
            _leaves(part, found)
    elif value is not None and not isinstance(value, str):
        for item in value:
            _leaves(item, found)
