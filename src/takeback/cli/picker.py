"""A list on the terminal to pick what to take back, with a preview; plain questions on a simple one.

Keys have names (`up`, `enter`, `space`, …) or are the character itself. Ctrl-C stays an interrupt.
`PickerState` knows no terminal: keys come in by name, lines go out as safe texts. A doubtful change (a
setting that looks misspelled) is asked about here too; where nobody can be asked, it is reported and made.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from takeback.cli.display import STYLES
from takeback.cli.hints import localize_hints
from takeback.cli.line_breaks import count_fitting, cut_at_word, cut_text, measure_cells
from takeback.cli.log import find_headline
from takeback.cli.outcomes import Styled, describe_entry, describe_toggle, list_entry_names, list_plan_notes
from takeback.cli.output import Screen, out
from takeback.cli.pulse import pulse
from takeback.errors import TakebackError
from takeback.harness import Harness, Refused
from takeback.harness.entry_log import iter_entries
from takeback.harness.entry_names import build_redo_request, build_undo_request, find_last_live
from takeback.harness.ledger import CHANGES, TOGGLES
from takeback.harness.outcomes import PlanOutcome
from takeback.present.changes import find_differences, find_file_differences
from takeback.present.diffs import Difference, iter_unified_lines
from takeback.present.entries import describe_prompt, make_entry_namer, summarize_entry
from takeback.present.plans import make_headline
from takeback.present.visible import escape_invisible
from takeback.present.warnings import describe_gone
from takeback.undo import Blocked, Gone, Plan

if TYPE_CHECKING:
    from takeback.harness.toggle import ToggleAsk

NAMES: Final = {
    "\r": "enter",
    "\n": "enter",
    " ": "space",
    "\x04": "q",
    "\x1b": "escape",
    **{f"\x1b{middle}A": "up" for middle in "[O"},
    **{f"\x1b{middle}B": "down" for middle in "[O"},
    **{f"\x1b{middle}H": "home" for middle in "[O"},
    **{f"\x1b{middle}F": "end" for middle in "[O"},
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
}
RESIZED: Final = "resized"
ENDED: Final = "q"
"""What a terminal that went away means: leave."""
_KEY: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])|.", re.DOTALL)
_REST: Final = 0.05
"""Seconds within which the rest of an arrow key follows its first byte."""
_LOOK: Final = 0.5
"""Seconds after which to look whether the terminal has another size."""


class Keys:
    """The keys typed at a terminal that was taken out of line mode."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._typed = ""
        self._size = shutil.get_terminal_size()

    def next(self) -> str:
        """Wait for a key; `resized` if the terminal's size changed meanwhile."""
        while not self._typed:
            if not select.select([self._number], [], [], _LOOK)[0]:
                size = shutil.get_terminal_size()
                if size != self._size:
                    self._size = size
                    return RESIZED
                continue
            if not self._read():
                return ENDED
        if self._typed == "\x1b" and select.select([self._number], [], [], _REST)[0]:
            self._read()
        match = _KEY.match(self._typed)
        key = match[0] if match else self._typed
        self._typed = self._typed[len(key) :]
        return NAMES.get(key, key)

    def _read(self) -> bool:
        try:
            piece = os.read(self._number, 1024)
        except OSError:  # the terminal has gone
            return False
        self._typed += piece.decode(errors="ignore")
        return bool(piece)


@contextmanager
def take_whole_screen(screen: Screen, number: int) -> Iterator[Keys]:
    """Yield the keys of a terminal that is a page to draw on.

    Ctrl-Z is off, because the page would stay behind; a signal that ends the process restores the terminal too.
    """
    before = termios.tcgetattr(number)
    ended = signal.signal(signal.SIGTERM, _leave)
    tty.setcbreak(number)
    mode = termios.tcgetattr(number)
    mode[6][termios.VSUSP] = b"\0"
    termios.tcsetattr(number, termios.TCSADRAIN, mode)
    screen.write("\x1b[?1049h\x1b[?25l")
    try:
        yield Keys(number)
    finally:
        screen.write("\x1b[?25h\x1b[?1049l")
        screen.flush()
        termios.tcsetattr(number, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, ended)


def _leave(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


def draw_lines(screen: Screen, lines: Sequence[str]) -> None:
    """Show lines, from the top of the page; they must be safe, and no wider than the terminal."""
    screen.write("\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[K\x1b[J")
    screen.flush()


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """A preview."""

    lines: tuple[Styled, ...]
    token: str = ""
    """What binds an undo to this preview; empty where nothing can be done."""
    cascade: bool = False
    """Whether it could be done by taking along what blocks."""


def _preview_undo(harness: Harness, ids: Sequence[str], *, cascade: bool, strict: bool) -> PlanPreview:
    return _preview_request(harness, partial(build_undo_request, entries=ids), cascade=cascade, strict=strict)


def _preview_request(harness: Harness, request: ToggleAsk, *, cascade: bool, strict: bool) -> PlanPreview:
    try:
        return _render_outcome(harness.plan(request, cascade=cascade, strict=strict), harness)
    except TakebackError as fault:
        return PlanPreview(((str(fault), "red"),))


def _render_outcome(outcome: PlanOutcome, harness: Harness) -> PlanPreview:
    match outcome:
        case Plan():
            return _render_plan(outcome, harness)
        case Blocked():
            lines = [("blocked by later entries:", "red")]
            lines += [(f"  {describe_entry(number, harness)}: {why}", "red") for number, why in outcome.reasons]
            if not isinstance(outcome.together, Plan):
                return PlanPreview(tuple(lines))
            lines += [(f"c includes {list_entry_names(outcome.entries, harness)}:", "cyan")]
            together = _render_plan(outcome.together, harness)
            return PlanPreview((*lines, *together.lines), cascade=bool(together.token))
        case Gone():
            gone = [(f"captured contents are gone: {'; '.join(describe_gone(outcome))}", "red")]
            more = [("--salvage restores what is left", "cyan")] * bool(outcome.left)
            return PlanPreview((*gone, *more))
        case Refused():
            return PlanPreview(tuple(_render_refusal(outcome)))


def _render_refusal(refused: Refused) -> Iterator[Styled]:
    yield localize_hints(f"refused: {refused.message}"), "red"
    if refused.drift or refused.broken:
        yield (
            localize_hints("'takeback adopt' records what changed as an entry, 'takeback discard' puts it back"),
            "cyan",
        )
    yield from _render_differences(find_differences(refused.drift))


def _render_plan(plan: Plan, harness: Harness) -> PlanPreview:
    first = make_headline(plan, done=False)
    lines: list[Styled] = [(f"would {describe_toggle(plan, harness, 'take back', 'bring back')}", "bold")]
    lines += [(first, "yellow")] if first is not None else []
    files = harness.files_of(plan)
    if isinstance(files, Refused):
        changes = find_differences(plan.changes, lambda: plan.before)
        return PlanPreview((*lines, *_render_differences(changes), *_render_refusal(files)))
    differences = find_file_differences(files) if files else find_differences(plan.changes, lambda: plan.before)
    return PlanPreview((*lines, *_render_differences(differences), *list_plan_notes(plan, harness)), plan.token)


def _render_differences(differences: Iterable[Difference]) -> Iterator[Styled]:
    for difference in differences:
        for role, text in iter_unified_lines(difference):
            yield text, STYLES[role]


SIDE_BY_SIDE: Final = 64
"""Columns from which list and preview stand beside each other; in fewer, one above the other."""
LIST_LEAST, LIST_MOST = 26, 60
RULE: Final = " │ "
KEYS: Final = "↑↓ move  space select  enter undo  c cascade  PgUp PgDn preview  q leave"
KEYS_SHORT: Final = "j k  space  enter  c  q"
_STEPS: Final[Mapping[str, int]] = {"up": -1, "k": -1, "down": 1, "j": 1}


class PickerRow(NamedTuple):
    """An entry that can be taken back."""

    id: str
    number: int
    what: str
    about: str = ""
    """When, on what evidence, by whom and under which prompt it was made."""


@dataclass(frozen=True, slots=True)
class PickerState:
    """Where the cursor is, what is selected, and how far the preview is scrolled."""

    rows: tuple[PickerRow, ...]
    at: int = 0
    selected: frozenset[str] = frozenset()
    cascade: bool = False
    scroll: int = 0
    said: str = ""
    """What to tell on the last line, instead of the keys."""
    more: bool = False
    """Whether there are older entries that are not listed."""

    @property
    def meant(self) -> tuple[str, ...]:
        """The ids of what enter would take back: what is selected, else what the cursor is on."""
        if self.selected:
            return tuple(row.id for row in self.rows if row.id in self.selected)
        return (self.rows[self.at].id,)

    def press_key(self, key: str, page: int) -> PickerState:
        """Return the state after a key that does not end it; `page` is how far a page of the preview scrolls."""
        now = replace(self, said="")
        if key in _STEPS:
            return _move_cursor(now, self.at + _STEPS[key])
        match key:
            case "home" | "g":
                return _move_cursor(now, 0)
            case "end" | "G":
                return _move_cursor(now, len(self.rows) - 1)
            case "space":
                return replace(now, selected=self.selected ^ {self.rows[self.at].id}, scroll=0, cascade=False)
            case "c":
                return replace(now, cascade=not self.cascade, scroll=0)
            case "page down" | "J":
                return replace(now, scroll=self.scroll + page)
            case "page up" | "K":
                return replace(now, scroll=max(0, self.scroll - page))
            case _:
                return now

    def render_page(self, preview: Sequence[Styled], width: int, height: int) -> list[list[Styled]]:
        """Return the lines of the page, each as pieces with their styles."""
        room = max(height - 2, 2)
        older = "; older entries: undo by name" if self.more else ""
        title = f"Undo which? {len(self.selected) or 'none'} selected{older}"
        keys = KEYS if measure_cells(KEYS) <= width else KEYS_SHORT
        last = (
            (cut_text(escape_invisible(self.said), width), "yellow") if self.said else (cut_text(keys, width), "dim")
        )
        if width >= SIDE_BY_SIDE:
            wide = min(max(width * 2 // 5, LIST_LEAST), LIST_MOST)
            right = width - wide - measure_cells(RULE)
            rows, beside = self._list(wide, room), self._preview(preview, right, room)
            padded = [(text + " " * (wide - measure_cells(text)), style) for text, style in rows]
            body = [[row, (RULE, "dim"), line] for row, line in zip(padded, beside, strict=True)]
        else:
            upper = max(room // 3, 1)
            lower = self._preview(preview, width, room - upper - 1)
            body = [[row] for row in self._list(width, upper)] + [[("─" * width, "dim")]] + [[line] for line in lower]
        return [[(cut_text(title, width), "bold")], *body, [last]]

    def _list(self, width: int, height: int) -> list[Styled]:
        first = min(max(0, self.at - height // 2), max(0, len(self.rows) - height))
        lines = [self._row(at, width) for at in range(first, min(first + height, len(self.rows)))]
        return lines + [("", "")] * (height - len(lines))

    def _row(self, at: int, width: int) -> Styled:
        row = self.rows[at]
        mark = ">" if at == self.at else " "
        box = "[x]" if row.id in self.selected else "[ ]"
        line = cut_at_word(f"{mark} {box} #{row.number} {escape_invisible(row.what)}", width)
        return line, "bold" if at == self.at else ""

    def _preview(self, preview: Sequence[Styled], width: int, height: int) -> list[Styled]:
        meant = [row for row in self.rows if row.id in self.meant]
        about = [text for row in meant for text in ((f"#{row.number} {row.what}", ""), (row.about, "dim"))]
        lines = [(text, style) for text, style in (*about, *preview) if text]
        wrapped = [(piece, style) for text, style in lines for piece in _wrap_text(escape_invisible(text), width)]
        first = min(self.scroll, max(0, len(wrapped) - height))
        page = wrapped[first : first + height]
        if first + height < len(wrapped) and page:
            page[-1] = (cut_text(f"… {len(wrapped) - first - height + 1} more lines (PgDn)", width), "dim")
        return page + [("", "")] * (height - len(page))


def _move_cursor(picking: PickerState, to: int) -> PickerState:
    at = min(max(to, 0), len(picking.rows) - 1)
    if picking.selected or at == picking.at:
        return replace(picking, at=at)
    return replace(picking, at=at, scroll=0, cascade=False)


def _wrap_text(text: str, width: int) -> Iterator[str]:
    while measure_cells(text) > width:
        end = max(count_fitting(text, width), 1)
        space = text.rfind(" ", 1, end + 1)
        end = space if space > end // 2 else end
        yield text[:end]
        text = "  " + text[end:].lstrip() if width > 12 else text[end:]  # noqa: PLR2004 - room for an indent
    yield text


MOST: Final = 500
"""So many of the newest entries are offered; older entries: undo by name."""
ASKED: Final = 20
"""So many where they are asked for by number."""
_YES: Final = frozenset({"y", "yes"})


@dataclass(frozen=True, slots=True)
class Picked:
    """What to take back, bound to what was seen."""

    ids: tuple[str, ...]
    token: str
    cascade: bool


def can_ask() -> bool:
    """Return whether a person sits at both ends."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty() and out.is_terminal


def pick_entries(harness: Harness, *, cascade: bool, strict: bool) -> Picked | None:
    """Let a person pick; None if nothing is to be done. An error where there is nothing to take back."""
    pulse.end()
    newest = find_last_live(harness.ledger).id
    simple = os.environ.get("TERM", "dumb") in {"dumb", ""} or not out.draws
    most = ASKED if simple else MOST
    rows = list(islice(_iter_rows(harness), most + 1))
    more, rows = len(rows) > most, rows[:most]
    if simple:
        return _ask_by_number(harness, tuple(rows), cascade=cascade, strict=strict)
    at = next((at for at, row in enumerate(rows) if row.id == newest), 0)
    return _browse(harness, PickerState(tuple(rows), at, cascade=cascade, more=more), strict=strict)


def _iter_rows(harness: Harness) -> Iterator[PickerRow]:
    """Yield entries that can be taken back, newest first: live changes, and undos still partly in force."""
    named, undone = make_entry_namer(harness), harness.ledger.history.undone
    for entry in iter_entries(harness):
        live = entry.kind in CHANGES and entry.status == "live"
        in_force = not undone.isdisjoint(entry.off) or not undone.issuperset(entry.on)
        if live or (entry.kind in TOGGLES and entry.status == "done" and in_force):
            when = entry.at[:16].replace("T", " ")
            evidence = "forced" if entry.forced else entry.grade
            prompt = f"under {quoted}" if (quoted := describe_prompt(entry)) else ""
            about = ", ".join(word for word in (when, evidence, f"by {entry.by}" if entry.by else "", prompt) if word)
            brief = replace(entry, effect=(), readers={})
            what = summarize_entry(brief, named, find_headline(harness, entry), prompt=False)
            yield PickerRow(entry.id, entry.seq, what, about)


def _browse(harness: Harness, picking: PickerState, *, strict: bool) -> Picked | None:
    seen: dict[tuple[tuple[str, ...], bool], PlanPreview] = {}
    with take_whole_screen(out, sys.stdin.fileno()) as keys:
        while True:
            asked = picking.meant, picking.cascade
            if asked not in seen:
                seen[asked] = _preview_undo(harness, asked[0], cascade=asked[1], strict=strict)
            now = seen[asked]
            width, height = shutil.get_terminal_size()
            draw_lines(out, [out.style_pieces(*line) for line in picking.render_page(now.lines, width, height)])
            key = keys.next()
            if key in {"q", "escape"}:
                return None
            if key != "enter":
                picking = picking.press_key(key, max(height // 2, 1))
            elif now.token:
                return Picked(*asked[:1], now.token, asked[1])
            else:
                why = "blocked: press c to include the blocking entries" if now.cascade else "this cannot be done now"
                picking = replace(picking, said=why)


def _ask_by_number(harness: Harness, rows: tuple[PickerRow, ...], *, cascade: bool, strict: bool) -> Picked | None:
    width = out.width or 80
    for at, row in enumerate(rows, 1):
        out.print(cut_text(f"{at:>3}  #{row.number} {row.what}", width))
    chosen = _parse_numbers(_read_answer("undo which? numbers, such as 1 3, or nothing to leave: "), len(rows))
    if not chosen:
        return None
    ids = tuple(rows[at - 1].id for at in chosen)
    seen = _preview_undo(harness, ids, cascade=cascade, strict=strict)
    _print_preview(seen)
    if seen.cascade and _read_answer("include the blocking entries? y or n: ").casefold() in _YES:
        cascade, seen = True, _preview_undo(harness, ids, cascade=True, strict=strict)
        _print_preview(seen)
    if not seen.token or _read_answer("undo it? y or n: ").casefold() not in _YES:
        return None
    return Picked(ids, seen.token, cascade)


def confirm_redo(harness: Harness, *, cascade: bool, strict: bool) -> str | None:
    """Show what bringing back the last undo would do, and ask; return the token of what was shown, None for no."""
    pulse.end()
    seen = _preview_request(harness, partial(build_redo_request, names=()), cascade=cascade, strict=strict)
    _print_preview(seen)
    if not seen.token:
        return None
    return seen.token if _read_answer("bring it back? y or n: ").casefold() in _YES else None


def _print_preview(seen: PlanPreview) -> None:
    for text, style in seen.lines:
        out.print(text, style=style)


def _read_answer(question: str) -> str:
    out.write(question)
    out.flush()
    return sys.stdin.readline().strip()


def _parse_numbers(answer: str, most: int) -> list[int]:
    words = answer.replace(",", " ").replace("#", " ").split()
    numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
    if len(numbers) == len(words) and all(1 <= number <= most for number in numbers):
        return list(dict.fromkeys(numbers))
    out.print(f"found {answer}, expected numbers from 1 to {most}")
    return []
