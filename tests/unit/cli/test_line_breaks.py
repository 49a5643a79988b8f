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


def test_continued_lines_are_indented_and_overlong_words_kept():
    assert wrap_lines("  - one two three four", 14) == "  - one two\n    three four"
    assert wrap_lines("a " + "d" * 64, 20).splitlines()[-1].strip() == "d" * 64


def test_colour_codes_do_not_count_towards_width():
    text = "\x1b[33mone two three four five six\x1b[0m"
    assert wrap_lines(text, 27) == text
    assert all(measure_shown(line) <= 14 for line in wrap_lines(text, 14).splitlines())


def test_lines_are_cut_between_words():
    assert cut_at_word("Johannes Sebastian Bach", 12) == "Johannes …"
    assert cut_at_word("short", 12) == "short"
