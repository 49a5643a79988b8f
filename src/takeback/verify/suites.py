"""Counterfactual states: a default nominal state, and suites around one (dev, hidden iid, hidden ood).

State k of a split depends only on the nominal state, the mutation, the seed, the split and k, so smaller
pools are prefixes of larger ones and every process makes the same states. The splits have no state in common.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import inf
from time import monotonic
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import InputError
from takeback.language import Program
from takeback.state import ABSENT, SURFACES, Operation, State, Surface
from takeback.state.chain import Chain
from takeback.state.surface import EXISTENCE, IID, OOD, Strategy

_PLAIN: dict[str, Any] = {
    "config": {
        "agent": {"timeout_sec": 30, "max_retries": 2, "temperature": 0.2},
        "logging": {"level": "info", "json": False},
        "features": {"planner": True},
    },
    "prompts": {"system": "You are a careful coding agent.", "summary": "Summarise the conversation."},
    "routing": {"default_model": "large-1", "fallback_model": "small-1"},
    "tools": {
        "grep": {
            "id": "grep",
            "description": "Search files for a pattern.",
            "parameters": {"type": "object", "properties": {"pattern": {"type": "string"}}},
            "implementation": "tools.search:grep",
        },
        "read_file": {
            "id": "read_file",
            "description": "Read a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            "implementation": "tools.files:read",
        },
    },
    "middleware": [
        {"id": "auth", "handler": "mw.auth:Auth", "priority": 10, "options": {}},
        {"id": "tracing", "handler": "mw.trace:Tracing", "priority": 50, "options": {"rate": 0.1}},
        {"id": "retry", "handler": "mw.retry:Retry", "priority": 90, "options": {}},
    ],
    "listeners": {"on_error": [{"id": "audit", "handler": "hooks.audit:on_error", "options": {}}]},
    "files": {"notes/todo.md": {"content": "- ship\n", "mode": "0644"}},
    "resources": {"metrics": {"kind": "socket", "address": "tcp://127.0.0.1:9101", "lifecycle": "open"}},
}


def make_nominal_state() -> State:
    """Return the default nominal state; it has a part for every surface that is registered now."""
    return _read_nominal(tuple(SURFACES))


@cache
def _read_nominal(surfaces: tuple[str, ...]) -> State:
    del surfaces
    return State.read(_PLAIN, "the default state")


SUITES: Final = {"Q2": 2, "Q5": 5, "Q10": 10, "Q20": 20, "Q10-narrow": 10}
NARROW: Final = "Q10-narrow"
MAX_STATES: Final = 10_000
_ATTEMPTS: Final = 40
_LARGEST_DEV: Final = 20


@dataclass(frozen=True, slots=True)
class Suites:
    """The three splits a candidate is verified on."""

    dev: tuple[State, ...]
    iid: tuple[State, ...]
    ood: tuple[State, ...]

    def splits(self) -> Iterator[tuple[str, tuple[State, ...]]]:
        """Yield the splits by name."""
        yield "dev", self.dev
        yield "iid", self.iid
        yield "ood", self.ood


def make_suites(
    nominal: State,
    mutation: Program,
    *,
    seed: int = 0,
    dev: str = "Q10",
    iid: int = 20,
    ood: int = 20,
    deadline: float = inf,
) -> Suites:
    """Return the splits for a mutation: a dev suite by name, hidden pools by size.

    Raises `TimeoutError` if they are not made by the `deadline` (of `time.monotonic`).
    """
    seen: set[str] = set()
    chosen = tuple(_make_dev_suite(nominal, mutation, seed, dev, seen))
    return Suites(chosen, *_make_hidden_pools(nominal, mutation, seed, iid, ood, seen, deadline))


def _make_hidden_pools(
    nominal: State, mutation: Program, seed: int, iid: int, ood: int, seen: set[str], deadline: float
) -> tuple[tuple[State, ...], tuple[State, ...]]:
    """Make the two pools in turns (iid 0, ood 0, iid 1, …), so that the size of one cannot change the other."""
    for split, count in (("iid", iid), ("ood", ood)):
        check_count(split, count)
    pools = [_yield_distinct(nominal, mutation, split, seed, seen) for split in ("iid", "ood")]
    pairs = []
    for _ in range(max(iid, ood)):
        if monotonic() > deadline:
            raise TimeoutError
        pairs.append(tuple(next(pool) for pool in pools))
    return tuple(pair[0] for pair in pairs[:iid]), tuple(pair[1] for pair in pairs[:ood])


def make_dev_states(nominal: State, mutation: Program, suite: str, *, seed: int = 0) -> tuple[State, ...]:
    """Return one dev suite."""
    return tuple(_make_dev_suite(nominal, mutation, seed, suite, set()))


def _make_dev_suite(nominal: State, mutation: Program, seed: int, suite: str, seen: set[str]) -> Sequence[State]:
    check_dev_suite(suite)
    if suite == NARROW:
        made = list(_take_states(nominal, mutation, seed, "narrow", SUITES[suite], seen))
        seen.update(
            _make_fingerprint(nominal, state)
            for state in generate_states(nominal, mutation, "dev", seed, _LARGEST_DEV)
        )
        return made
    return list(_take_states(nominal, mutation, seed, "dev", _LARGEST_DEV, seen))[: SUITES[suite]]


def _take_states(
    nominal: State, mutation: Program, seed: int, split: str, count: int, seen: set[str]
) -> Iterator[State]:
    check_count(split, count)
    yield from islice(_yield_distinct(nominal, mutation, split, seed, seen), count)


def check_dev_suite(suite: str) -> None:
    """Refuse what is not the name of a dev suite."""
    if type(suite) is not str or suite not in SUITES:
        raise InputError("dev suite", found=suite, expected=f"one of {', '.join(SUITES)}")


def check_count(split: str, count: int) -> None:
    """Refuse what is not a number of states that can be made."""
    if type(count) is not int or not 0 <= count <= MAX_STATES:
        raise InputError(f"{split} states", found=count, expected=f"a number from 0 to {MAX_STATES}")


def generate_states(nominal: State, mutation: Program, split: str, seed: int, count: int) -> tuple[State, ...]:
    """Return the first `count` states of a split on its own."""
    return tuple(_take_states(nominal, mutation, seed, split, count, set()))


def _yield_distinct(nominal: State, mutation: Program, split: str, seed: int, seen: set[str]) -> Iterator[State]:
    root = hashlib.sha256(encode([seed, split, [op.to_json() for op in mutation]]).encode()).digest()
    aims: dict[str, list[Operation]] = {}
    for op in mutation:
        aims.setdefault(op.kind.surface, []).append(op)
    nominal = nominal.complete()
    for at in range(MAX_STATES):
        for attempt in range(_ATTEMPTS):
            rng = random.Random(int.from_bytes(root[:8], "big") ^ (at << 8 | attempt))
            state = (
                nominal if split == "dev" and at == 0 and not attempt else _make_state(nominal, aims, split, at, rng)
            )
            if attempt > _ATTEMPTS // 2:
                state = _perturb(state, Strategy.NOISE, {}, rng)
            mark = _make_fingerprint(nominal, state)
            if mark not in seen:
                seen.add(mark)
                yield state
                break
        else:
            raise InputError(f"{split} states", found=f"no {at + 1} different states", expected="a smaller number")


def _make_state(nominal: State, aims: dict[str, list[Operation]], split: str, at: int, rng: random.Random) -> State:
    if split == "narrow":
        state = _perturb(nominal, Strategy.NOISE, {}, rng)
        return _perturb(state, Strategy.COMBINATORIAL, {}, rng, only=("config",))
    if split == "ood":
        state = _perturb(nominal, OOD[at % len(OOD)], aims, rng)
        return _perturb(state, rng.choice(sorted(EXISTENCE)), aims, rng)
    strategy = IID[at % len(IID)]
    state = _perturb(nominal, strategy, aims, rng)
    if strategy not in EXISTENCE:
        state = _perturb(state, Strategy.PRIOR_EXISTENCE, aims, rng)
    return state


def _perturb(
    state: State, strategy: Strategy, aims: dict[str, list[Operation]], rng: random.Random, only: tuple[str, ...] = ()
) -> State:
    parts = dict(state.parts)
    for name in only or parts:
        parts[name] = SURFACES[name].perturb(strategy, parts[name], aims.get(name, ()), rng)
    return State.of(parts)


def _make_fingerprint(nominal: State, state: State) -> str:
    """Return what distinguishes a state from others of the same nominal: its differences and chain orders."""
    lines: list[str] = []
    for name, part in state.parts.items():
        before = nominal.part(name)
        if part is before:
            continue
        surface = SURFACES[name]
        changes = list(surface.diff(before, part))
        if changes and isinstance(part, Chain):
            lines.append(f"{name} in order {encode(part.ids())}")
        lines += (f"{name} {change.address.key}={_describe_content(surface, change.after)}" for change in changes)
    return "\n".join(sorted(lines))


def _describe_content(surface: Surface, content: Any) -> str:
    return "absent" if content is ABSENT else encode(surface.describe(content))
