"""Histories of six edits of one text, and what is right once the third is taken out.

Truth is a naive list of records, one per line that ever was: its place in that list and its versions, each with the
edit that made it. A record shows its last version that is not taken out. Nothing of Takeback is used here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

EDITS: Final = 6
TAKEN_OUT: Final = 3
LINES: Final = 40
NONE: Final = -1
CLASSES: Final = ("far apart", "adjacent", "overlapping", "dependent", "compound")
_TRIES: Final = 400
_NEAR: Final = 2
_FAR: Final = 4
_ANY: Final = "rdi"
"""Replace, delete, insert."""
_THIRD: Final = {"dependent": "i", "overlapping": "rrrd"}
_LATER: Final = {"dependent": "r", "overlapping": "rrdi"}
"""What the third edit and later ones do in classes that are not about any edit; drawn evenly."""

_REPEATED: Final = ("", "", "", "---", "- [ ] open", "```", "> note", "Ask first.")
_VERBS: Final = ("check", "run", "read", "write", "ask about", "keep", "measure", "explain", "review", "log")
_THINGS: Final = (
    "the tests",
    "every tool call",
    "the user's goal",
    "secrets",
    "the plan",
    "long files",
    "the budget",
)
_ENDS: Final = (
    "before you answer",
    "twice",
    "once per turn",
    "with care",
    "in plain words",
    "when in doubt",
    "early",
)


@dataclass(slots=True, eq=False)
class HistoryLine:
    """One line that was there at some time: its versions, newest last; None where it was removed."""

    versions: list[tuple[int, str | None]]

    def shown(self, without: int = NONE) -> str | None:
        """The last version, those of one edit left out."""
        kept = [content for edit, content in self.versions if edit != without]
        return kept[-1] if kept else None

    def made_by(self, edit: int) -> bool:
        """Whether an edit wrote a version of it."""
        return any(one == edit for one, _ in self.versions)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A stretch of the text replaced: `old` occurs exactly once."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class TextHistory:
    """Seven versions of a text, the changes between them, and the text without the third edit."""

    kind: str
    versions: tuple[str, ...]
    changes: tuple[tuple[Replacement, ...], ...]
    right: str
    open: tuple[bool, ...] = (False,) * EDITS
    """Of each edit, whether it put lines between two others between which one had stood: before that or after?"""


@dataclass(slots=True)
class _Document:
    """All lines that ever were, in order, and which edit is being made."""

    rng: random.Random
    lines: list[HistoryLine]
    edit: int = 0
    made: list[Replacement] = field(default_factory=list)
    serial: int = 0
    open: set[int] = field(default_factory=set)
    """The edits that put lines where one had stood."""

    def visible(self) -> list[HistoryLine]:
        return [line for line in self.lines if line.shown() is not None]

    def text(self, without: int = NONE) -> str:
        shown = (line.shown(without) for line in self.lines)
        return joined(content for content in shown if content is not None)

    def fresh(self) -> str:
        """A line as people write them, at times one that stands elsewhere already."""
        if self.rng.random() < 0.15:  # noqa: PLR2004  (some lines repeat)
            return self.rng.choice(_REPEATED)
        self.serial += 1
        said = f"{self.rng.choice(_VERBS)} {self.rng.choice(_THINGS)} {self.rng.choice(_ENDS)}"
        return self.rng.choice((f"- {said}", f"{said.capitalize()}.", f"{self.serial}. {said}", f"## {said.title()}"))

    def reworded(self, content: str) -> str:
        """A line with a word changed, or another line altogether."""
        words = content.split(" ")
        if len(words) > _NEAR and self.rng.random() < 0.7:  # noqa: PLR2004  (most rewrites keep most of a line)
            at = self.rng.randrange(1, len(words))
            words[at] = self.rng.choice(("never", "always", "first", "soon", f"v{self.rng.randrange(90)}"))
            return " ".join(words)
        return self.fresh()

    def replace(self, first: int, count: int) -> bool:
        """Rewrite visible lines, each in place."""
        mine = self.visible()[first : first + count]
        old = [line.shown() or "" for line in mine]
        new = [self.reworded(content) for content in old]
        if any(map(str.__eq__, old, new)) or not self._say(first, count, new):
            return False
        for line, content in zip(mine, new, strict=True):
            line.versions.append((self.edit, content))
        return True

    def remove(self, first: int, count: int) -> bool:
        """Remove visible lines."""
        mine = self.visible()[first : first + count]
        if not self._say(first, count, []):
            return False
        for line in mine:
            line.versions.append((self.edit, None))
        return True

    def insert(self, after: int, count: int) -> bool:
        """Put new lines right after a visible one; after the last one they stand behind everything there ever was."""
        visible = self.visible()
        new = [self.fresh() for _ in range(count)]
        if not self._say(after + 1, 0, new):
            return False
        at = len(self.lines) if after == len(visible) - 1 else self.lines.index(visible[after]) + 1
        if at < len(self.lines) and self.lines[at].shown() is None:
            self.open.add(self.edit)
        self.lines[at:at] = [HistoryLine([(self.edit, content)]) for content in new]
        return True

    def _say(self, first: int, count: int, new: list[str]) -> bool:
        """Note down the change as an edit tool makes it; False where no edit says which lines it means."""
        now = [line.shown() or "" for line in self.visible()]
        text = joined(now)
        low, high = (first if count else first - 1), first + count
        for begin, end in _windows(low, high, len(now)):
            old, put = now[begin:end], [*now[begin:first], *new, *now[high:end]]
            if _once(text, joined(old)) and _only_reading(old, put) == (first - begin, high - begin):
                self.made.append(Replacement(joined(old), joined(put)))
                return True
        return False


def joined(lines: Iterable[str]) -> str:
    """Return lines as a text."""
    return "".join(f"{line}\n" for line in lines)


def _windows(low: int, high: int, size: int) -> Iterator[tuple[int, int]]:
    """Stretches of lines around two positions, the shortest first."""
    for wider in range(LINES):
        for above in range(wider, -1, -1):
            if low - above >= 0 and high + wider - above <= size:
                yield low - above, high + wider - above


def _once(text: str, needle: str) -> bool:
    first = text.find(needle)
    return first >= 0 and text.find(needle, first + 1) < 0


def _only_reading(old: list[str], new: list[str]) -> tuple[int, int] | None:
    """From where to where two versions of a stretch differ; None where another place would explain them too."""
    begin = 0
    while begin < min(len(old), len(new)) and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    gone, come = old[begin : len(old) - end], new[begin : len(new) - end]
    block = gone or come
    if not block or (not (gone and come) and begin and old[begin - 1] == block[-1]):
        return None
    return begin, len(old) - end


WantedRange = Callable[[range], bool]


def _anywhere(at: range) -> bool:
    return bool(at)


def _draw(document: _Document, wanted: Callable[[range], bool], *, kinds: str = _ANY) -> None:
    """Make one change to lines that are wanted, as seen by their positions; an insertion comes after the first."""
    rng = document.rng
    for _ in range(_TRIES):
        size, count = len(document.visible()), rng.choice((1, 1, 1, 2, 2, 3))
        first = rng.randrange(size - count + 1)
        if not wanted(range(first, first + count)):
            continue
        kind = rng.choice(kinds)
        make = {"r": document.replace, "d": document.remove, "i": document.insert}[kind]
        if make(first, count):
            return
    raise AssertionError("no such edit was found")


def _touched(document: _Document, edit: int) -> list[int]:
    """Positions of visible lines that an edit wrote, or between which it removed some."""
    found: list[int] = []
    position = 0
    for line in document.lines:
        seen = line.shown() is not None
        if line.made_by(edit):
            found += [position] if seen else [max(0, position - 1), position]
        position += seen
    return found


def _make(kind: str, document: _Document) -> None:
    """Make the edit whose turn it is, as its class of histories wants it."""
    edit, size = document.edit, len(document.visible())
    middle = range(size // 3, 2 * size // 3)
    if kind == "compound":
        before = document.text()
        for _ in range(document.rng.choice((2, 2, 3))):
            _draw(document, document.rng.choice((_anywhere, lambda at: at.start in middle)))
        while document.text() == before:
            _draw(document, _anywhere)
    elif edit < TAKEN_OUT:
        outside: dict[str, WantedRange] = {
            "far apart": lambda at: at.stop <= middle.start - _FAR or at.start >= middle.stop + _FAR,
            "overlapping": lambda at: at.start in middle,
        }
        _draw(document, outside.get(kind, _anywhere))
    elif edit == TAKEN_OUT:
        _draw(document, lambda at: at.start in middle, kinds=_THIRD.get(kind, _ANY))
    else:
        _make_later(kind, document)


def _make_later(kind: str, document: _Document) -> None:
    """Make an edit after the one that is to be taken out, where its class wants it; some are made elsewhere."""
    touched = _touched(document, TAKEN_OUT)
    low, high = min(touched), max(touched)
    visible = document.visible()
    near: dict[str, WantedRange] = {
        "far apart": lambda at: at.stop <= low - _FAR or at.start > high + _FAR,
        "adjacent": lambda at: (
            low - _NEAR <= at.start < at.stop <= low or high < at.start < at.stop <= high + _NEAR + 1
        ),
        "overlapping": lambda at: any(low <= position <= high for position in at),
        "dependent": lambda at: any(visible[position].made_by(TAKEN_OUT) for position in at),
    }
    wanted = near[kind]
    loose = kind != "far apart" and document.edit > TAKEN_OUT + 1 and document.rng.random() < 0.4  # noqa: PLR2004
    if loose or not any(wanted(range(at, at + 1)) for at in range(len(visible) - 1)):
        wanted = _anywhere
    _draw(document, wanted, kinds=_LATER.get(kind, _ANY))


def history(kind: str, seed: str) -> TextHistory:
    """Return one history of a class; the same for the same seed."""
    rng = random.Random(f"{kind} {seed}")
    document = _Document(rng, [])
    while len(document.lines) < LINES:
        repeats = rng.random() < 0.35  # noqa: PLR2004  (a third of a Markdown text is blank lines and the like)
        content = rng.choice(_REPEATED) if repeats else document.fresh()
        document.lines.append(HistoryLine([(0, content)]))
    versions, changes = [document.text()], []
    for edit in range(1, EDITS + 1):
        document.edit, document.made = edit, []
        _make(kind, document)
        versions.append(document.text())
        changes.append(tuple(document.made))
    left_open = tuple(edit in document.open for edit in range(1, EDITS + 1))
    return TextHistory(kind, tuple(versions), tuple(changes), document.text(without=TAKEN_OUT), left_open)


def histories(each: int, seed: int = 0) -> list[TextHistory]:
    """Return so many histories of each class."""
    return [history(kind, f"{seed} {at}") for kind in CLASSES for at in range(each)]
