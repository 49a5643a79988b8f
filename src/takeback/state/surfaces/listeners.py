"""Listeners: callbacks bound to events, in order. An event with no callbacks is no event.

Operations name an event; captures and removals may narrow to one callback by its id, so that what others
bind to the same event later survives a restore.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from takeback.errors import InputError, OperationFailed
from takeback.state.address import Address
from takeback.state.chain import NO_LINKS, Chain, ChainPlace, Link
from takeback.state.chain_surface import ChainSurface, read_chain
from takeback.state.operation import Captured, Kind, Level, Operation, Requirement
from takeback.state.part_slots import chain_from_json, chain_to_json, keep_places
from takeback.state.pmap import ABSENT, EMPTY, PMap, fast_tuple
from takeback.state.surface import EXISTENCE, Change, Component, Inverse, Strategy, TreePath
from takeback.state.values import (
    is_same_record,
    make_canonical_record,
    read_mapping,
    read_name,
    read_record,
    read_storable_text,
    thaw,
)


def capture(value: PMap, op: Operation) -> Captured:
    """Take down all callbacks of the event, or the one named by `value`."""
    chain: Chain = value.get(op.path, NO_LINKS)
    if op.value is ABSENT:
        return Captured("listeners", op.target, chain if len(chain) else ABSENT)
    content = chain.find(op.value) or ABSENT
    return fast_tuple(Captured, ("listeners", op.target, content, 0, op.value))


def add(value: PMap, op: Operation) -> tuple[PMap, ChainPlace]:
    """Append the callback, or replace it in place if it is bound already."""
    chain: Chain = value.get(op.path, NO_LINKS)
    name = op.value["id"]
    there = chain.find(name)
    if there is None:
        chain, link = chain.insert(len(chain), name, op.value)
    else:
        link = Link(there.place, name, op.value)
        chain = chain.put(link)
    return value.put(op.path, chain), link.place


def remove(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Unbind the callback named by `value`, or all of the event; where there is none, nothing happens."""
    chain: Chain = value.get(op.path, NO_LINKS)
    left = NO_LINKS.with_reach(chain.reach) if op.value is ABSENT else chain.drop(op.value)
    return _bind_chain(value, op.path, left), None


def move(value: PMap, op: Operation) -> tuple[PMap, ChainPlace]:
    """Put the callback named by `value` elsewhere among those of the event."""
    chain: Chain = value.get(op.path, NO_LINKS)
    there, spot = chain.find(op.value), op.spot
    if there is None or spot is None:
        raise OperationFailed(f"there is no callback {op.value!r} of {op.target!r}")
    if spot.index is not None:
        chain, link = chain.insert(spot.index, op.value, there.record)
        return value.put(op.path, chain), link.place
    target = chain.insert_beside(str(spot.anchor), op.value, there.record, after=spot.before is None)
    if target is None:
        raise OperationFailed(f"there is no callback {spot.anchor!r} of {op.target!r} to stand next to")
    return value.put(op.path, target[0]), target[1].place


def restore(value: PMap, op: Operation, captured: Captured) -> PMap:
    """Bind again what was bound: all callbacks of the event, or the captured one at its place."""
    chain: Chain = value.get(op.path, NO_LINKS)
    if captured.part is None:
        before: Chain = NO_LINKS if captured.content is ABSENT else captured.content
        return _bind_chain(value, op.path, before.with_reach(chain.reach))
    link = captured.content
    return _bind_chain(value, op.path, chain.drop(captured.part) if link is ABSENT else chain.put(link))


def unregister(value: PMap, op: Operation, captured: Captured | None) -> PMap:
    """Unbind the event, or the callback named by `value`; with a witness, restore."""
    if captured is not None:
        return restore(value, op, captured)
    return remove(value, op)[0]


def _bind_chain(value: PMap, event: str, chain: Chain) -> PMap:
    """Bind a chain to an event; an emptied one stays for the places it knows, though it counts for nothing."""
    return value.drop(event) if chain.reach is None else value.put(event, chain)


_CALLBACK = {"type": "string", "minLength": 1, "maxLength": 80}
_VALUE_SCHEMA = {
    "type": "object",
    "properties": {
        "id": _CALLBACK,
        "handler": {"type": "string", "maxLength": 120},
        "options": {"type": "object"},
    },
    "required": ["id", "handler"],
    "additionalProperties": False,
}


_READS = ("order of the callbacks", "the callback is there", "an anchor is there")


class ListenersSurface(ChainSurface):
    """Event → callbacks in order."""

    name = "listeners"
    empty: PMap = EMPTY
    kinds = (
        Kind.capture("capture_listener", Level.L1, capture, value=Requirement.OPTIONAL, schema=_CALLBACK),
        Kind.forward("add_listener", Level.L1, add, verb="add", reads=_READS[:1], schema=_VALUE_SCHEMA),
        Kind.recovery("restore_listener", Level.L1, restore),
        Kind.recovery(
            "unregister_listener",
            Level.L1,
            unregister,
            value=Requirement.OPTIONAL,
            removes=True,
            schema=_CALLBACK,
        ),
        Kind.forward(
            "remove_listener", Level.L2, remove, verb="remove", value=Requirement.OPTIONAL, schema=_CALLBACK
        ),
        Kind.forward(
            "move_listener",
            Level.L2,
            move,
            verb="move",
            spot=Requirement.REQUIRED,
            needs=True,
            reads=_READS,
            schema=_CALLBACK,
        ),
    )

    def paths(self, before: PMap, after: PMap) -> list[TreePath]:
        return [(event,) for event, _, _ in before.candidates(after)]

    def chain(self, value: PMap, path: TreePath) -> Chain:
        chain: Chain = value.get(path[0], NO_LINKS)
        return chain

    def with_chain(self, value: PMap, path: TreePath, chain: Chain) -> PMap:
        return value.put(path[0], chain)

    def read(self, raw: Any, where: str) -> PMap:
        if not isinstance(raw, dict):
            raise InputError(where, found=raw, expected="a mapping of events")
        chains: dict[str, Chain] = {}
        for event, items in raw.items():
            place = f"{where}[{event!r}]"
            chain = read_chain(items, place, _read_record, "callbacks")
            if len(chain):
                chains[read_name(event, place)] = chain
        return PMap(chains)

    def write(self, value: PMap) -> Any:
        return {event: [thaw(link.record) for link in chain] for event, chain in value.items() if len(chain)}

    def canonical(self, value: PMap) -> Any:
        return {
            event: [make_canonical_record(link.record) for link in chain]
            for event, chain in value.items()
            if len(chain)
        }

    def describe(self, content: Any) -> Any:
        return thaw(content.record) if isinstance(content, Link) else [thaw(link.record) for link in content]

    def diff(self, before: PMap, after: PMap) -> Iterator[Change]:
        for event, before_chain, after_chain in before.candidates(after):
            old, new = _drop_empty_chain(before_chain), _drop_empty_chain(after_chain)
            if not self.equivalent(old, new):
                yield Change(Address(self.name, event), old, new)

    def equivalent(self, before: Any, after: Any) -> bool:
        if before is ABSENT or after is ABSENT:
            return before is after
        if before == after:
            return True
        return before.ids() == after.ids() and all(
            is_same_record(old.record, new.record) for old, new in zip(before, after, strict=True)
        )

    def target(self, raw: str, where: str, kind: Kind | None) -> str:
        return read_name(raw, where)

    def find(self, value: PMap, path: str) -> Any:
        return value.get(path, NO_LINKS) or ABSENT

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        return _read_record(raw, where) if kind.name == "add_listener" else read_name(raw, where)

    def invert(self, op: Operation) -> tuple[Inverse, ...]:
        part = {} if op.value is ABSENT else {"value": _get_callback_id(op)}
        capture = {"op_type": "capture_listener", "target": op.target, **part}
        return ((capture, {"op_type": "restore_listener", "target": op.target}),)

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        if strategy in EXISTENCE:
            for op in aims:
                value = _vary_event(value, op.path, "watcher" if op.value is ABSENT else _get_callback_id(op), rng)
        elif strategy == Strategy.NOISE and rng.random() < 0.5:  # noqa: PLR2004  (a coin)
            event = f"on_unrelated_{rng.randrange(1000)}"
            value = value.put(event, Chain.of([("watcher", _make_sample("watcher", rng))]))
        return value

    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        """Return components: each named callback is bound or not, each event has an unnamed callback or not."""
        components: list[Component] = []
        for event in dict.fromkeys(op.path for op in ops):
            mine = [op for op in ops if op.path == event]
            names = dict.fromkeys(_get_callback_id(op) for op in mine if op.value is not ABSENT)
            names.update((op.spot.anchor, None) for op in mine if op.spot and isinstance(op.spot.anchor, str))
            names.setdefault(f"bystander_{salt}")
            for name in names:
                record = _read_record({"id": name, "handler": f"{salt}-{event}-{name}"}, "generic")
                moved = any(op.kind.name == "move_listener" and op.value == name for op in mine)
                components.append(self.element_component((event,), record, moved=moved))
        return tuple(components)

    def bystander(self, value: PMap, salt: str) -> PMap:
        record = _read_record({"id": "watcher", "handler": salt}, "generic")
        return value.put(f"on_bystander_{salt}", Chain.of([("watcher", record)]))

    def find_written_slots(self, op: Operation) -> tuple[TreePath, ...] | None:
        """Return the callback's slot; None where the whole event is meant."""
        return None if op.value is ABSENT else ((op.path, _get_callback_id(op)),)

    def can_merge_in_place(self, content: Any) -> bool:
        """Tell whether a callback is a client's group, whose matcher and hooks are edited one by one."""
        from takeback.state.record_merge import is_hook_group  # noqa: PLC0415 - start-up

        return is_hook_group(content)

    def merge_write(self, current: Any, before: Any, after: Any) -> Any:
        from takeback.state.record_merge import merge_hook_group  # noqa: PLC0415 - start-up

        return merge_hook_group(current, before, after)

    def dump(self, part: PMap) -> Any:
        return {event: chain_to_json(chain) for event, chain in part.items()}

    def load(self, raw: Any) -> PMap:
        return PMap({event: chain_from_json(chain, self.name) for event, chain in raw.items()})

    def transfer_places(self, fresh: PMap, known: PMap) -> PMap:
        """Keep the places of callbacks that have not moved, and what emptied events know."""
        events = {event: keep_places(fresh.get(event, NO_LINKS), chain) for event, chain in known.items()}
        return PMap({**dict(fresh.items()), **events})

    def overlaps(self, first: Operation, second: Operation) -> bool:
        """Tell whether both name one event: its callbacks are ordered, so operations can see each other."""
        return bool(first.path == second.path)


def _drop_empty_chain(chain: Any) -> Any:
    return chain if chain is not ABSENT and len(chain) else ABSENT


def _get_callback_id(op: Operation) -> str:
    return str(op.value["id"]) if isinstance(op.value, PMap) else str(op.value)


def _read_record(raw: Any, where: str) -> PMap:
    if isinstance(raw, str):
        raw = {"id": raw}
    record = read_record(
        raw, where, {"id": (read_name, ABSENT), "handler": (read_storable_text, ""), "options": (read_mapping, EMPTY)}
    )
    return record if record["handler"] else record.put("handler", record["id"])


def _make_sample(name: str, rng: random.Random) -> PMap:
    options = PMap({"revision": rng.randrange(10_000)})
    return PMap({"id": name, "handler": f"prior.{name}:run", "options": options})


def _vary_event(value: PMap, event: str, name: str, rng: random.Random) -> PMap:
    choice = rng.randrange(4)
    if choice == 0:
        return value.drop(event)
    chain: Chain = value.get(event, NO_LINKS)
    if choice == 1:
        chain = chain.insert(rng.randrange(len(chain) + 1), name, _make_sample(name, rng))[0]
    elif choice == 2:  # noqa: PLR2004  (one of four cases)
        other = f"watcher_{rng.randrange(100)}"
        chain = chain.insert(len(chain), other, _make_sample(other, rng))[0]
    else:
        chain = chain.drop(name)
    return _bind_chain(value, event, chain)
