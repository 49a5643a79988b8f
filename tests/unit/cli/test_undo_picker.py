"""The list to pick from, as a value: what keys do to it, and lines that fit."""

from __future__ import annotations

import pytest

from takeback.cli.line_breaks import measure_cells
from takeback.cli.picker import PickerRow, PickerState

ROWS = tuple(PickerRow(f"id{number}", number, f"did thing {number} " + "x" * 60) for number in range(40, 0, -1))
PREVIEW = [("would take back something", "bold"), *((f"+line {at} " + "y" * 70, "green") for at in range(50))]


def page(picking: PickerState, width: int, height: int = 24) -> list[str]:
    return ["".join(text for text, _ in line) for line in picking.render_page(PREVIEW, width, height)]


def pressed(picking: PickerState, *keys: str) -> PickerState:
    for key in keys:
        picking = picking.press_key(key, 10)
    return picking


def test_arrows_and_letters_move_and_stop_at_both_ends():
    start = PickerState(ROWS)
    presses = (("down",), ("j", "j", "k"), ("up",), ("G", "down"), ("end", "g"))
    assert [pressed(start, *keys).at for keys in presses] == [1, 1, 0, 39, 0]


def test_enter_acts_on_the_cursor_unless_entries_are_selected():
    start = PickerState(ROWS, at=2)
    assert start.meant == ("id38",)
    several = pressed(start, "space", "down", "down", "space", "down")
    assert several.meant == ("id38", "id36")
    assert pressed(several, "up", "space").meant == ("id38",)


def test_the_cascade_choice_is_reset_for_each_entry():
    assert pressed(PickerState(ROWS), "c").cascade
    assert not pressed(PickerState(ROWS), "c", "down").cascade
    assert not pressed(PickerState(ROWS), "c", "space").cascade


@pytest.mark.parametrize("width", [20, 40, 63, 64, 80, 132, 300])
@pytest.mark.parametrize("height", [5, 24, 60])
def test_a_page_is_as_high_as_the_terminal_and_never_wider(width, height):
    for picking in (PickerState(ROWS), pressed(PickerState(ROWS), "G", "space"), PickerState(ROWS, said="no " * 100)):
        lines = page(picking, width, height)
        assert len(lines) == height
        assert max(map(measure_cells, lines)) <= width


def test_list_and_preview_fit_side_by_side_on_eighty_columns():
    lines = page(PickerState(ROWS, at=1), 80)
    row = next(line for line in lines if line.startswith("> [ ] #39"))
    assert " │ " in row
    assert any("│ would take back something" in line for line in lines)
    assert "enter undo" in lines[-1]


def test_wide_characters_and_control_characters_keep_the_columns():
    odd = (PickerRow("a", 1, "漢字" * 40 + "\x1b[31m"), *ROWS)
    lines = page(PickerState(odd), 80)
    assert max(map(measure_cells, lines)) <= 80
    assert "\x1b" not in "".join(lines)


def test_the_preview_scrolls_to_its_end_and_shows_the_remaining_lines():
    start = PickerState(ROWS)
    assert "more lines (PgDn)" in "\n".join(page(start, 80))
    down = pressed(start, *["page down"] * 50)
    assert "line 49" in "\n".join(page(down, 80))
    assert pressed(down, "down").scroll == 0


def test_the_page_mentions_older_unlisted_entries():
    assert "older entries: undo by name" in page(PickerState(ROWS, more=True), 80)[0]
    assert "older" not in page(PickerState(ROWS), 80)[0]
