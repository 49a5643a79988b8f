"""The Python example in the README runs, and its assertions hold."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_python_example_of_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "README.md", "exec"), {})  # noqa: S102  (our own text, that is the point)


def test_every_document_the_readme_names_is_there():
    named = re.findall(r"\]\((docs/[a-z-]+\.md)\)", README.read_text())
    missing = [name for name in named if not (README.parent / name).exists()]
    assert named
    assert missing == []
