"""The Python examples of docs/harness.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "harness.md"


EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page_shows_one_line_changes_and_asyncio():
    assert any("harness.set(" in example for example in EXAMPLES)
    assert any("async with" in example for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_in_the_page_runs(example):
    space = {}
    exec(compile(example, str(PAGE), "exec"), space)  # noqa: S102 - the point of the test
    assert "harness" not in space or space["harness"].journal.check().whole
