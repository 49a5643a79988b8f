"""The examples in docs/evolvers.md run as they stand, on the real libraries; each asserts what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
BLOCKS = dict(
    re.findall(r"```python\n# (\w+\.py)\n(.*?)\n```(?=\n|\Z)", (ROOT / "docs/evolvers.md").read_text(), re.DOTALL)
)
EXAMPLES = ("gepa", "dspy", "openevolve")


def test_every_block_of_the_page_belongs_to_an_example():
    assert set(BLOCKS) == {"evaluator.py", *(f"{name}_example.py" for name in EXAMPLES)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed here; make test-{name} runs this in an environment of its own")
    for file, text in BLOCKS.items():
        (tmp_path / file).write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(tmp_path)))}
    done = subprocess.run(
        [sys.executable, str(tmp_path / f"{name}_example.py")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
