"""What a person sees: commands on a real terminal of tmux, as text.

`python -m tests.support.screens` writes them anew.
Ids, times and tokens differ from run to run; they are replaced by words of the same width, so that the columns stay.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.support.terminal import environment, in_process

from takeback.adapters import open_workspace

FOLDER = Path(__file__).parents[1] / "interfaces" / "screens"
COMMANDS = {
    "help": "help",
    "help-daily": "help daily",
    "log": "log --no-pager",
    "status": "status --no-pager",
    "undo-list": "undo",
    "show": "show 5 --no-pager",
    "diff": "diff 3 6 --no-pager",
    "undo-plan": "undo 5 --plan",
    "error": "restore --to 2001-01-01",
}
"""The names of the screens, with what was typed for each."""
SCREENS = [(name, "80x24") for name in COMMANDS]
SCREENS += [(name, "120x40") for name in ("help", "log", "status", "undo-list", "show", "diff")]
END = "~end~"
LISTED = "q leave"
"""The last line of the list to pick from; it does not end by itself."""
PATIENCE = 600.0
"""Seconds after which a screen counts as never drawn; a busy machine takes a few."""
CHANGING = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "d"),
    (re.compile(r"\b[0-9a-f]{24}\b"), "t"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{10}\b"), "i"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d\.\d{6}\+\d\d:\d\d)?"), "w"),
    (re.compile(r"\b\d\d-\d\d \d\d:\d\d\b"), "w"),
)
SETTINGS = """{
  "model": "sonnet",
  "permissions": { "allow": ["Bash(npm test:*)"], "deny": ["Read(.env)"] }
}
"""
RULES = "# Ledger\n\n- amounts are integers, in cents\n- run `npm test` before you say done\n"


def build_project(root: Path) -> None:
    """Make a project of Claude Code with changes by several people, one of them under a prompt."""
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text(SETTINGS)
    (root / "CLAUDE.md").write_text(RULES)
    where = ("-C", root)
    _run("init", root)
    _run("edit", "prompt", "CLAUDE.md", "--append", "- Use tabs, never spaces.", "--by", "ann", *where)
    _run("set", "config", "permissions.allow+", "Bash(npm run lint:*)", "--by", "bot", *where)
    _run("set", "config", "permissions.allow+", "Bash(rm:*)", "-m", "so that it can clean up", "--by", "bot", *where)
    for line in ("- Answer in German, and explain every step before you change a file.\n", "- Never touch main.\n"):
        with (root / "CLAUDE.md").open("a") as file:
            file.write(line)
        with closing(open_workspace(root)) as harness:
            origin = {"client": "claude-code", "session": "7c1e", "prompt_number": "12", "tool": "Edit"}
            said = {"prompt": "make the agent answer in German, whatever it is asked"}
            harness.adopt("Edit CLAUDE.md", by="claude-code (declared), session 7c1e0042", origin=origin, said=said)
    _run("set", "config", "env.LOG_LEVEL", "debug", "--by", "Johannes Sebastian Bach <jsb@example.org>", *where)
    _run("undo", "3", "--as", "ann", *where)


def _run(*words: object) -> None:
    from takeback.cli import output

    in_process(*words, terminal=False)
    output.begin()


@contextmanager
def begin_terminals() -> Iterator[list[str]]:
    """Start a tmux server of our own; what comes out is how to call it."""
    folder = tempfile.mkdtemp(prefix="tb")
    tmux = ["tmux", "-u", "-f", "/dev/null", "-S", f"{folder}/s"]
    try:
        _call(tmux, "new-session", "-d", "-s", "keep", "cat")  # without a session the server would end
        yield tmux
    finally:
        subprocess.run([*tmux, "kill-server"], capture_output=True, timeout=PATIENCE, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def take_screen(tmux: list[str], root: Path, name: str, size: str) -> str:
    """Return what stands on a terminal of a size after a command, with words for what changes from run to run."""
    columns, rows = size.split("x")
    more = {"TAKEBACK_PAGER": "", "NO_COLOR": "1", "HOME": str(root.parent / "home"), "LC_ALL": "C.UTF-8"}
    wanted = environment(**more, PYTHONUTF8="1", PYTHONDONTWRITEBYTECODE="")
    kept = ("PATH", "PYTHONPATH", "TAKEBACK_PROGRESS", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", *more)
    variables = [f"{key}={wanted[key]}" for key in kept if key in wanted]
    line = f"{shlex.quote(sys.executable)} -m takeback {COMMANDS[name]}; printf {END}; exec cat"
    pane = f"{name}-{size}"
    words = ["env", "-u", "COLUMNS", "-u", "LINES", *variables, "sh", "-c", line]
    _call(tmux, "new-session", "-d", "-s", pane, "-x", columns, "-y", rows, "-c", str(root), *words)
    try:
        awaited = LISTED if name == "undo-list" else END
        end = time.monotonic() + PATIENCE
        while True:
            text = _call(tmux, "capture-pane", "-p", "-t", pane)
            if awaited in text:
                return _replace_changing(text.replace(END, ""))
            assert time.monotonic() < end, f"{pane} never showed {awaited}:\n{text}"
            time.sleep(0.05)
    finally:
        _call(tmux, "kill-session", "-t", pane)


def _call(tmux: list[str], *words: str) -> str:
    done = subprocess.run([*tmux, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _replace_changing(text: str) -> str:
    for pattern, letter in CHANGING:
        text = pattern.sub(lambda found, letter=letter: letter * len(found[0]), text)
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n"


def write_screens() -> None:
    """Write every screen to its file."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tb") as place, begin_terminals() as tmux:
        root = Path(place) / "ledger"
        os.environ["HOME"] = str(Path(place) / "home")
        build_project(root)
        for name, size in SCREENS:
            (FOLDER / f"{name}-{size}.txt").write_text(take_screen(tmux, root, name, size), encoding="utf-8")


if __name__ == "__main__":
    write_screens()
