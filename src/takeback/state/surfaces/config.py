"""Config: nested mappings of JSON values, addressed by dotted paths. Lists are values, not containers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

from takeback.canonical import MAX_DEPTH
from takeback.errors import InputError, LimitError, OperationFailed
from takeback.state import part_slots, tree
from takeback.state.address import format_dotted_path, parse_dotted_path
from takeback.state.items import Items
from takeback.state.operation import Anchor, Kind, Level, Operation, Requirement
from takeback.state.part_slots import get_parts
from takeback.state.pmap import ABSENT, EMPTY, PMap
from takeback.state.surface import EXISTENCE, Strategy
from takeback.state.tree import TreePath
from takeback.state.tree_surface import TreeSurface, bind, capture, restore
from takeback.state.values import check_items, freeze, is_same_value, read_name, thaw

_EXTREMES = (0.0, 1.0, 0, 300, "", None, True, False, (), EMPTY, -1)
_SAMPLES = (7, 42, 0.5, "prior", True, None, ("a", "b"), PMap({"nested": 1}))


def unset_path(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Remove what stands at the path; where nothing does, nothing happens."""
    return tree.drop(value, op.path), None


def append_item(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Add an item at the end of the list."""
    items = _get_list(value, op)
    return tree.put(value, op.path, items.insert_item(len(items), op.value)), None


def insert_item(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Add an item at a position of the list, or next to another item."""
    items, spot = _get_list(value, op), op.spot
    if spot is not None and isinstance(spot.anchor, Anchor):
        near = items.only(spot.anchor.item)
        return tree.put(value, op.path, items.beside(near, op.value, after=spot.before is None)), None
    at = len(items) if spot is None or spot.index is None else spot.index
    return tree.put(value, op.path, items.insert_item(at, op.value)), None


def remove_item(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Remove the one item of the list that has the value."""
    items = _get_list(value, op)
    return tree.put(value, op.path, items.drop(items.only(op.value).id)), None


def _get_list(value: PMap, op: Operation) -> Items:
    content = tree.get(value, op.path)
    parts = get_parts(content) if type(content) is tuple or isinstance(content, Items) else None
    if not isinstance(parts, Items):
        raise OperationFailed(f"there is no list at {op.target!r}")
    return parts


_ABOVE: Final = ("ancestors are mappings",)
_ITEM: Final = ("the list, to find the item",)


class ConfigSurface(TreeSurface):
    """Dotted path → JSON value."""

    name = "config"
    listed = True
    part_word = "item"
    kinds = (
        Kind.capture("capture_config", Level.L0, capture),
        Kind.forward("set_config", Level.L0, bind, verb="set", reads=_ABOVE),
        Kind.recovery("restore_config", Level.L0, restore, reads=_ABOVE),
        Kind.recovery("delete_config", Level.L0, restore, removes=True, reads=_ABOVE),
        Kind.forward("unset_config", Level.L2, unset_path, verb="remove", value=Requirement.FORBIDDEN),
        Kind.forward("append_config", Level.L2, append_item, verb="append", inside=True, reads=_ITEM),
        Kind.forward(
            "insert_config",
            Level.L2,
            insert_item,
            verb="insert",
            spot=Requirement.REQUIRED,
            inside=True,
            reads=_ITEM,
        ),
        Kind.forward(
            "remove_config_item", Level.L2, remove_item, verb="remove item", inside=True, needs=True, reads=_ITEM
        ),
    )

    def read(self, raw: Any, where: str) -> PMap:
        if not isinstance(raw, dict):
            raise InputError(where, found=raw, expected="a mapping")
        return PMap({_read_name(key, where): freeze(item, f"{where}.{key}", depth=1) for key, item in raw.items()})

    def write(self, value: PMap) -> Any:
        return thaw(value)

    def canonical(self, value: PMap) -> Any:
        return thaw(value)

    def describe(self, content: Any) -> Any:
        return thaw(content)

    def equivalent(self, before: Any, after: Any) -> bool:
        return is_same_value(before, after)

    def join(self, path: TreePath) -> str:
        return format_dotted_path(path)

    def parse_key(self, key: str) -> TreePath:
        return parse_dotted_path(key)

    def target(self, raw: str, where: str, kind: Kind | None) -> TreePath:
        path = parse_dotted_path(raw)
        if format_dotted_path(path) != raw:
            raise InputError(where, found=raw, expected=r"a dotted path with \. and \\ as its only escapes")
        if len(path) > MAX_DEPTH // 2:
            raise LimitError(where, found=f"{len(path)} levels", expected=f"at most {MAX_DEPTH // 2}")
        for name in path:
            if not name:
                raise InputError(where, found=raw, expected=r"names with one dot between two (\. is part of one)")
            _read_name(name, where)
        return path

    def check_slot(self, part: PMap, path: TreePath, names: Sequence[str] = ()) -> None:
        """Check a value, or items of a list, and the mappings that it lies in."""
        where = self.slot_title(path)
        for depth in range(1, len(path)):
            above = tree.get(part, path[:depth])
            check_items(len(above) if type(above) is PMap else 0, where)
        content = tree.get(part, path)
        if names:
            part_slots.check_parts(content, names, where, depth=len(path))
        elif content is not ABSENT:
            freeze(thaw(content), where, depth=len(path))

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        return freeze(raw, where, depth=MAX_DEPTH // 2)

    def generic(self, path: TreePath, salt: str) -> tuple[Any, ...]:
        return f"{salt}: {self.join(path)}", PMap({salt: f"{salt} in {self.join(path)}"})

    def contents(self, path: TreePath, ops: Sequence[Operation], salt: str) -> tuple[Any, ...]:
        """Return, where items are added or removed, also lists that hold them once, not at all, or twice."""
        mine = [op for op in ops if op.kind.inside and op.path == path and op.value is not ABSENT]
        return (*_make_probe_lists(mine, salt), *self.generic(path, salt)) if mine else self.generic(path, salt)

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        if strategy in EXISTENCE:
            for op in aims:
                value = self._vary(strategy, value, op.path, rng)
                if op.kind.inside:
                    value = tree.put_unless_blocked(
                        value, op.path, rng.choice(_make_probe_lists([op], f"prior {rng.randrange(10_000)}"))
                    )
            if strategy != Strategy.PRIOR_EXISTENCE:
                value = self._vary_untouched(strategy, value, aims, rng)
        elif strategy == Strategy.NOISE:
            value = value.put(f"unrelated_{rng.randrange(10_000)}", rng.choice(_SAMPLES))
        elif strategy == Strategy.NESTED_KEYS:
            branch = f"custom_subsystem_{rng.randrange(10_000)}"
            value = tree.put(value, (branch, "nested", "enabled"), rng.choice((True, False)))
        return value

    def _vary(self, strategy: str, value: PMap, path: TreePath, rng: random.Random) -> PMap:
        content = rng.choice(_EXTREMES if strategy == Strategy.BOUNDARY else _SAMPLES)
        choice = rng.randrange(6)
        above = path[: rng.randrange(1, len(path))] if len(path) > 1 else path
        if choice <= 1:
            return tree.drop(value, path)
        if choice == 2:  # noqa: PLR2004  (one of six cases)
            return tree.drop(value, above)
        if choice == 3:  # noqa: PLR2004
            return tree.put_unless_blocked(tree.drop(value, above), above, EMPTY if len(path) > 1 else content)
        if choice == 4 and len(path) > 1 and rng.random() < 0.3:  # noqa: PLR2004
            return tree.put_unless_blocked(value, above, "a scalar in the way")
        return tree.put_unless_blocked(value, path, content)

    def _vary_untouched(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        touched = {op.path for op in aims}
        others = sorted(path for path, _ in tree.iter_leaves(value) if path not in touched)
        if others:
            path = others[rng.randrange(len(others))]
            pool = _EXTREMES if strategy == Strategy.BOUNDARY else (*_SAMPLES, rng.randrange(10_000))
            value = tree.put_unless_blocked(value, path, rng.choice(pool))
        return value


def _make_probe_lists(ops: Sequence[Operation], salt: str) -> tuple[tuple[Any, ...], ...]:
    """Return lists that operations on items may meet: first one on which they go through, if easily found."""
    anchors = [op.spot.anchor.item for op in ops if op.spot and isinstance(op.spot.anchor, Anchor)]
    removed = [op.value for op in ops if op.kind.name == "remove_config_item"]
    named = [item for op in ops for item in (op.value,)]
    needed: list[Any] = []
    for item in (*removed, *anchors):
        if not any(is_same_value(item, other) for other in needed):
            needed.append(item)
    rest = tuple((item,) for item in named)
    return ((f"{salt} item", *needed), (), *rest, *((*item, *item) for item in rest), tuple(named))


def _read_name(raw: Any, where: str) -> str:
    return read_name(raw, f"{where} key")
