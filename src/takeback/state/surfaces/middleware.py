"""Middleware: one ordered chain of {id, handler, priority, options}, ids unique.

Where a new element goes (index, before, after, priority) is resolved once, into a place; a restore puts the
old element back at its old place. Lower priority runs earlier.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from takeback.errors import InputError, OperationFailed
from takeback.state.address import Address
from takeback.state.chain import NO_LINKS, Chain, ChainPlace, Link
from takeback.state.chain_surface import ChainSurface, read_chain
from takeback.state.operation import SPOTS, Captured, Kind, Level, Operation, Requirement
from takeback.state.part_slots import chain_from_json, chain_to_json, keep_places
from takeback.state.pmap import ABSENT, EMPTY, PMap, fast_tuple
from takeback.state.surface import EXISTENCE, Change, Component, Strategy, TreePath
from takeback.state.values import (
    is_same_record,
    make_canonical_record,
    read_mapping,
    read_name,
    read_record,
    read_storable_text,
    read_whole_number,
    thaw,
)

DEFAULT_PRIORITY = 100
WHOLE = "*"


def capture(value: Chain, op: Operation) -> Captured:
    """Take down one element with its place, or the whole chain."""
    if op.target == WHOLE:
        return Captured("middleware", WHOLE, value)
    content = value.find(op.target) or ABSENT
    return fast_tuple(Captured, ("middleware", op.target, content, 0, None))


def add(value: Chain, op: Operation) -> tuple[Chain, ChainPlace]:
    """Put the element where the operation says, moving it if it is there already; a priority is also set."""
    return _place_element(value, op, op.value)


def move(value: Chain, op: Operation) -> tuple[Chain, ChainPlace]:
    """Put the element elsewhere, as it is; a priority is also set."""
    return _place_element(value, op, _require_element(value, op).record)


def replace(value: Chain, op: Operation) -> tuple[Chain, ChainPlace]:
    """Put another record in the element's place."""
    link = Link(_require_element(value, op).place, op.target, op.value)
    return value.put(link), link.place


def remove(value: Chain, op: Operation) -> tuple[Chain, None]:
    """Take the element out; where there is none, nothing happens."""
    return value.drop(op.target), None


def _require_element(value: Chain, op: Operation) -> Link:
    element = value.find(op.target)
    if element is None:
        raise OperationFailed(f"there is no middleware {op.target!r}")
    return element


def _place_element(value: Chain, op: Operation, record: PMap) -> tuple[Chain, ChainPlace]:
    spot = op.spot
    if spot is None:
        chain, link = value.insert(len(value), op.target, record)
    elif spot.index is not None:
        chain, link = value.insert(spot.index, op.target, record)
    elif spot.priority is not None:
        wanted = spot.priority
        at = value.position(lambda link: link.record["priority"] > wanted, without=op.target)
        chain, link = value.insert(at, op.target, record.put("priority", wanted))
    else:
        placed = value.insert_beside(str(spot.anchor), op.target, record, after=spot.before is None)
        if placed is None:
            raise OperationFailed(f"there is no middleware {spot.anchor!r} to stand next to")
        chain, link = placed
    return chain, link.place


def restore(value: Chain, op: Operation, captured: Captured) -> Chain:
    """Put the element back at its place, or remove it if it was not there; or the whole chain.

    What was captured of another element stands right behind the place of that one: no two share a place. It has this
    one's id wherever it is written (`_find_named_components`); a counterexample still tells whose record it is.
    """
    content = captured.content
    if op.target == WHOLE:
        if not isinstance(content, Chain):
            raise OperationFailed("the witness holds one element, not the chain")
        return content
    link = content.find(op.target) if isinstance(content, Chain) else content
    if link is None or link is ABSENT:
        return value.drop(op.target)
    return value.put(link if link.id == op.target else Link((*link.place, (0, op.target)), op.target, link.record))


def _with_own_id(link: Link) -> Link:
    """Return an element whose record has its own id, also where it was restored from another's capture."""
    return link if link.record["id"] == link.id else Link(link.place, link.id, link.record.put("id", link.id))


_VALUE_SCHEMA = {
    "type": "object",
    "properties": {
        "handler": {"type": "string", "minLength": 1, "maxLength": 120},
        "priority": {"type": "integer", "minimum": 0, "maximum": 1000},
        "options": {"type": "object"},
    },
    "required": ["handler"],
    "additionalProperties": False,
}


_READS = ("order of the chain", "priority of the others", "an anchor is there")
_THERE = "the element is there"


class MiddlewareSurface(ChainSurface):
    """The chain."""

    name = "middleware"
    empty: Chain = NO_LINKS
    kinds = (
        Kind.capture("capture_middleware", Level.L1, capture, whole=True),
        Kind.forward(
            "add_middleware",
            Level.L1,
            add,
            verb="add",
            spot=Requirement.OPTIONAL,
            spots=SPOTS,
            reads=_READS,
            schema=_VALUE_SCHEMA,
        ),
        Kind.recovery("restore_middleware", Level.L1, restore, whole=True),
        Kind.forward(
            "move_middleware",
            Level.L2,
            move,
            verb="move",
            value=Requirement.FORBIDDEN,
            spot=Requirement.REQUIRED,
            spots=SPOTS,
            needs=True,
            reads=(*_READS, _THERE),
        ),
        Kind.forward(
            "replace_middleware", Level.L2, replace, verb="replace", needs=True, reads=(_THERE,), schema=_VALUE_SCHEMA
        ),
        Kind.forward("remove_middleware", Level.L2, remove, verb="remove", value=Requirement.FORBIDDEN),
    )

    def paths(self, before: Chain, after: Chain) -> tuple[TreePath, ...]:
        return ((),) if before is not after else ()

    def chain(self, value: Chain, path: TreePath) -> Chain:
        return value

    def with_chain(self, value: Chain, path: TreePath, chain: Chain) -> Chain:
        return chain

    def read(self, raw: Any, where: str) -> Chain:
        return read_chain(raw, where, lambda item, place: _read_record(item, None, place), self.name)

    def write(self, value: Chain) -> Any:
        return [thaw(_with_own_id(link).record) for link in value]

    def canonical(self, value: Chain) -> Any:
        return [make_canonical_record(_with_own_id(link).record) for link in value]

    def describe(self, content: Any) -> Any:
        if isinstance(content, Chain):
            return self.write(content)
        return thaw(content.record) if isinstance(content, Link) else content

    def diff(self, before: Chain, after: Chain) -> Iterator[Change]:
        """Yield elements that came, went or changed, and those that moved against the others."""
        if before is after:
            return iter(())
        changes = []
        changed = before.differences(after)
        for name, old, new in changed:
            if old is None or new is None or not self.equivalent(old, new):
                address = fast_tuple(Address, (self.name, name))
                changes.append(
                    fast_tuple(Change, (address, ABSENT if old is None else old, ABSENT if new is None else new))
                )
        for name in sorted(before.find_moved(after, changed)) if changed else ():
            at = f"position {before.index(name)}", f"position {after.index(name)}"
            changes.append(Change(Address(self.name, name), *at))
        return iter(changes)

    def equivalent(self, before: Any, after: Any) -> bool:
        """Compare membership and record; order is compared by `diff`."""
        if before is after:
            return True
        if isinstance(before, Link) and isinstance(after, Link):
            return is_same_record(before.record, after.record)
        return isinstance(before, str) and bool(before == after)

    def target(self, raw: str, where: str, kind: Kind | None) -> str:
        if raw == WHOLE and kind is not None and not kind.whole:
            raise InputError(where, found=raw, expected="the id of one middleware")
        return read_name(raw, where)

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> PMap:
        return _read_record(raw, target, where)

    def perturb(self, strategy: str, value: Chain, aims: Sequence[Operation], rng: random.Random) -> Chain:
        if strategy in EXISTENCE:
            for op in aims:
                value = _vary_element(value, op.target, rng)
                anchor = op.spot and op.spot.anchor
                if isinstance(anchor, str) and rng.random() < 0.25:  # noqa: PLR2004  (one in four)
                    value = _vary_element(value, anchor, rng)
            if strategy == Strategy.COMBINATORIAL and len(value):
                value = _vary_element(value, rng.choice(value.ids()), rng)
        elif strategy == Strategy.PRIORITY_MIDDLEWARE:
            for _ in range(rng.randrange(1, 4)):
                name = f"interceptor_{rng.randrange(10_000)}"
                value, _link = value.insert(0, name, _make_sample(name, 1))
        elif strategy == Strategy.NOISE and rng.random() < 0.5:  # noqa: PLR2004  (a coin)
            name = f"unrelated_{rng.randrange(1000)}"
            value, _link = value.insert(rng.randrange(len(value) + 1), name, _make_sample(name, rng.randrange(200)))
        return value

    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        """Return one component for each named id, target or anchor: in the chain or not.

        The order cannot matter, unless an element is moved: then it stands at either end (docs/proof.md).
        """
        moved = {op.target for op in ops if op.kind.name == "move_middleware"}
        names: dict[str, None] = {}
        for op in ops:
            if op.target != WHOLE:
                names[op.target] = None
            anchor = op.spot and op.spot.anchor
            if isinstance(anchor, str):
                names[anchor] = None
        records = (_make_record(name, f"{salt}-{name}", DEFAULT_PRIORITY) for name in names)
        return tuple(self.element_component((), record, moved=record["id"] in moved) for record in records)

    def bystander(self, value: Chain, salt: str) -> Chain:
        for at, name in ((0, f"bystander_front_{salt}"), (len(value) + 1, f"bystander_back_{salt}")):
            value, _link = value.insert(at, name, _make_sample(name, DEFAULT_PRIORITY))
        return value

    def find_written_slots(self, op: Operation) -> tuple[TreePath, ...] | None:
        """Return the id as the only slot; None where the whole chain is meant."""
        return None if op.target == WHOLE else ((op.target,),)

    def slot_to_json(self, content: Link) -> Any:
        return super().slot_to_json(_with_own_id(content))

    def dump(self, part: Chain) -> Any:
        own = all(link.record["id"] == link.id for link in part)
        return chain_to_json(part if own else Chain(tuple(map(_with_own_id, part)), part.reach))

    def load(self, raw: Any) -> Chain:
        return chain_from_json(raw, self.name)

    def transfer_places(self, fresh: Chain, known: Chain) -> Chain:
        return keep_places(fresh, known)

    def overlaps(self, first: Operation, second: Operation) -> bool:
        """Tell whether both are on the chain: adding reads the order, so the two can always see each other."""
        return first.kind.surface == second.kind.surface


def _read_record(raw: Any, name: str | None, where: str) -> PMap:
    record = read_record(
        raw,
        where,
        {
            "id": (read_name, ABSENT if name is None else name),
            "handler": (read_storable_text, ABSENT),
            "priority": (read_whole_number, DEFAULT_PRIORITY),
            "options": (read_mapping, EMPTY),
        },
    )
    if name is not None and record["id"] != name:
        raise InputError(f"{where}.id", found=record["id"], expected=f"the target {name!r}, or no id")
    return record


def _make_record(name: str, handler: str, priority: int) -> PMap:
    return PMap({"id": name, "handler": handler, "priority": priority, "options": EMPTY})


def _make_sample(name: str, priority: int) -> PMap:
    return _make_record(name, f"prior.{name}:Handler", priority)


def _vary_element(value: Chain, name: str, rng: random.Random) -> Chain:
    choice = rng.randrange(3)
    if choice == 0:
        return value.drop(name)
    if choice == 1:
        record = _make_sample(name, rng.choice((1, 50, DEFAULT_PRIORITY, 500)))
        return value.insert(rng.randrange(len(value) + 1), name, record)[0]
    return value
