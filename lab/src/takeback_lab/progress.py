"""Finished units of an experiment, append-only, so that a run goes on where it stopped.

One JSON line for each unit (a task, a model call): its key and its result. The first line names the lock. A
line torn by a kill is cut off on opening, everything before it counts. Under another lock it refuses. It is
a working file: results are what counts, and the manifest leaves it out.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from takeback.canonical import parse
from takeback.errors import InputError
from takeback_lab.errors import LockChanged
from takeback_lab.lock import Lock, canonical
from takeback_lab.manifest import PROGRESS


def progress_path(folder: Path, lock: Lock) -> Path:
    """Where a run folder keeps the units finished under this lock: each lock has its own file."""
    return folder / PROGRESS / f"{lock.digest[:16]}.jsonl"


class Progress:
    """The finished units of one run: look a key up, record a new one. Safe to share between threads."""

    def __init__(self, path: Path, lock: Lock) -> None:
        """Open or begin the file; raises `LockChanged` if it belongs to another lock."""
        self.path = path
        self._units: dict[str, Any] = {}
        self._guard = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        begun = self._read(lock)
        self._file = path.open("ab")
        if not begun:
            self._append({"lock": lock.digest, "name": lock.name})

    def __contains__(self, key: str) -> bool:
        return key in self._units

    def __len__(self) -> int:
        return len(self._units)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._units))

    def __getitem__(self, key: str) -> Any:
        return self._units[key]

    def record(self, key: str, result: object) -> None:
        """Append a finished unit and make it durable; the same unit with another result is a fault.

        Looked up again it is what a later run would read, so that a run that was stopped ends byte for byte as one
        that was not.
        """
        with self._guard:
            if key in self._units:
                if canonical(self._units[key]) != canonical(result):
                    raise InputError(
                        f"{self.path}: {key}",
                        found="another result for a finished unit",
                        expected="each unit once",
                        hint="Two runs share this file, or the key leaves out what the result depends on.",
                    )
                return
            written = self._append({"key": key, "result": result})
            self._units[key] = parse(written, str(self.path))["result"]

    def close(self) -> None:
        """Close the file; everything recorded is already durable."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, line: dict[str, Any]) -> bytes:
        written = canonical(line, str(self.path))
        self._file.write(written + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        return written

    def _read(self, lock: Lock) -> bool:
        """Take in what is there, cutting off a torn end; whether there was a whole first line."""
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)
        lines = content[:whole].splitlines()
        for number, line in enumerate(lines, 1):
            self._take(number, line, lock)
        return bool(lines)

    def _take(self, number: int, line: bytes, lock: Lock) -> None:
        try:
            entry = parse(line, str(self.path))
        except InputError:
            entry = None
        wanted = {"lock", "name"} if number == 1 else {"key", "result"}
        if not isinstance(entry, dict) or set(entry) != wanted:
            raise InputError(
                f"{self.path}: line {number}",
                found=line.decode("utf-8", "replace"),
                expected=f"one JSON object with {' and '.join(sorted(wanted))}",
                hint="A kill tears only the last line; this one was altered. Move the file away.",
            )
        if number > 1:
            self._units[entry["key"]] = entry["result"]
        elif entry["lock"] != lock.digest:
            raise LockChanged(lock.name, (("progress file", entry["lock"], lock.digest),))
