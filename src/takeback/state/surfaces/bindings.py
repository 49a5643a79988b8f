"""Surfaces that bind names to contents: prompts, routing and tools.

Prompts are template texts by name. Routing says which model serves which purpose; null is a route that is
switched off on purpose. Tools are registry keys bound to records; a key and the tool's own id may differ. A
tool record is either ours, with four fields, or open: a mapping as a client or provider writes tools (an MCP
server, an OpenAI function), with neither an id nor an implementation, kept as it is.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from takeback.errors import InputError, OperationFailed
from takeback.state import part_slots, tree
from takeback.state.keyed_surface import KeyedSurface, make_bind_edit, make_keyed_kinds
from takeback.state.operation import Kind, Level, Operation
from takeback.state.part_slots import get_parts, slot_content_from_json, slot_content_to_json
from takeback.state.pmap import ABSENT, EMPTY, PMap
from takeback.state.surface import EXISTENCE, Component, Strategy, TreePath
from takeback.state.text import READS, SCHEMA, Text, apply_edit, group_edits_by_path, make_probe_texts, read_edit
from takeback.state.values import (
    VOLATILE,
    freeze,
    is_same_record,
    make_canonical_record,
    read_mapping,
    read_name,
    read_record,
    read_storable_text,
)


def edit_prompt(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Replace one stretch of the prompt."""
    parts = get_parts(value.get(op.path, ABSENT))
    if not isinstance(parts, Text):
        raise OperationFailed(f"there is no prompt {op.target!r}")
    return value.put(op.path, apply_edit(parts, op.value)), None


class PromptsSurface(KeyedSurface):
    """Name → template text."""

    name = "prompts"
    nested = True
    kinds = (
        *make_keyed_kinds(
            Level.L0,
            capture_name="capture_prompt",
            forward="set_prompt",
            restore_name="restore_prompt",
            unset="remove_prompt",
            schema={"type": "string", "maxLength": 2000},
        ),
        Kind.forward("edit_prompt", Level.L2, edit_prompt, verb="edit", inside=True, reads=READS, schema=SCHEMA),
    )

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        return read_edit(raw, where) if kind.inside else super().value(kind, target, raw, where)

    def content(self, key: str, raw: Any, where: str) -> str:
        return read_storable_text(raw, where)

    def sample(self, key: str, rng: random.Random) -> str:
        return f"Earlier {key} prompt, revision {rng.randrange(10_000)}."

    def extreme(self, key: str, rng: random.Random) -> str:
        return rng.choice(["", f"{key} " * 200])

    def generic(self, key: str, salt: str) -> str:
        return f"{salt}: {key}"

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        """Vary contents as usual, and whether and how often a prompt has what an edit replaces."""
        value = super().perturb(strategy, value, aims, rng)
        if strategy in EXISTENCE:
            for key, edits in group_edits_by_path(aims).items():
                value = value.put(key, rng.choice(make_probe_texts(edits, f"{key} {rng.randrange(10_000)}")))
        return value

    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        """Return, for an edited prompt, also texts that hold what edits replace: once, not at all, or more often."""
        by_key = group_edits_by_path(ops)
        components = []
        for component in super().components(ops, salt):
            key = next((key for key in by_key if component.name == str(self.address(key))), None)
            texts = () if key is None else make_probe_texts(by_key[key], salt)
            edits = tuple(make_bind_edit(str(key), content) for content in texts)
            components.append(replace(component, alternatives=(*edits, *component.alternatives)))
        return tuple(components)

    def slot_to_json(self, content: Any) -> Any:
        return slot_content_to_json(content)

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        return slot_content_from_json(raw, path[-1], self.slot_title(path))


_MODELS = ("large-1", "small-1", "code-2", "vision-3", "local-7b", "reasoner-4")


class RoutingSurface(KeyedSurface):
    """Key → model id, or null."""

    name = "routing"
    kinds = make_keyed_kinds(
        Level.L0,
        capture_name="capture_routing",
        forward="set_routing",
        restore_name="restore_routing",
        unset="unset_routing",
        schema={"anyOf": [{"type": "string", "minLength": 1, "maxLength": 200}, {"type": "null"}]},
    )

    def content(self, key: str, raw: Any, where: str) -> str | None:
        if raw is None:
            return None
        if type(raw) is not str:
            raise InputError(where, found=raw, expected="a model id or null")
        return read_name(raw, where)

    def sample(self, key: str, rng: random.Random) -> str | None:
        return rng.choice([None, *_MODELS])

    def extreme(self, key: str, rng: random.Random) -> str | None:
        return rng.choice([None, f"{key}-model-" + "x" * 100])

    def generic(self, key: str, salt: str) -> str:
        return f"{salt}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        if strategy == Strategy.DEPENDENCY:
            for key in ("default_model", "fallback_model"):
                value = rng.choice([value.drop(key), value.put(key, self.sample(key, rng)), value])
        if strategy == Strategy.INVERTED_ROUTING:
            main, spare = value.get("default_model"), value.get("fallback_model")
            value = value.put("default_model", spare or rng.choice(_MODELS)).put("fallback_model", None)
            value = value.put(f"inverted_route_{rng.randrange(10_000)}", main or rng.choice(_MODELS))
        return super().perturb(strategy, value, aims, rng)


_TYPES = ("string", "integer", "boolean", "number")
_OURS = frozenset({"id", "description", "parameters", "implementation", VOLATILE})


def _is_open(raw: Mapping[str, Any]) -> bool:
    """Tell whether a record is written in a client's or provider's own form."""
    return "id" not in raw and "implementation" not in raw and any(key not in _OURS for key in raw)


class ToolsSurface(KeyedSurface):
    """Registry key → {id, description, parameters, implementation}."""

    name = "tools"
    nested = True
    rooted = True
    kinds = make_keyed_kinds(
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
            return read_mapping(raw, where)
        return read_record(
            raw,
            where,
            {
                "id": (read_name, key),
                "description": (read_storable_text, ""),
                "parameters": (read_mapping, EMPTY),
                "implementation": (read_storable_text, ""),
            },
        )

    def get_slot(self, part: PMap, path: TreePath) -> Any:
        return tree.get(part, path)

    def put_slot(self, part: PMap, path: TreePath, content: Any) -> PMap:
        if len(path) == 1:
            return part.drop(path[0]) if content is ABSENT else part.put(path[0], content)
        return tree.drop(part, path) if content is ABSENT else tree.put(part, path, content)

    def differing(self, before: PMap, after: PMap) -> Iterator[TreePath]:
        for key, old, new in before.candidates(after):
            if old is not ABSENT and new is not ABSENT and _is_open(old) and _is_open(new):
                yield from ((key, *rest) for rest in part_slots.find_differing_below(old, new))
            elif not self.is_identical(old, new):
                yield (key,)

    def has_child_slots(self, content: Any, path: TreePath) -> bool:
        """Tell whether fields of a record, or what is in them, are slots of their own."""
        return type(content) is PMap and (len(path) > 1 or _is_open(content))

    def slot_to_json(self, content: Any) -> Any:
        ours = isinstance(content, PMap) and not _is_open(content)
        return self.describe(content) if ours else part_slots.slot_content_to_json(content)

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        if len(path) == 1 and not _is_open(raw):
            return self.content(path[0], raw, self.slot_title(path))
        return part_slots.slot_content_from_json(raw, path[-1], self.slot_title(path))

    def canonical_content(self, content: PMap) -> Any:
        return make_canonical_record(content)

    def equivalent(self, before: Any, after: Any) -> bool:
        return is_same_record(before, after)

    def sample(self, key: str, rng: random.Random) -> PMap:
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
        return PMap(
            {"id": key, "description": "", "parameters": EMPTY, "implementation": rng.choice(["", "x" * 300])}
        )

    def generic(self, key: str, salt: str) -> PMap:
        return PMap({"id": f"{salt}-{key}", "description": "", "parameters": EMPTY, "implementation": salt})
