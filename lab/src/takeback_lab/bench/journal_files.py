"""What commands cost in a harness of many files, beside the same commands in a smaller one: whole processes, in turn.

Each harness holds that many files of a skill, all of them in the journal. A command reads and compares every file, so
its time has a part for each file; `growth_above_start` is the growth of what a command takes above `takeback help`.
Growth is by the processor's time, which a busy machine disturbs least.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from takeback_lab.bench.hook import ProcessCost, event_text, run_process, summary_row
from takeback_lab.bench.hook_files import start_environment, write_large_project

SIZES: Final = (2_000, 20_000)
ROUNDS: Final = 3
SECONDS: Final = 600
START: Final = "start"
OPENING: Final = "from takeback.adapters import open_workspace as o; o('.', hold=False).close()"
HOOK: Final = ("hook", "claude-code")
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    START: ("help",),
    "status": ("status",),
    "log": ("log",),
    "set": ("set", "config", "theme"),
    "undo": ("undo", "--last"),
    "hook": HOOK,
}
"""Each ends with a value of its own where it sets one; the hook is told of an edit that a tool has just made."""


def measure_commands(
    environment: Mapping[str, str],
    sizes: tuple[int, ...] = SIZES,
    rounds: int = ROUNDS,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Return what each command costs at each size, and by which factor the processor's time grows."""
    with TemporaryDirectory(prefix="takeback-bench-journal-") as scratch:
        projects = {size: _make_project(Path(scratch).resolve() / str(size), size, environment) for size in sizes}
        costs: dict[int, dict[str, list[ProcessCost]]] = {size: {} for size in sizes}
        for at in range(rounds + 1):
            for size, (root, env) in projects.items():
                for name, cost in _run_commands(root, env, at).items():
                    costs[size].setdefault(name, []).extend([cost] if at else [])  # the first round compiles
                progress(size)
    rows = {size: {name: summary_row(runs) for name, runs in one.items()} for size, one in costs.items()}
    cpu = {size: {name: row["cpu_ms"] for name, row in one.items()} for size, one in rows.items()}
    few, many = cpu[sizes[0]], cpu[sizes[-1]]
    asked = [name for name in few if name != START]
    return {
        "files": list(sizes),
        "cpu_ms": cpu,
        "median_ms": {size: {name: row["median_ms"] for name, row in one.items()} for size, one in rows.items()},
        "growth": {name: round(many[name] / few[name], 2) for name in asked},
        "growth_above_start": {
            name: round((many[name] - many[START]) / (few[name] - few[START]), 2) for name in asked if name != "hook"
        },
        "times_as_many_files": round(sizes[-1] / sizes[0], 2),
        "rounds": rounds,
        "load": round(os.getloadavg()[0], 2),
    }


def _make_project(scratch: Path, size: int, environment: Mapping[str, str]) -> tuple[Path, dict[str, str]]:
    scratch.mkdir()
    root, env = write_large_project(scratch, size), start_environment(environment, scratch)
    run_process([sys.executable, "-m", "takeback", "status"], "", root, env, SECONDS)
    return root, env


def _run_commands(root: Path, env: dict[str, str], at: int) -> dict[str, ProcessCost]:
    """Return what each command costs, run once; what `set` sets, `undo` takes back."""
    costs = {"open": run_process([sys.executable, "-c", OPENING], "", root, env, SECONDS)}
    for name, words in COMMANDS.items():
        value = [f'"round {at}"'] if name == "set" else []
        if name == "hook":
            with (root / "CLAUDE.md").open("a", encoding="utf-8") as file:
                file.write(f"- Round {at}.\n")
        told = event_text(root, "PostToolUse", "Edit", "CLAUDE.md", "a", "b") if name == "hook" else ""
        costs[name] = run_process([sys.executable, "-m", "takeback", *words, *value], told, root, env, SECONDS)
    return costs
