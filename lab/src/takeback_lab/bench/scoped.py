"""The peer of undo: effect-scoped snapshots, kept and put back for the same call as `Harness.plan_undo`.

A snapshot is the value before of every address that a change affected; order is part of a chain's value, so a chain
is kept whole. Asked to take an entry back, it does what any such store must: it holds its lock, finds the entry by
the id that applying it gave, refuses one that was taken back, and answers with what changes and the state afterwards.
It knows nothing of later entries, so what they wrote at those addresses is lost: not counted against it here.
"""

from __future__ import annotations

import threading
from typing import Any

from takeback.harness import Applied
from takeback.language import Program
from takeback.runtime import find_effects, run_forward
from takeback.state import ABSENT, SURFACES, PMap, State, tree
from takeback.state.tree_surface import TreeSurface
from takeback.undo import Plan, SlotChange

ScopedRow = tuple[str, Any, Any, int]
"""A surface, a key or path in it, what stood there, and how many containers above it were missing."""


class ScopedSnapshots:
    """Snapshots by entry, on the same states as the engine."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._kept: dict[str, tuple[int, tuple[ScopedRow, ...]]] = {}
        self._undone: set[str] = set()
        self._lock = threading.RLock()

    def keep(self, entry: Applied, change: Program, before: State) -> None:
        """Keep the values before of what a change affects."""
        after, receipt = run_forward(change, before)
        rows: dict[tuple[str, Any], ScopedRow] = {}
        for address in sorted(find_effects(before, after, receipt)):
            surface, part = SURFACES[address.surface], before.part(address.surface)
            if address.surface == "middleware":
                rows["middleware", ()] = ("middleware", (), part, 0)
            elif isinstance(surface, TreeSurface):
                path = surface.parse_key(address.key)
                rows[address.surface, path] = (
                    address.surface,
                    path,
                    tree.get(part, path),
                    tree.count_missing(part, path),
                )
            else:
                rows[address.surface, address.key] = (address.surface, address.key, part.get(address.key, ABSENT), 0)
        self._kept[entry.entry.id] = entry.entry.seq, tuple(rows.values())

    def plan_undo(self, entry: Applied) -> Plan:
        """What putting the values back would do."""
        with self._lock:
            name = entry.entry.id
            if name in self._undone:
                raise ValueError(f"{name} is undone already")
            number, rows = self._kept[name]
            state = self.state
            parts = state.parts.copy()
            changes = []
            for surface, key, content, missing in rows:
                part = parts[surface]
                if key == ():
                    changes.append(SlotChange((surface,), part, content))
                    parts[surface] = content
                elif type(key) is tuple:
                    changes.append(SlotChange((surface, *key), tree.get(part, key), content))
                    parts[surface] = _put_path(part, key, content, missing)
                else:
                    changes.append(SlotChange((surface, key), part.get(key, ABSENT), content))
                    parts[surface] = part.drop(key) if content is ABSENT else part.put(key, content)
            return Plan((number,), (), tuple(changes), State.of(parts), state)


def _put_path(part: PMap, path: tuple[str, ...], content: Any, missing: int) -> PMap:
    if content is not ABSENT:
        return tree.put(part, path, content)
    part = tree.drop(part, path)
    return tree.prune(part, path, missing) if missing else part
