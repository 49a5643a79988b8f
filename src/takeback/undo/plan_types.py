"""Answers of an undo plan: a plan, blocked, or that needed content was forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from takeback.canonical import encode, sha256
from takeback.state import ABSENT, SURFACES, State, diff
from takeback.state.slots import Slot, describe_slot


class SlotChange(NamedTuple):
    """What a plan does to one slot."""

    slot: Slot
    before: Any
    after: Any

    def __repr__(self) -> str:
        return f"SlotChange({describe_slot(self.slot)})"


class Overwritten(NamedTuple):
    """A slot or part that a plan leaves as it is, because a later entry wrote it."""

    slot: Slot
    entry: int
    over: Slot | None = None
    """Where that entry wrote, if not exactly there: the whole text or list that a part was in, or something above."""


class Plan(NamedTuple):
    """A change of which entries are live, and what it does to the state."""

    off: tuple[int, ...]
    """Entries that are undone."""
    on: tuple[int, ...]
    """Entries that are brought back."""
    changes: tuple[SlotChange, ...]
    state: State
    """The state afterwards."""
    before: State
    """The state it starts from."""
    kept: tuple[Overwritten, ...] = ()
    """What entries that are taken back or brought back wrote and others have written since: that stays as it is."""
    unadmitted: tuple[int, ...] = ()
    """Entries among them that have no admitted recovery: they were forced, or adopted."""
    layout: tuple[str, ...] = ()
    """Files that change in nothing that the state says: comments, formatting, permission bits."""

    @property
    def visible(self) -> bool:
        """Whether anything will be different afterwards."""
        return bool(self.layout) or (bool(self.changes) and next(diff(self.before, self.state), None) is not None)

    @property
    def token(self) -> str:
        """A digest of everything the plan rests on: the same plan on a changed history has another."""
        changes = sorted(self.changes, key=lambda change: change.slot)
        effects = [[list(c.slot), _make_plain(c.slot, c.before), _make_plain(c.slot, c.after)] for c in changes]
        return sha256(encode([list(self.off), list(self.on), effects], ascii_only=True))[:24]

    def __repr__(self) -> str:
        return f"Plan(off={list(self.off)}, on={list(self.on)}, changes: {len(self.changes)}, token {self.token})"


@dataclass(frozen=True, slots=True)
class Blocked:
    """The request cannot be done alone; `together` is the result of doing it with the blocking entries."""

    off: tuple[int, ...]
    """Entries that would have to be taken back with it: without the request they could not have happened."""
    on: tuple[int, ...]
    """Entries that would have to be brought back with it, because it could not have happened without them."""
    reasons: tuple[tuple[int, str], ...]
    together: Plan | Gone | None
    """None where nothing that was found would make it possible."""

    @property
    def entries(self) -> tuple[int, ...]:
        """All entries that block."""
        return tuple(sorted((*self.off, *self.on)))

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return f"Blocked(off: {len(self.off)}, on: {len(self.on)}, together: {type(self.together).__name__})"


@dataclass(frozen=True, slots=True)
class Gone:
    """Captured content that the request needs was forgotten; `left` is what could still be restored."""

    slots: tuple[Slot, ...]
    left: tuple[SlotChange, ...]
    sealed: tuple[tuple[Slot, str], ...] = ()
    """Of `slots`, those whose content is not forgotten but sealed with a key that is not here: which key, and where
    it was looked for."""

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return f"Gone(slots: {len(self.slots)}, left: {len(self.left)})"


Outcome = Plan | Blocked | Gone


def _make_plain(slot: Slot, content: Any) -> list[Any]:
    return [] if content is ABSENT else [SURFACES[slot[0]].slot_to_json(content)]
