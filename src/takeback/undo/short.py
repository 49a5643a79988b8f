"""The short way to a plan: one entry whose slots nobody else's writes can depend on.

Says the same as the general way in `plan`, which it saves in the common case; where it is not plain to see that
nothing depends on the entry, it says nothing.
"""

from __future__ import annotations

from typing import Any

from takeback.journal.packing import Forgotten
from takeback.state import ABSENT, PMap, State, tree
from takeback.state.pmap import EMPTY
from takeback.undo.history import History
from takeback.undo.index import Node, claim_of
from takeback.undo.outcome import Plan, SlotChange

_tuple: Any = tuple.__new__
"""Makes a named tuple without the cost of its constructor."""


def short_plan(history: History, state: State, entry: int) -> Plan | None:
    """The plan for one entry whose slots nobody else's writes can depend on; None where that is not plain to see.

    Says the same as the general way, which it saves for the common case. Written for speed: versions are
    read by position (entry, position, (slot, before, after, strict)).
    """
    nodes = history.index.held.get(entry)
    if nodes is None:
        return None
    undone = history.undone
    parts = state.parts.copy()
    changes: list[SlotChange] = []
    for node in nodes:
        versions: Any = node.versions
        surface = node.kind
        newest = versions[-1]
        if newest[0] != entry:
            if not (surface.nested or surface.exclusive) and newest[0] not in undone:
                continue
            return None
        before, after = newest[2][2], versions[0][2][1]
        if len(versions) > 1:
            for version in versions[-2::-1]:
                if version[0] != entry and version[0] not in undone:
                    after = version[2][2]
                    break
        if not _unentangled(history, node, after) or isinstance(before, Forgotten) or isinstance(after, Forgotten):
            return None
        if before is after or (before is not ABSENT and after is not ABSENT and surface.alike(before, after)):
            continue
        changes.append(_tuple(SlotChange, (node.slot, before, after)))
        part = surface.put_slot(parts[node.surface], node.path, after)
        if after is ABSENT and surface.nested and len(node.path) > 1:
            part = _pruned(history, node, part, changes)
            if part is None:
                return None
        parts[node.surface] = part
    plan: Plan = _tuple(Plan, ((entry,), (), tuple(changes), State.of(parts)))
    return plan


def _unentangled(history: History, node: Node, after: Any) -> bool:
    """Whether no other slot's writes can depend on what this one holds."""
    if node.kind.nested:
        return node.alone()
    if not node.kind.exclusive:
        return True
    claim = claim_of(node.surface, after)
    return claim is None or all(
        version.write.slot == node.slot for version in history.index.claiming(node.surface, claim)
    )


def _pruned(history: History, node: Node, part: PMap, changes: list[SlotChange]) -> PMap | None:
    """The part without containers that held up nothing but this slot; None where others may hold them up."""
    if len(node.versions) > 1:
        return None
    surface, path = node.surface, node.path[:-1]
    while path and not tree.get(part, path):
        if type(history.base_content((surface, *path))) is PMap:
            break
        if node.above is None or len(node.above.children) != 1:
            return None
        node = node.above
        part = tree.drop(part, path)
        changes.append(SlotChange((surface, *path), EMPTY, ABSENT))
        path = path[:-1]
    return part
