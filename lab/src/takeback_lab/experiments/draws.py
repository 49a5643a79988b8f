"""Which tasks an experiment takes and in which order: seeded, and balanced wherever a run stops.

Also what a lock freezes about tasks: the seed of each and the states a rule decides on.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import Any, Final, Protocol, TypeVar

from takeback.errors import InputError
from takeback.verify import RULES
from takeback_lab.tasks import DEFECTS, FAMILIES, INSIDE_FAMILIES, Task, load

FIRST_SEED: Final = 7000
ORDER_SEED: Final = 16


class OfFamily(Protocol):
    """Anything that belongs to a family of tasks."""

    @property
    def id(self) -> str:
        """The id of its task."""
        ...

    @property
    def family(self) -> str:
        """The family's name."""
        ...


SomeDrawn = TypeVar("SomeDrawn", bound=OfFamily)


def round_robin(items: Sequence[SomeDrawn], per_family: int | None = None) -> tuple[SomeDrawn, ...]:
    """The first items of each family, families taking turns, so that any prefix is balanced."""
    rows = [
        [item for item in items if item.family == family][:per_family] for family in (*FAMILIES, *INSIDE_FAMILIES)
    ]
    return tuple(item for item in chain.from_iterable(zip_longest(*rows)) if item is not None)


def draw_order(items: Sequence[SomeDrawn], seed: int = ORDER_SEED) -> tuple[SomeDrawn, ...]:
    """The items in a seeded order in which families take turns: any prefix is a balanced sample."""
    return round_robin(sorted(items, key=place_in_draw(seed)))


def place_in_draw(seed: int = ORDER_SEED) -> Callable[[OfFamily], str]:
    """A sort key that puts items in an order which looks random and is the same everywhere."""
    return lambda item: hashlib.sha256(f"{seed}:{item.id}".encode()).hexdigest()


def draw_classes(tasks: Sequence[Task], seed: int = ORDER_SEED) -> tuple[Task, ...]:
    """Controlled tasks in a seeded order in which defect classes take turns and families stay level."""
    left = sorted(tasks, key=place_in_draw(seed))
    taken: Counter[str] = Counter()
    drawn: list[Task] = []
    while left:
        for defect in DEFECTS:
            mine = [task for task in left if task.controlled is not None and task.controlled.defect == defect]
            if mine:
                chosen = min(mine, key=lambda task: taken[task.family])
                taken[chosen.family] += 1
                left.remove(chosen)
                drawn.append(chosen)
    return tuple(drawn)


def at_most(items: Sequence[SomeDrawn], limit: int | None, option: str = "--tasks") -> tuple[SomeDrawn, ...]:
    """The first `limit` items; asking for more than there are is an error, not all of them."""
    if limit is not None and limit > len(items):
        raise InputError(option, found=limit, expected=f"at most {len(items)}, which is all there are")
    return tuple(items[:limit])


def suites_of(rule: str) -> dict[str, Any] | None:
    """The states a rule decides on, as a lock freezes them; a proof decides on all, so there is nothing to freeze."""
    chosen = RULES.get(rule)
    return None if chosen is None else {"dev": "Q10", "iid": chosen.iid, "ood": chosen.ood, "seed": 0}


def task_index(task: Task) -> int:
    """The task's place in its set, which sets the seed of its requests."""
    return next(at for at, one in enumerate(load(task.set_name)) if one.id == task.id)


def first_seed(task: Task) -> int:
    """The seed of a task's first request; each later turn adds one."""
    return FIRST_SEED + task_index(task)
