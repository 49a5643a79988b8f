"""What a hook costs the client that waits for it: whole processes, from start to answer, beside Python's own start.

The sides take turns, each call in a process of its own; modules are compiled once, as they are where a package is
installed. Beside the wall time, which depends on what else the machine does, stands the processor's.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

from takeback.adapters.clients.init import init_clients
from takeback.canonical import write_compact, write_pretty

ROUNDS: Final = 20
SECONDS: Final = 60
_SETTINGS: Final = {
    "model": "opus",
    "permissions": {"allow": [f"Bash(make {at}:*)" for at in range(40)], "deny": ["Read(./.env)"]},
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]},
}
_TEXT: Final = "".join(f"- Rule {at}: what is agreed on.\n" for at in range(200))


class ProcessCost(NamedTuple):
    """One process: seconds on the wall, and of the processor."""

    wall: float
    cpu: float


def measure(environment: Mapping[str, str], rounds: int = ROUNDS) -> dict[str, Any]:
    """Time hooks of each kind, in turns; the figures at the top are those of the guard before an edit of settings."""
    with TemporaryDirectory() as scratch:
        root = write_project(Path(scratch).resolve() / "project")
        init_clients(root, ("claude-code",))
        env = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env["PYTHONPYCACHEPREFIX"] = str(Path(scratch) / "compiled")
        calls = {
            "before settings": event_text(root, "PreToolUse", "Edit", ".claude/settings.json", '"opus"', '"haiku"'),
            "before instructions": event_text(root, "PreToolUse", "Edit", "CLAUDE.md", "Rule 7:", "Rule seven:"),
            "before other files": event_text(root, "PreToolUse", "Edit", "main.py", "a", "b"),
            "after an edit": event_text(root, "PostToolUse", "Edit", "CLAUDE.md", "Rule 7:", "Rule seven:"),
        }
        words = [sys.executable, "-m", "takeback", "hook", "claude-code"]
        costs: dict[str, list[ProcessCost]] = {name: [] for name in ("python", *calls)}
        for at in range(rounds + 1):
            found = {"python": run_process([sys.executable, "-c", "pass"], "", root, env)}
            for name, given in calls.items():
                if name.startswith("after"):
                    (root / "CLAUDE.md").write_text(f"{_TEXT}- Round {at}.\n", encoding="utf-8")
                found[name] = run_process(words, given, root, env)
            for name, cost in found.items():
                costs[name] += (
                    [cost] if at else []
                )  # the first round compiles, and fills the caches of the file system
    rows = {name: summary_row(found) for name, found in costs.items()}
    guard, own = rows["before settings"], rows.pop("python")
    return {
        **guard,
        "python_ms": own["median_ms"],
        "python_share": round(own["median_ms"] / guard["median_ms"], 3),
        "python_cpu_share": round(own["cpu_ms"] / guard["cpu_ms"], 3),
        "rounds": rounds,
        "load": round(os.getloadavg()[0], 2),
        "calls": rows,
    }


def write_project(root: Path) -> Path:
    """Write a small project of Claude Code's; return where it is."""
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text(write_pretty(_SETTINGS), encoding="utf-8")
    (root / "CLAUDE.md").write_text(_TEXT, encoding="utf-8")
    (root / "main.py").write_text("a\n", encoding="utf-8")
    return root


def event_text(root: Path, name: str, tool: str = "", path: str = "", old: str = "", new: str = "") -> str:
    """Return what a client tells a hook: of an edit where there is a path, of a shell command otherwise."""
    about = {"hook_event_name": name, "cwd": str(root), "session_id": "bench", "prompt_id": "bench"}
    if not tool:
        return write_compact(about)
    edit = {"file_path": str(root / path), "old_string": old, "new_string": new}
    given = edit if path else {"command": "ls"}
    return write_compact({**about, "tool_name": tool, "tool_input": given})


def run_process(
    words: Sequence[str], given: str, root: Path, env: Mapping[str, str], seconds: float = SECONDS
) -> ProcessCost:
    """Run one process to its end; return what it cost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    done = subprocess.run(  # noqa: S603 - words of our own
        words, input=given, cwd=root, env=env, capture_output=True, text=True, timeout=seconds, check=False
    )
    wall = perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or done.stderr:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ProcessCost(wall, used)


def summary_row(costs: Sequence[ProcessCost]) -> dict[str, float]:
    """Return the figures of several runs of one call."""
    walls = sorted(cost.wall for cost in costs)
    return {
        "median_ms": round(median(walls) * 1000, 1),
        "p95_ms": round(walls[min(len(walls) - 1, int(len(walls) * 0.95))] * 1000, 1),
        "cpu_ms": round(median(cost.cpu for cost in costs) * 1000, 1),
    }
