"""States as rows, for peers that store entries: one row for each slot, chains ordered by a position column.

`dense` positions are 0, 1, 2, …, so an insertion renumbers what follows. `fractional` ones lie between those of
the neighbours, so nothing else is touched: the best layout one could choose by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from takeback.canonical import decode, encode
from takeback.language import Program
from takeback_lab.snapshots.situations import AnyJson

RowKey = tuple[str, str]


class StateRow(NamedTuple):
    """One entry: its position in a chain (None elsewhere) and its value as JSON text."""

    position: float | None
    value: str


StateRows = dict[RowKey, StateRow]


def rows_of(state: AnyJson, *, fractional: bool, known: StateRows | None = None, change: Program = ()) -> StateRows:
    """The rows of a state; fractional positions are those `known`, new ones only for what `change` put in place."""
    found: StateRows = {}
    for surface, part in state.items():
        if surface == "middleware":
            _chain(found, surface, (), part, fractional, known or {}, _moved(change))
        elif surface == "listeners":
            for event, callbacks in part.items():
                _chain(found, surface, (event,), callbacks, fractional, known or {}, set())
        elif surface == "config":
            for path, leaf in _leaves(part, ()):
                found[surface, encode(path)] = StateRow(None, encode(leaf))
        else:
            for name, value in part.items():
                found[surface, encode([name])] = StateRow(None, encode(value))
    return found


def _moved(change: Program) -> set[str]:
    return {op.target for op in change if op.kind.surface == "middleware"}


def _chain(
    found: StateRows,
    surface: str,
    above: tuple[str, ...],
    items: list[AnyJson],
    fractional: bool,
    known: StateRows,
    moved: set[str],
) -> None:
    keys = [(surface, encode([*above, item["id"]])) for item in items]
    if fractional:
        held = [
            None if item["id"] in moved else known.get(key, (None,))[0] for item, key in zip(items, keys, strict=True)
        ]
        positions = _between(held)
    else:
        positions = [float(at) for at in range(len(items))]
    for key, item, position in zip(keys, items, positions, strict=True):
        found[key] = StateRow(position, encode(item))


def _between(held: list[float | None]) -> list[float]:
    """The held positions, and new ones between them where there is none."""
    found: list[float] = []
    for at, position in enumerate(held):
        if position is not None:
            found.append(position)
            continue
        ahead = next((step for step, one in enumerate(held[at:]) if one is not None), None)
        low = found[-1] if found else None
        high = None if ahead is None else held[at + ahead]
        if high is None or ahead is None:
            found.append(1.0 if low is None else low + 1)
        else:
            found.append(high - ahead if low is None else low + (high - low) / (ahead + 1))
    return found


def _leaves(node: AnyJson, path: tuple[str, ...]) -> Iterator[tuple[list[str], AnyJson]]:
    if isinstance(node, dict) and (node or not path):
        for name, below in node.items():
            yield from _leaves(below, (*path, name))
    else:
        yield list(path), node


def state_of(rows: StateRows) -> AnyJson:
    """The state in some rows; raises `ValueError` where they contradict each other."""
    state: dict[str, Any] = {}
    chains: dict[tuple[str, ...], list[tuple[float, AnyJson]]] = {}
    for (surface, key), row in sorted(rows.items(), key=lambda item: (item[0][0], len(decode(item[0][1])))):
        path, value = decode(key), decode(row.value)
        if row.position is not None:
            chains.setdefault((surface, *path[:-1]), []).append((row.position, value))
        elif surface == "config":
            _put(state.setdefault(surface, {}), path, value)
        else:
            state.setdefault(surface, {})[path[0]] = value
    for (surface, *above), links in chains.items():
        items = [value for _, value in sorted(links, key=lambda link: link[0])]
        if above:
            state.setdefault(surface, {})[above[0]] = items
        else:
            state[surface] = items
    files = state.get("files", {})
    for path in [path for path in files if any(other.startswith(f"{path}/") for other in files)]:
        if "directory" not in files.pop(path):
            raise ValueError(f"{path} is a file and a directory")
    return state


def _put(node: AnyJson, path: list[str], value: AnyJson) -> None:
    for name in path[:-1]:
        node = node.setdefault(name, {})
        if not isinstance(node, dict):
            raise ValueError(f"{path} lies below a value")  # noqa: TRY004 - rows that contradict each other
    node[path[-1]] = value


def changed(before: StateRows, after: StateRows) -> Iterator[tuple[RowKey, StateRow | None]]:
    """Rows that came or changed, and with None those that went."""
    for key in before.keys() - after.keys():
        yield key, None
    for key, row in after.items():
        if before.get(key) != row:
            yield key, row
