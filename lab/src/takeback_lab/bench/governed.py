"""What governance adds to a change of a long journal, measured in turn with changes without it, in one run.

A governed change passes the policy's roles, is signed with who was verified, has a read of it noted in the chain
of reads, and brings the root over the records up to date (`GOVERNED`). The frontier alone is timed as well: what the
root costs for each record once its digest is known.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from takeback.adapters.manifest import PRIVATE
from takeback.govern.audit import AuditChain
from takeback.govern.governed import Governance, GovernedHarness
from takeback.govern.heads import JournalRoot
from takeback.govern.merkle import Frontier
from takeback.govern.policy import POLICY, read_policy
from takeback.govern.roles import Principal
from takeback.harness import Applied, Harness

ORIGIN: Final = "takeback/bench"
PAIRS: Final = 100
RULES: Final = """
[retention]
captures = "30d"
[audit]
reads = true
[roles.owner]
may = "*"
who = ["user:bench"]
"""
GOVERNED: Final = ("policy", "audit", "head")
"""What is done beside every governed change."""
Opening = Callable[[], Harness]


def measure_governed(
    opening: Opening, change: Callable[[Harness, int], object], root: Path, pairs: int = PAIRS
) -> dict[str, Any]:
    """Return seconds of changes with and without governance, in turn, and by which factor it slows them."""
    (root / PRIVATE).mkdir(exist_ok=True)
    (root / POLICY).write_text(RULES)
    plain: list[float] = []
    governed: list[float] = []
    with closing(opening()) as harness:
        chain = AuditChain(root, root / "anchor")
        border = _BorderOf(harness, Governance(read_policy(root), Principal("user", "bench"), chain))
        top = JournalRoot(harness.journal)
        start = perf_counter()
        size = top.make_head(ORIGIN).size
        first = perf_counter() - start
        for number in range(2 * pairs):
            start = perf_counter()
            done = border.change(change, number, top) if number % 2 else change(harness, number)
            (governed if number % 2 else plain).append(perf_counter() - start)
            if not isinstance(done, Applied):
                raise TypeError(f"a change was answered {done}")
        digests = [bytes.fromhex(record.digest) for record in harness.journal.records()]
        noted = len(chain.examine().notes)
    return {
        "on": list(GOVERNED),
        "plain_ms": round(median(plain) * 1e3, 3),
        "governed_ms": round(median(governed) * 1e3, 3),
        "overhead": round(median(governed) / median(plain), 3),
        "records": len(digests),
        "reads_noted": noted,
        "first_head_us_per_record": round(first / size * 1e6, 2),
        "root_us_per_record": _time_root(digests),
    }


class _BorderOf:
    """A harness that asks its policy, over the journal and the state that another one has open."""

    def __init__(self, harness: Harness, governance: Governance) -> None:
        self._harness = GovernedHarness.__new__(GovernedHarness)
        self._harness.__dict__.update(vars(harness), governance=governance)

    def change(self, change: Callable[[Harness, int], object], number: int, top: JournalRoot) -> object:
        """Make a change, note that what it did was read, and bring the root up to date."""
        done = change(self._harness, number)
        if isinstance(done, Applied):
            self._harness.note_read("show", done.entry.id, (write.slot for write in done.writes))
        top.make_head(ORIGIN)
        return done


def _time_root(digests: list[bytes]) -> float:
    """Return microseconds for each record that the frontier takes, the root once at the end."""
    frontier = Frontier()
    start = perf_counter()
    for digest in digests:
        frontier.add(digest)
    frontier.root()
    return round((perf_counter() - start) / len(digests) * 1e6, 2)
