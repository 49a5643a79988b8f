"""A list to pick entries from with a preview beside it, as a value: what a key does to it, and the lines it shows.

Knows no terminal: keys come in by name, lines go out as safe texts with their styles, none wider than asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from takeback.cli.output import cells, cut
from takeback.cli.plans import Styled
from takeback.present.visible import visible

SIDE_BY_SIDE: Final = 64
"""Columns from which list and preview stand beside each other; in fewer, one above the other."""
LIST_LEAST, LIST_MOST = 26, 60
RULE: Final = " │ "
KEYS: Final = "↑↓ move  space select  enter take back  c cascade  PgUp PgDn preview  q leave"
KEYS_SHORT: Final = "j k  space  enter  c  q"
_STEPS: Final[Mapping[str, int]] = {"up": -1, "k": -1, "down": 1, "j": 1}


class PickerRow(NamedTuple):
    """An entry that can be taken back."""

    id: str
    number: int
    what: str
    about: str = ""
    """When, on what evidence and by whom it was made."""


@dataclass(frozen=True, slots=True)
class Picking:
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

    def pressed(self, key: str, page: int) -> Picking:
        """What a key that does not end it makes of it; `page` is how far a page of the preview scrolls."""
        now = replace(self, said="")
        if key in _STEPS:
            return _moved(now, self.at + _STEPS[key])
        match key:
            case "home" | "g":
                return _moved(now, 0)
            case "end" | "G":
                return _moved(now, len(self.rows) - 1)
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

    def shown(self, preview: Sequence[Styled], width: int, height: int) -> list[list[Styled]]:
        """The lines of the page, each as pieces with their styles."""
        room = max(height - 2, 2)
        older = "; older ones can be named" if self.more else ""
        title = f"Take back which? {len(self.selected) or 'none'} selected{older}"
        keys = KEYS if cells(KEYS) <= width else KEYS_SHORT
        last = (cut(visible(self.said), width), "yellow") if self.said else (cut(keys, width), "dim")
        if width >= SIDE_BY_SIDE:
            wide = min(max(width * 2 // 5, LIST_LEAST), LIST_MOST)
            right = width - wide - cells(RULE)
            rows, beside = self._list(wide, room), self._preview(preview, right, room)
            body = [[_padded(row, wide), (RULE, "dim"), line] for row, line in zip(rows, beside, strict=True)]
        else:
            upper = max(room // 3, 1)
            lower = self._preview(preview, width, room - upper - 1)
            body = [[row] for row in self._list(width, upper)] + [[("─" * width, "dim")]] + [[line] for line in lower]
        return [[(cut(title, width), "bold")], *body, [last]]

    def _list(self, width: int, height: int) -> list[Styled]:
        first = min(max(0, self.at - height // 2), max(0, len(self.rows) - height))
        told = [self._row(at, width) for at in range(first, min(first + height, len(self.rows)))]
        return told + [("", "")] * (height - len(told))

    def _row(self, at: int, width: int) -> Styled:
        row = self.rows[at]
        mark = ">" if at == self.at else " "
        box = "[x]" if row.id in self.selected else "[ ]"
        return cut(f"{mark} {box} #{row.number} {visible(row.what)}", width), "bold" if at == self.at else ""

    def _preview(self, preview: Sequence[Styled], width: int, height: int) -> list[Styled]:
        meant = [row for row in self.rows if row.id in self.meant]
        about = [told for row in meant for told in ((f"#{row.number} {row.what}", ""), (row.about, "dim"))]
        lines = [(text, style) for text, style in (*about, *preview) if text]
        wrapped = [(piece, style) for text, style in lines for piece in _wrapped(visible(text), width)]
        first = min(self.scroll, max(0, len(wrapped) - height))
        told = wrapped[first : first + height]
        if first + height < len(wrapped) and told:
            told[-1] = (cut(f"… {len(wrapped) - first - height + 1} more lines (PgDn)", width), "dim")
        return told + [("", "")] * (height - len(told))


def _moved(picking: Picking, to: int) -> Picking:
    at = min(max(to, 0), len(picking.rows) - 1)
    if picking.selected or at == picking.at:
        return replace(picking, at=at)
    return replace(picking, at=at, scroll=0, cascade=False)


def _padded(piece: Styled, width: int) -> Styled:
    text, style = piece
    return text + " " * (width - cells(text)), style


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The text in pieces that fit, at spaces where there are any."""
    while cells(text) > width:
        end = _fitting(text, width)
        space = text.rfind(" ", 1, end + 1)
        end = space if space > end // 2 else end
        yield text[:end]
        text = "  " + text[end:].lstrip() if width > 12 else text[end:]  # noqa: PLR2004 - room for an indent
    yield text


def _fitting(text: str, width: int) -> int:
    """How many characters fit; at least one."""
    taken = 0
    for at, character in enumerate(text):
        taken += cells(character)
        if taken > width:
            return max(at, 1)
    return len(text)
