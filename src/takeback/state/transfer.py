"""One version of a text or list made another, each part that is still there keeping its identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from takeback.sequences import Stretch, find_stretches_between
from takeback.state.alignment import Alignment
from takeback.state.chain import Link
from takeback.state.parts import Parts
from takeback.state.values import is_same_value

P = TypeVar("P", bound=Parts)


def carry_over(
    parts: P, old: Sequence[Link], new: Sequence[Any], alignment: Alignment, low: Link | None, high: Link | None
) -> P:
    """Return `parts` with neighbouring ones (`old`, between `low` and `high`) made `new` as they are aligned.

    What came stands right behind the part before it, in front of those that went from there; at the beginning of the
    stretch right in front of the part behind it.
    """
    moved = {to: old[at] for at, to in alignment.moved}
    gone = {link.id for link in old} - {link.id for link in moved.values()}
    near, placed = low, False
    bulk = parts.bulk()
    whole = Stretch(0, len(old), 0, len(new))
    for (_, at, first, last), stays in zip(
        find_stretches_between(alignment.stays, whole), (*alignment.stays, None), strict=True
    ):
        later = old[at] if at < len(old) else high
        for to in range(first, last):
            beside = {"before": near is low and at < len(old), "follows": placed}
            if to in moved:
                near = bulk.move(moved[to], near, later, **beside)
            else:
                near = bulk.add(near, later, new[to], **beside)
            placed = True
        if stays is not None:
            near, placed = old[stays[0]], False
            gone.discard(near.id)
            if not is_same_value(near.record, new[stays[1]]):
                near = bulk.rewrite(near, new[stays[1]])
    for link in old:
        if link.id in gone:
            bulk.drop(link.id)
    return bulk.done()
