"""The tour shows what the program shows."""

from __future__ import annotations

import os

from tests.support.tour import BLOCK, PAGE, SHOWING, STEPS, played, refreshed


def test_every_screen_of_the_tour_matches_the_program(tmp_path, monkeypatch):
    for variable in ("FORCE_COLOR", "PAGER", "TAKEBACK_BY", "TAKEBACK_JOURNAL", "TAKEBACK_KEYS"):
        monkeypatch.delenv(variable, raising=False)
    before = dict(os.environ)
    shown = played(tmp_path)
    assert dict(os.environ) == before
    assert [block["name"] for block in BLOCK.finditer(PAGE.read_text())] == list(STEPS)
    for page in SHOWING:
        assert BLOCK.search(page.read_text()), page
        assert refreshed(page.read_text(), shown) == page.read_text(), page


def test_every_command_of_the_tour_is_printed_above_its_output():
    import shlex

    terminal, _, _ = PAGE.read_text().partition("\n## In the page\n")
    lines = [line for line in terminal.splitlines() if line.startswith("takeback ")]
    typed = [shlex.split(line)[1:] for line in lines]
    wanted = [words for words in STEPS.values() if words]
    at = typed.index(["undo"])
    assert typed[:at] + typed[at + 1 :] == wanted
