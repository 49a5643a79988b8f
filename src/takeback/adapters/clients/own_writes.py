"""Which changes of a client's files the client makes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from takeback.adapters.clients.layout import SURFACES_OF_DOCUMENTS, ClientLayout, Member
from takeback.state import ABSENT, tree
from takeback.state.parts import is_part
from takeback.state.slots import Slot


def find_writer(members: Sequence[Member], layout: ClientLayout, slot: Slot, before: Any, after: Any) -> str | None:
    """Return the client that makes such a change of a slot itself, if one does."""
    surface, path = slot[0], tuple(step for step in slot[1:] if not is_part(step))
    bound = layout.owner(surface, path[0]) if surface in SURFACES_OF_DOCUMENTS else None
    if bound is None or surface != "config":
        return None
    steps = (path[0].removeprefix(bound.prefix("config")), *path[1:])
    changed = [place for value in (before, after) if value is not ABSENT for place, _ in tree.leaves(value, steps)]
    if not all(any(place[: len(own)] == own for own in bound.documents.own) for place in changed):
        return None
    return next(member.client.name for member in members if bound.documents in member.client.documents)
