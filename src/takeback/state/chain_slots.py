"""Slots of chains: links compared with their places, as JSON and back, and places kept when a chain is read anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from takeback.state.chain import Chain, Link
from takeback.state.values import freeze, same, thaw

REACH: Final = ""
"""Under this name, which no element can have, a dumped chain says how far its places reach."""


def alike_links(one: Link, two: Link) -> bool:
    """Tell whether an element is the same and stands in the same place."""
    return one is two or (one.place == two.place and same(one.record, two.record))


def differing_links(before: Chain, after: Chain) -> Iterator[str]:
    """Yield the ids of elements that came, went, changed or stand elsewhere."""
    for name, one, two in before.differences(after):
        if one is None or two is None or not alike_links(one, two):
            yield name


def link_to_json(link: Link) -> dict[str, Any]:
    """Return place and record."""
    return {"place": [list(step) for step in link.place], "record": thaw(link.record)}


def link_from_json(raw: Any, name: str, where: str) -> Link:
    """Return the link that `link_to_json` wrote down."""
    place = tuple((number, step) for number, step in raw["place"])
    return Link(place, name, freeze(raw["record"], where, stored=True))


def chain_to_json(chain: Chain) -> dict[str, Any]:
    """Return links by id, and how far places reach where that cannot be told from the links."""
    plain: dict[str, Any] = {link.id: link_to_json(link) for link in chain}
    links = Chain(chain.links)
    return plain if chain.reach == links.reach else {**plain, REACH: list(chain.reach or ())}


def chain_from_json(raw: Any, where: str) -> Chain:
    """Return the chain that `chain_to_json` wrote down."""
    links = (link_from_json(item, name, where) for name, item in raw.items() if name != REACH)
    chain = Chain(tuple(sorted(links, key=lambda link: link.place)))
    return chain.reaching(tuple(raw[REACH])) if REACH in raw else chain


def keep_places(chain: Chain, known: Chain) -> Chain:
    """Return a chain read from elsewhere, with the places of elements that stand where they stood."""
    moved = known.moved(chain)
    ids = set(chain.ids())
    result = Chain(tuple(link for link in known if link.id in ids and link.id not in moved)).reaching(known.reach)
    for at, link in enumerate(chain):
        there = result.find(link.id)
        if there is None:
            result, _ = result.insert(at, link.id, link.record)
        elif not same(there.record, link.record):
            result = result.put(Link(there.place, link.id, link.record))
    return result
