"""What hooks cost in a harness of many files: calls that concern one file or none, at two sizes.

Each harness holds that many files of a skill, taken in and looked at once, as after the first event of a session.
The sides take turns as in `bench hook`; growth is by the processor's time, which a busy machine disturbs least.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from takeback.adapters.clients.init import init_clients
from takeback.adapters.directory import SETTLED
from takeback_lab.bench.hook import ProcessCost, event_text, run_process, summary_row, write_project

SIZES: Final = (2_000, 20_000)
A_FOLDER: Final = 20
BODY: Final = "".join(f"Line {at} of a file that belongs to a skill.\n" for at in range(60))
RECORDED: Final = ("after an edit that is recorded", "after a shell command that edits")
"""Calls after which there is something to record: it waits, and the next command makes the entry."""
QUIET: Final = ("before a shell command", "after a shell command", "session start", "after an edit of another file")
"""Calls that concern no file of the harness: what must not grow with their number beyond looking at each."""


def measure_files(environment: Mapping[str, str], sizes: tuple[int, ...] = SIZES, rounds: int = 10) -> dict[str, Any]:
    """Return the cost of each call at each size, and by which factor the processor's time grows."""
    rows: dict[int, dict[str, dict[str, float]]] = {}
    for size in sizes:
        with TemporaryDirectory() as scratch:
            rows[size] = _measured(Path(scratch).resolve(), size, environment, rounds)
    few, many = sizes[0], sizes[-1]
    growth = {name: round(rows[many][name]["cpu_ms"] / rows[few][name]["cpu_ms"], 2) for name in rows[many]}
    return {
        "files": list(sizes),
        "calls": rows,
        "growth": growth,
        "median_ms": max(rows[many][name]["median_ms"] for name in (*QUIET, *RECORDED)),
        "cpu_ms": max(rows[many][name]["cpu_ms"] for name in (*QUIET, *RECORDED)),
        "times_as_many_files": round(many / few, 2),
        "rounds": rounds,
        "load": round(os.getloadavg()[0], 2),
    }


def start_environment(environment: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return an environment in which modules are compiled once, into a folder."""
    env = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return env | {"PYTHONPYCACHEPREFIX": str(scratch / "compiled")}


def write_large_project(scratch: Path, size: int) -> Path:
    """Write a project of Claude Code's with that many files of a skill, and take it in; return where it is."""
    root = write_project(scratch / "project")
    for at in range(size):
        folder = root / f".claude/skills/many/part{at // A_FOLDER // A_FOLDER}/x{at // A_FOLDER}"
        if at % A_FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"f{at}.txt").write_text(f"File {at}\n{BODY}", encoding="utf-8")
    init_clients(root, ("claude-code",))
    return root


def _measured(scratch: Path, size: int, environment: Mapping[str, str], rounds: int) -> dict[str, dict[str, float]]:
    env = start_environment(environment, scratch)
    root = write_large_project(scratch, size)
    calls = {
        "before an edit of instructions": event_text(root, "PreToolUse", "Edit", "CLAUDE.md", "Rule 7:", "Rule 8:"),
        "before a shell command": event_text(root, "PreToolUse", "Bash"),
        "after a shell command": event_text(root, "PostToolUse", "Bash"),
        "session start": event_text(root, "SessionStart"),
        "after an edit of another file": event_text(root, "PostToolUse", "Edit", "main.py", "a", "b"),
        RECORDED[0]: event_text(root, "PostToolUse", "Edit", "CLAUDE.md", "Rule 7:", "Rule 8:"),
        RECORDED[1]: event_text(root, "PostToolUse", "Bash"),
    }
    words = [sys.executable, "-m", "takeback", "hook", "claude-code"]
    costs: dict[str, list[ProcessCost]] = {name: [] for name in calls}
    time.sleep(2 * SETTLED / 1e9)  # what was written just now is looked at again and again
    run_process(words, calls["session start"], root, env)
    quiet = [name for name in calls if name not in RECORDED]
    for at in range(rounds + 1):
        for name in quiet:
            cost = run_process(words, calls[name], root, env)
            costs[name] += [cost] if at else []  # the first round compiles, and fills the caches of the file system
    for at in range(rounds + 1):
        for name in RECORDED:
            with (root / "CLAUDE.md").open("a", encoding="utf-8") as file:
                file.write(f"- {name}, round {at}.\n")
            cost = run_process(words, calls[name], root, env)
            costs[name] += [cost] if at else []
    return {name: summary_row(found) for name, found in costs.items()}
