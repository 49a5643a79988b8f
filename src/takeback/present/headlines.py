"""What a change did, shown by its lines: the first that came or went, how many did, and all of them for a search.

Worked out from an entry's own writes, without a state: a line of a text is itself, anything else is a name and a
value. Secrets are masked, unless a person asked for them; forgotten contents give no lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from takeback.canonical import encode
from takeback.harness.entry_log import content_to_json
from takeback.present.secrets import is_revealing, mask_secrets, mask_text_secrets
from takeback.state import ABSENT, SURFACES
from takeback.state.chain import Link
from takeback.state.forgotten import has_forgotten
from takeback.state.slots import Slot, find_containing_slot
from takeback.undo import SlotChange, Write

MOST_TEXT: Final = 64 << 10
"""Characters of one entry that are searched."""
LONGEST: Final = 200
"""Characters of a headline."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The first changed line of an entry, and how many came and went."""

    line: str = ""
    """With its sign: `+ Use tabs.`, `- Use spaces.`; empty where no line tells it."""
    added: int = 0
    removed: int = 0

    @property
    def count(self) -> str:
        """How many lines came and went: `+2 −1`."""
        return f"+{self.added} −{self.removed}" if self.added or self.removed else ""


def make_headline_of(writes: Iterable[Write | SlotChange]) -> Headline:
    """Return the headline of some writes."""
    return make_headline_from(list(iter_changed_lines(writes)))


def make_headline_from(lines: list[tuple[str, str]]) -> Headline:
    """Return the headline of changed lines."""
    added = sum(mark == "+" for mark, _ in lines)
    shown = next((line for line in lines if line[1].strip() and line[0] == "+"), None)
    shown = shown or next((line for line in lines if line[1].strip()), None)
    text = "" if shown is None else f"{shown[0]} {' '.join(shown[1].split())}"[:LONGEST]
    return Headline(text, added, len(lines) - added)


def iter_changed_lines(writes: Iterable[Write | SlotChange]) -> Iterator[tuple[str, str]]:
    """Yield the lines that went and came, each with its mark."""
    for write in writes:
        old, new = (_list_lines(write.slot, side) for side in (write.before, write.after))
        gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
        for mark, lines, left in (("-", old, gone), ("+", new, come)):
            for line in lines:
                if left[line] > 0:
                    left[line] -= 1
                    yield mark, line


def _list_lines(slot: Slot, content: Any) -> list[str]:
    if content is ABSENT or has_forgotten(content):
        return []
    name = ".".join(map(str, find_containing_slot(slot)[1:]))
    if not isinstance(content, Link):
        text = SURFACES[slot[0]].text(content) if slot[0] in SURFACES else None
        if text is not None:
            return _mask(_decode(text[0])[:MOST_TEXT]).splitlines()
    plain = content_to_json(slot, content) if slot[0] in SURFACES else None
    if isinstance(content, Link) and isinstance(plain, str) and slot[0] not in {"config", "tools", "routing"}:
        return [_mask(plain.rstrip("\n"))]
    if isinstance(plain, list | tuple):
        return [_name_value(slot, name, item) for item in plain]
    return [_name_value(slot, name, plain)]


def _decode(data: Any) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


def _name_value(slot: Slot, name: str, value: Any) -> str:
    shown = value if is_revealing() else mask_secrets(value, name if slot[0] == "config" else "")
    return _mask(f"{name}: {shown if isinstance(shown, str) else encode(shown)}")


def _mask(text: str) -> str:
    return text if is_revealing() else mask_text_secrets(text)
