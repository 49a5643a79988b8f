"""Histories of six saves that each change several places of a text, and what is right once the third is taken out.

No two lines are equal, so that only what was done is to be found out. Truth is a naive list of standings, one for
each time that a line was put somewhere, each with the save that put it there: a line stands where the last save that
is not taken out put it, and says what the last one wrote. Nothing of Takeback is used here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final

from takeback_lab.bench.histories import EDITS, NONE, TAKEN_OUT, TextHistory, joined

PLACE_CLASSES: Final = ("several places", "several places, some moved")
LINES: Final = 30
_APART: Final = 3
_TRIES: Final = 400
_LETTERS: Final = "abcdefghijklmnop"


@dataclass(slots=True, eq=False)
class PlacedLine:
    """A line that was there at some time: its versions, newest last; None where it was removed."""

    versions: list[tuple[int, str | None]]

    def shown(self, without: int = NONE) -> str | None:
        """The last version, those of one save left out."""
        kept = [content for save, content in self.versions if save != without]
        return kept[-1] if kept else None


@dataclass(slots=True)
class _Text:
    """Every line at every place that it was ever put to, in order, and which save is being made."""

    rng: random.Random
    standings: list[tuple[PlacedLine, int]] = field(default_factory=list)
    save: int = 0
    serial: int = 0

    def fresh(self) -> str:
        self.serial += 1
        sizes = [self.rng.randrange(3, 9) for _ in range(self.rng.randrange(3, 7))]
        words = ("".join(self.rng.choice(_LETTERS) for _ in range(size)) for size in sizes)
        return f"{self.serial} {' '.join(words)}"

    def placed(self, without: int = NONE) -> list[tuple[int, PlacedLine]]:
        """The lines that are there, each with where it stands."""
        last: dict[PlacedLine, tuple[bool, int, int]] = {}
        for at, (line, save) in enumerate(self.standings):
            mine = (save != without, save, at)
            last[line] = max(mine, last.get(line, mine))
        return sorted((at, line) for line, (_, _, at) in last.items() if line.shown(without) is not None)

    def text(self, without: int = NONE) -> str:
        return joined(line.shown(without) or "" for _, line in self.placed(without))

    def change(self, kinds: str, taken: list[int]) -> None:
        """Change one to three neighbouring lines, away from what the same save has changed."""
        for _ in range(_TRIES):
            lines = self.placed()
            kind, count = self.rng.choice(kinds), self.rng.choice((1, 1, 2, 3))
            at = self.rng.randrange(1, len(lines) - count)
            to = self.rng.randrange(len(lines) - 1) if kind == "m" else at
            apart = _APART + count
            near = any(abs(place - other) < apart for place in (at, to) for other in taken)
            if near or (kind == "m" and abs(to - at) < 2 * apart):
                continue
            block = [line for _, line in lines[at : at + count]]
            if kind == "i":
                block = [PlacedLine([(self.save, self.fresh())]) for _ in block]
            elif kind != "m":
                for line in block:
                    line.versions.append((self.save, None if kind == "d" else self._reworded(line.shown() or "")))
            if kind in "im":
                behind = lines[to][0] + 1
                self.standings[behind:behind] = [(line, self.save) for line in block]
            taken += [at, to]
            return

    def _reworded(self, content: str) -> str:
        words = content.split(" ")
        words[self.rng.randrange(1, len(words))] = f"v{self.serial}{self.rng.choice(_LETTERS)}"
        self.serial += 1
        return " ".join(words)


def place_history(kind: str, seed: str) -> TextHistory:
    """Return one history of a class; the same for the same seed."""
    text = _Text(random.Random(f"places {kind} {seed}"))
    text.standings = [(PlacedLine([(0, text.fresh())]), 0) for _ in range(LINES)]
    versions = [text.text()]
    for save in range(1, EDITS + 1):
        text.save = save
        taken: list[int] = []
        while text.text() == versions[-1]:
            for _ in range(text.rng.choice((1, 2, 3, 4))):
                text.change("rdi" if kind == PLACE_CLASSES[0] else "rdim", taken)
        versions.append(text.text())
    return TextHistory(kind, tuple(versions), (), text.text(without=TAKEN_OUT))


def place_histories(each: int, seed: int = 0) -> list[TextHistory]:
    """Return so many histories of each class."""
    return [place_history(kind, f"{seed} {at}") for kind in PLACE_CLASSES for at in range(each)]
