"""Tracking a project's own files beside a shadow git repository, in one run: hooks, the beginning, scans, memory.

A shadow checkpoint is `git add -A` and `write-tree` in a repository of its own, as other tools make it. The sides
take turns on the same tree; hooks and commands are whole processes. Beside the wall time stands the processor's,
which a busy machine disturbs less.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep
from typing import Any, Final, NamedTuple

from takeback.canonical import write_compact
from takeback.track.database import Database
from takeback.track.git import Repository
from takeback.track.rules import Rules
from takeback.track.scan import Scan
from takeback.track.store import TrackStore

SIZES: Final = (2_000, 20_000, 50_000)
ROUNDS: Final = 9
BEGINNINGS: Final = 3
IN_FOLDER: Final = 20
LINES: Final = 60
CALLS: Final = 1_000
KILL_EVERY: Final = 50
FORMATTED: Final = 30
SECONDS: Final = 600
SAID: Final = 600
"""So much is shown of what a process said that failed."""
_CLIENT: Final = "claude-code"


class Cost(NamedTuple):
    """One process, or several: seconds on the wall, and of the processor."""

    wall: float
    cpu: float

    def to_json(self, name: str) -> dict[str, float]:
        """Return both, under names."""
        return {f"{name}_s": round(self.wall, 2), f"{name}_cpu_s": round(self.cpu, 2)}


def measure(
    environment: Mapping[str, str], sizes: Sequence[int] = SIZES, rounds: int = ROUNDS, calls: int = CALLS
) -> dict[str, Any]:
    """Measure everything; growth is from the smallest size to the largest."""
    with TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        env = _make_environment(environment, place)
        by_size = {size: _measure_size(place / str(size), size, rounds, env) for size in sorted(sizes)}
        largest, smallest = max(by_size), min(by_size)
        removal = _measure_removal(place / "removal", min(20_000, largest), env)
        peaks = {name: value for name, value in removal.items() if name.endswith("_mb")}
        return {
            **by_size[largest],
            "peak_mb": max(*(row["command_mb"] for row in by_size.values()), *peaks.values()),
            "sizes": {str(size): row for size, row in by_size.items()},
            "growth": {
                "files": round(largest / smallest, 1),
                "record": _grow(by_size, "record_ms"),
                "shadow": _grow(by_size, "shadow_ms"),
            },
            "calls": _measure_calls(place / "calls", calls, env),
            "removal": removal,
            "formatter": _measure_formatter(place / "formatter", env),
            "proved": measure_proved(place / "proved", env),
            "rounds": rounds,
            "load": round(os.getloadavg()[0], 2),
        }


def _make_environment(environment: Mapping[str, str], place: Path) -> dict[str, str]:
    left_out = {"PYTHONDONTWRITEBYTECODE", "TAKEBACK_JOURNAL"}
    env = {
        name: value
        for name, value in environment.items()
        if name not in left_out and not name.startswith(("GIT_", "COVERAGE_"))
    }
    return env | {
        "TAKEBACK_TRUST": str(place / "trust"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "bench",
        "GIT_AUTHOR_EMAIL": "bench@example.org",
        "GIT_COMMITTER_NAME": "bench",
        "GIT_COMMITTER_EMAIL": "bench@example.org",
    }


def _grow(by_size: Mapping[int, Mapping[str, float]], name: str) -> float:
    return round(by_size[max(by_size)][name] / by_size[min(by_size)][name], 2)


def write_tree(root: Path, files: int, env: Mapping[str, str]) -> list[Path]:
    """Write a project of so many files, twenty to a folder, three folders deep, and commit it; return its files."""
    paths = []
    for at in range(files):
        folder = at // IN_FOLDER
        place = root / f"p{folder // 100:03d}" / f"q{folder // 10 % 10}" / f"r{folder % 10}"
        if not at % IN_FOLDER:
            place.mkdir(parents=True, exist_ok=True)
        path = place / f"f{at:06d}.py"
        path.write_text("".join(f"value_{line} = compute({at}, {line})  # line\n" for line in range(LINES)))
        paths.append(path)
    packed = ("-c", "gc.autoDetach=false")  # else git packs beside what is measured
    for words in (("init", "-q"), ("add", "-A"), (*packed, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=root, env=dict(env), check=True, capture_output=True)  # noqa: S603, S607
    return paths


def run(words: Sequence[str], root: Path, env: Mapping[str, str], given: str = "") -> tuple[Cost, str]:
    """Run one process to its end; return what it cost, and what it printed."""
    start = perf_counter()
    with subprocess.Popen(  # noqa: S603 - words of our own
        words, cwd=root, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("no pipes")
        process.stdin.write(given.encode())
        process.stdin.close()
        printed, complaint = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}: {complaint.decode()}")
    return Cost(wall, used.ru_utime + used.ru_stime), printed.decode()


def measure_memory(words: Sequence[str], root: Path, env: Mapping[str, str], given: str = "") -> float:
    """Return the most memory in MB of a process."""
    return measure_process(words, root, env, given)[1]


def measure_process(words: Sequence[str], root: Path, env: Mapping[str, str], given: str = "") -> tuple[Cost, float]:
    """Return what a process costs, and the most memory in MB that it takes.

    It is started by a small one, because a process counts what it was forked from; that one's start is not counted.
    """
    probe = "import os, sys, time\nstart = time.perf_counter()\n"
    probe += "pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)\n_, status, used = os.wait4(pid, 0)\n"
    probe += "print(file=sys.stderr)\nprint(time.perf_counter() - start, used.ru_utime + used.ru_stime, "
    probe += "used.ru_maxrss, file=sys.stderr)\nsys.exit(os.waitstatus_to_exitcode(status))\n"
    done = subprocess.run(  # noqa: S603 - words of our own
        [sys.executable, "-I", "-S", "-c", probe, *words],
        cwd=root,
        env=dict(env),
        input=given.encode(),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.decode()[-SAID:]}")
    wall, cpu, peak = done.stderr.split()[-3:]
    return Cost(float(wall), float(cpu)), round(int(peak) / 1024, 1)


def find_program() -> list[str]:
    """Return the words that start Takeback as its users start it."""
    script = Path(sys.executable).with_name("takeback")
    return [str(script)] if script.exists() else [sys.executable, "-m", "takeback"]


def tell_hook(
    root: Path, event: str, tool: str, given: Mapping[str, Any], session: str = "s", call: str = "c"
) -> str:
    """Return what a client tells a hook of a tool call."""
    about = {"hook_event_name": event, "cwd": str(root), "session_id": session, "tool_use_id": call}
    return write_compact({**about, "tool_name": tool, "tool_input": dict(given)})


class _Shadow:
    """A repository of git's beside a project, for checkpoints of the whole tree."""

    def __init__(self, root: Path, place: Path, env: Mapping[str, str]) -> None:
        self._root, self._place = root, place
        self._env = {**env, "GIT_DIR": str(place), "GIT_WORK_TREE": str(root)}
        self._plain = env

    def begin(self, *, seeded: bool = False) -> Cost:
        """Make the repository and its first checkpoint."""
        shutil.rmtree(self._place, ignore_errors=True)
        first, _ = run(["git", "init", "-q", "--bare", str(self._place)], self._root, self._plain)
        second, _ = run(["git", "config", "core.bare", "false"], self._root, self._env)
        if seeded:
            (self._place / "objects/info").mkdir(exist_ok=True)
            (self._place / "objects/info/alternates").write_text(f"{self._root / '.git/objects'}\n")
            shutil.copy(self._root / ".git/index", self._place / "index")
        return _add(first, second, self.checkpoint())

    def checkpoint(self) -> Cost:
        """Make one checkpoint."""
        words = ("git", "-c", "gc.auto=0", "-c", "core.fsmonitor=false")
        added, _ = run([*words, "add", "-A"], self._root, self._env)
        written, _ = run([*words, "write-tree"], self._root, self._env)
        return _add(added, written)


def _add(*costs: Cost) -> Cost:
    return Cost(sum(one.wall for one in costs), sum(one.cpu for one in costs))


def _measure_size(root: Path, size: int, rounds: int, env: Mapping[str, str]) -> dict[str, Any]:
    paths = write_tree(root, size, env)
    shadow = _Shadow(root, root.with_name(f"{size}.shadow"), env)
    program = find_program()
    begun: dict[str, list[Cost]] = {"init": [], "fresh": [], "seeded": []}
    for _ in range(BEGINNINGS):
        begun["seeded"].append(shadow.begin(seeded=True))
        begun["fresh"].append(shadow.begin())
        shutil.rmtree(root / ".takeback", ignore_errors=True)
        begun["init"].append(run([*program, "init", "--track"], root, env)[0])
    found: dict[str, list[Cost]] = {"shadow": [], "before": [], "after": [], "status": []}
    ours: list[float] = []
    ours_cpu: list[float] = []
    some = paths[3:12:4]
    touch = _make_touch(some)
    hook = [*program, "hook", _CLIENT]
    given = {"command": "npm run fix"}
    for at in range(rounds + 1):
        touch()
        found["shadow"].append(shadow.checkpoint())
        run(hook, root, env, tell_hook(root, "PreToolUse", "Bash", given))  # takes in what the shadow saw
        found["before"].append(run(hook, root, env, tell_hook(root, "PreToolUse", "Bash", given))[0])
        touch()
        found["after"].append(run(hook, root, env, tell_hook(root, "PostToolUse", "Bash", given))[0])
        words = ["git", "-c", "core.fsmonitor=false", "status", "--porcelain=v2", "-uall"]
        found["status"].append(run(words, root, env)[0])
        gc.disable()  # as a hook does
        start, start_cpu = perf_counter(), process_time()
        scan_once(root, env)
        ours.append(perf_counter() - start)
        ours_cpu.append(process_time() - start_cpu)
        gc.enable()
        if not at:  # the first round compiles, and fills the caches of the file system
            ours, ours_cpu, found = [], [], {name: [] for name in found}
    touch()
    told = tell_hook(root, "PostToolUse", "Bash", given)
    commands = ("log", "status", "show HEAD", "undo HEAD", "redo HEAD", "doctor", "init --track")
    memory = {words: measure_memory([*program, *words.split()], root, env) for words in commands}
    wall = {name: median(one.wall for one in costs) for name, costs in (found | begun).items()}
    cpu = {name: median(one.cpu for one in costs) for name, costs in (found | begun).items()}
    return {
        "record_ratio": round(wall["after"] / wall["shadow"], 2),
        "record_pair_ratio": round((wall["before"] + wall["after"]) / wall["shadow"], 2),
        "init_ratio": round(wall["init"] / wall["fresh"], 2),
        "init_seeded_ratio": round(wall["init"] / wall["seeded"], 2),
        "scan_ratio": round(median(ours) / wall["status"], 2),
        "record_cpu_ratio": round(cpu["after"] / cpu["shadow"], 2),
        "record_pair_cpu_ratio": round((cpu["before"] + cpu["after"]) / cpu["shadow"], 2),
        "init_cpu_ratio": round(cpu["init"] / cpu["fresh"], 2),
        "scan_cpu_ratio": round(median(ours_cpu) / cpu["status"], 2),
        "record_ms": _to_ms(wall["after"]),
        "before_ms": _to_ms(wall["before"]),
        "shadow_ms": _to_ms(wall["shadow"]),
        "scan_ms": _to_ms(median(ours)),
        "git_status_ms": _to_ms(wall["status"]),
        "init_ms": _to_ms(wall["init"]),
        "shadow_fresh_ms": _to_ms(wall["fresh"]),
        "shadow_seeded_ms": _to_ms(wall["seeded"]),
        "hook_mb": measure_memory(hook, root, env, told),
        "command_mb": max(memory.values()),
        "commands_mb": memory,
        "files": size,
    }


def _to_ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _make_touch(paths: Sequence[Path]) -> Callable[[], None]:
    """Return what changes files as a tool does: other bytes of the same length at their beginning."""
    count = 0

    def touch() -> None:
        nonlocal count
        count += 1
        for path in paths:
            with path.open("r+b") as file:
                file.write(b"#%09d" % count)

    return touch


def scan_once(root: Path, env: Mapping[str, str]) -> int:
    """Load the cache and look at everything, as a hook does; return how many names need a closer look."""
    database = Database(str(root))
    try:
        rules = Rules({}, Repository(str(root), env))
        scan = Scan(str(root), rules, 0, database.load_folders(), database.load_facts, database.digest)
        try:
            scan.walk()
            return scan.count()
        finally:
            scan.close()
    finally:
        database.close()


def _measure_calls(root: Path, calls: int, env: Mapping[str, str]) -> dict[str, Any]:
    """Time many calls by two sessions, of which one in fifty is killed; count the contents that can be had after."""
    write_tree(root, 100, env)
    program = find_program()
    run([*program, "init", "--track"], root, env)
    stood: list[list[bytes]] = [[], []]
    faults: list[str] = []

    def work(session: int) -> None:
        chance = random.Random(session)
        for at in range(calls // 2):
            path = root / f"s{session}" / f"{at % 7}.txt"
            given = {"file_path": str(path), "content": "x"}
            words = [*program, "hook", _CLIENT]
            about = (given, f"session-{session}", f"call-{at}")
            run(words, root, env, tell_hook(root, "PreToolUse", "Write", *about))
            path.parent.mkdir(exist_ok=True)
            content = f"session {session}, call {at}: {chance.random()}\n".encode()
            path.write_bytes(content)
            stood[session].append(content)
            told = tell_hook(root, "PostToolUse", "Write", *about)
            if at % KILL_EVERY == KILL_EVERY - 1:
                _run_and_kill(words, root, env, told, chance.uniform(0.0, 0.06))
            else:
                run(words, root, env, told)

    def work_or_tell(session: int) -> None:
        try:
            work(session)
        except Exception as fault:  # noqa: BLE001 - told after the thread has ended
            faults.append(f"{type(fault).__name__}: {fault}")

    start, used = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    threads = [threading.Thread(target=work_or_tell, args=(session,)) for session in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, more = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    with TrackStore.open(root, env) as store:
        before_end = {
            facts.digest for row in store.rows() for delta in row.deltas for facts in [delta.after] if facts
        }
        had = set(store.contents(sorted(before_end)).values())
    run([*program, "hook", _CLIENT], root, env, tell_hook(root, "UserPromptSubmit", "", {}))
    with TrackStore.open(root, env) as store:
        after = {facts.digest for row in store.rows() for delta in row.deltas for facts in [delta.after] if facts}
        had |= set(store.contents(sorted(after)).values())
    contents = {content for one in stood for content in one}
    return {
        "calls": len(contents),
        "killed": 2 * (calls // 2 // KILL_EVERY),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(more.ru_utime + more.ru_stime - used.ru_utime - used.ru_stime, 1),
        "lost": len(contents - had),
        "faults": faults,
    }


def _run_and_kill(words: Sequence[str], root: Path, env: Mapping[str, str], given: str, after: float) -> None:
    with subprocess.Popen(  # noqa: S603 - words of our own
        words, cwd=root, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        if process.stdin is None:
            raise RuntimeError("no pipe")
        process.stdin.write(given.encode())
        process.stdin.close()
        sleep(after)
        process.send_signal(signal.SIGKILL)
        process.wait()


def _measure_removal(root: Path, files: int, env: Mapping[str, str]) -> dict[str, Any]:
    """Time bringing back everything that one command removed, byte for byte; then git's checkout of the same.

    Where a file system is slow to make files right after many were removed (ext4 without a journal), both are.
    """
    paths = write_tree(root, files, env)
    was = {path: path.read_bytes() for path in paths}
    program = find_program()
    hook, given = [*program, "hook", _CLIENT], {"command": "rm -rf p*"}
    run([*program, "init", "--track"], root, env)
    run(hook, root, env, tell_hook(root, "PreToolUse", "Bash", given))
    for folder in root.glob("p*"):
        shutil.rmtree(folder)
    captured, memory = measure_process(hook, root, env, tell_hook(root, "PostToolUse", "Bash", given))
    row: dict[str, Any] = {"files": files, **captured.to_json("capture"), "capture_mb": memory}
    settled, memory = measure_process([*program, "log"], root, env)
    row |= {**settled.to_json("settle"), "settle_mb": memory}
    _, number = _find_last_entry(root, env)
    if number is None:
        return row | {"missing": "the log has no entry of the call: rows are not settled"}
    undone, memory = measure_process([*program, "undo", str(number)], root, env)
    row |= {**undone.to_json("undo"), "undo_mb": memory, "brought_back": _count_same(was)}
    for folder in root.glob("p*"):
        shutil.rmtree(folder)
    restored, _ = run(["git", "-c", "core.fsmonitor=false", "checkout", "--", "."], root, env)
    return row | {**restored.to_json("git_checkout"), "undo_ratio": round(undone.wall / restored.wall, 2)}


def _count_same(was: Mapping[Path, bytes]) -> int:
    return sum(path.is_file() and path.read_bytes() == content for path, content in was.items())


def _measure_formatter(root: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Time settling what a formatter made of thirty files: the next command, less what it takes without."""
    paths = write_tree(root, 200, env)
    program = find_program()
    hook, given = [*program, "hook", _CLIENT], {"command": "black ."}
    run([*program, "init", "--track"], root, env)
    _find_last_entry(root, env)
    without, _ = _find_last_entry(root, env)
    run(hook, root, env, tell_hook(root, "PreToolUse", "Bash", given))
    for path in paths[:FORMATTED]:
        lines = path.read_text().splitlines()
        path.write_text("".join(f"    {line}\n" if at % 3 else f"{line}\n\n" for at, line in enumerate(lines)))
    run(hook, root, env, tell_hook(root, "PostToolUse", "Bash", given))
    settled, number = _find_last_entry(root, env)
    if number is None:
        return {"files": FORMATTED, "missing": "the log has no entry of the call: rows are not settled"}
    less = Cost(max(0.0, settled.wall - without.wall), max(0.0, settled.cpu - without.cpu))
    return {"files": FORMATTED, **less.to_json("settle")}


def measure_proved(root: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Count what is proved of a session of all kinds of calls: edits, shell commands, a formatter, git, odd files."""
    paths = write_tree(root, 200, env)
    some = [path.relative_to(root).as_posix() for path in paths]
    program = find_program()
    hook = [*program, "hook", _CLIENT]
    run([*program, "init", "--track"], root, env)
    for at, path in enumerate(some[60:72]):
        _call_edit(root, hook, env, path, f"edit-{at}")
    formatter = f"sed -i 's/^/  /; s/compute/ compute /' {' '.join(some[:FORMATTED])}"
    shell = [
        f"sed -i 3d {some[80]}",
        f"mv {some[81]} moved.py",
        f"mv {some[82]} again.py && sed -i 1d again.py",
        f"rm -rf {os.path.dirname(some[140])}",
        formatter,
        "printf '\\000\\001\\377' > image.bin",
        f"chmod +x {some[83]}",
        f"cp {some[84]} new.py",
        f"git checkout -q -- {some[80]}",
        f"cat {some[85]} >> {some[86]}",
        f"rm {some[87]}",
        f"ln -s {some[88]} link.py",
    ]
    for at, command in enumerate(shell):
        about = ({"command": command}, "s", f"shell-{at}")
        run(hook, root, env, tell_hook(root, "PreToolUse", "Bash", *about))
        run(["sh", "-c", command], root, env)
        run(hook, root, env, tell_hook(root, "PostToolUse", "Bash", *about))
    _, printed = run([*program, "log", "--json"], root, env)
    entries = [one for one in json.loads(printed)["entries"] if one["kind"] != "genesis"]
    lacking = {one["note"]: one["unproved"] for one in entries if one["grade"] != "proved"}
    found = len(entries) - len(lacking)
    return {"entries": len(entries), "proved": found, "share": round(found / len(entries), 3), "unproved": lacking}


def _call_edit(root: Path, hook: Sequence[str], env: Mapping[str, str], path: str, call: str) -> None:
    """Have an edit tool change a line of a file."""
    old, new = "value_7 =", f"changed_by_{call.replace('-', '_')} ="
    about = ({"file_path": str(root / path), "old_string": old, "new_string": new}, "s", call)
    run(hook, root, env, tell_hook(root, "PreToolUse", "Edit", *about))
    (root / path).write_text((root / path).read_text().replace(old, new))
    run(hook, root, env, tell_hook(root, "PostToolUse", "Edit", *about))


def _find_last_entry(root: Path, env: Mapping[str, str]) -> tuple[Cost, int | None]:
    """Run the log, which settles what was captured; return what it cost and the number of the last entry."""
    cost, printed = run([*find_program(), "log", "--json"], root, env)
    numbers = [one["seq"] for one in json.loads(printed)["entries"] if one["kind"] != "genesis"]
    return cost, max(numbers, default=None)
