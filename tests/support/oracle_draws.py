"""Candidates drawn at random, each as JSON for the prover and as numbers for an oracle extracted from Coq.

Shares nothing with the prover or the lab's generators. What the numbers mean is in theorem/keyed_oracle.ml and
theorem/tree_oracle.ml.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "theorem"
MAX_SHAPES = 4000
"""Joint shapes that the tree oracle tries; a candidate with more is left out, and counted."""


class Draw(NamedTuple):
    """One candidate, twice; the keyed oracle also runs one state."""

    raw: dict[str, Any]
    numbers: list[int]
    state: dict[str, Any] | None = None


class Answer(NamedTuple):
    """What an oracle says: it holds on every state; the oracle's own procedures agree; one state passes."""

    holds: bool
    agree: bool
    passes: bool | None = None
    counterexample: str = ""


def build_oracles() -> str:
    """Build the oracles; return why that was skipped, or nothing."""
    command = [sys.executable, str(ROOT / "theorem" / "build.py"), "oracle"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout.strip() if done.stdout.startswith("skipped") else ""


def _ask(program: str, draws: list[Draw], *words: str) -> list[str]:
    lines = "".join(" ".join(map(str, draw.numbers)) + "\n" for draw in draws)
    command = [str(BUILD / program), *words]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=1800, check=True)
    answers = done.stdout.splitlines()
    assert len(answers) == len(draws)
    return answers


def ask_keyed(draws: list[Draw]) -> Iterator[Answer | None]:
    """Yield the keyed oracle's answers; its linear search speaks only of candidates without foreign restores."""
    for line in _ask("keyed_oracle", draws):
        own, linear, brute, grouped, trip = (word == "1" for word in line.split())
        yield Answer(brute, grouped == brute and (not own or linear == brute), trip)


def ask_tree(draws: list[Draw]) -> Iterator[Answer | None]:
    """Yield the tree oracle's answers; None: too many shapes."""
    for line in _ask("tree_oracle", draws, str(MAX_SHAPES)):
        brute, linear, _, _, *where = line.split(" ", 4)
        yield None if brute == "-1" else Answer(brute == "1", brute == linear, counterexample=" ".join(where))


# -- keyed: tools (even slots) and middleware (odd slots)

SLOTS = 4


def _is_chain(slot: int) -> bool:
    return slot % 2 == 1


def _record(slot: int, value: int) -> dict[str, Any]:
    if _is_chain(slot):
        return {"handler": f"h{value}"}
    return {"id": f"t{value}", "description": f"d{value}", "parameters": {}, "implementation": f"i{value}"}


class _Numbered(NamedTuple):
    """One operation of a keyed program, for both."""

    raw: dict[str, Any]
    slot: int
    wants: list[int]
    source: tuple[int, int]

    def numbers(self) -> list[int]:
        return [self.slot, len(self.wants), *(number for slot in self.wants for number in (slot, 1)), *self.source]


def _forward(rng: random.Random) -> _Numbered:
    slot, value = rng.randrange(SLOTS), rng.randrange(10, 14)
    how = rng.choice(["write", "write", "replace", "replace", "remove"])
    noun, target = ("middleware" if _is_chain(slot) else "tool"), f"k{slot}"
    if how == "remove":
        return _Numbered({"op_type": f"remove_{noun}", "target": target}, slot, [], (1, 0))
    verb = ("replace_" if how == "replace" else "add_") if _is_chain(slot) else "register_"
    raw = {"op_type": verb + noun, "target": target, "value": _record(slot, value)}
    return _Numbered(raw, slot, [slot] if verb == "replace_" else [], (0, value))


def _backward(rng: random.Random, slot: int, captured: list[int]) -> _Numbered | None:
    roll, source = rng.random(), slot
    noun, target = ("middleware" if _is_chain(slot) else "tool"), f"k{slot}"
    if roll < 0.12:
        return None
    if roll < 0.2:
        source = rng.choice([one for one in captured if _is_chain(one) == _is_chain(slot)])
    if roll > 0.9 and not _is_chain(slot):
        return _Numbered({"op_type": "unregister_tool", "target": target}, slot, [], (1, 0))
    raw = {"op_type": f"restore_{noun}", "target": target, "witness_key": f"w{source}"}
    return _Numbered(raw, slot, [], (2, source))


def _shorten(rng: random.Random, contract: list[Any], chance: float) -> None:
    if contract and rng.random() < chance:
        contract.remove(rng.choice(contract))


def _numbers(ops: list[_Numbered]) -> list[int]:
    return [len(ops), *(number for op in ops for number in op.numbers())]


def draw_keyed(rng: random.Random) -> Draw:
    """Return a candidate on tools and middleware: writes, removals, replacements that want something there."""
    mutation = [_forward(rng) for _ in range(rng.randint(1, 5))]
    touched = list(dict.fromkeys(op.slot for op in mutation))
    captured = list(dict.fromkeys([*touched, *([rng.randrange(SLOTS)] if rng.random() < 0.3 else [])]))
    recovery = [op for slot in reversed(captured) if (op := _backward(rng, slot, captured)) is not None]
    contract = list(touched)
    _shorten(rng, contract, 0.25)
    # A tool may equal a literal; what stands in a chain has a place of its own, and equals none.
    state = {slot: 20 + slot for slot in range(SLOTS) if rng.random() < 0.5}
    state.update({slot: rng.randrange(10, 14) for slot in state if not _is_chain(slot) and rng.random() < 0.5})
    raw = {
        "mutation": [op.raw for op in mutation],
        "witness": [
            {
                "op_type": "capture_middleware" if _is_chain(slot) else "capture_tool",
                "target": f"k{slot}",
                "witness_key": f"w{slot}",
            }
            for slot in captured
        ],
        "recovery": [op.raw for op in recovery],
        "contract": [f'{"middleware" if _is_chain(slot) else "tools"}["k{slot}"]' for slot in contract],
    }
    numbers = _numbers(mutation)
    numbers += [len(captured), *(number for slot in captured for number in (slot, slot))]
    numbers += [*_numbers(recovery), len(contract), *contract]
    numbers += [len(state), *(number for pair in state.items() for number in pair)]
    plain = {
        "tools": {f"k{slot}": _record(slot, value) for slot, value in state.items() if not _is_chain(slot)},
        "middleware": [
            {"id": f"k{slot}", **_record(slot, value)} for slot, value in state.items() if _is_chain(slot)
        ],
    }
    return Draw(raw, numbers, plain)


# -- trees: files and config

TOPS = {0: "a", 1: "b"}
NAMES = {**TOPS, 10: "x", 11: "y", 12: "z"}
Spot = tuple[int, ...]
"""A top name and what is below it, as numbers."""


class TreeDraws(NamedTuple):
    """What a kind of draw chooses from."""

    below: tuple[Spot, ...] = ((), (), (10,), (10,), (11,), (10, 12))
    operations: tuple[int, int] = (1, 4)
    tops: int = 2
    removals: float = 0.0
    files: float = 0.6
    short_contract: float = 0.3


_DEEP = ((), (10,), (10,), (11,), (10, 12), (10, 12), (10, 11), (11, 12))
TREES = {
    "trees L1": TreeDraws(),
    "trees L2": TreeDraws(removals=0.25),
    "failing": TreeDraws(operations=(3, 5), files=1.0, short_contract=0.9),
    "one top name": TreeDraws(below=_DEEP, operations=(2, 5), tops=1, removals=0.15, short_contract=0.5),
}


class _TreeProgram:
    """Operations on one surface, written down twice."""

    def __init__(self, *, files: bool) -> None:
        self.files = files
        self.noun = "file" if files else "config"
        self.raw: list[dict[str, Any]] = []
        self.numbers: list[int] = []

    def key(self, spot: Spot) -> str:
        return ("/" if self.files else ".").join(NAMES[name] for name in spot)

    def add(self, op_type: str, spot: Spot, numbers: Iterable[int], **more: Any) -> None:
        self.raw.append({"op_type": op_type, "target": self.key(spot), **more})
        kind, *rest = numbers
        self.numbers += [spot[0], kind, len(spot) - 1, *spot[1:], *rest]

    def write(self, spot: Spot, value: int) -> None:
        text = f"lit{value}"
        if self.files:
            self.add("write_file", spot, (0, value), value={"content": text, "mode": "0644"})
        else:
            self.add("set_config", spot, (0, value), value=text)

    def remove(self, spot: Spot) -> None:
        self.add("remove_file" if self.files else "unset_config", spot, (1,))

    def delete(self, spot: Spot) -> None:
        self.add(f"delete_{self.noun}", spot, (1,))

    def restore(self, spot: Spot, source: Spot) -> None:
        key = f"w_{self.key(source)}"
        self.add(f"restore_{self.noun}", spot, (2, len(source) - 1, *source[1:]), witness_key=key)


def draw_tree(rng: random.Random, how: TreeDraws) -> Draw:
    """Return a candidate on files or config, with defects now and then."""
    files = rng.random() < how.files
    mutation, touched = _TreeProgram(files=files), []
    for _ in range(rng.randint(*how.operations)):
        spot = (rng.randrange(how.tops), *rng.choice(how.below))
        touched.append(spot)
        if rng.random() < how.removals:
            mutation.remove(spot)
        else:
            mutation.write(spot, rng.randrange(5, 8))
    once = list(dict.fromkeys(touched))
    back = once[::-1]
    if rng.random() < 0.1:
        rng.shuffle(back)
    recovery, captured = _TreeProgram(files=files), []
    for spot in back:
        roll = rng.random()
        if roll < 0.06:
            continue
        if roll < 0.1:
            recovery.delete(spot)
            continue
        source = spot if roll >= 0.14 else rng.choice([one for one in once if one[0] == spot[0]])
        captured.append(source)
        recovery.restore(spot, source)
    contract = list(once)
    _shorten(rng, contract, how.short_contract)
    witness = [
        {
            "op_type": f"capture_{mutation.noun}",
            "target": mutation.key(spot),
            "witness_key": f"w_{mutation.key(spot)}",
        }
        for spot in dict.fromkeys(captured)
    ]
    surface = "files" if files else "config"
    raw = {
        "mutation": mutation.raw,
        "witness": witness,
        "recovery": recovery.raw,
        "contract": [f'{surface}["{mutation.key(spot)}"]' for spot in contract],
    }
    numbers = [int(files), len(mutation.raw), *mutation.numbers, len(recovery.raw), *recovery.numbers]
    numbers += [len(contract), *(number for spot in contract for number in (len(spot), *spot))]
    return Draw(raw, numbers)


Drawer = Callable[[random.Random], Draw]
Asker = Callable[[list[Draw]], Iterator[Answer | None]]


def _tree_drawer(how: TreeDraws) -> Drawer:
    return lambda rng: draw_tree(rng, how)


KINDS: dict[str, tuple[Drawer, Asker]] = {
    "keyed": (draw_keyed, ask_keyed),
    **{name: (_tree_drawer(how), ask_tree) for name, how in TREES.items()},
}
