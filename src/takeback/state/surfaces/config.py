"""Config: nested mappings of JSON values, addressed by dotted paths. Lists are values, not containers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from takeback.errors import InputError, LimitError, OperationFailed
from takeback.state import tree
from takeback.state.address import join_dotted, split_dotted
from takeback.state.operation import Kind, Level, Operation, Stage, Takes
from takeback.state.pmap import ABSENT, EMPTY, PMap
from takeback.state.record import name_of
from takeback.state.strategy import EXISTENCE, Strategy
from takeback.state.tree import Path
from takeback.state.tree_surface import TreeSurface, bind, capture, restore
from takeback.state.values import MAX_DEPTH, freeze, same, thaw

_EXTREMES = (0.0, 1.0, 0, 300, "", None, True, False, (), EMPTY, -1)
_SAMPLES = (7, 42, 0.5, "prior", True, None, ("a", "b"), PMap({"nested": 1}))


class Config(TreeSurface):
    """Dotted path → JSON value."""

    name = "config"
    kinds = (
        Kind("capture_config", Stage.CAPTURE, Level.L0, "config", capture, witness=Takes.MUST),
        Kind(
            "set_config", Stage.FORWARD, Level.L0, "config", bind, value=Takes.MUST, reads=("ancestors are mappings",)
        ),
        Kind(
            "restore_config",
            Stage.RECOVERY,
            Level.L0,
            "config",
            restore,
            witness=Takes.MUST,
            reads=("ancestors are mappings",),
        ),
        Kind(
            "delete_config",
            Stage.RECOVERY,
            Level.L0,
            "config",
            restore,
            witness=Takes.MAY,
            removes=True,
            reads=("ancestors are mappings",),
        ),
    )

    def read(self, raw: Any, where: str) -> PMap:
        """Read nested mappings."""
        if not isinstance(raw, dict):
            raise InputError(where, found=raw, expected="a mapping")
        return PMap({_name(key, where): freeze(item, f"{where}.{key}", depth=1) for key, item in raw.items()})

    def write(self, value: PMap) -> Any:
        """Write nested mappings."""
        return thaw(value)

    def canonical(self, value: PMap) -> Any:
        """Config has nothing volatile."""
        return thaw(value)

    def describe(self, content: Any) -> Any:
        """Return plain JSON."""
        return thaw(content)

    def equivalent(self, before: Any, after: Any) -> bool:
        """Compare presence and value, by type."""
        return same(before, after)

    def join(self, path: Path) -> str:
        """Join with dots."""
        return join_dotted(path)

    def split(self, key: str) -> Path:
        """Split at dots."""
        return split_dotted(key)

    def target(self, raw: str, where: str, kind: Kind | None) -> Path:
        """Take a dotted path of non-empty names."""
        del kind
        path = split_dotted(raw)
        if join_dotted(path) != raw:
            raise InputError(where, found=raw, expected=r"a dotted path with \. and \\ as its only escapes")
        if len(path) > MAX_DEPTH // 2:
            raise LimitError(where, found=f"{len(path)} levels", expected=f"at most {MAX_DEPTH // 2}")
        for name in path:
            _name(name, where)
        return path

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        """Take any JSON value."""
        del kind, target
        return freeze(raw, where, depth=MAX_DEPTH // 2)

    def generic(self, path: Path, salt: str) -> tuple[Any, ...]:
        """A value, or a mapping with something in it."""
        return f"{salt}: {self.join(path)}", PMap({salt: f"{salt} in {self.join(path)}"})

    def perturb(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        """Vary the touched paths and what is above them; add unrelated and unfamiliar keys."""
        if strategy in EXISTENCE:
            for op in aims:
                value = self._vary(strategy, value, op.path, rng)
            if strategy != Strategy.PRIOR_EXISTENCE:
                value = self._vary_untouched(strategy, value, aims, rng)
        elif strategy == Strategy.NOISE:
            value = value.put(f"unrelated_{rng.randrange(10_000)}", rng.choice(_SAMPLES))
        elif strategy == Strategy.NESTED_KEYS:
            branch = f"custom_subsystem_{rng.randrange(10_000)}"
            value = tree.put(value, (branch, "nested", "enabled"), rng.choice((True, False)))
        return value

    def _vary(self, strategy: str, value: PMap, path: Path, rng: random.Random) -> PMap:
        content = rng.choice(_EXTREMES if strategy == Strategy.BOUNDARY else _SAMPLES)
        choice = rng.randrange(6)
        above = path[: rng.randrange(1, len(path))] if len(path) > 1 else path
        if choice <= 1:
            return tree.drop(value, path)
        if choice == 2:  # noqa: PLR2004  (one of six cases)
            return tree.drop(value, above)
        if choice == 3:  # noqa: PLR2004
            return _try_put(tree.drop(value, above), above, EMPTY if len(path) > 1 else content)
        if choice == 4 and len(path) > 1 and rng.random() < 0.3:  # noqa: PLR2004
            return _try_put(value, above, "a scalar in the way")
        return _try_put(value, path, content)

    def _vary_untouched(self, strategy: str, value: PMap, aims: Sequence[Operation], rng: random.Random) -> PMap:
        touched = {op.path for op in aims}
        others = sorted(path for path, _ in tree.leaves(value) if path not in touched)
        if others:
            path = others[rng.randrange(len(others))]
            pool = _EXTREMES if strategy == Strategy.BOUNDARY else (*_SAMPLES, rng.randrange(10_000))
            value = _try_put(value, path, rng.choice(pool))
        return value


def _name(raw: Any, where: str) -> str:
    return name_of(raw, f"{where} key")


def _try_put(value: PMap, path: Path, content: Any) -> PMap:
    try:
        return value if content is ABSENT else tree.put(value, path, content)
    except OperationFailed:
        return value
