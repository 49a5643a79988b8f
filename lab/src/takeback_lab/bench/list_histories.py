"""Histories of six edits of one list of permissions, and what is right once the third is taken out.

Truth is a naive list of records, one per item that ever was, in order, each with the edits that added and removed it.
An item added after or before another one stands right there; one added at an end stands beyond everything that ever
stood there. Without an edit, what it added is not there and what it removed is; an edit that removed what it had
added could not have been made without it. Nothing of Takeback is used here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Final

from takeback_lab.bench.histories import EDITS, NONE, TAKEN_OUT

LIST_CLASSES: Final = ("independent", "same item", "dependent", "duplicates")
SORTED: Final = "sorted by hand"
"""Lists that someone sorted between other edits: no operation says that, so they are told as versions only."""
ITEMS: Final = 14
_TOOLS: Final = ("Bash", "Edit", "Read", "WebFetch", "Write")
_WHAT: Final = ("git", "npm", "make", "curl", "rm", "docs", "src", "tests", "deploy", "lint")
_TRIES: Final = 400


@dataclass(slots=True, eq=False)
class ListItem:
    """One item that was there at some time: which edit added it, which removed it."""

    content: str
    added: int
    removed: int | None = None

    def shown(self, without: int = NONE) -> bool:
        """Whether it is there, one edit left out."""
        return self.added != without and (self.removed is None or self.removed == without)


@dataclass(frozen=True, slots=True)
class ListHistory:
    """Seven versions of a list, the operation that made each, and the list without the third edit."""

    kind: str
    versions: tuple[tuple[str, ...], ...]
    operations: tuple[dict[str, Any], ...]
    right: tuple[str, ...]
    depends: bool = False
    """Whether a later edit removed what the third had added."""
    open: tuple[bool, ...] = (False,) * EDITS
    """Of each edit, whether it put an item between two others between which one had stood: before that or after?"""


@dataclass(slots=True)
class _List:
    """All items that ever were, in order, and which edit is being made."""

    rng: random.Random
    items: list[ListItem]
    edit: int = 0
    made: list[dict[str, Any]] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    """The edits that put an item where one had stood."""

    def visible(self) -> list[ListItem]:
        return [item for item in self.items if item.shown()]

    def contents(self, without: int = NONE) -> tuple[str, ...]:
        return tuple(item.content for item in self.items if item.shown(without))

    def fresh(self) -> str:
        """An item that was never in the list."""
        known = {item.content for item in self.items}
        while True:
            item = f"{self.rng.choice(_TOOLS)}({self.rng.choice(_WHAT)} {self.rng.randrange(100)}:*)"
            if item not in known:
                return item

    def only(self, item: ListItem) -> bool:
        """Whether an operation can name an item by its value."""
        return self.contents().count(item.content) == 1

    def add(self, content: str, near: ListItem | None, where: str) -> None:
        """Add an item `after` or `before` another one, or at the end."""
        shown = self.visible()
        if near is None or (where == "after" and near is shown[-1]):
            at = len(self.items)
        elif where == "before" and near is shown[0]:
            at = 0
        else:
            at = self.items.index(near) + (where == "after")
        if any(item.shown() for item in self.items[:at]) and any(item.shown() for item in self.items[at:]):
            beside = (*self.items[:at][-1:], *self.items[at:][:1])
            self.open |= {self.edit} if not all(item.shown() for item in beside) else set()
        said = {} if near is None else {where: near.content}
        self.items.insert(at, ListItem(content, self.edit))
        self.made.append({"op_type": "insert_config" if said else "append_config", "value": content, **said})

    def remove(self, item: ListItem) -> None:
        """Remove an item."""
        item.removed = self.edit
        self.made.append({"op_type": "remove_config_item", "value": item.content})


def _anything(document: _List) -> None:
    """Add something new somewhere, or remove something."""
    rng = document.rng
    named = [item for item in document.visible() if document.only(item)]
    if rng.random() < 0.4:  # noqa: PLR2004  (somewhat more is added than removed)
        document.remove(rng.choice(named))
    elif rng.random() < 0.4:  # noqa: PLR2004  (people mostly append)
        document.add(document.fresh(), None, "")
    else:
        document.add(document.fresh(), rng.choice(named), rng.choice(("after", "after", "before")))


def _same_item(document: _List) -> bool:
    """Remove what the third edit added, add again what it or a later one removed; False where that cannot be."""
    mine = [item for item in document.items if TAKEN_OUT in {item.added, item.removed}]
    there = [item for item in mine if item.shown() and document.only(item)]
    if there:
        document.remove(there[0])
        return True
    content = mine[0].content
    if content in document.contents():
        return False
    named = [item for item in document.visible() if document.only(item)]
    document.add(content, document.rng.choice((None, *named[:3])), "after")
    return True


def _next_to_it(document: _List) -> bool:
    """Add an item next to one that the third edit, or such an edit, added; False where that cannot be."""
    mine = [item for item in document.visible() if item.added >= TAKEN_OUT and document.only(item)]
    if not mine:
        return False
    document.add(document.fresh(), document.rng.choice(mine), document.rng.choice(("after", "after", "before")))
    return True


def _twice(document: _List) -> bool:
    """Add an item that stands there already, next to any that can be named or at the end."""
    named = [item for item in document.visible() if document.only(item)]
    content = document.rng.choice(document.visible()).content
    document.add(content, document.rng.choice((None, *named)), document.rng.choice(("after", "before")))
    return True


def _make(kind: str, document: _List) -> None:
    """Make the edit whose turn it is, as its class of histories wants it."""
    often = document.rng.random() < 0.6  # noqa: PLR2004  (some edits have nothing to do with it)
    first = document.edit == TAKEN_OUT + 1
    if kind == "dependent" and document.edit == TAKEN_OUT:
        named = [item for item in document.visible() if document.only(item)]
        document.add(document.fresh(), document.rng.choice((None, *named)), "after")
        return
    if kind == "duplicates" and (often or document.edit == TAKEN_OUT):
        _twice(document)
        return
    later = {"same item": _same_item, "dependent": _next_to_it}.get(kind)
    if later is not None and document.edit > TAKEN_OUT and (often or first) and later(document):
        return
    _anything(document)


def list_history(kind: str, seed: str) -> ListHistory:
    """Return one history of a class; the same for the same seed."""
    document = _List(random.Random(f"list {kind} {seed}"), [])
    while len(document.items) < ITEMS:
        document.items.append(ListItem(document.fresh(), 0))
    if kind == "duplicates":
        for _ in range(3):
            again = document.rng.choice(document.items).content
            document.items.insert(document.rng.randrange(ITEMS), ListItem(again, 0))
    versions = [document.contents()]
    for edit in range(1, EDITS + 1):
        document.edit = edit
        _make(kind, document)
        versions.append(document.contents())
    depends = any(item.added == TAKEN_OUT and item.removed is not None for item in document.items)
    right = document.contents(without=TAKEN_OUT)
    left_open = tuple(edit in document.open for edit in range(1, EDITS + 1))
    return ListHistory(kind, tuple(versions), tuple(document.made), right, depends, left_open)


def sorted_history(seed: str) -> ListHistory:
    """Return a history in which the third edit, or another one, sorts the list; what comes later goes to the end."""
    rng = random.Random(f"list {SORTED} {seed}")
    document = _List(rng, [])
    while len(document.items) < ITEMS:
        document.items.append(ListItem(document.fresh(), 0))
    sorting = rng.choice((1, 2, TAKEN_OUT, TAKEN_OUT, TAKEN_OUT + 1, EDITS))
    before: list[ListItem] = []
    versions = [document.contents()]
    for edit in range(1, EDITS + 1):
        document.edit = edit
        may_remove = edit != TAKEN_OUT or sorting < TAKEN_OUT
        if edit == sorting:
            before = list(document.items)
            document.items.sort(key=lambda item: item.content)
        elif may_remove and rng.random() < 0.4:  # noqa: PLR2004  (somewhat more is added than removed)
            document.remove(rng.choice(document.visible()))
        else:
            document.add(document.fresh(), None, "")
        versions.append(document.contents())
    if sorting == TAKEN_OUT:
        document.items = [*before, *(item for item in document.items if item.added > sorting)]
    depends = any(item.added == TAKEN_OUT and item.removed is not None for item in document.items)
    return ListHistory(SORTED, tuple(versions), (), document.contents(without=TAKEN_OUT), depends)


def list_histories(each: int, seed: int = 0) -> list[ListHistory]:
    """Return so many histories of each class."""
    return [list_history(kind, f"{seed} {at}") for kind in LIST_CLASSES for at in range(each)]


def sorted_histories(each: int, seed: int = 0) -> list[ListHistory]:
    """Return so many histories of lists that were sorted by hand."""
    return [sorted_history(f"{seed} {at}") for at in range(each)]
