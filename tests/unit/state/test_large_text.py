"""A large text that was edited inside is turned into bytes piece by piece, and compared without being copied."""

from __future__ import annotations

import tracemalloc

import pytest

from takeback.state import text as texts
from takeback.state.file import File
from takeback.state.text import Text

OLD = "b"


def edited(whole):
    """The text with its second line written again, as an edit leaves it."""
    return Text.of(whole).replace_once(OLD, "é edited")


@pytest.mark.parametrize("piece", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("whole", ["a\nb\nc\n", "a\nb\nc", "ä\r\nb\r\nc", "a\nb"])
def test_an_edited_text_encodes_to_the_bytes_of_its_characters(monkeypatch, whole, piece):
    monkeypatch.setattr(texts, "PIECE", piece)
    text = edited(whole)
    wanted = edited(whole).whole().encode()
    assert text.encode_utf8() == wanted
    assert File(edited(whole)) == File(wanted)
    assert File(wanted) == File(edited(whole))
    for other in (wanted + b"x", wanted[:-1], wanted[:-1] + b"\xff", b""):
        assert File(edited(whole)) != File(other)


def test_an_edited_file_is_compared_with_bytes_without_a_copy_of_them():
    whole = "b\n" + "".join(f"line {at}\n" for at in range(400_000)).replace("b", "c")
    file, other = File(edited(whole)), File(edited(whole).encode_utf8())
    tracemalloc.start()
    try:
        assert file == other
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(other.content), f"{peak} bytes beside a file of {len(other.content)}"
