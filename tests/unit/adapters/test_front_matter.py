"""Front matter of Markdown files: found in any line ending, read safely, its faults named with line and column."""

from __future__ import annotations

import pytest

from takeback.adapters.formats.front_matter import parse_front_matter
from takeback.errors import InputError

AGENT = "---\nname: reviewer\ndescription: Reviews diffs.\n# a comment\n---\n\nYou review.\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_text_is_split_with_any_line_ending_and_byte_order_mark(newline, mark):
    text = mark + AGENT.replace("\n", newline)
    found = parse_front_matter(text.encode(), "f")
    assert found.mapping == {"name": "reviewer", "description": "Reviews diffs."}
    assert found.body == f"{newline}You review.{newline}"
    assert text[slice(*found.span)].startswith("name: reviewer")
    assert text[slice(*found.span)].endswith(f"# a comment{newline}")
    assert found.missing("name", "description", "model") == ("model",)


@pytest.mark.parametrize(
    "text", ["# Title\n", "", "\ufeffwords", "--- not front matter\n---\n", "\n---\na: 1\n---\n"]
)
def test_a_text_without_front_matter_is_all_body(text):
    found = parse_front_matter(text, "f")
    assert not found.present
    assert found.body == text.removeprefix("\ufeff")
    assert found.missing("name") == ("name",)


def test_empty_front_matter_is_present_without_values():
    found = parse_front_matter("---\n---\nbody", "f")
    assert found.present
    assert (dict(found.mapping), found.body) == ({}, "body")


def test_a_dashed_line_in_body_or_value_does_not_end_the_block():
    found = parse_front_matter("---\nname: a --- b\nnote: |\n  ---\n  x\n---\nbody\n---\nmore\n", "f")
    assert found.text("name") == "a --- b"
    assert found.body == "body\n---\nmore\n"


def test_a_value_that_is_no_text_or_blank_counts_as_missing():
    found = parse_front_matter("---\nname: 5\ndescription: ' '\n---\n", "f")
    assert found.missing("name", "description") == ("name", "description")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("---\nname: a\ndescription: b: c\n---\n", "f, line 3, column 15"),
        ("---\nname: [a\n---\n", "f, line 3, column 1"),
        ("---\n- a\n---\n", "f, line 2, column 1"),
        ("---\nname: a\n", "f, line 1, column 1"),
        ("---\nname: !!python/object:os.system a\n---\n", "f, line 2, column 7"),
    ],
)
def test_malformed_front_matter_is_reported_with_line_and_column(text, where):
    with pytest.raises(InputError) as fault:
        parse_front_matter(text, "f")
    assert fault.value.where == where


def test_undecodable_bytes_are_reported_with_their_line():
    with pytest.raises(InputError) as fault:
        parse_front_matter(b"---\nname: \xff\n---\n", "f")
    assert fault.value.where == "f, line 2"
