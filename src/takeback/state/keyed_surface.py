"""Surfaces that bind names to contents: prompts, routing, tools, and any simple surface added from outside.

A subclass says how contents are read and written and gives samples of them; capture, forward, restore,
removal, diff, perturbation and proof shapes are here.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from takeback.errors import InputError, LimitError
from takeback.state import part_slots
from takeback.state.address import Address
from takeback.state.operation import Captured, Kind, Level, Operation, Requirement
from takeback.state.part_slots import find_differing_parts, get_part, put_part
from takeback.state.pmap import ABSENT, EMPTY, PMap, fast_tuple
from takeback.state.surface import EXISTENCE, Change, Component, Strategy, Surface, TreePath, ValueEdit
from takeback.state.values import is_same_value, read_name, thaw

MAX_ENTRIES = 2_000_000


def capture(value: PMap, op: Operation) -> Captured:
    """Take down what the key is bound to."""
    return fast_tuple(Captured, (op.kind.surface, op.target, value.get(op.path, ABSENT), 0, None))


def bind(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Bind the key to the operation's value."""
    return value.put(op.path, op.value), None


def unbind(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Remove the key; where it is not there, nothing happens."""
    return value.drop(op.path), None


def restore(value: PMap, op: Operation, captured: Captured | None) -> PMap:
    """Put the old binding back, or remove the key if there was none (or no witness is given)."""
    if captured is None or captured.content is ABSENT:
        return value.drop(op.path)
    return value.put(op.path, captured.content)


def make_keyed_kinds(
    level: Level,
    *,
    capture_name: str,
    forward: str,
    restore_name: str,
    remove: str | None = None,
    unset: str | None = None,
    schema: dict[str, Any],
) -> tuple[Kind, ...]:
    """Return the usual operations of a keyed surface under their names.

    `remove` takes a key away in a recovery, `unset` in a mutation.
    """
    kinds = [
        Kind.capture(capture_name, level, capture),
        Kind.forward(forward, level, bind, verb="set", schema=schema),
        Kind.recovery(restore_name, level, restore),
    ]
    if remove is not None:
        kinds.append(Kind.recovery(remove, level, restore, removes=True))
    if unset is not None:
        kinds.append(Kind.forward(unset, Level.L2, unbind, verb="remove", value=Requirement.FORBIDDEN))
    return tuple(kinds)


class KeyedSurface(Surface):
    """Names bound to contents in a `PMap`."""

    empty: PMap = EMPTY

    @abstractmethod
    def content(self, key: str, raw: Any, where: str) -> Any:
        """Return one content checked and frozen, or raise."""

    @abstractmethod
    def sample(self, key: str, rng: random.Random) -> Any:
        """Return some believable content that differs from what a task would write."""

    @abstractmethod
    def extreme(self, key: str, rng: random.Random) -> Any:
        """Return content at the edge of what is allowed."""

    @abstractmethod
    def generic(self, key: str, salt: str) -> Any:
        """Return content that equals no other: it carries `key` and `salt`."""

    def read(self, raw: Any, where: str) -> PMap:
        if not isinstance(raw, dict):
            raise InputError(where, found=raw, expected="a mapping")
        _check_entries(len(raw), where)
        return PMap(
            {
                read_name(key, f"{where} key"): self.content(key, item, f"{where}[{key!r}]")
                for key, item in raw.items()
            }
        )

    def write(self, value: PMap) -> Any:
        return {key: self.describe(item) for key, item in value.items()}

    def canonical(self, value: PMap) -> Any:
        return {key: self.canonical_content(item) for key, item in value.items()}

    def canonical_content(self, content: Any) -> Any:
        """Return one content in canonical form."""
        return thaw(content)

    def describe(self, content: Any) -> Any:
        return thaw(content)

    def diff(self, before: PMap, after: PMap) -> Iterator[Change]:
        candidates = before.candidates(after)
        if not candidates:
            return iter(())
        return iter(
            [
                fast_tuple(Change, (fast_tuple(Address, (self.name, key)), old, new))
                for key, old, new in candidates
                if not self.equivalent(old, new)
            ]
        )

    def equivalent(self, before: Any, after: Any) -> bool:
        return is_same_value(before, after)

    def target(self, raw: str, where: str, kind: Kind | None) -> str:
        return read_name(raw, where)

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        return self.content(target, raw, where)

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        """Vary existence and content of the touched keys; add names that nobody uses."""
        if strategy in EXISTENCE:
            for op in aims:
                value = self._vary(strategy, value, op.path, rng)
            if strategy == Strategy.COMBINATORIAL and value:
                value = self._vary(strategy, value, rng.choice(sorted(value)), rng)
        elif strategy == Strategy.NOISE and rng.random() < 0.5:  # noqa: PLR2004  (a coin)
            key = f"unrelated_{rng.randrange(1000)}"
            value = value.put(key, self.sample(key, rng))
        return value

    def _vary(self, strategy: str, value: PMap, key: str, rng: random.Random) -> PMap:
        choice = rng.randrange(3)
        if choice == 0:
            return value.drop(key)
        if choice == 1 and strategy == Strategy.BOUNDARY:
            return value.put(key, self.extreme(key, rng))
        if choice == 1 or strategy == Strategy.COMBINATORIAL:
            return value.put(key, self.sample(key, rng))
        return value

    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        """Return one component for each named key: there with content of its own, or absent."""
        return tuple(
            Component(str(self.address(key)), (make_bind_edit(key, self.generic(key, salt)), make_drop_edit(key)))
            for key in dict.fromkeys(op.path for op in ops)
        )

    def bystander(self, value: PMap, salt: str) -> PMap:
        key = f"bystander_{salt}"
        return value.put(key, self.generic(key, salt))

    def entries(self, value: PMap) -> Iterator[tuple[Address, ValueEdit]]:
        for key in sorted(value):
            yield Address(self.name, key), make_drop_edit(key)

    def size(self, value: PMap) -> int:
        return len(value)

    def is_worth_storing(self, part: PMap) -> bool:
        return bool(part)

    def find_written_slots(self, op: Operation) -> tuple[TreePath, ...] | None:
        return ((op.path,),)

    def get_slot(self, part: PMap, path: TreePath) -> Any:
        """Return what the key is bound to, or a part of that."""
        content = part.get(path[0], ABSENT)
        return content if len(path) == 1 else get_part(content, path[1])

    def put_slot(self, part: PMap, path: TreePath, content: Any) -> PMap:
        """Bind or unbind the key, or write a part of what it is bound to."""
        if len(path) > 1:
            there = part.get(path[0], ABSENT)
            gone = there is ABSENT and content is ABSENT
            return part if gone else part.put(path[0], put_part(there, path[1], content))
        return part.drop(path[0]) if content is ABSENT else part.put(path[0], content)

    def differing(self, before: PMap, after: PMap) -> Iterator[TreePath]:
        """Yield keys bound to different contents, or the parts of one that was edited inside."""
        for key, old, new in before.candidates(after):
            parts = find_differing_parts(old, new)
            if parts is not None:
                yield from ((key, part) for part in parts)
            elif not self.is_identical(old, new):
                yield (key,)

    def is_identical(self, old: Any, new: Any) -> bool:
        return part_slots.is_identical_content(old, new)

    def transfer_places(self, fresh: PMap, known: PMap) -> PMap:
        """Keep the identities of parts that are still there."""
        return PMap(
            {key: part_slots.transfer_identities(content, known.get(key, ABSENT)) for key, content in fresh.items()}
        )

    def slot_to_json(self, content: Any) -> Any:
        return self.describe(content)

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        return self.content(path[0], raw, self.slot_title(path))

    def check_slot(self, part: PMap, path: TreePath, names: Sequence[str] = ()) -> None:
        """Check what the key is bound to, or parts of it and how long the whole is; and how many keys there are."""
        _check_entries(len(part), self.name)
        if names:
            part_slots.check_parts(part.get(path[0], ABSENT), names, self.slot_title(path))
        else:
            super().check_slot(part, path)

    def dump(self, part: PMap) -> Any:
        return {key: self.slot_to_json(content) for key, content in part.items()}

    def load(self, raw: Any) -> PMap:
        return PMap({key: self.slot_from_json(item, (key,)) for key, item in raw.items()})


def _check_entries(size: int, where: str) -> None:
    if size > MAX_ENTRIES:
        raise LimitError(where, found=f"{size} entries", expected=f"at most {MAX_ENTRIES}")


def make_bind_edit(key: str, content: Any) -> ValueEdit:
    """Return the edit that binds a key."""
    return lambda value: value.put(key, content)


def make_drop_edit(key: str) -> ValueEdit:
    """Return the edit that removes a key."""
    return lambda value: value.drop(key)
