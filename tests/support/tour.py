"""docs/tour.md as it is lived: every screen in it, and in the README, is what the program shows on 80 columns.

`python -m tests.support.tour` plays the tour in a fresh directory and writes the blocks below `<!-- tour: NAME -->`
anew; a test compares them. Ids and times, which differ from run to run, are replaced by others that do not.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from tests.support.terminal import converse, in_process

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tour.md"
SHOWING = (PAGE, ROOT / "README.md")
"""The tour itself, and who shows some of its screens."""
BLOCK = re.compile(r"(<!-- tour: (?P<name>[a-z0-9-]+) -->\n```[a-z]*\n)(?P<shown>.*?)(```\n)", re.DOTALL)
DOWN = "\x1b[B"
SCREEN = {"COLUMNS": "80", "LINES": "24", "NO_COLOR": "1", "TERM": "xterm", "TAKEBACK_PAGER": "", "USER": ""}
FILES = {
    "CLAUDE.md": "# Parcel tracker\n\n- Dates are ISO 8601, in UTC.\n- Run the tests before you finish.\n",
    ".claude/settings.json": """\
{
  "model": "sonnet",
  "permissions": {
    "allow": ["Bash(git diff:*)"],
    "deny": ["Read(./.env)"]
  }
}
""",
}
STEPS: dict[str, list[str]] = {
    "init": ["init"],
    "change-1": ["set", "config", "permissions.allow+", "Bash(npm test:*)"],
    "change-2": ["edit", "prompt", "CLAUDE.md", "--append", "- Retry twice."],
    "change-3": ["set", "config", "permissions.allow+", "Bash(rm:*)"],
    "change-4": ["add", "tool", "mcp:issues", "--json", '{"command": "node", "args": ["issues.mjs"]}'],
    "status": ["status"],
    "change-5": ["adopt", "-m", "UTC only"],
    "change-6": ["set", "config", "permissions.deny+", "WebFetch"],
    "log": ["log"],
    "list": [],
    "list-third": [],
    "undone": [],
    "settings": [],
    "log-after": ["log"],
    "plan": ["undo", "7", "--plan"],
    "redo": ["redo", "4"],
}
"""What is shown, in order, with the words of the command where it is one."""


def played(root: Path) -> dict[str, str]:
    """Play the tour in an empty directory; what each step shows."""
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    shown: dict[str, str] = {}
    with _as_a_person(root):
        for name, words in STEPS.items():
            if name == "status":
                guide = root / "CLAUDE.md"
                guide.write_text(guide.read_text().replace("in UTC.", "in UTC and nothing else."))
            if name == "list":
                shown |= _picked()
            elif name == "settings":
                shown[name] = (root / ".claude/settings.json").read_text()
            elif words:
                out, err = in_process(*words, terminal=True)
                shown[name] = out + err
    return {name: _steady(text, _ids(root)) for name, text in shown.items()}


def _picked() -> dict[str, str]:
    """The list of `takeback undo`: as it opens, with the cursor on the third change, and what enter does."""
    moved = [("q leave", DOWN), ("> [ ] #6", DOWN), ("> [ ] #5", DOWN), ("> [ ] #4", "\r")]
    done = converse(("undo",), moved, SCREEN)
    pages = [page.replace("\x1b[K", "").split("\x1b[J")[0] for page in done.out.split("\x1b[H")[1:]]
    trimmed = ["\n".join(line.rstrip() for line in page.split("\n")) + "\n" for page in pages]
    return {"list": trimmed[0], "list-third": trimmed[3], "undone": done.out.split("\x1b[?1049l")[1]}


def _ids(root: Path) -> list[str]:
    import json

    out, _ = in_process("log", "--json", "-C", root, terminal=False)
    return [entry["id"] for entry in reversed(json.loads(out)["entries"])]


def _steady(text: str, ids: list[str]) -> str:
    for number, found in enumerate(ids, 1):
        steady = sha256(f"tour {number}".encode()).hexdigest()
        text = text.replace(found[:10], steady[:10]).replace(found[:7], steady[:7])
    text = re.sub(r"head [0-9a-f]{10}", "head 9d51d2b18a", text)
    text = re.sub(r"token [0-9a-f]{24}", "token 6f1d0c2b9a8e7d6c5b4a3f2e", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\d \d\d:\d\d", "2031-05-27 14:30", text)
    return re.sub(r"(?<![-\d])\d\d-\d\d \d\d:\d\d", "05-27 14:30", text)


@contextmanager
def _as_a_person(root: Path) -> Iterator[None]:
    """In the project, at a terminal of 80 columns."""
    before, place = dict(os.environ), Path.cwd()
    os.environ.update(SCREEN)
    os.chdir(root)
    try:
        yield
    finally:
        os.chdir(place)
        os.environ.clear()
        os.environ.update(before)


def refreshed(text: str, shown: Mapping[str, str]) -> str:
    """The page with every block made anew."""
    return BLOCK.sub(lambda match: match[1] + shown[match["name"]] + match[4], text)


def main() -> None:
    """Play the tour and write its blocks."""
    with tempfile.TemporaryDirectory() as scratch:
        shown = played(Path(scratch))
    for page in SHOWING:
        page.write_text(refreshed(page.read_text(), shown))


if __name__ == "__main__":
    sys.exit(main())
