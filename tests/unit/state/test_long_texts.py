"""A long text is compared without the lines that both versions begin and end with, and comes out the same."""

from __future__ import annotations

import random
import tracemalloc

from tests.support.batches import in_batches

from takeback.state import text as texts
from takeback.state import text_index
from takeback.state.text import Text

WORDS = tuple(f"{word} {at}" for at in range(40) for word in ("one", "  two", "three four"))
"""Lines that are told apart: of equal ones, which moved or went depends on how many there are."""


def edit(lines: list[str], draw: random.Random) -> list[str]:
    """Make a few changes in a few places: lines come, go, move or are rewritten."""
    lines = list(lines)
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(lines))
        how = draw.choice(("insert", "drop", "rewrite", "move"))
        if how == "insert" or not lines:
            lines.insert(at, f"new {draw.random()}")
        elif how == "drop":
            lines.pop(at % len(lines))
        elif how == "rewrite":
            lines[at % len(lines)] += " more"
        elif how == "move":
            lines.insert(at, lines.pop(draw.randrange(len(lines))))
    return lines


@in_batches("seed", range(300))
def test_leaving_out_common_lines_changes_nothing(monkeypatch, seed):
    draw = random.Random(seed)
    lines = draw.sample(WORDS, draw.randint(0, 12))
    ending = draw.choice(("\n", "\r\n"))
    monkeypatch.setattr(text_index, "CONTEXT", 1)
    monkeypatch.setattr(text_index, "STRETCH", draw.choice((1, 3, 1 << 16)))
    whole = short = Text.of(ending.join(lines))
    for _ in range(4):
        lines = edit(lines, draw)
        now = ending.join(lines) + draw.choice(("", ending))
        monkeypatch.setattr(texts, "LONG", 1 << 40)
        fully, read = whole.revise(now), whole.compare(now)
        monkeypatch.setattr(texts, "LONG", 0)
        shortly, also = short.revise(now), short.compare(now)
        assert (read.several, read.coarse) == (also.several, also.coarse)
        assert (fully is None) == (shortly is None)
        if fully is None or shortly is None:
            return
        assert shortly.to_json() == fully.to_json()
        assert shortly.whole() == now
        whole, short = fully, shortly


def test_revising_a_long_text_in_one_place_makes_no_object_for_each_line():
    lines = [f"line {at} of a long text\n" for at in range(50_000)]
    before = "".join(lines)
    lines[25_000] = "another line\n"
    after = "".join(lines)
    text = Text.of(before)
    tracemalloc.start()
    try:
        revised = text.revise(after)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert revised is not None
    assert revised.whole() == after
    assert peak < len(before)
