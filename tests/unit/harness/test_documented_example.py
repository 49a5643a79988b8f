"""The Python example of docs/harness.md runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "harness.md"


def test_the_example_in_the_page_runs():
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    space: dict[str, object] = {}
    exec(compile(example, str(PAGE), "exec"), space)  # noqa: S102 - the point of the test
    assert space["harness"].journal.check().whole
