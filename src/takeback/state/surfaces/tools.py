"""Tools: registry keys bound to tool records. A key and the tool's own id may differ.

A record is either one of ours, with four fields, or an open one: a mapping as some client or provider writes tools
(an MCP server, an OpenAI function), which has neither an id nor an implementation and is kept as it is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from takeback.state import inside, tree
from takeback.state.keyed_surface import KeyedSurface, keyed_kinds
from takeback.state.operation import Level
from takeback.state.pmap import ABSENT, EMPTY, PMap
from takeback.state.record import VOLATILE, canonical_record, equivalent_records, mapping, name_of, read_record
from takeback.state.surface import TreePath
from takeback.state.values import freeze, text

_TYPES = ("string", "integer", "boolean", "number")
_OURS = frozenset({"id", "description", "parameters", "implementation", VOLATILE})


def _is_open(raw: Mapping[str, Any]) -> bool:
    """Whether a record is written in someone else's form."""
    return "id" not in raw and "implementation" not in raw and any(key not in _OURS for key in raw)


class ToolsSurface(KeyedSurface):
    """Registry key → {id, description, parameters, implementation}."""

    name = "tools"
    nested = True
    rooted = True
    kinds = keyed_kinds(
        "tools",
        Level.L0,
        capture_name="capture_tool",
        forward="register_tool",
        restore_name="restore_tool",
        remove="unregister_tool",
        unset="remove_tool",
        schema={
            "type": "object",
            "properties": {
                "id": {"type": "string", "minLength": 1, "maxLength": 80},
                "description": {"type": "string", "maxLength": 300},
                "parameters": {"type": "object"},
                "implementation": {"type": "string", "maxLength": 120},
            },
            "required": ["id", "description", "parameters", "implementation"],
            "additionalProperties": False,
        },
    )

    def content(self, key: str, raw: Any, where: str) -> PMap:
        """Take a tool record, an open one as it is; its id defaults to the registry key."""
        if isinstance(raw, dict | PMap) and _is_open(raw):
            return mapping(raw, where)
        return read_record(
            raw,
            where,
            {
                "id": (name_of, key),
                "description": (text, ""),
                "parameters": (mapping, EMPTY),
                "implementation": (text, ""),
            },
        )

    def get_slot(self, part: PMap, path: TreePath) -> Any:
        """Return a record, or a field of an open one."""
        return tree.get(part, path)

    def put_slot(self, part: PMap, path: TreePath, content: Any) -> PMap:
        """Bind or unbind a key, or write a field of an open record."""
        if len(path) == 1:
            return part.drop(path[0]) if content is ABSENT else part.put(path[0], content)
        return tree.drop(part, path) if content is ABSENT else tree.put(part, path, content)

    def differing(self, before: PMap, after: PMap) -> Iterator[TreePath]:
        """Yield keys bound to different records, or the fields in which two open ones differ."""
        for key, one, two in before.candidates(after):
            if one is not ABSENT and two is not ABSENT and _is_open(one) and _is_open(two):
                yield from ((key, *rest) for rest in inside.differing_below(one, two))
            elif not self.alike(one, two):
                yield (key,)

    def divided(self, content: Any, path: TreePath) -> bool:
        """Tell whether fields of a record, or what is in them, are slots of their own."""
        return type(content) is PMap and (len(path) > 1 or _is_open(content))

    def slot_to_json(self, content: Any) -> Any:
        """Return a record as it stands in a state file; an open one, and a field of it, with identities of parts."""
        ours = isinstance(content, PMap) and not _is_open(content)
        return self.describe(content) if ours else inside.slot_content_to_json(content)

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        """Return what `slot_to_json` wrote down."""
        if len(path) == 1 and not _is_open(raw):
            return self.content(path[0], raw, self.slot_title(path))
        return inside.slot_content_from_json(raw, path[-1], self.slot_title(path))

    def canonical_content(self, content: PMap) -> Any:
        """Return the record without what varies from run to run."""
        return canonical_record(content)

    def equivalent(self, before: Any, after: Any) -> bool:
        """Compare identity, schema and implementation."""
        return equivalent_records(before, after)

    def sample(self, key: str, rng: random.Random) -> PMap:
        """Return a tool under this key with another signature."""
        schema = {"type": "object", "properties": {f"arg_{rng.randrange(100)}": {"type": rng.choice(_TYPES)}}}
        return PMap(
            {
                "id": rng.choice([key, f"{key}_v{rng.randrange(100)}"]),
                "description": f"Older {key}.",
                "parameters": freeze(schema, "sample"),
                "implementation": f"legacy.{key}:run",
            }
        )

    def extreme(self, key: str, rng: random.Random) -> PMap:
        """Return a tool with nothing in it."""
        return PMap(
            {"id": key, "description": "", "parameters": EMPTY, "implementation": rng.choice(["", "x" * 300])}
        )

    def generic(self, key: str, salt: str) -> PMap:
        """Return a tool of its own."""
        return PMap({"id": f"{salt}-{key}", "description": "", "parameters": EMPTY, "implementation": salt})
