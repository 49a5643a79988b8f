"""Lines on a terminal are broken between words, and nowhere else."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.cli.line_breaks import cut_at_word, measure_cells, measure_shown, wrap_lines

WORDS = st.text(st.sampled_from("abc漢é.,'`/-+"), min_size=1, max_size=9)


@given(st.lists(WORDS, min_size=1, max_size=30), st.integers(20, 90))
@settings(max_examples=200, deadline=None)
def test_no_line_is_wider_no_word_is_broken_and_none_is_lost(words, width):
    wrapped = wrap_lines(" ".join(words), width)
    assert wrapped.split() == " ".join(words).split()
    assert all(measure_cells(line) <= width for line in wrapped.splitlines())


def test_a_quoted_command_stays_on_one_line_where_it_fits_on_one():
    text = "what was changed outside stays: 'takeback status --stat' shows it, 'takeback discard a b' puts it back"
    lines = wrap_lines(text, 40).splitlines()
    assert all(line.count("'") % 2 == 0 for line in lines), lines
    long = "see 'takeback undo --prompt make the tests pass --path src' now"
    assert max(map(len, wrap_lines(long, 30).splitlines())) <= 30


def test_what_follows_a_break_is_indented_and_a_word_that_is_too_wide_is_left_alone():
    assert wrap_lines("  - one two three four", 14) == "  - one two\n    three four"
    assert wrap_lines("a " + "d" * 64, 20).splitlines()[-1].strip() == "d" * 64


def test_colours_take_no_room():
    text = "\x1b[33mone two three four five six\x1b[0m"
    assert wrap_lines(text, 27) == text
    assert all(measure_shown(line) <= 14 for line in wrap_lines(text, 14).splitlines())


def test_a_cut_is_made_between_words():
    assert cut_at_word("Johannes Sebastian Bach", 12) == "Johannes …"
    assert cut_at_word("short", 12) == "short"
