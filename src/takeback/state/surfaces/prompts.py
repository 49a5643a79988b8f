"""Prompts: template texts by name."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from takeback.errors import OperationFailed
from takeback.state.editing import READS, SCHEMA, edited, edits_by_path, read_edit, tried_texts
from takeback.state.inside import parts_of, slot_content_from_json, slot_content_to_json
from takeback.state.keyed_surface import KeyedSurface, binding, keyed_kinds
from takeback.state.operation import Kind, Level, Operation, Stage, Takes
from takeback.state.pmap import ABSENT, PMap
from takeback.state.strategy import EXISTENCE
from takeback.state.surface import Component, TreePath
from takeback.state.text import Text
from takeback.state.values import text


def edit(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Replace one stretch of the prompt."""
    parts = parts_of(value.get(op.path, ABSENT))
    if not isinstance(parts, Text):
        raise OperationFailed(f"there is no prompt {op.target!r}")
    return value.put(op.path, edited(parts, op.value)), None


class PromptsSurface(KeyedSurface):
    """Name → template text."""

    name = "prompts"
    nested = True
    kinds = (
        *keyed_kinds(
            "prompts",
            Level.L0,
            capture_name="capture_prompt",
            forward="set_prompt",
            restore_name="restore_prompt",
            unset="remove_prompt",
            schema={"type": "string", "maxLength": 2000},
        ),
        Kind(
            "edit_prompt",
            Stage.FORWARD,
            Level.L2,
            "prompts",
            edit,
            value=Takes.MUST,
            inside=True,
            recovers=True,
            verb="edit",
            reads=READS,
            schema=SCHEMA,
        ),
    )

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        """Take a text, or an edit of one."""
        return read_edit(raw, where) if kind.inside else super().value(kind, target, raw, where)

    def content(self, key: str, raw: Any, where: str) -> str:
        """Take text."""
        del key
        return text(raw, where)

    def sample(self, key: str, rng: random.Random) -> str:
        """Return another version of the prompt."""
        return f"Earlier {key} prompt, revision {rng.randrange(10_000)}."

    def extreme(self, key: str, rng: random.Random) -> str:
        """Return an empty or a very long text."""
        return rng.choice(["", f"{key} " * 200])

    def generic(self, key: str, salt: str) -> str:
        """Return text of its own."""
        return f"{salt}: {key}"

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        """Also vary whether, and how often, a prompt has what an edit replaces."""
        value = super().perturb(strategy, value, aims, rng)
        if strategy in EXISTENCE:
            for key, edits in edits_by_path(aims).items():
                value = value.put(key, rng.choice(tried_texts(edits, f"{key} {rng.randrange(10_000)}")))
        return value

    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        """A prompt that is edited is also one that has what edits replace: once, not at all, or more often."""
        by_key = edits_by_path(ops)
        found = []
        for component in super().components(ops, salt):
            key = next((key for key in by_key if component.name == str(self.address(key))), None)
            texts = () if key is None else tried_texts(by_key[key], salt)
            edits = tuple(binding(str(key), content) for content in texts)
            found.append(replace(component, alternatives=(*edits, *component.alternatives)))
        return tuple(found)

    def slot_to_json(self, content: Any) -> Any:
        """Return the text, with the identities of its lines where it was edited inside, or one line."""
        return slot_content_to_json(content)

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        """Return what `slot_to_json` wrote down."""
        return slot_content_from_json(raw, path[-1], self.slot_title(path))
