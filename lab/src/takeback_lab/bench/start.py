"""What a command takes from its start to its end in a project of two files, beside `takeback --help`.

Whole processes, in turns: each round is one help, one set, one status, one log and one undo. Modules are compiled
once, as they are where a package is installed, unless it is asked how long they take uncompiled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from takeback.adapters.clients.init import init_clients
from takeback_lab.bench.hook import ProcessCost, run_process

ROUNDS: Final = 15
COMMANDS: Final = {
    "help": ("--help",),
    "set": ("set", "config", "env.ROUND"),
    "status": ("status",),
    "log": ("log",),
    "undo": ("undo", "HEAD"),
}
"""In the order of a round; `set` gets another value in each, and what it made is undone in the same round."""


def measure_start(environment: Mapping[str, str], rounds: int = ROUNDS, *, compiled: bool = True) -> dict[str, Any]:
    """Time each command in turns; the ratios are against help, by the medians."""
    with TemporaryDirectory() as scratch:
        root = _write_project(Path(scratch).resolve() / "project")
        env = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= (
            {"PYTHONPYCACHEPREFIX": str(Path(scratch) / "compiled")} if compiled else {"PYTHONDONTWRITEBYTECODE": "1"}
        )
        costs: dict[str, list[ProcessCost]] = {name: [] for name in COMMANDS}
        for at in range(rounds + 1):
            for name, given in COMMANDS.items():
                words = [sys.executable, "-m", "takeback", *given, *([f"round-{at}"] if name == "set" else [])]
                cost = run_process(words, "", root, env)
                costs[name] += [cost] if at else []  # the first round compiles, and fills the file system's caches
    walls = {name: median(cost.wall for cost in found) for name, found in costs.items()}
    processor = {name: median(cost.cpu for cost in found) for name, found in costs.items()}
    others = [name for name in COMMANDS if name != "help"]
    return {
        **{f"{name}_ms": round(seconds * 1000, 1) for name, seconds in walls.items()},
        **{f"{name}_cpu_ms": round(seconds * 1000, 1) for name, seconds in processor.items()},
        **{f"ratio_{name}": round(walls[name] / walls["help"], 2) for name in others},
        **{f"cpu_ratio_{name}": round(processor[name] / processor["help"], 2) for name in others},
        "compiled": compiled,
        "rounds": rounds,
        "load": round(os.getloadavg()[0], 2),
    }


def _write_project(root: Path) -> Path:
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text(
        '{\n  "model": "opus",\n  "env": {"LANG": "C"}\n}\n', encoding="utf-8"
    )
    (root / "CLAUDE.md").write_text("# Rules\n\n- Run the tests.\n", encoding="utf-8")
    init_clients(root, ("claude-code",))
    return root
