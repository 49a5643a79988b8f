"""Bundles: records of a journal with proofs that they stand under a signed head, for somebody who has no journal.

A bundle is one JSON object a line: the signed head, then records as they are stored, each with the nodes that lead to
the head's root. Contents are never in it, only their ids, which are salted digests; of a record that must not be
shown it has the digest. `examples/verify_bundle.py` checks a bundle and shares no code with this.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from takeback.govern.heads import Head
from takeback.govern.merkle import MerkleTree
from takeback.journal import Record, Store
from takeback.journal.content import encode
from takeback.journal.record import describe_columns

FORMAT: Final = "takeback-bundle/1"


def build_tree(store: Store) -> MerkleTree:
    """Return the tree over all records of a journal."""
    return MerkleTree(bytes.fromhex(record.digest) for record in store.records())


def write_bundle(
    store: Store,
    tree: MerkleTree,
    sign: Callable[[Head], str],
    origin: str,
    *,
    chosen: Collection[int] | None = None,
    hides: Callable[[Record], bool] = lambda _: False,
) -> Iterator[str]:
    """Yield the lines of a bundle of the tree's records, or of those at the `chosen` numbers in the chain.

    Of a record that `hides` names, only the digest is in the bundle.
    """
    count = tree.size if chosen is None else len(set(chosen))
    note = sign(Head(origin, tree.size, tree.root()))
    yield encode({"format": FORMAT, "head": note, "records": count}) + "\n"
    for record in store.records():
        if record.seq > tree.size:
            return
        if chosen is None or record.seq in chosen:
            proof = [base64.b64encode(node).decode() for node in tree.prove_inclusion(record.seq - 1)]
            columns = _withhold(record) if hides(record) else describe_columns(record)
            yield encode({**columns, "proof": proof}) + "\n"


def _withhold(record: Record) -> dict[str, Any]:
    return {"seq": record.seq, "digest": record.digest, "withheld": "secret"}
