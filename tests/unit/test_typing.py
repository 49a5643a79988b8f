"""What the README, the examples and the public API promise holds for a strict type checker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def checked(*files: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        *map(str, files),
    ]
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)


def test_readme_examples_and_public_api_pass_the_strict_type_checker(tmp_path):
    pages = [ROOT / "README.md", ROOT / "docs/harness.md"]
    blocks = [block for page in pages for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)]
    assert len(blocks) > 1
    files = [ROOT / "tests/typing/api.py", *sorted((ROOT / "examples").glob("*.py"))]
    for number, block in enumerate(blocks):
        files.append(tmp_path / f"readme_{number}.py")
        files[-1].write_text(block)
    done = checked(*files)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from takeback import open_memory\n\nopen_memory().apply(3)\nopen_memory().undo(None)\n")
    found = checked(wrong)
    assert found.returncode == 1
    assert found.stdout.count("error:") >= 2
