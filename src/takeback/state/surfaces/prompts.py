"""Prompts: template texts by name."""

from __future__ import annotations

import random
from typing import Any

from takeback.state.keyed_surface import KeyedSurface, keyed_kinds
from takeback.state.operation import Level
from takeback.state.values import text


class Prompts(KeyedSurface):
    """Name → template text."""

    name = "prompts"
    nested = True
    kinds = keyed_kinds(
        "prompts",
        Level.L0,
        capture_name="capture_prompt",
        forward="set_prompt",
        restore_name="restore_prompt",
        schema={"type": "string", "maxLength": 2000},
    )

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
