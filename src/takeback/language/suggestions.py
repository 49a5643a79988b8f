"""Suggestions: names near the one that was given, and where in a text a stretch stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import islice
from typing import Final

MOST_NAMES: Final = 20_000
"""More names than this are not compared."""
MOST_LINES: Final = 5_000
FEW: Final = 8
"""So many names are listed, not counted."""
CUTOFF: Final = 0.6
MARGIN: Final = 0.1
_TIMES: Final = {2: "twice"}


def find_near_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names that look like another, best first: same but for case, spelled alike, or containing it."""
    known = list(islice(names, MOST_NAMES))
    plain = name.casefold()
    same = [other for other in known if other.casefold() == plain]
    inside = [other for other in known if len(plain) > 2 and plain in other.casefold()]  # noqa: PLR2004
    return tuple(dict.fromkeys([*same, *_find_similar_names(name, known), *inside]))[:3]


def _find_similar_names(name: str, known: Sequence[str]) -> list[str]:
    similar = get_close_matches(name, known, 3, CUTOFF)
    likeness = [SequenceMatcher(None, other, name).ratio() for other in similar]
    return [other for other, ratio in zip(similar, likeness, strict=True) if ratio > likeness[0] - MARGIN]


def suggest_name(name: str, names: Iterable[str]) -> str:
    """Return a hint for a name that does not exist; empty where no name is near."""
    near = find_near_names(name, names)
    return f"did you mean {' or '.join(near)}?" if near else ""


def describe_expected_names(names: Sequence[str], word: str) -> str:
    """Return what to expect instead: the names if they are few, else how many there are."""
    if not names:
        return f"an existing {word}; there is none"
    if len(names) <= FEW:
        return f"one of {', '.join(names)}" if len(names) > 1 else names[0]
    return f"the name of one of {len(names)}"


def find_lines(text: str, stretch: str) -> tuple[int, ...]:
    """Return the lines, counted from 1, on which a stretch of a text begins, one for each occurrence."""
    numbers: list[int] = []
    at, line, seen = text.find(stretch), 1, 0
    while at >= 0:
        line += text.count("\n", seen, at)
        seen = at
        numbers.append(line)
        at = text.find(stretch, at + 1)
    return tuple(numbers)


def describe_occurrences(numbers: Sequence[int], unit: str) -> str:
    """Return how often something occurs, and where: twice (lines 3 and 9)."""
    places = list(dict.fromkeys(numbers))
    places_said = [str(number) for number in places[:FEW]] + (["more"] if len(places) > FEW else [])
    where = places_said[0] if len(places_said) == 1 else f"{', '.join(places_said[:-1])} and {places_said[-1]}"
    return (
        f"{_TIMES.get(len(numbers), f'{len(numbers)} times')} ({unit}{'' if len(places_said) == 1 else 's'} {where})"
    )


def suggest_nearest_line(text: str, stretch: str) -> str:
    """Return a hint about the line most like the first of a stretch; empty where none is."""
    lines = text.splitlines()[:MOST_LINES]
    wanted = next((line for line in stretch.splitlines() if line.strip()), "")
    near = get_close_matches(wanted, lines, 1, CUTOFF)
    return f"the nearest is line {lines.index(near[0]) + 1}: {near[0]}" if near else ""
