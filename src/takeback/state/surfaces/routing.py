"""Routing: which model serves which purpose; null is a route that is switched off on purpose."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any

from takeback.errors import InputError
from takeback.state.keyed_surface import KeyedSurface, keyed_kinds
from takeback.state.operation import Level, Operation
from takeback.state.pmap import PMap
from takeback.state.record import name_of
from takeback.state.strategy import Strategy

_MODELS = ("large-1", "small-1", "code-2", "vision-3", "local-7b", "reasoner-4")


class RoutingSurface(KeyedSurface):
    """Key → model id, or null."""

    name = "routing"
    kinds = keyed_kinds(
        "routing",
        Level.L0,
        capture_name="capture_routing",
        forward="set_routing",
        restore_name="restore_routing",
        unset="unset_routing",
        schema={"anyOf": [{"type": "string", "minLength": 1, "maxLength": 200}, {"type": "null"}]},
    )

    def content(self, key: str, raw: Any, where: str) -> str | None:
        """Take a model id or null."""
        del key
        if raw is None:
            return None
        if type(raw) is not str:
            raise InputError(where, found=raw, expected="a model id or null")
        return name_of(raw, where)

    def sample(self, key: str, rng: random.Random) -> str | None:
        """Return some model, or a disabled route."""
        del key
        return rng.choice([None, *_MODELS])

    def extreme(self, key: str, rng: random.Random) -> str | None:
        """Return a disabled route or a very long id."""
        return rng.choice([None, f"{key}-model-" + "x" * 100])

    def generic(self, key: str, salt: str) -> str:
        """Return a model of its own."""
        return f"{salt}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        """Also vary the fallback routes, and turn the policy round."""
        if strategy == Strategy.DEPENDENCY:
            for key in ("default_model", "fallback_model"):
                value = rng.choice([value.drop(key), value.put(key, self.sample(key, rng)), value])
        if strategy == Strategy.INVERTED_ROUTING:
            main, spare = value.get("default_model"), value.get("fallback_model")
            value = value.put("default_model", spare or rng.choice(_MODELS)).put("fallback_model", None)
            value = value.put(f"inverted_route_{rng.randrange(10_000)}", main or rng.choice(_MODELS))
        return super().perturb(strategy, value, aims, rng)
