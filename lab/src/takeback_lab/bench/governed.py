"""What governance adds to a change of a long journal, measured in turn with changes without it, in one run.

A governed change also reads the policy and brings the root over the records up to date (`GOVERNED`). The frontier
alone is timed as well: what the root costs for each record once its digest is known.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from takeback.adapters.manifest import PRIVATE
from takeback.govern.heads import make_head
from takeback.govern.merkle import Frontier
from takeback.govern.policy import POLICY, read_policy
from takeback.harness import Applied, Harness

ORIGIN: Final = "takeback/bench"
PAIRS: Final = 30
GOVERNED: Final[dict[str, Callable[[Harness, Path], object]]] = {
    "policy": lambda _, root: read_policy(root),
    "head": lambda harness, root: make_head(harness.journal, ORIGIN, root / PRIVATE / "frontier.json"),
}
"""What is done beside every governed change, by name."""


def measure_governed(
    opening: Callable[[], Harness], change: Callable[[Harness, int], object], root: Path, pairs: int = PAIRS
) -> dict[str, Any]:
    """Return seconds of changes with and without governance, in turn, and by which factor it slows them."""
    (root / PRIVATE).mkdir(exist_ok=True)
    (root / POLICY).write_text('[retention]\ncaptures = "30d"\n')
    plain: list[float] = []
    governed: list[float] = []
    with closing(opening()) as harness:
        start = perf_counter()
        size = make_head(harness.journal, ORIGIN, root / PRIVATE / "frontier.json").size
        first = perf_counter() - start
        for number in range(2 * pairs):
            start = perf_counter()
            done = change(harness, number)
            if number % 2:
                for step in GOVERNED.values():
                    step(harness, root)
            (governed if number % 2 else plain).append(perf_counter() - start)
            if not isinstance(done, Applied):
                raise TypeError(f"a change was answered {done}")
        digests = [bytes.fromhex(record.digest) for record in harness.journal.records()]
    return {
        "on": list(GOVERNED),
        "plain_ms": round(median(plain) * 1e3, 3),
        "governed_ms": round(median(governed) * 1e3, 3),
        "overhead": round(median(governed) / median(plain), 3),
        "records": len(digests),
        "first_head_us_per_record": round(first / size * 1e6, 2),
        "root_us_per_record": _time_root(digests),
    }


def _time_root(digests: list[bytes]) -> float:
    """Return microseconds for each record that the frontier takes, the root once at the end."""
    frontier = Frontier()
    start = perf_counter()
    for digest in digests:
        frontier.add(digest)
    frontier.root()
    return round((perf_counter() - start) / len(digests) * 1e6, 2)
