"""Titles of what changed: a line or item by its position, and how many of what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from takeback.state import ABSENT, SURFACES, State
from takeback.state.address import END, FRAME, PATH, describe_part, is_part
from takeback.state.items import Items
from takeback.state.part_slots import get_parts
from takeback.state.parts import Parts
from takeback.state.slots import Slot, describe_slot, find_containing_slot, get_slot

NEWLINE: Final = "newline at the end"
WHOLES: Final = {"files": "file", "project": "file", "prompts": "prompt"}
UNITS: Final = ("line", "item", "value", "file", "prompt", "mode", "path", NEWLINE)


def make_title(slot: Slot, *states: State) -> str:
    """Return a slot as people write it; a part by its position in the first of some states that has it."""
    part = describe_written_part(slot, *states)
    return name_whole(slot, *states) + (f" {part}" if part else "")


def name_whole(slot: Slot, *states: State) -> str:
    """Return the value a slot is, or lies in, as people write it; a file by where it stands in the first state."""
    return describe_slot(find_containing_slot(slot), *states)


def describe_written_part(slot: Slot, *states: State) -> str | None:
    """Return which part of a value a slot is, by its position in the first state that has it; None for a whole."""
    if not is_part(slot[-1]):
        return None
    for state in states:
        parts = _find_parts(slot, state)
        position = None if parts is None else parts.position(slot[-1][1:])
        if position is not None:
            return describe_part(slot[-1], name_unit(slot, state), position)
    return describe_part(slot[-1], name_unit(slot, *states))


def name_unit(slot: Slot, *states: State) -> str:
    """Return what a slot is called: a line, an item, a file, a prompt, or a value."""
    if not is_part(slot[-1]):
        return WHOLES.get(slot[0], "value")
    if slot[-1][1:] == END:
        return NEWLINE
    if slot[-1][1:] in {FRAME, PATH}:
        return describe_part(slot[-1], "")
    for state in states:
        parts = _find_parts(slot, state)
        if parts is not None:
            return "item" if isinstance(parts, Items) else "line"
    return SURFACES[slot[0]].part_word


def count_units(slots: Iterable[Slot], *states: State) -> str:
    """Return how many of what: 3 lines, 1 value and 2 items. A final newline counts only where nothing else does."""
    units = _tally_units(slots, states)
    if len(units) > 1:
        units.pop(NEWLINE, None)
    return join_words([f"{number} {unit}{'' if number == 1 else 's'}" for unit, number in units.items()])


def point_at_units(slots: Iterable[Slot], *states: State) -> str:
    """Return a phrase for a reader who sees the slots: this line, these 3 lines, this line and these 2 values."""
    units = _tally_units(slots, states)
    return join_words(
        [f"this {unit}" if number == 1 else f"these {number} {unit}s" for unit, number in units.items()]
    )


def join_words(words: list[str]) -> str:
    """Join words as in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _tally_units(slots: Iterable[Slot], states: tuple[State, ...]) -> dict[str, int]:
    tally = Counter(name_unit(slot, *states) for slot in slots)
    return {unit: tally[unit] for unit in sorted(tally, key=UNITS.index)}


def _find_parts(slot: Slot, state: State) -> Parts | None:
    content = get_slot(state, find_containing_slot(slot))
    return None if content is ABSENT else get_parts(content)


def format_count(number: int, singular: str, several: str = "") -> str:
    """Return a number of things in words: 1 test, 2 tests; `several` where that is not `one` with an s."""
    return f"{number} {singular if number == 1 else several or f'{singular}s'}"
