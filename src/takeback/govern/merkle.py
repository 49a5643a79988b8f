"""The tree over a journal's records, as in RFC 6962: its root, kept record by record, and proofs.

A leaf is the digest of a record. The frontier holds the roots of the whole trees that the records so far make up:
adding one costs a few digests at most, and so does the root. Proofs need the whole tree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence


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


class MerkleTree:
    """The whole tree over some leaves, for proofs: each level holds the roots of its whole subtrees."""

    __slots__ = ("_levels",)

    def __init__(self, leaves: Iterable[bytes]) -> None:
        level = [hash_leaf(leaf) for leaf in leaves]
        self._levels = [level]
        while len(level) > 1:
            level = [hash_node(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
            self._levels.append(level)

    @property
    def size(self) -> int:
        """How many leaves it has."""
        return len(self._levels[0])

    def root(self, size: int | None = None) -> bytes:
        """Return the root over the first leaves, or over all."""
        size = self.size if size is None else size
        return self._compute_root(0, size) if size else hashlib.sha256(b"").digest()

    def prove_inclusion(self, index: int, size: int | None = None) -> list[bytes]:
        """Return the nodes that lead from a leaf to the root, from below (RFC 6962, 2.1.1)."""
        start, end = 0, self.size if size is None else size
        path: list[bytes] = []
        while end - start > 1:
            middle = start + _find_half(end - start)
            if index < middle:
                path.append(self._compute_root(middle, end))
                end = middle
            else:
                path.append(self._compute_root(start, middle))
                start = middle
        return path[::-1]

    def prove_consistency(self, old: int) -> list[bytes]:
        """Return the nodes that show that this tree continues its first `old` leaves (RFC 6962, 2.1.2)."""
        start, end, on_the_edge = 0, self.size, True
        path: list[bytes] = []
        while 0 < old < end:
            middle = start + _find_half(end - start)
            if old <= middle:
                path.append(self._compute_root(middle, end))
                end = middle
            else:
                path.append(self._compute_root(start, middle))
                start, on_the_edge = middle, False
        if not on_the_edge:
            path.append(self._compute_root(start, end))
        return path[::-1]

    def _compute_root(self, start: int, end: int) -> bytes:
        count = end - start
        if not count & (count - 1):
            level = count.bit_length() - 1
            return self._levels[level][start >> level]
        middle = start + _find_half(count)
        return hash_node(self._compute_root(start, middle), self._compute_root(middle, end))


def is_continuation(old: tuple[int, bytes], new: tuple[int, bytes], proof: Sequence[bytes]) -> bool:
    """Return whether a proof shows that a tree (its size and root) continues an older one (RFC 9162, 2.1.4.2)."""
    (old_size, old_root), (size, root) = old, new
    if not 0 < old_size < size:
        return not proof and (old_size == 0 or (old_size == size and old_root == root))
    nodes = list(proof)
    if not old_size & (old_size - 1):
        nodes.insert(0, old_root)
    if not nodes:
        return False
    left, right = old_size - 1, size - 1
    while left & 1:
        left, right = left >> 1, right >> 1
    first = second = nodes[0]
    for node in nodes[1:]:
        if not right:
            return False
        if left & 1 or left == right:
            first, second = hash_node(node, first), hash_node(node, second)
            while left and not left & 1:
                left, right = left >> 1, right >> 1
        else:
            second = hash_node(second, node)
        left, right = left >> 1, right >> 1
    return not right and first == old_root and second == root


def _find_half(count: int) -> int:
    """Return the largest power of two below a count of at least two."""
    return 1 << (count - 1).bit_length() - 1
