"""Protocol locks: what a run rests on, frozen by SHA-256 before it starts.

A lock holds one digest for each part (tasks, seeds, suites, prompts, model settings, analysis) and one over
all of them. `check` compares a lock with the parts as they are now and refuses, naming each that changed.
The parts themselves are not stored: a lock proves that they are the same, it does not bring them back.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from takeback.canonical import encode, parse, write_pretty
from takeback.errors import InputError
from takeback_lab.errors import LockChanged

PARTS = ("tasks", "seeds", "suites", "prompts", "model", "analysis")
"""The parts every experiment locks; one that does not apply is locked as null."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A named lock: the SHA-256 of each part, and `digest` over the name and all of them."""

    name: str
    parts: Mapping[str, str]
    digest: str

    def to_json(self) -> dict[str, Any]:
        """The lock as it is written to a file."""
        return {"name": self.name, "parts": dict(sorted(self.parts.items())), "digest": self.digest}


def canonical(value: object, where: str = "value") -> bytes:
    """Canonical JSON as bytes: sorted keys, compact, UTF-8 as it is; `true`, `1` and `1.0` stay different."""
    _check_keys(value, where)
    try:
        return encode(value).encode()
    except (TypeError, ValueError, RecursionError) as fault:
        raise InputError(where, found=str(fault), expected="JSON: finite numbers, text, lists, mappings") from None


def _check_keys(value: object, where: str) -> None:
    """Refuse keys that are not text: JSON would turn 1 and "1" into one key."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(where, found=repr(key), expected="text as the key of a mapping")
            _check_keys(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check_keys(item, f"{where}[{index}]")


def digest_of(value: object, where: str = "value") -> str:
    """SHA-256 of the canonical JSON of a value, in hexadecimal."""
    return hashlib.sha256(canonical(value, where)).hexdigest()


def make_lock(name: str, parts: Mapping[str, Any]) -> Lock:
    """Freeze the parts under a name."""
    digests = {part: digest_of(parts[part], part) for part in sorted(parts)}
    return Lock(name, digests, digest_of({"name": name, "parts": digests}))


def check(lock: Lock, parts: Mapping[str, Any]) -> None:
    """Raise `LockChanged`, naming each part that changed, came or went, unless the parts are those locked."""
    now = make_lock(lock.name, parts)
    changed = tuple(
        (part, lock.parts.get(part, ""), now.parts.get(part, ""))
        for part in sorted({*lock.parts, *now.parts})
        if lock.parts.get(part) != now.parts.get(part)
    )
    if changed:
        raise LockChanged(lock.name, changed)


def write_lock(lock: Lock, path: Path) -> None:
    """Write a lock as a JSON file, whole or not at all."""
    write_whole(path, (write_pretty(lock.to_json()) + "\n").encode())


def read_lock(path: Path) -> Lock:
    """Read a lock and check that its digest is that of its own parts."""
    raw = read_json(path)
    fields = raw if isinstance(raw, dict) else {}
    name, parts, digest = fields.get("name"), fields.get("parts"), fields.get("digest")
    if not isinstance(name, str) or not isinstance(parts, dict) or not isinstance(digest, str):
        raise InputError(str(path), found=str(raw), expected="a lock: name, parts and digest")
    expected = digest_of({"name": name, "parts": parts})
    if digest != expected:
        raise InputError(
            f"{path}: digest",
            found=digest,
            expected=f"{expected}, which is what its parts give",
            hint="The lock was altered after it was made. Make a new one; old results stay apart.",
        )
    return Lock(name, parts, digest)


def read_json(path: Path) -> Any:
    """Read a JSON file; a file that is none names the place."""
    try:
        return parse(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise InputError(str(path), found="no such file", expected="a JSON file") from None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves the old content or the new, never part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    part.replace(path)
