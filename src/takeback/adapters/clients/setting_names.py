"""Settings that a client does not know but that look like one it does, and items of another type than their list's.

By the tables of known keys per client. A name that resembles none is let through, as the clients themselves do: their
newest keys may be in no table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from takeback.adapters.clients import CLIENTS
from takeback.adapters.clients.risk_tables import ONE, REST, Risk, load_table
from takeback.state import SURFACES, Operation, State

CUTOFF: Final = 0.75
"""How much alike two names are, at least, to be taken for one another."""
_WRITING: Final = frozenset({"set", "append", "insert", "add"})
_LISTED: Final = frozenset({Risk.GROWING, Risk.SHRINKING, Risk.LIMITING})
_OF_MAPPINGS: Final = frozenset(
    [
        "allowedMcpServers",
        "deniedMcpServers",
        "blockedMarketplaces",
        "strictKnownMarketplaces",
        "allowedChannelPlugins",
    ]
)
"""Known lists whose items are no texts."""
NameTree = dict[str, Any]


def find_doubts(kinds: Sequence[str], mutation: Iterable[Operation], state: State) -> tuple[str, ...]:
    """Return what is doubtful about settings that a mutation writes, a sentence each."""
    tables = [kind for kind in kinds if (table := load_table(kind)) is not None and table.rules]
    config = SURFACES["config"].write(state.part("config"))
    every: dict[str, None] = {}
    for op in mutation:
        if op.kind.surface != "config" or op.kind.verb not in _WRITING or not tables:
            continue
        path, value = tuple(map(str, op.path)), op.to_json().get("value")
        whole = op.kind.verb == "set"
        inside = [path, *(path + more for more in _list_paths(value))] if whole else [path]
        items = value if whole and isinstance(value, list) else [] if whole else [value]
        doubts = [
            *(_doubt_name(tables, key, config) for key in inside),
            *(_doubt_item(tables, path, item, config) for item in items),
        ]
        every.update(dict.fromkeys(doubt for doubt in doubts if doubt))
    return tuple(every)


def _list_paths(value: Any) -> Iterator[tuple[str, ...]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield (str(key),)
            yield from ((str(key), *more) for more in _list_paths(item))


def _doubt_name(tables: Sequence[str], path: tuple[str, ...], config: Any) -> str:
    """Return which known name a setting resembles; empty if it is known, present already, or unlike any."""
    if _look_up(config, path) is not None:
        return ""
    near: dict[str, None] = {}
    for kind in tables:
        node: NameTree = _load_known_names(kind)
        for at, step in enumerate(path):
            if not node or REST in node:
                return ""
            if step in node or ONE in node:
                node = node[step] if step in node else node[ONE]
                continue
            near.update(
                dict.fromkeys(".".join((*path[:at], name, *path[at + 1 :])) for name in _find_resembling(step, node))
            )
            break
        else:
            return ""
    if not near:
        return ""
    whose = " and ".join(tables)
    return f"config {'.'.join(path)} is no setting that {whose} knows: did you mean {' or '.join(near)}?"


def _find_resembling(step: str, node: NameTree) -> list[str]:
    plain = {name.casefold(): name for name in node}
    return [plain[name] for name in get_close_matches(step.casefold(), plain, 2, CUTOFF)]


def _doubt_item(tables: Sequence[str], path: tuple[str, ...], item: Any, config: Any) -> str:
    """Return that an item is no text in a list of texts; empty if it may be in the list."""
    if isinstance(item, str):
        return ""
    there = _look_up(config, path)
    others = there if isinstance(there, list) else []
    of_texts = bool(others) and all(isinstance(other, str) for other in others)
    known = any(_is_list_of_texts(kind, path) for kind in tables)
    if not of_texts and not known:
        return ""
    return f"config {'.'.join(path)} is a list of texts: {item!r} is none, and the client may ignore it"


def _is_list_of_texts(kind: str, path: tuple[str, ...]) -> bool:
    table = load_table(kind)
    rule = None if table is None else table.rule_of(path)
    return rule is not None and rule[1].risk in _LISTED and path[0] not in _OF_MAPPINGS


def _look_up(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value


@cache
def _load_known_names(kind: str) -> NameTree:
    """Return the names in a client's tables as a tree; a name with nothing below it allows anything."""
    table = load_table(kind)
    rules = {}.items() if table is None else table.rules.items()
    guarded = {place for place, rule in rules if rule.risk is Risk.PROTECTED and place.endswith(f".{REST}")}
    places = {place for place, _ in rules} - guarded | {place.removesuffix(f".{REST}") for place in guarded}
    places |= CLIENTS[kind]().known.keys() if kind in CLIENTS else set()
    tree: NameTree = {}
    for place in sorted(places):
        node = tree
        for step in place.split("."):
            node = node.setdefault(step, {})
    return tree
