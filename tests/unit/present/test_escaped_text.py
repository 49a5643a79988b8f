"""Text for a screen: nothing in it is obeyed, nothing in it is hidden."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.present.visible import escape_invisible, reduce_to_appearance


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, grün, 漢字, 👩‍💻", "plain, grün, 漢字, 👩‍💻"),
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("a\x9b2J", "a\\x9b2J"),
        ("tab\there\r", "tab\\there\\r"),
        ("\x7f\x00", "\\x7f\\x00"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tags \U000e0041", "tags \\U000e0041"),
        ("lone \udcff", "lone \\udcff"),
        ("line\u2028separator", "line\\u2028separator"),
        ("two\nlines", "two\\nlines"),
    ],
)
def test_characters_a_terminal_obeys_or_hides_are_escaped(text, shown):
    assert escape_invisible(text) == shown


def test_line_feeds_stay_where_lines_are_meant():
    assert escape_invisible("a\nb\x1b\nc", lines=True) == "a\nb\\x1b\nc"


@given(st.text(st.characters(codec=None)))
def test_no_control_format_or_surrogate_character_is_left(text):
    shown = escape_invisible(text, lines=True)
    allowed = {"\n", "\u200c", "\u200d"}
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c not in allowed]
    shown.encode()


def test_indistinguishable_texts_reduce_to_the_same_appearance():
    assert reduce_to_appearance("caf\u00e9") == reduce_to_appearance("cafe\u0301")
    assert reduce_to_appearance("end") == reduce_to_appearance("end  ")
    assert reduce_to_appearance("a") != reduce_to_appearance("b")
