"""How the cost of editing one element, and of taking that back, grows with how many others there are.

Each step goes through a `Harness` in memory, journal included: one line of a text edited, one item of a list removed,
one middleware moved, each then undone. The verdict about a change is at hand, so that no proof hides the rest. Times
are the best of many, the first time in a value of that size beside them: it may build what later ones use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final

from takeback.adapters import open_memory
from takeback.harness import Applied, Harness, Undone
from takeback.language import Candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback.verify import Verdict, verify

SIZES: Final = (10, 1_000, 100_000)
ROUNDS: Final = 40


def _text(size: int) -> tuple[State, dict[str, Any]]:
    """A file of so many lines, and an edit of the one in the middle."""
    lines = [f"rule {at}: say what you do" for at in range(size)]
    content = "".join(f"{line}\n" for line in lines)
    edit = {"old": f"{lines[size // 2]}\n", "new": "rule: ask first\n"}
    state = State.read({"files": {"rules.md": {"content": content}}})
    return state, {"op_type": "edit_file", "target": "rules.md", "value": edit}


def _list(size: int) -> tuple[State, dict[str, Any]]:
    """A list of so many items, and the removal of the one in the middle."""
    allow = [f"Bash(tool-{at}:*)" for at in range(size)]
    state = State.read({"config": {"permissions": {"allow": allow}}})
    return state, {"op_type": "remove_config_item", "target": "permissions.allow", "value": allow[size // 2]}


def _chain(size: int) -> tuple[State, dict[str, Any]]:
    """A chain of so many middleware, and a move of the one in the middle to the front."""
    chain = [{"id": f"mw{at}", "handler": f"mw:M{at}"} for at in range(size)]
    return State.read({"middleware": chain}), {"op_type": "move_middleware", "target": f"mw{size // 2}", "index": 0}


WORLDS: Final[dict[str, Callable[[int], tuple[State, dict[str, Any]]]]] = {
    "text": _text,
    "list": _list,
    "chain": _chain,
}


def measure_growth(sizes: Sequence[int] = SIZES, rounds: int = ROUNDS) -> dict[str, Any]:
    """Return the growth of edits and undos in a text, a list and a chain, the worse of both, and the times."""
    worlds = {name: {size: _timed(*make(size), rounds) for size in sizes} for name, make in WORLDS.items()}
    found: dict[str, Any] = {}
    for name, rows in worlds.items():
        few, many = rows[sizes[0]], rows[sizes[-1]]
        found[f"growth_{name}"] = round(max(many[what] / few[what] for what in ("edit_us", "undo_us")), 2)
    return {**found, "growth_us": worlds}


def _timed(state: State, op: dict[str, Any], rounds: int) -> dict[str, float]:
    candidate = invert_mutation(read_program([op], Stage.FORWARD, "bench"))
    if not isinstance(candidate, Candidate):
        raise TypeError(f"no recovery: {candidate}")
    verdict = verify(candidate)
    with open_memory(state) as harness:
        times = [_once(harness, candidate, verdict) for _ in range(rounds + 1)]
    edits, undos = zip(*times, strict=True)
    best = {
        "edit_us": min(edits[1:]),
        "undo_us": min(undos[1:]),
        "first_edit_us": edits[0],
        "first_undo_us": undos[0],
    }
    return {name: round(seconds * 1e6, 1) for name, seconds in best.items()}


def _once(harness: Harness, candidate: Candidate, verdict: Verdict) -> tuple[float, float]:
    begin = perf_counter()
    applied = harness.apply(candidate, evidence=verdict)
    between = perf_counter()
    if not isinstance(applied, Applied):
        raise TypeError(f"not applied: {applied}")
    undone = harness.undo(applied)
    end = perf_counter()
    if not isinstance(undone, Undone) or not undone.plan.visible:
        raise TypeError(f"not undone: {undone}")
    return between - begin, end - between
