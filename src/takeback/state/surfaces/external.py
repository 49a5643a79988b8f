"""Records that other systems keep: rows, HTTP records, keys of a store. A key is `BINDING/NAME`.

A record is a JSON object, and each of its fields is a slot of its own: what others wrote in other fields stays. A
whole record is written where there was none, or where one is removed; otherwise the fields that differ. Registered
where a manifest declares bindings, and left out of prompts and schemas.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

from takeback.errors import InputError, OperationFailed
from takeback.state import tree
from takeback.state.keyed_surface import KeyedSurface, make_keyed_kinds
from takeback.state.operation import Kind, Level, Operation
from takeback.state.pmap import ABSENT, PMap
from takeback.state.surface import SURFACES, TreePath, register
from takeback.state.values import freeze, is_same_value, read_mapping, read_name

EXTERNAL: Final = "external"
_EDIT: Final = {
    "type": "object",
    "properties": {"field": {"type": "string", "minLength": 1, "maxLength": 200}, "value": {}},
    "required": ["field", "value"],
    "additionalProperties": False,
}


def parse_key(key: str) -> tuple[str, str]:
    """Return the binding and the name in a record's key."""
    binding, _, name = key.partition("/")
    return binding, name


def edit_field(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Write one field of a record that is there."""
    record = value.get(op.path, ABSENT)
    if record is ABSENT:
        raise OperationFailed(f"there is no record {op.target!r}")
    return value.put(op.path, record.put(op.value["field"], op.value["value"])), None


class ExternalSurface(KeyedSurface):
    """Key → record."""

    name = EXTERNAL
    nested = True
    rooted = True
    outside = True
    part_word = "field"
    kinds = (
        *make_keyed_kinds(
            Level.L1,
            capture_name="capture_external",
            forward="set_external",
            restore_name="restore_external",
            remove="delete_external",
            unset="unset_external",
            schema={"type": "object"},
        ),
        Kind.forward("edit_external", Level.L2, edit_field, reads=("the record is there",), schema=_EDIT),
    )

    def content(self, key: str, raw: Any, where: str) -> PMap:
        record = read_mapping(raw, where)
        for name in record:
            read_name(name, f"{where} field")
        return record

    def target(self, raw: str, where: str, kind: Kind | None) -> str:
        binding, name = parse_key(super().target(raw, where, kind))
        if not binding or not name:
            raise InputError(where, found=raw, expected="BINDING/NAME, such as memory/users-42")
        return raw

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        if kind.name != "edit_external":
            return super().value(kind, target, raw, where)
        if not isinstance(raw, dict | PMap) or set(raw) != {"field", "value"}:
            raise InputError(where, found=raw, expected='{"field": NAME, "value": VALUE}')
        return PMap({"field": read_name(raw["field"], f"{where}.field"), "value": freeze(raw["value"], where)})

    def find_written_slots(self, op: Operation) -> tuple[TreePath, ...] | None:
        """Return the field that an edit writes; of the others, what differs tells."""
        return ((op.path, op.value["field"]),) if op.kind.name == "edit_external" else None

    def get_slot(self, part: PMap, path: TreePath) -> Any:
        return tree.get(part, path)

    def put_slot(self, part: PMap, path: TreePath, content: Any) -> PMap:
        return tree.drop(part, path) if content is ABSENT else tree.put(part, path, content)

    def differing(self, before: PMap, after: PMap) -> Iterator[TreePath]:
        """Yield the records that come or go, and of others the fields in which they differ."""
        for key, old, new in before.candidates(after):
            if old is ABSENT or new is ABSENT:
                yield (key,)
            else:
                fields = old.candidates(new)
                yield from ((key, name) for name, old, new in fields if not is_same_value(old, new))

    def has_child_slots(self, content: Any, path: TreePath) -> bool:
        """Tell whether something is a record: its fields are slots, what is in them is not."""
        return type(content) is PMap and len(path) == 1

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        return super().slot_from_json(raw, path) if len(path) == 1 else freeze(raw, self.slot_title(path))

    def slot_title(self, path: TreePath) -> str:
        return f"{self.address(path[0])}.{'.'.join(path[1:])}" if len(path) > 1 else super().slot_title(path)

    def sample(self, key: str, rng: random.Random) -> PMap:
        return PMap({"text": f"earlier {key}", "revision": rng.randrange(10_000)})

    def extreme(self, key: str, rng: random.Random) -> PMap:
        return rng.choice([PMap({}), PMap({"text": f"{key} " * 100})])

    def generic(self, key: str, salt: str) -> PMap:
        return PMap({salt: f"{salt}: {key}"})


def install_external_surface() -> None:
    """Register the surface, once."""
    if EXTERNAL not in SURFACES:
        register(ExternalSurface())
