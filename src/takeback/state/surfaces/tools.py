"""Tools: registry keys bound to tool records. A key and the tool's own id may differ.

A record is either one of ours, with four fields, or an open one: a mapping as some client or provider writes tools
(an MCP server, an OpenAI function), which has neither an id nor an implementation and is kept as it is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from takeback.state.keyed_surface import KeyedSurface, keyed_kinds
from takeback.state.operation import Level
from takeback.state.pmap import EMPTY, PMap
from takeback.state.record import VOLATILE, canonical_record, equivalent_records, mapping, name_of, read_record
from takeback.state.values import freeze, text

_TYPES = ("string", "integer", "boolean", "number")
_OURS = frozenset({"id", "description", "parameters", "implementation", VOLATILE})


def _is_open(raw: Mapping[str, Any]) -> bool:
    """Whether a record is written in someone else's form."""
    return "id" not in raw and "implementation" not in raw and any(key not in _OURS for key in raw)


class Tools(KeyedSurface):
    """Registry key → {id, description, parameters, implementation}."""

    name = "tools"
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
