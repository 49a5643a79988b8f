"""What speeds up finding lines, stretches and items of long values finds exactly what a plain search finds."""

from __future__ import annotations

import random

import pytest

from takeback.errors import OperationFailed
from takeback.state import items, text_index
from takeback.state.items import Items
from takeback.state.text import Text
from takeback.state.text_index import Breaks, Words


def plain(text: str, needle: str, start: int, end: int) -> list[int]:
    return [at for at in range(start, end - len(needle) + 1) if text.startswith(needle, at)]


def random_text(rng: random.Random, length: int) -> str:
    return "".join(
        rng.choice(["a", "b", "ab", " ", "x1", "\n", "\n\n", "é", ".", "–", "\u2028", "\x85"]) for _ in range(length)
    )


def test_lines_are_counted_and_found_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_index, "LINE_BLOCK", 7)
    rng = random.Random(1)
    for _ in range(200):
        text = random_text(rng, rng.randrange(60))
        found = Breaks(text)
        for offset in range(len(text) + 1):
            assert found.before(offset) == text[:offset].count("\n")
        begins = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
        assert [found.start(line) for line in range(len(begins))] == begins
        assert found.start(len(begins)) == len(text)


def test_a_passage_is_found_at_any_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_index, "WORD_BLOCK", 6)
    monkeypatch.setattr(text_index, "LONG", 12)
    monkeypatch.setattr(text_index, "FEW", 3)
    rng = random.Random(2)
    for _ in range(300):
        text = random_text(rng, rng.randrange(20, 120))
        index = Words(text)
        for _ in range(30):
            at = rng.randrange(len(text))
            needle = text[at : at + rng.randrange(1, 7)] + rng.choice(["", "", "", "z"])
            start = rng.randrange(len(text))
            end = rng.randrange(start, len(text) + 1)
            assert list(index.places(needle, start, end)) == plain(text, needle, start, end)


def test_an_edit_of_a_long_text_changes_only_its_passage() -> None:
    lines = [f"Rule {at}: check part {at % 97}.\n" for at in range(20_000)]
    text, expected = Text.of("".join(lines)), list(lines)
    rng = random.Random(3)
    for turn in range(40):
        at = rng.randrange(len(lines))
        new = f"Turn {turn} rewrote what was rule {at}.\n"
        text = text.replace_once(expected[at], new)
        expected[at] = new
    assert text.whole() == "".join(expected)
    with pytest.raises(OperationFailed, match="more than once"):
        text.replace_once("check part 5.\nRule", "x")
    with pytest.raises(OperationFailed, match="is not in it"):
        text.replace_once("Rule 20000: check part 18.", "x")


def test_an_item_is_found_by_value_and_type_in_a_long_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "MANY", 4)
    values = ("a", 1, 1.0, True, -0.0, 0.0, None, "None", ("b",), "b", "b")
    found = Items.of(values)
    for _ in range(3):
        assert [found.only(value).id for value in values[:9]] == [str(at) for at in range(9)]
        for wrong, said in (("b", "more than once"), (False, "is not in it"), (("a",), "is not in it")):
            with pytest.raises(OperationFailed, match=said):
                found.only(wrong)
        found = found.drop("9").put(found.only("a")).drop("0").insert_item(0, "a")
        values = ("a", *values[1:9], "b")
        assert found.whole() == values
        found = Items.of((*values, "b"))


def test_texts_edited_apart_are_equal_exactly_where_their_characters_are() -> None:
    rng = random.Random(4)
    equal = 0
    for _ in range(300):
        start = Text.of("".join(f"{rng.choice('ab')}{at % 3}\n" for at in range(6)))
        one, two = start, start
        for _ in range(rng.randrange(4)):
            lines = [link for link in start.links() if rng.random() < 0.4]
            for link in lines:
                one, two = (
                    text.drop(link.id)
                    if rng.random() < 0.3
                    else text.put(link._replace(record=rng.choice(lines).record))
                    for text in (one, two)
                )
        for text in (one, two):
            assert (text == start) == (text.whole() == start.whole())
        assert (one == two) == (one.whole() == two.whole())
        equal += one == two
    assert 10 < equal < 290
