"""Where a part stands: counted from the front, whatever was written, added or removed before it."""

from __future__ import annotations

from takeback.state.items import Items
from takeback.state.text import Text


def test_the_position_of_a_line_counts_the_lines_before_it():
    text = Text.of("".join(f"{number}\n" for number in range(10)))
    text = (
        text.replace_once("2\n", "")
        .replace_once("5\n", "five\n5b\n")
        .replace_once("7\n", "seven\n")
        .replace_once("", "last")
    )
    for position, link in enumerate(text.links()):
        assert text.position(link.id) == position, link
    assert text.position("2") is None
    assert text.position("end") is None
    assert text.position("n99") is None


def test_the_position_of_an_item_counts_the_items_before_it():
    items = Items.of(("a", "b", "c")).insert_item(1, "x").drop("0").insert_item(9, "y")
    assert items.whole() == ("x", "b", "c", "y")
    assert [items.position(link.id) for link in items.links()] == [0, 1, 2, 3]
    assert items.position("0") is None
