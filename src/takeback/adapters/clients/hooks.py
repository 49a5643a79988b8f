"""Hook groups as listeners. A group has no name of its own, so that it is known again by what it says.

Groups that say what a known one says keep its id, and so do groups with a known one's matcher, its hooks, or one of
them; new ones are called by their matcher and a few digits of what they say. Nothing is written into the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from takeback.adapters.formats.document import alike
from takeback.canonical import encode

LONGEST = 60
DIGITS = 4
KnownHooks = Sequence[tuple[str, Any]]


def identified(groups: Sequence[Any], known: KnownHooks) -> list[tuple[str, Any]]:
    """Each group with its id."""
    free = list(known)
    ids: list[str | None] = [None] * len(groups)
    for same in (alike, _same_matcher_and_hook, _same_hooks, _same_matcher, _one_same_hook):
        for at, group in enumerate(groups):
            found = None if ids[at] is not None else next((one for one in free if same(one[1], group)), None)
            if found is not None:
                ids[at] = found[0]
                free.remove(found)
    taken = {name for name, _ in known}
    named: list[tuple[str, Any]] = []
    for at, group in enumerate(groups):
        name = ids[at] or _fresh(group, taken)
        taken.add(name)
        named.append((name, group))
    return named


def as_listener(group: Any, taken: Iterable[str]) -> Any:
    """A group as the file has it as a listener, with an id that is free; anything else as it is."""
    if not isinstance(group, dict) or "hooks" not in group or not {"id", "handler", "options"}.isdisjoint(group):
        return group
    name = _fresh(group, set(taken))
    return {"id": name, "handler": name, "options": group}


def label(group: Any) -> str:
    """What a group is called by: its matcher, and a few digits of what it says."""
    digits = hashlib.sha256(encode(group).encode()).hexdigest()[:DIGITS]
    matcher = group.get("matcher") if isinstance(group, dict) else None
    shown = matcher if isinstance(matcher, str) and matcher else "*"
    return f"{''.join(char if char.isprintable() else '?' for char in shown)[:LONGEST]}~{digits}"


def _fresh(group: Any, taken: set[str]) -> str:
    name = label(group)
    number = 2
    while name in taken:
        name = f"{label(group)}#{number}"
        number += 1
    return name


def _same_hooks(one: Any, two: Any) -> bool:
    return isinstance(one, dict) and isinstance(two, dict) and alike(one.get("hooks"), two.get("hooks"))


def _one_same_hook(one: Any, two: Any) -> bool:
    mine, theirs = (group.get("hooks") if isinstance(group, dict) else None for group in (one, two))
    if not isinstance(mine, list) or not isinstance(theirs, list):
        return False
    return any(alike(hook, other) for hook in mine for other in theirs)


def _same_matcher_and_hook(one: Any, two: Any) -> bool:
    return _same_matcher(one, two) and _one_same_hook(one, two)


def _same_matcher(one: Any, two: Any) -> bool:
    return isinstance(one, dict) and isinstance(two, dict) and one.get("matcher") == two.get("matcher")
