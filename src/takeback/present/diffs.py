"""Changes as unified diffs: hunks with line numbers and three lines of context, and how much came and went.

Pure: from two sheets of lines to values that a terminal or a page can draw. A sheet is the content of one
slot: lines of a text or file, pretty lines of a value, one line about bytes. Lines keep their endings, so
that a missing last one shows. No line is cut off; two lines that look the same on a screen, but are not, are
written with escapes. What differs is found by `takeback.sequences`, at a bounded cost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from takeback.canonical import write_pretty
from takeback.present.visible import escape_invisible, reduce_to_appearance
from takeback.secret_mask import Mask, find_blocks, is_revealing
from takeback.sequences import Stretch, find_differing
from takeback.state.edit_script import has_word

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
    path: str = ""
    """Where a file stands."""
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
    return make_digest_sheet(len(content), hashlib.sha256(content).hexdigest(), mode, what)


def make_digest_sheet(size: int, digest: str, mode: str = "", what: str = "too long to show") -> Sheet:
    """Return the sheet of a file of which no line is shown."""
    description = f"({size:,} bytes, {what}, sha256 {digest[:SHORT_DIGEST]})"
    return Sheet((f"{description}\n",), inline=description, mode=mode)


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
    return write_pretty(value, indent=None, sort_keys=True)


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
    if before is not None and after is not None and before.path != after.path:
        notes = (*notes, f"moved from {escape_invisible(before.path)} to {escape_invisible(after.path)}")
    if before is not None and after is not None and before.mode != after.mode:
        notes = (*notes, f"mode {before.mode} -> {after.mode}")
    elif before is None and after is not None and after.mode not in {"", DEFAULT_MODE}:
        notes = (*notes, f"mode {after.mode}")
    hunks = tuple(_build_hunks(before.lines if before else (), after.lines if after else ()))
    return Difference(address, before, after, hunks, notes)


def count_changes(differences: Iterable[Difference]) -> tuple[Stat, ...]:
    """Count what came and went in each difference."""
    return tuple(Stat(difference.address, difference.added, difference.removed) for difference in differences)


def iter_unified_lines(difference: Difference, *, clear: bool = False) -> Iterator[tuple[LineRole, str]]:
    """Yield the lines to show, each with its role and safe to print; one line per side where that says it all.

    Secrets are masked, unless `clear` or a person asked for them.
    """
    address = escape_invisible(difference.address)
    hide = str if clear or is_revealing() else _make_hider(difference)
    if (difference.before is None or difference.before.single) and (
        difference.after is None or difference.after.single
    ):
        yield from _iter_single_lines(difference, address, hide)
    else:
        yield "address", f"--- {address if difference.before is not None else '(absent)'}"
        yield "address", f"+++ {address if difference.after is not None else '(absent)'}"
        for hunk in difference.hunks:
            yield "hunk", hunk.header
            yield from _iter_hunk_lines(hunk, hide)
    for note in difference.notes:
        yield "note", f"  {address}: {note}"


def iter_lines_after(difference: Difference) -> Iterator[str]:
    """Yield the lines of what is there afterwards, changed or not, each safe to print; secrets are masked."""
    hide = str if is_revealing() else _make_hider(difference)
    for line in () if difference.after is None else difference.after.lines:
        yield escape_invisible(hide(line.removesuffix("\n")))


def _make_hider(difference: Difference) -> Hide:
    """Return what takes the secrets of both sides out of a line, so that two of them still differ."""
    sides = [side for side in (difference.before, difference.after) if side is not None]
    secrets = {secret: None for side in sides for secret in (*side.secrets, *find_blocks("".join(side.lines)))}
    mask = Mask(numbered=True)
    return lambda text: mask.hide(text, secrets)


def _iter_single_lines(difference: Difference, address: str, hide: Hide) -> Iterator[tuple[LineRole, str]]:
    old, new = ("" if side is None else hide(side.inline) for side in (difference.before, difference.after))
    if old == new and difference.notes:
        return
    alike = old != new and reduce_to_appearance(old) == reduce_to_appearance(new)
    old, new = (ascii(text) if alike else escape_invisible(text) for text in (old, new))
    if difference.before is not None:
        yield "removed", f"- {address} = {old}"
    if difference.after is not None:
        yield "added", f"+ {address} = {new}"


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


def _build_hunks(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[DiffHunk]:
    together: list[Stretch] = []
    for stretch in find_differing(old, new, has_word):
        if together and stretch.low - together[-1].high > 2 * CONTEXT:
            yield _build_hunk(together, old, new)
            together = []
        together.append(stretch)
    if together:
        yield _build_hunk(together, old, new)


def _build_hunk(stretches: list[Stretch], old: tuple[str, ...], new: tuple[str, ...]) -> DiffHunk:
    first, last = stretches[0], stretches[-1]
    start = max(first.low - CONTEXT, 0)
    end = min(last.high + CONTEXT, len(old))
    shift = first.first - first.low
    lines: list[DiffLine] = []
    at = start
    for stretch in (*stretches, Stretch(end, end, 0, 0)):
        lines += [DiffLine(" ", old[n], n + 1, n + 1 + shift) for n in range(at, stretch.low)]
        lines += [DiffLine("-", old[n], n + 1, None) for n in range(stretch.low, stretch.high)]
        lines += [DiffLine("+", new[n], None, n + 1) for n in range(stretch.first, stretch.last)]
        at, shift = stretch.high, stretch.last - stretch.high
    olds = [line.old for line in lines if line.old is not None]
    news = [line.new for line in lines if line.new is not None]
    return DiffHunk(tuple(lines), olds[0] if olds else start, len(olds), news[0] if news else first.first, len(news))


def _format_span(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"
