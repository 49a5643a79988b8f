"""Picking what to take back on a terminal: a list with the preview beside it, or plain questions on a simple one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final

from takeback.cli.keys import draw, whole_screen
from takeback.cli.output import cut, out
from takeback.cli.picking import PickerRow, Picking
from takeback.cli.previewing import Seen, preview_request, previewed
from takeback.cli.pulse import pulse
from takeback.harness import Harness
from takeback.harness.ledger import CHANGES, TOGGLES
from takeback.harness.log import log
from takeback.harness.toggle_requests import last_live, redo_request
from takeback.present.entries import summary
from takeback.present.filters import names_in

MOST: Final = 500
"""So many of the newest entries are offered; older ones can be named."""
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
    """Whether a person sits at both ends."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty() and out.is_terminal


def pick(harness: Harness, *, cascade: bool, strict: bool) -> Picked | None:
    """Let a person pick; None if nothing is to be done. An error where there is nothing to take back."""
    pulse.end()
    newest = last_live(harness.ledger).id
    simple = os.environ.get("TERM", "dumb") in {"dumb", ""} or not out.draws
    most = ASKED if simple else MOST
    rows = list(islice(_rows(harness), most + 1))
    more, rows = len(rows) > most, rows[:most]
    if simple:
        return _ask(harness, tuple(rows), cascade=cascade, strict=strict)
    at = next((at for at, row in enumerate(rows) if row.id == newest), 0)
    return _browse(harness, Picking(tuple(rows), at, cascade=cascade, more=more), strict=strict)


def _rows(harness: Harness) -> Iterator[PickerRow]:
    """Entries that can be taken back, newest first: live changes, and undos of which anything is in force."""
    named, undone = names_in(harness), harness.ledger.history.undone
    for entry in log(harness):
        live = entry.kind in CHANGES and entry.status == "live"
        if live or (entry.kind in TOGGLES and entry.status == "done" and _in_force(entry.off, entry.on, undone)):
            when = entry.at[:16].replace("T", " ")
            evidence = "forced" if entry.forced else entry.grade
            about = ", ".join(word for word in (when, evidence, f"by {entry.by}" if entry.by else "") if word)
            yield PickerRow(entry.id, entry.seq, summary(entry, named), about)


def _in_force(off: Iterable[int], on: Iterable[int], undone: set[int]) -> bool:
    return any(number in undone for number in off) or any(number not in undone for number in on)


def _browse(harness: Harness, picking: Picking, *, strict: bool) -> Picked | None:
    seen: dict[tuple[tuple[str, ...], bool], Seen] = {}
    with whole_screen(out, sys.stdin.fileno()) as keys:
        while True:
            asked = picking.meant, picking.cascade
            if asked not in seen:
                seen[asked] = previewed(harness, asked[0], cascade=asked[1], strict=strict)
            now = seen[asked]
            width, height = shutil.get_terminal_size()
            draw(out, [out.styled(*line) for line in picking.shown(now.lines, width, height)])
            key = keys.next()
            if key in {"q", "escape"}:
                return None
            if key != "enter":
                picking = picking.pressed(key, max(height // 2, 1))
            elif now.token:
                return Picked(*asked[:1], now.token, asked[1])
            else:
                why = "blocked: press c to take along what blocks" if now.cascade else "this cannot be done now"
                picking = replace(picking, said=why)


def _ask(harness: Harness, rows: tuple[PickerRow, ...], *, cascade: bool, strict: bool) -> Picked | None:
    """Ask by number, show the plan, and ask again."""
    width = out.width or 80
    for at, row in enumerate(rows, 1):
        out.print(cut(f"{at:>3}  #{row.number} {row.what}", width))
    chosen = _numbers(_answer("take back which? numbers, such as 1 3, or nothing to leave: "), len(rows))
    if not chosen:
        return None
    ids = tuple(rows[at - 1].id for at in chosen)
    seen = previewed(harness, ids, cascade=cascade, strict=strict)
    _show(seen)
    if seen.cascade and _answer("take along what blocks? y or n: ").casefold() in _YES:
        cascade, seen = True, previewed(harness, ids, cascade=True, strict=strict)
        _show(seen)
    if not seen.token or _answer("take it back? y or n: ").casefold() not in _YES:
        return None
    return Picked(ids, seen.token, cascade)


def confirm_redo(harness: Harness, *, cascade: bool, strict: bool) -> str | None:
    """Show what bringing back the last undo would do, and ask; return the token of what was shown, None for no."""
    pulse.end()
    seen = preview_request(harness, partial(redo_request, names=()), cascade=cascade, strict=strict)
    _show(seen)
    if not seen.token:
        return None
    return seen.token if _answer("bring it back? y or n: ").casefold() in _YES else None


def _show(seen: Seen) -> None:
    for text, style in seen.lines:
        out.print(text, style=style)


def _answer(question: str) -> str:
    out.write(question)
    out.flush()
    return sys.stdin.readline().strip()


def _numbers(answer: str, most: int) -> list[int]:
    """The numbers that were given; none if anything else was."""
    words = answer.replace(",", " ").replace("#", " ").split()
    numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
    good = len(numbers) == len(words) and all(1 <= number <= most for number in numbers)
    if not good:
        out.print(f"found {answer}, expected numbers from 1 to {most}")
    return list(dict.fromkeys(numbers)) if good else []
