"""Whether `takeback watch` keeps up with another process that edits without pause, and what that costs.

A writer of its own makes so many edits in so many seconds, in place and by renaming, of instructions, rules and
settings. Then the watcher is killed, edits are made while nobody watches, and it is started again; then a branch is
switched. What counts is what the journal holds at the end of each, beside the files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.canonical import write_pretty
from takeback.harness.images import FileImage, iter_images_at

EDITS: Final = 1_000
SECONDS: Final = 60.0
RULES: Final = 8
PATIENCE: Final = 120.0
"""So many seconds the watcher is waited for, once the edits are made."""
POLL: Final = 0.2
TICKS: Final = os.sysconf("SC_CLK_TCK")
WRITER: Final = """
import os, re, sys, time
root, first, edits, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
paths = sys.argv[5:]
texts = {path: open(os.path.join(root, path)).read() for path in paths}
begun = time.monotonic()
for at in range(edits):
    path = paths[at % len(paths)]
    text = re.sub("ROUND|round [0-9]+", f"round {first + at}", texts[path])
    place = os.path.join(root, path)
    if at % 2:
        with open(place + ".tmp~", "w") as file:
            file.write(text)
        os.replace(place + ".tmp~", place)
    else:
        with open(place, "w") as file:
            file.write(text)
    time.sleep(max(0.0, begun + (at + 1) * seconds / edits - time.monotonic()))
print(time.monotonic() - begun)
"""


def measure(environment: Mapping[str, str], edits: int = EDITS, seconds: float = SECONDS) -> dict[str, Any]:
    """Run the watcher against the writer; what was lost, and what it cost."""
    with TemporaryDirectory() as scratch:
        root = Path(scratch).resolve() / "project"
        paths = _project(root, environment)
        with _watching(root, environment) as watcher:
            took = _write(root, environment, 0, edits, seconds, paths)
            waited = _settled(root)
            cpu, wall = watcher.cpu(), watcher.wall()
        under_load = {"entries": _entries(root), "lost": _lost(root, paths)}
        _write(root, environment, edits, len(paths), 0.1, paths)
        with _watching(root, environment):
            _settled(root)
            restart = {"entries": _entries(root) - under_load["entries"], "lost": _lost(root, paths)}
            before = _entries(root)
            _git(root, environment, "checkout", "-q", "-f", "other")
            _settled(root)
        switch = {"entries": _entries(root) - before, "lost": _lost(root, paths)}
    return {
        "edits": edits,
        "seconds": round(took, 2),
        "files": len(paths),
        **under_load,
        "waited_seconds": round(waited, 2),
        "cpu_seconds": round(cpu, 2),
        "cpu_share": round(cpu / wall, 3),
        "load": round(os.getloadavg()[0], 2),
        "restart": restart,
        "switch": switch,
    }


class _Watcher:
    """A running watcher, and what it has used of the processor."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._begun = time.monotonic()

    def cpu(self) -> float:
        """Seconds of the processor so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def wall(self) -> float:
        """Seconds since it was watching."""
        return time.monotonic() - self._begun


@contextmanager
def _watching(root: Path, environment: Mapping[str, str]) -> Iterator[_Watcher]:
    """A watcher, which is killed in the end, not asked to stop."""
    process = subprocess.Popen(
        [sys.executable, "-m", "takeback", "watch", "--json"],
        cwd=root,
        env=dict(environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = "" if process.stderr is None else process.stderr.readline()
        if "watching" not in said:
            raise RuntimeError(f"the watcher did not start: {said}")
        yield _Watcher(process)
    finally:
        process.kill()
        process.communicate()


def _project(root: Path, environment: Mapping[str, str]) -> list[str]:
    """A harness in a repository with two branches; the files that are edited."""
    (root / ".claude/rules").mkdir(parents=True)
    text = "".join(f"- Rule {at}: what is agreed on.\n" for at in range(100))
    files = {"CLAUDE.md": f"# ROUND\n\n{text}"}
    files |= {f".claude/rules/r{at}.md": f"{text}\nROUND\n" for at in range(RULES)}
    files |= {".claude/settings.json": write_pretty({"model": "opus", "env": {"LAST": "ROUND"}})}
    for path, content in files.items():
        (root / path).write_text(content, encoding="utf-8")
    (root / ".gitignore").write_text(".takeback/\n*.tmp~\n", encoding="utf-8")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "one"), ("branch", "other")):
        _git(root, environment, *words)
    _git(root, environment, "checkout", "-q", "other")
    for path, content in files.items():
        (root / path).write_text(content.replace("ROUND", "the other branch"), encoding="utf-8")
    _git(root, environment, "commit", "-q", "-a", "-m", "two")
    _git(root, environment, "checkout", "-q", "main")
    init_clients(root, ("claude-code",))
    return list(files)


def _git(root: Path, environment: Mapping[str, str], *words: str) -> None:
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    subprocess.run(["git", *who, *words], cwd=root, env=dict(environment), check=True, timeout=60)  # noqa: S603, S607


def _write(
    root: Path, environment: Mapping[str, str], first: int, edits: int, seconds: float, paths: list[str]
) -> float:
    """Let another process make the edits, numbered from the first on; how long it took."""
    words = [sys.executable, "-c", WRITER, str(root), str(first), str(edits), str(seconds), *paths]
    done = subprocess.run(  # noqa: S603 - words of our own
        words, env=dict(environment), check=True, capture_output=True, text=True, timeout=seconds * 10 + PATIENCE
    )
    return float(done.stdout)


def _settled(root: Path) -> float:
    """Wait until the journal has what the files have; how long that took."""
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE:
        with closing(open_workspace(root, hold=False)) as harness:
            status = harness.status()
        if not status.drift and not status.layout and not status.broken:
            break
        time.sleep(POLL)
    return time.monotonic() - begun


def _entries(root: Path) -> int:
    with closing(open_workspace(root, hold=False)) as harness:
        return sum(entry.kind == "adopt" for entry in harness.log())


def _lost(root: Path, paths: list[str]) -> int:
    """Files of which the journal's last image is not what the file holds."""
    lost = 0
    with closing(open_workspace(root, hold=False)) as harness:
        for path in paths:
            last = next((image.after for _, image in iter_images_at(harness.journal, path)), None)
            held = (root / path).read_bytes()
            lost += not isinstance(last, FileImage) or last.content != held
    return lost
