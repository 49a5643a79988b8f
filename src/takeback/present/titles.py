"""What changes are about, in words: a line or item by where it stands, and how many of what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from takeback.state import ABSENT, SURFACES, State
from takeback.state.inside import parts_of
from takeback.state.items import Items
from takeback.state.parts import END, FRAME, Parts, is_part, part_title
from takeback.state.slots import Slot, get_slot, slot_title, whole_of

NEWLINE: Final = "newline at the end"
WHOLES: Final = {"files": "file", "prompts": "prompt"}
UNITS: Final = ("line", "item", "value", "file", "prompt", "mode", NEWLINE)


def title_in(slot: Slot, *states: State) -> str:
    """A slot as people write it; a part by its position in the first of some states that has it."""
    part = part_in(slot, *states)
    return slot_title(whole_of(slot)) + (f" {part}" if part else "")


def part_in(slot: Slot, *states: State) -> str | None:
    """Which part of a value a slot is, by its position in the first of some states that has it; None for a whole."""
    if not is_part(slot[-1]):
        return None
    for state in states:
        parts = _parts(slot, state)
        position = None if parts is None else parts.position(slot[-1][1:])
        if position is not None:
            return part_title(slot[-1], unit_of(slot, state), position)
    return part_title(slot[-1], unit_of(slot, *states))


def unit_of(slot: Slot, *states: State) -> str:
    """What a slot is called: a line, an item, a file, a prompt, or a value."""
    if not is_part(slot[-1]):
        return WHOLES.get(slot[0], "value")
    if slot[-1][1:] == END:
        return NEWLINE
    if slot[-1][1:] == FRAME:
        return "mode"
    for state in states:
        parts = _parts(slot, state)
        if parts is not None:
            return "item" if isinstance(parts, Items) else "line"
    return SURFACES[slot[0]].part_word


def counted(slots: Iterable[Slot], *states: State) -> str:
    """How many of what: 3 lines, 1 value and 2 items. A newline at the end counts only where nothing else does."""
    units = _units(slots, states)
    if len(units) > 1:
        units.pop(NEWLINE, None)
    return listed([f"{number} {unit}{'' if number == 1 else 's'}" for unit, number in units.items()])


def pointed(slots: Iterable[Slot], *states: State) -> str:
    """Which ones, for a reader who sees them: this line, these 3 lines, this line and these 2 values."""
    units = _units(slots, states)
    return listed([f"this {unit}" if number == 1 else f"these {number} {unit}s" for unit, number in units.items()])


def listed(words: list[str]) -> str:
    """Words in a row, as in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _units(slots: Iterable[Slot], states: tuple[State, ...]) -> dict[str, int]:
    found = Counter(unit_of(slot, *states) for slot in slots)
    return {unit: found[unit] for unit in sorted(found, key=UNITS.index)}


def _parts(slot: Slot, state: State) -> Parts | None:
    content = get_slot(state, whole_of(slot))
    return None if content is ABSENT else parts_of(content)


def how_many(number: int, one: str, several: str = "") -> str:
    """A number of things in words: 1 test, 2 tests; `several` where that is not `one` with an s."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"
