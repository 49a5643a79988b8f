"""Output blocks in the docs come from running the commands that stand above them.

A block is `<!-- run: takeback … -->` followed by a fenced block. `python -m tests.support.doc_blocks` writes the
blocks anew (`make docs`); a test compares them with what the commands print.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(<!-- run: (?P<command>[^\n]*?) -->\n```[a-z]*\n)(?P<output>.*?)(```\n)", re.DOTALL)
DOCS = (
    "README.md",
    "docs/proof.md",
    "docs/harness.md",
    "docs/undo.md",
    "docs/lab.md",
    "docs/models.md",
    "docs/reference.md",
)


def documents() -> list[Path]:
    """Return the documents that have blocks."""
    found = [ROOT / name for name in DOCS if (ROOT / name).exists()]
    return [path for path in found if BLOCK.search(path.read_text())]


def output_of(command: str) -> str:
    """Return what a command prints, run from the root as a reader would."""
    words = shlex.split(command)
    if words[0] == "takeback":
        words = [sys.executable, "-m", "takeback", *words[1:]]
    elif words[0] == "python":
        words[0] = sys.executable
    plain = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, cwd=ROOT, env=plain, capture_output=True, text=True, timeout=600, check=False)
    if "Traceback (most recent call last)" in done.stderr:
        raise RuntimeError(f"{command}\n{done.stderr}")
    return done.stdout


def refreshed(text: str) -> str:
    """Return a document with every block's output made anew."""
    return BLOCK.sub(lambda match: match[1] + output_of(match["command"]) + match[4], text)


def main() -> None:
    """Rewrite all blocks."""
    for path in documents():
        path.write_text(refreshed(path.read_text()))


if __name__ == "__main__":
    main()
