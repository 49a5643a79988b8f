"""Codex keeps its trust in hooks by position, in `[hooks.state."FILE:event:group:index"]`: it moves as groups move.

Only keys are changed, and what stood under a group that goes is removed: what the client trusts is never invented.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from takeback.adapters.clients.layout import ClientLayout
from takeback.adapters.formats.document import Document
from takeback.errors import CannotSplice, InputError
from takeback.state import State

PLACE = ("hooks", "state")
Moves = Mapping[str, int | None]
"""Where the groups under a beginning of keys have gone; None for one that is no longer there."""


def moved_hooks(layout: ClientLayout, root: Path, before: State, after: State) -> dict[str, int | None]:
    """Groups of hooks that are elsewhere in their list, or nowhere, by how the client counts them."""
    one, two = before.part("listeners"), after.part("listeners")
    found: dict[str, int | None] = {}
    for key in one if one is not two else ():
        bound = layout.owner("listeners", key)
        if bound is not None:
            ids = [[link.id for link in part.get(key, ())] for part in (one, two)]
            for file in {os.path.abspath(root / bound.path), os.path.realpath(root / bound.path)}:
                found |= _moves(file, key.removeprefix(bound.prefix("listeners")), *ids)
    return found


def _moves(file: str, event: str, before: Sequence[str], after: Sequence[str]) -> dict[str, int | None]:
    """What became of an event's groups in one file, by the ids they had and have."""
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
    to = {name: at for at, name in enumerate(after)}
    return {f"{file}:{snake}:{at}": to.get(name) for at, name in enumerate(before) if to.get(name) != at}


def rekeyed(document: Document, moved: Moves, make: Any) -> Document:
    """The document with the client's trust at the places where the groups are now; `make` opens one."""
    state = document.get(PLACE)
    if not moved or not isinstance(state, dict):
        return document
    renamed: dict[str, str] = {}
    for key in state:
        beginning, index = _parted(key)
        if beginning not in moved:
            continue
        to = moved[beginning]
        if to is None:
            document = document.remove((*PLACE, key))
        else:
            renamed[key] = f"{beginning.rpartition(':')[0]}:{to}:{index}"
    return document if not renamed else _renamed(document, renamed, make)


def _parted(key: str) -> tuple[str, str]:
    beginning, _, index = key.rpartition(":")
    return beginning, index


def _renamed(document: Document, renamed: Mapping[str, str], make: Any) -> Document:
    """All keys at once, wherever they stand in quotes; read back and compared."""
    names = sorted(renamed, key=len, reverse=True)
    quoted = re.compile(
        b"|".join(rb"([\"'])" + re.escape(name.encode()) + rb"\%d" % n for n, name in _counted(names))
    )

    def other(found: re.Match[bytes]) -> bytes:
        quote, name = found[0][:1], found[0][1:-1].decode()
        return quote + renamed[name].encode() + quote

    expected = {renamed.get(key, key): item for key, item in document.get(PLACE).items()}
    where = document.where
    try:
        found: Document = make(quoted.sub(other, document.data), where)
        same = found.get(PLACE) == expected
    except InputError:
        same = False
    if not same:
        raise CannotSplice("the client's trust in later hooks cannot be kept in place", where=where)
    return found


def _counted(names: Iterable[str]) -> Iterable[tuple[int, str]]:
    return enumerate(names, start=1)
