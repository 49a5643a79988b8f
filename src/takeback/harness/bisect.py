"""A search for the entries that broke something: the smallest set that does, by trying histories without the others.

Because any set of entries can be left out, this is more than a search over time: once the last entry needed
is found, the search goes on before it for the others, with that one kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

LiveEntries = frozenset[int]
Try = Callable[[LiveEntries], bool | None]
"""Whether a history of these entries alone is broken; None if that cannot be told."""


@dataclass(frozen=True, slots=True)
class Bisection:
    """What a search came to."""

    entries: tuple[int, ...]
    """Entries that together break it, oldest first; none where the search had no ground to stand on."""
    tests: int
    reason: str = ""
    """Why there are none."""


class Trials:
    """Tries histories, each once, and counts."""

    def __init__(self, broken: Try) -> None:
        self._broken = broken
        self._known: dict[LiveEntries, bool | None] = {}

    @property
    def count(self) -> int:
        """How many histories were tried."""
        return len(self._known)

    def __call__(self, live: Iterable[int]) -> bool:
        """Return whether a history is surely broken."""
        wanted = frozenset(live)
        if wanted not in self._known:
            self._known[wanted] = self._broken(wanted)
        return self._known[wanted] is True


def find_breaking_entries(entries: Sequence[int], broken: Try) -> Bisection:
    """Search among entries, oldest first, for the smallest set that breaks it.

    Fewest tests where more entries never mend what fewer broke; otherwise a set of which no member can be left out.
    """
    trial = Trials(broken)
    if not trial(entries):
        return Bisection((), trial.count, "it works as it is")
    if trial(()):
        return Bisection((), trial.count, "it is broken without any of these entries, too")
    needed: list[int] = []
    before = list(entries)
    while before and not trial(needed):
        last = _find_first_broken(trial, needed, before)
        needed.append(before[last])
        before = before[:last]
    for entry in needed[:-1]:
        fewer = [needed_entry for needed_entry in needed if needed_entry != entry]
        if trial(fewer):
            needed = fewer
    return Bisection(tuple(sorted(needed)), trial.count)


def _find_first_broken(trial: Trials, needed: Sequence[int], before: Sequence[int]) -> int:
    """Return the index of the first entry that breaks it, together with those before it and those needed."""
    works, fails = 0, len(before)
    while fails - works > 1:
        middle = (works + fails) // 2
        if trial([*before[:middle], *needed]):
            fails = middle
        else:
            works = middle
    return fails - 1
