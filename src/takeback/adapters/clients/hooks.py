"""Hook groups as listeners, recognized by their content, and Codex's trust in hooks, which goes by position.

A group like a known one, or with its matcher or one of its hooks, keeps its id; a new id comes from the
matcher and a few digits of the digest. Nothing is written into the file. Codex's trust moves as hooks move:
only keys change, and trust is never invented. A change by which a hook that the user switched off would
come on is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from takeback.adapters.clients.layout import ClientLayout
from takeback.adapters.formats.document import Document, is_alike
from takeback.canonical import encode
from takeback.errors import CannotSplice, InputError
from takeback.state import State
from takeback.state.record_merge import match_items
from takeback.state.values import thaw

LONGEST = 60
DIGITS = 4
KnownHooks = Sequence[tuple[str, Any]]


def assign_ids(groups: Sequence[Any], known: KnownHooks) -> list[tuple[str, Any]]:
    """Return each group with its id."""
    free = list(known)
    ids: list[str | None] = [None] * len(groups)
    for same in (is_alike, _has_same_matcher_and_hook, _has_same_hooks, _has_same_matcher, _has_common_hook):
        for at, group in enumerate(groups):
            known_item = (
                None
                if ids[at] is not None
                else next((known_group for known_group in free if same(known_group[1], group)), None)
            )
            if known_item is not None:
                ids[at] = known_item[0]
                free.remove(known_item)
    taken = {name for name, _ in known}
    named: list[tuple[str, Any]] = []
    for at, group in enumerate(groups):
        name = ids[at] or _make_fresh_id(group, taken)
        taken.add(name)
        named.append((name, group))
    return named


def make_listener(group: Any, taken: Iterable[str]) -> Any:
    """Return a group from a file as a listener with a free id; anything else unchanged."""
    if not isinstance(group, dict) or "hooks" not in group or not {"id", "handler", "options"}.isdisjoint(group):
        return group
    name = _make_fresh_id(group, set(taken))
    return {"id": name, "handler": name, "options": group}


def label_group(group: Any) -> str:
    """Return the label of a group: its matcher and a few digits of its digest."""
    digits = hashlib.sha256(encode(group).encode()).hexdigest()[:DIGITS]
    matcher = group.get("matcher") if isinstance(group, dict) else None
    shown = matcher if isinstance(matcher, str) and matcher else "*"
    return f"{''.join(char if char.isprintable() else '?' for char in shown)[:LONGEST]}~{digits}"


def _make_fresh_id(group: Any, taken: set[str]) -> str:
    name = label_group(group)
    number = 2
    while name in taken:
        name = f"{label_group(group)}#{number}"
        number += 1
    return name


def _has_same_hooks(old: Any, new: Any) -> bool:
    return isinstance(old, dict) and isinstance(new, dict) and is_alike(old.get("hooks"), new.get("hooks"))


def _has_common_hook(old: Any, new: Any) -> bool:
    mine, theirs = (group.get("hooks") if isinstance(group, dict) else None for group in (old, new))
    if not isinstance(mine, list) or not isinstance(theirs, list):
        return False
    return any(is_alike(hook, other) for hook in mine for other in theirs)


def _has_same_matcher_and_hook(old: Any, new: Any) -> bool:
    return _has_same_matcher(old, new) and _has_common_hook(old, new)


def _has_same_matcher(old: Any, new: Any) -> bool:
    return isinstance(old, dict) and isinstance(new, dict) and old.get("matcher") == new.get("matcher")


PLACE = ("hooks", "state")
Moves = Mapping[str, str | None]
"""Under which key a hook's trust belongs now, by the one it had; None for a hook that is no longer there."""


def find_moved_hooks(layout: ClientLayout, root: Path, before: State, after: State) -> dict[str, str | None]:
    """Return hooks that moved or are gone, by the positions that the client counts."""
    old_events, new_events = before.part("listeners"), after.part("listeners")
    moved: dict[str, str | None] = {}
    for key in old_events if old_events is not new_events else ():
        bound = layout.owner("listeners", key)
        if bound is not None:
            event = re.sub(r"(?<!^)(?=[A-Z])", "_", key.removeprefix(bound.prefix("listeners"))).lower()
            moves = list(_find_moves(old_events.get(key, ()), new_events.get(key, ())))
            for file in {os.path.abspath(root / bound.path), os.path.realpath(root / bound.path)}:
                moved |= {
                    f"{file}:{event}:{old}": None if new is None else f"{file}:{event}:{new}" for old, new in moves
                }
    return moved


def _find_moves(before: Iterable[Any], after: Iterable[Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the old position of each hook of an event, as `group:index`, with its new one."""
    to = {link.id: (at, _list_hooks(link)) for at, link in enumerate(after)}
    for at, link in enumerate(before):
        group, hooks = to.get(link.id, (None, []))
        pairs = match_items(_list_hooks(link), hooks)
        for index in range(len(_list_hooks(link))):
            new = None if group is None or index not in pairs else f"{group}:{pairs[index]}"
            if new != f"{at}:{index}":
                yield f"{at}:{index}", new


def _list_hooks(link: Any) -> list[Any]:
    hooks = thaw(link.record["options"]).get("hooks")
    return hooks if isinstance(hooks, list) else []


def require_kept_off(moved: Moves) -> None:
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


def rekey_trust(document: Document, moved: Moves, make: Any) -> Document:
    """Return the document with the client's trust at the hooks' new positions; `make` opens a document."""
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
    return document if not renamed else _rename_keys(document, renamed, make)


def _rename_keys(document: Document, renamed: Mapping[str, str], make: Any) -> Document:
    """Rename all keys at once, wherever they stand in quotes; the result is read back and compared."""
    names = sorted(renamed, key=len, reverse=True)
    quoted = re.compile(
        b"|".join(rb"([\"'])" + re.escape(name.encode()) + rb"\%d" % n for n, name in _count_names(names))
    )

    def other(match: re.Match[bytes]) -> bytes:
        quote, name = match[0][:1], match[0][1:-1].decode()
        return quote + renamed[name].encode() + quote

    expected = {renamed.get(key, key): item for key, item in document.get(PLACE).items()}
    where = document.where
    try:
        rewritten: Document = make(quoted.sub(other, document.data), where)
        same = rewritten.get(PLACE) == expected
    except InputError:
        same = False
    if not same:
        raise CannotSplice("the client's trust in later hooks cannot be kept in place", where=where)
    return rewritten


def _count_names(names: Iterable[str]) -> Iterable[tuple[int, str]]:
    return enumerate(names, start=1)
