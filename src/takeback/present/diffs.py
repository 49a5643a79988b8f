"""Changes as unified diffs: hunks with line numbers and three lines of context, and how much came and went.

Pure: from two sheets of lines to values that a terminal or a page can draw. A sheet is the content of one
slot: lines of a text or file, pretty lines of a value, one line about bytes. Lines keep their endings, so
that a missing last one shows. No line is cut off; two lines that look the same on a screen, but are not, are
written with escapes. Small texts are compared in full; in large ones, lines that occur once on each side
split the rest, and what is still too large after that counts as replaced, so that the cost stays bounded.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final, Literal, NamedTuple

from takeback.canonical import write_pretty
from takeback.canonical import write_pretty as written
from takeback.present.secrets import Mask, find_blocks, is_revealing
from takeback.present.visible import escape_invisible, reduce_to_appearance

MAX_PAIRS: Final = 1_000_000
"""Largest product of two lengths that is compared in full."""


class Match(NamedTuple):
    """`size` equal lines from `old` on one side and from `new` on the other."""

    old: int
    new: int
    size: int


def find_matches(old: Sequence[str], new: Sequence[str]) -> tuple[Match, ...]:
    """Return runs of equal lines, in order."""
    return tuple(_join_matches(_match_range(old, new, 0, len(old), 0, len(new))))


def _match_range(
    old: Sequence[str], new: Sequence[str], old_at: int, old_end: int, new_at: int, new_end: int
) -> Iterator[Match]:
    head = 0
    while old_at + head < old_end and new_at + head < new_end and old[old_at + head] == new[new_at + head]:
        head += 1
    tail = 0
    while (
        old_at + head < old_end - tail
        and new_at + head < new_end - tail
        and old[old_end - tail - 1] == new[new_end - tail - 1]
    ):
        tail += 1
    if head:
        yield Match(old_at, new_at, head)
    yield from _match_middle(old, new, old_at + head, old_end - tail, new_at + head, new_end - tail)
    if tail:
        yield Match(old_end - tail, new_end - tail, tail)


def _match_middle(
    old: Sequence[str], new: Sequence[str], old_at: int, old_end: int, new_at: int, new_end: int
) -> Iterator[Match]:
    if old_at == old_end or new_at == new_end:
        return
    if (old_end - old_at) * (new_end - new_at) <= MAX_PAIRS:
        compared = SequenceMatcher(None, old[old_at:old_end], new[new_at:new_end], autojunk=False)
        for one, two, size in compared.get_matching_blocks():
            if size:
                yield Match(old_at + one, new_at + two, size)
        return
    anchors = _find_anchors(old, new, old_at, old_end, new_at, new_end)
    if not anchors:
        return
    for one, two in [*anchors, (old_end, new_end)]:
        yield from _match_range(old, new, old_at, one, new_at, two)
        if one < old_end:
            yield Match(one, two, 1)
        old_at, new_at = one + 1, two + 1


def _find_anchors(
    old: Sequence[str], new: Sequence[str], old_at: int, old_end: int, new_at: int, new_end: int
) -> list[tuple[int, int]]:
    """Find lines that occur once on each side, the longest run of them that is in order on both."""
    counts, others = Counter(old[old_at:old_end]), Counter(new[new_at:new_end])
    places = {new[at]: at for at in range(new_at, new_end) if others[new[at]] == 1}
    pairs = [(at, places[old[at]]) for at in range(old_at, old_end) if counts[old[at]] == 1 and old[at] in places]
    ends: list[int] = []
    best: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        before.append(best[at - 1] if at else -1)
        if at == len(ends):
            ends.append(place)
            best.append(number)
        else:
            ends[at], best[at] = place, number
    chosen: list[tuple[int, int]] = []
    number = best[-1] if best else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _join_matches(found: Iterator[Match]) -> Iterator[Match]:
    last: Match | None = None
    for match in found:
        if last is not None and last.old + last.size == match.old and last.new + last.size == match.new:
            last = Match(last.old, last.new, last.size + match.size)
            continue
        if last is not None:
            yield last
        last = match
    if last is not None:
        yield last


DEFAULT_MODE: Final = "0644"
WIDTH: Final = 76
"""A value whose JSON is no longer than this stays on one line."""
SHORT_DIGEST: Final = 16
LONGEST: Final = 4 << 20
"""Bytes of a file that is still shown line by line."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A content as text."""

    lines: tuple[str, ...]
    """Each with its line feed, but for a last one that has none."""
    inline: str = ""
    """The content on one line, if it has at most one."""
    mode: str = ""
    """A file's mode."""
    secrets: Mapping[str, None] = field(default_factory=dict, compare=False)
    """Texts in it that are not shown, for the name they stand under."""

    @property
    def single(self) -> bool:
        """Whether it fits on one line."""
        return len(self.lines) <= 1


def make_sheet(content: Any) -> Sheet:
    """Return the sheet of a JSON value; a text is its lines."""
    if isinstance(content, str):
        return _make_text_sheet(content)
    lines = format_json_lines(content)
    return Sheet(tuple(f"{line}\n" for line in lines), inline=lines[0] if len(lines) == 1 else "")


def make_items_sheet(content: list[Any]) -> Sheet:
    """Return the sheet of a list whose items were changed: each item on lines of its own."""
    lines = tuple(f"{line}\n" for item in content for line in format_json_lines(item))
    inline = _format_line(content) if len(lines) <= 1 else ""
    return Sheet(lines, inline=inline)


def make_file_sheet(content: bytes, mode: str = "") -> Sheet:
    """Return the sheet of a file: its lines, or one line about bytes that are no text, or too many."""
    what = "too long to show"
    if len(content) <= LONGEST:
        try:
            return _make_text_sheet(content.decode(), mode)
        except UnicodeDecodeError:
            what = "not text"
    digest = hashlib.sha256(content).hexdigest()[:SHORT_DIGEST]
    told = f"({len(content):,} bytes, {what}, sha256 {digest})"
    return Sheet((f"{told}\n",), inline=told, mode=mode)


def _make_text_sheet(text: str, mode: str = "") -> Sheet:
    lines = tuple(f"{line}\n" for line in text.split("\n"))
    lines = (*lines[:-1], lines[-1][:-1]) if lines[-1] != "\n" else lines[:-1]
    inline = _format_line(text) if len(lines) <= 1 else ""
    return Sheet(lines, inline=inline, mode=mode)


def format_json_lines(value: Any, indent: str = "") -> list[str]:
    """Return a JSON value as lines: keys in order, a text of several lines in several lines."""
    deeper = indent + "  "
    inline = _format_line(value)
    if len(inline) <= WIDTH and "\\n" not in inline:
        return [indent + inline]
    match value:
        case dict() if value:
            return [f"{indent}{{", *_format_items(sorted(value.items()), deeper), f"{indent}}}"]
        case list() if value:
            return [f"{indent}[", *_format_items([(None, item) for item in value], deeper), f"{indent}]"]
        case str() if "\n" in value:
            inner = [f"{deeper}{line}" for line in value.removesuffix("\n").split("\n")]
            return [f'{indent}"""', *inner, f'{indent}"""' if value.endswith("\n") else f'{indent}""" (no newline)']
        case _:
            return [indent + inline]


def _format_line(value: Any) -> str:
    return written(value, indent=None, sort_keys=True)


def _format_items(items: list[tuple[str | None, Any]], indent: str) -> list[str]:
    lines: list[str] = []
    for at, (key, item) in enumerate(items):
        shown = format_json_lines(item, indent)
        if key is not None:
            shown[0] = f"{indent}{_format_line(key)}: {shown[0][len(indent) :]}"
        if at < len(items) - 1:
            shown[-1] += ","
        lines += shown
    return lines


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
        return (
            f"@@ -{_format_span(self.old_start, self.old_count)} +{_format_span(self.new_start, self.new_count)} @@"
        )


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


def compare_sheets(address: str, before: Sheet | None, after: Sheet | None, *notes: str) -> Difference:
    """Return what happened at one address."""
    if before is not None and after is not None and before.mode != after.mode:
        notes = (*notes, f"mode {before.mode} -> {after.mode}")
    elif before is None and after is not None and after.mode not in {"", DEFAULT_MODE}:
        notes = (*notes, f"mode {after.mode}")
    hunks = tuple(_build_hunks(before.lines if before else (), after.lines if after else ()))
    return Difference(address, before, after, hunks, notes)


def count_changes(found: Iterable[Difference]) -> tuple[Stat, ...]:
    """Count what came and went in each difference."""
    return tuple(Stat(one.address, one.added, one.removed) for one in found)


def iter_unified_lines(found: Difference, *, clear: bool = False) -> Iterator[tuple[LineRole, str]]:
    """Yield the lines to show, each with its role and safe to print; one line per side where that says it all.

    Secrets are masked, unless `clear` or a person asked for them.
    """
    address = escape_invisible(found.address)
    hide = str if clear or is_revealing() else _make_hider(found)
    if (found.before is None or found.before.single) and (found.after is None or found.after.single):
        yield from _iter_single_lines(found, address, hide)
    else:
        yield "address", f"--- {address if found.before is not None else '(absent)'}"
        yield "address", f"+++ {address if found.after is not None else '(absent)'}"
        for hunk in found.hunks:
            yield "hunk", hunk.header
            yield from _iter_hunk_lines(hunk, hide)
    for note in found.notes:
        yield "note", f"  {address}: {note}"


def _make_hider(found: Difference) -> Hide:
    """Return what takes the secrets of both sides out of a line, so that two of them still differ."""
    sides = [side for side in (found.before, found.after) if side is not None]
    secrets = {secret: None for side in sides for secret in (*side.secrets, *find_blocks("".join(side.lines)))}
    mask = Mask(numbered=True)
    return lambda text: mask.hide(text, secrets)


def _iter_single_lines(found: Difference, address: str, hide: Hide) -> Iterator[tuple[LineRole, str]]:
    one, two = ("" if side is None else hide(side.inline) for side in (found.before, found.after))
    if one == two and found.notes:
        return
    alike = one != two and reduce_to_appearance(one) == reduce_to_appearance(two)
    one, two = (ascii(text) if alike else escape_invisible(text) for text in (one, two))
    if found.before is not None:
        yield "removed", f"- {address} = {one}"
    if found.after is not None:
        yield "added", f"+ {address} = {two}"


def _iter_hunk_lines(hunk: DiffHunk, hide: Hide) -> Iterator[tuple[LineRole, str]]:
    roles: dict[Mark, LineRole] = {" ": "context", "-": "removed", "+": "added"}
    gone, come = ({line.text for line in hunk.lines if line.mark == mark} for mark in "-+")
    moved = gone & come
    alike = {_make_look_key(text) for text in gone - moved} & {_make_look_key(text) for text in come - moved}
    for line in hunk.lines:
        text = hide(line.text.removesuffix("\n"))
        escaped = line.mark != " " and _make_look_key(line.text) in alike
        yield (
            roles[line.mark],
            line.mark + (write_pretty(text, indent=None, ascii_only=True) if escaped else escape_invisible(text)),
        )
        if not line.text.endswith("\n"):
            yield "note", NO_NEWLINE


def _make_look_key(text: str) -> tuple[str, bool]:
    return reduce_to_appearance(text.removesuffix("\n")), text.endswith("\n")


class _Stretch(NamedTuple):
    """Lines from `old_at` up to `old_end` that became those from `new_at` up to `new_end`."""

    old_at: int
    old_end: int
    new_at: int
    new_end: int


def _build_hunks(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[DiffHunk]:
    """Yield changed stretches with their context; those whose contexts touch share a hunk."""
    together: list[_Stretch] = []
    for stretch in _iter_stretches(old, new):
        if together and stretch.old_at - together[-1].old_end > 2 * CONTEXT:
            yield _build_hunk(together, old, new)
            together = []
        together.append(stretch)
    if together:
        yield _build_hunk(together, old, new)


def _iter_stretches(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[_Stretch]:
    at, to = 0, 0
    for match in (*find_matches(old, new), Match(len(old), len(new), 0)):
        if at < match.old or to < match.new:
            yield _Stretch(at, match.old, to, match.new)
        at, to = match.old + match.size, match.new + match.size


def _build_hunk(stretches: list[_Stretch], old: tuple[str, ...], new: tuple[str, ...]) -> DiffHunk:
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


def _format_span(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"
