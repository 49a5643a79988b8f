"""Codex keeps its trust in hooks by position, in `[hooks.state."FILE:event:group:index"]`: it moves as hooks move.

Only keys are changed, and what stood under a hook that goes is removed: what the client trusts is never invented.
Trust in a project's hooks lies in the user's own file, which is only read: a change by which a hook that the user
switched off would come on is refused.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from takeback.adapters.clients.layout import ClientLayout
from takeback.adapters.formats.document import Document
from takeback.errors import CannotSplice, InputError
from takeback.state import State
from takeback.state.patching import paired
from takeback.state.values import thaw

PLACE = ("hooks", "state")
Moves = Mapping[str, str | None]
"""Under which key a hook's trust belongs now, by the one it had; None for a hook that is no longer there."""


def moved_hooks(layout: ClientLayout, root: Path, before: State, after: State) -> dict[str, str | None]:
    """Hooks that are elsewhere, or nowhere, by how the client counts them."""
    one, two = before.part("listeners"), after.part("listeners")
    found: dict[str, str | None] = {}
    for key in one if one is not two else ():
        bound = layout.owner("listeners", key)
        if bound is not None:
            event = re.sub(r"(?<!^)(?=[A-Z])", "_", key.removeprefix(bound.prefix("listeners"))).lower()
            moves = list(_moves(one.get(key, ()), two.get(key, ())))
            for file in {os.path.abspath(root / bound.path), os.path.realpath(root / bound.path)}:
                found |= {
                    f"{file}:{event}:{old}": None if new is None else f"{file}:{event}:{new}" for old, new in moves
                }
    return found


def _moves(before: Iterable[Any], after: Iterable[Any]) -> Iterator[tuple[str, str | None]]:
    """Where the hooks of an event's groups were, as `group:index`, and where they are."""
    to = {link.id: (at, _hooks(link)) for at, link in enumerate(after)}
    for at, link in enumerate(before):
        group, hooks = to.get(link.id, (None, []))
        pairs = paired(_hooks(link), hooks)
        for index in range(len(_hooks(link))):
            new = None if group is None or index not in pairs else f"{group}:{pairs[index]}"
            if new != f"{at}:{index}":
                yield f"{at}:{index}", new


def _hooks(link: Any) -> list[Any]:
    found = thaw(link.record["options"]).get("hooks")
    return found if isinstance(found, list) else []


def demand_kept_off(moved: Moves) -> None:
    """Refuse to move another hook to where the user's own file has one switched off."""
    place = Path.home() / ".codex" / "config.toml"
    try:
        state = tomllib.loads(place.read_text(encoding="utf-8-sig")).get("hooks", {}).get("state", {})
    except (OSError, ValueError, AttributeError):
        return
    off = [key for key, said in state.items() if isinstance(said, dict) and said.get("enabled") is False]
    taken = frozenset(moved.values())
    wrong = next((key for key in off if key in moved and key in taken), None)
    if wrong is not None:
        raise CannotSplice(
            f"a hook that is switched off in the client would come on, and another one go off ({wrong}): the client "
            f"keeps that by position, in {place}, which is not part of this harness",
            where=wrong.rpartition(":")[0],
        )


def rekeyed(document: Document, moved: Moves, make: Any) -> Document:
    """The document with the client's trust at the places where the groups are now; `make` opens one."""
    state = document.get(PLACE)
    if not moved or not isinstance(state, dict):
        return document
    renamed: dict[str, str] = {}
    for key in [key for key in state if key in moved]:
        to = moved[key]
        if to is None:
            document = document.remove((*PLACE, key))
        else:
            renamed[key] = to
    return document if not renamed else _renamed(document, renamed, make)


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
