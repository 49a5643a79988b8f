"""The Python example in docs/agents.md runs, and its assertions hold."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"


def test_the_python_example_runs():
    [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(block, "docs/agents.md", "exec"), {"__name__": "example"})  # noqa: S102  (our own text)
