"""Forget, edit, adopt, discard, undo, redo and restore in any order: no file is lost, no secret left, no dead end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.forget_orders import Story

EVERYDAY, ALL = 60, 2000


@pytest.mark.parametrize("seed", [pytest.param(at, marks=[pytest.mark.long] * (at >= 30)) for at in range(EVERYDAY)])
def test_forgetting_in_a_random_order_loses_no_data_and_leaves_no_secret(seed, tmp_path):
    Story(tmp_path / "p", seed).run()


@pytest.mark.slow
def test_forgetting_in_two_thousand_orders_loses_no_data(tmp_path):
    for seed in range(ALL):
        Story(Path(tmp_path) / str(seed), seed).run()


def test_a_line_that_held_a_secret_is_deleted_by_hand_and_the_file_stays(tmp_path):
    story = Story(tmp_path / "p", 1)
    for step in ("edit", "adopt", "forget", "reopen"):
        story.told.append(step)
        getattr(story, step)(story.read())
    story.write_lines([line for line in story.lines() if "hunter2" not in line] + ["by hand"])
    story.told.append("adopt")
    story.adopt(story.read())
    story.told.append("undo")
    story.toggle(story.read(), "undo", None)
    story.told.append("discard")
    story.discard(story.read())
    story.end()
