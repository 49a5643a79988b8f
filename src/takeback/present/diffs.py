"""Changes as unified diffs: hunks with line numbers and three lines of context, and how much came and went.

Pure: from two sheets of lines to values that a terminal or a page can draw. No line is cut off. Two lines that would
look the same on a screen, but are not, are written with escapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from takeback.canonical import pretty
from takeback.present.contents import DEFAULT_MODE, Sheet
from takeback.present.matching import Match, matches
from takeback.present.secrets import Mask, find_blocks, is_revealing
from takeback.present.visible import looks, visible

CONTEXT: Final = 3
Mark = Literal[" ", "-", "+", "\\"]
LineRole = Literal["address", "hunk", "context", "removed", "added", "note"]
Hide = Callable[[str], str]
"""Takes the secrets out of a line."""
NO_NEWLINE: Final = "\\ No newline at the end"


class DiffLine(NamedTuple):
    """One line of a hunk; `old` and `new` are its numbers, counted from 1, on the sides it stands on."""

    mark: Mark
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """Changed lines with their surroundings."""

    lines: tuple[DiffLine, ...]
    old_start: int
    old_count: int
    new_start: int
    new_count: int

    @property
    def header(self) -> str:
        """Where it stands on both sides, as in every unified diff."""
        return f"@@ -{_span(self.old_start, self.old_count)} +{_span(self.new_start, self.new_count)} @@"


@dataclass(frozen=True, slots=True)
class Difference:
    """What happened at one address."""

    address: str
    before: Sheet | None
    """None: nothing was there."""
    after: Sheet | None
    """None: nothing is there now."""
    hunks: tuple[DiffHunk, ...] = ()
    notes: tuple[str, ...] = ()
    """What lines cannot say: moved, another mode, forgotten."""

    @property
    def added(self) -> int:
        """Lines that came."""
        return sum(line.mark == "+" for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        """Lines that went."""
        return sum(line.mark == "-" for hunk in self.hunks for line in hunk.lines)


class Stat(NamedTuple):
    """How many lines came and went at an address."""

    address: str
    added: int
    removed: int


def difference(address: str, before: Sheet | None, after: Sheet | None, *notes: str) -> Difference:
    """What happened at one address."""
    if before is not None and after is not None and before.mode != after.mode:
        notes = (*notes, f"mode {before.mode} -> {after.mode}")
    elif before is None and after is not None and after.mode not in {"", DEFAULT_MODE}:
        notes = (*notes, f"mode {after.mode}")
    hunks = tuple(_hunks(before.lines if before else (), after.lines if after else ()))
    return Difference(address, before, after, hunks, notes)


def stat_of(found: Iterable[Difference]) -> tuple[Stat, ...]:
    """How much came and went."""
    return tuple(Stat(one.address, one.added, one.removed) for one in found)


def unified(found: Difference, *, clear: bool = False) -> Iterator[tuple[LineRole, str]]:
    """The lines to show, each with its role and safe to print; where one line per side says it all, just those.

    Secrets are masked, unless `clear` or a person asked for them.
    """
    address = visible(found.address)
    hide = str if clear or is_revealing() else _hider(found)
    if (found.before is None or found.before.single) and (found.after is None or found.after.single):
        yield from _one_line_each(found, address, hide)
    else:
        yield "address", f"--- {address if found.before is not None else '(absent)'}"
        yield "address", f"+++ {address if found.after is not None else '(absent)'}"
        for hunk in found.hunks:
            yield "hunk", hunk.header
            yield from _hunk_lines(hunk, hide)
    for note in found.notes:
        yield "note", f"  {address}: {note}"


def _hider(found: Difference) -> Hide:
    """Return what takes the secrets of both sides out of a line, so that two of them still differ."""
    sides = [side for side in (found.before, found.after) if side is not None]
    secrets = {secret: None for side in sides for secret in (*side.secrets, *find_blocks("".join(side.lines)))}
    mask = Mask(numbered=True)
    return lambda text: mask.hide(text, secrets)


def _one_line_each(found: Difference, address: str, hide: Hide) -> Iterator[tuple[LineRole, str]]:
    one, two = ("" if side is None else hide(side.inline) for side in (found.before, found.after))
    if one == two and found.notes:
        return
    alike = one != two and looks(one) == looks(two)
    one, two = (ascii(text) if alike else visible(text) for text in (one, two))
    if found.before is not None:
        yield "removed", f"- {address} = {one}"
    if found.after is not None:
        yield "added", f"+ {address} = {two}"


def _hunk_lines(hunk: DiffHunk, hide: Hide) -> Iterator[tuple[LineRole, str]]:
    roles: dict[Mark, LineRole] = {" ": "context", "-": "removed", "+": "added"}
    gone, come = ({line.text for line in hunk.lines if line.mark == mark} for mark in "-+")
    moved = gone & come
    alike = {_looks(text) for text in gone - moved} & {_looks(text) for text in come - moved}
    for line in hunk.lines:
        text = hide(line.text.removesuffix("\n"))
        escaped = line.mark != " " and _looks(line.text) in alike
        yield roles[line.mark], line.mark + (pretty(text, indent=None, ascii_only=True) if escaped else visible(text))
        if not line.text.endswith("\n"):
            yield "note", NO_NEWLINE


def _looks(text: str) -> tuple[str, bool]:
    return looks(text.removesuffix("\n")), text.endswith("\n")


class _Stretch(NamedTuple):
    """Lines from `old_at` up to `old_end` that became those from `new_at` up to `new_end`."""

    old_at: int
    old_end: int
    new_at: int
    new_end: int


def _hunks(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[DiffHunk]:
    """Changed stretches with their context; those whose contexts touch share a hunk."""
    together: list[_Stretch] = []
    for stretch in _stretches(old, new):
        if together and stretch.old_at - together[-1].old_end > 2 * CONTEXT:
            yield _hunk(together, old, new)
            together = []
        together.append(stretch)
    if together:
        yield _hunk(together, old, new)


def _stretches(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[_Stretch]:
    at, to = 0, 0
    for match in (*matches(old, new), Match(len(old), len(new), 0)):
        if at < match.old or to < match.new:
            yield _Stretch(at, match.old, to, match.new)
        at, to = match.old + match.size, match.new + match.size


def _hunk(stretches: list[_Stretch], old: tuple[str, ...], new: tuple[str, ...]) -> DiffHunk:
    first, last = stretches[0], stretches[-1]
    start = max(first.old_at - CONTEXT, 0)
    end = min(last.old_end + CONTEXT, len(old))
    shift = first.new_at - first.old_at
    lines: list[DiffLine] = []
    at = start
    for stretch in (*stretches, _Stretch(end, end, 0, 0)):
        lines += [DiffLine(" ", old[n], n + 1, n + 1 + shift) for n in range(at, stretch.old_at)]
        lines += [DiffLine("-", old[n], n + 1, None) for n in range(stretch.old_at, stretch.old_end)]
        lines += [DiffLine("+", new[n], None, n + 1) for n in range(stretch.new_at, stretch.new_end)]
        at, shift = stretch.old_end, stretch.new_end - stretch.old_end
    olds = [line.old for line in lines if line.old is not None]
    news = [line.new for line in lines if line.new is not None]
    return DiffHunk(
        tuple(lines),
        olds[0] if olds else start,
        len(olds),
        news[0] if news else first.new_at,
        len(news),
    )


def _span(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"
