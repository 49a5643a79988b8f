"""The tree over a journal's records, as in RFC 6962: its root, kept record by record.

A leaf is the digest of a record. The frontier holds the roots of the whole trees that the records so far make up:
adding one costs a few digests at most, and so does the root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def hash_leaf(data: bytes) -> bytes:
    """Return the digest of a leaf."""
    return hashlib.sha256(b"\0" + data).digest()


def hash_node(left: bytes, right: bytes) -> bytes:
    """Return the digest of an inner node."""
    return hashlib.sha256(b"\1" + left + right).digest()


class Frontier:
    """The tree over the first `size` leaves, as far as it is needed to go on."""

    __slots__ = ("size", "stack")

    def __init__(self, size: int = 0, stack: Iterable[bytes] = ()) -> None:
        self.size = size
        self.stack = list(stack)

    def add(self, data: bytes) -> None:
        """Add one leaf."""
        node, self.size = hash_leaf(data), self.size + 1
        rest = self.size
        while not rest & 1:
            node, rest = hash_node(self.stack.pop(), node), rest >> 1
        self.stack.append(node)

    def root(self) -> bytes:
        """Return the root of the tree."""
        if not self.stack:
            return hashlib.sha256(b"").digest()
        root = self.stack[-1]
        for node in reversed(self.stack[:-1]):
            root = hash_node(node, root)
        return root
