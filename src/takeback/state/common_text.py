"""Where two long texts begin to differ and where they stop, by whole lines; makes no object for each line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from takeback.state.chain import Link

CHUNK: Final = 1 << 16
"""Characters that are compared at a time."""
CONTEXT: Final = 50
"""How many lines that both texts have stay on either side: equal lines further away are no rivals."""


class Between(NamedTuple):
    """Lines of two texts between what both begin and end with."""

    old: list[Link]
    new: list[str]
    low: Link | None
    """The line before them, None where they begin the text."""
    high: Link | None
    missing: str
    """What is missing at the end of the new text."""
    shared: bool
    """Whether lines were left out, which both have."""


def find_differing(between: Callable[[int, int], str], length: int, text: str) -> tuple[int, int]:
    """Return where in a text the last line that both begin with begins, and the first that both end with ends.

    The other text is asked for by positions, and ends with a line's end as this one does. Some lines that both have
    stay on either side, so that what came is placed beside them as in the whole text.
    """
    shorter, at = min(length, len(text)), 0
    while at < shorter:
        mine, theirs = between(at, min(at + CHUNK, shorter)), text[at : min(at + CHUNK, shorter)]
        at += _count_alike(mine, theirs)
        if mine != theirs:
            break
    at = text.rfind("\n", 0, at) + 1
    left, back = shorter - at, 0
    while back < left:
        low, high = back + min(CHUNK, left - back), back
        mine, theirs = between(length - low, length - high), text[len(text) - low : len(text) - high]
        back += _count_alike(mine[::-1], theirs[::-1])
        if mine != theirs:
            break
    stop = len(text) - back
    begins = stop == 0 or text[stop - 1] == "\n"
    if not begins or between(max(0, length - back - 1), length - back) not in {"", "\n"}:
        stop = text.find("\n", stop) + 1 or len(text)
    start = at
    for _ in range(CONTEXT):
        start = text.rfind("\n", 0, start - 1) + 1 if start else 0
        stop = text.find("\n", stop) + 1 or len(text)
    return start, stop


def _count_alike(old: str, new: str) -> int:
    """Return how many characters two texts of one length begin with alike."""
    if old == new:
        return len(old)
    return next(at for at, (mine, theirs) in enumerate(zip(old, new, strict=True)) if mine != theirs)
