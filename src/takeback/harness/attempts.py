"""What stands beside the journal: attempts that were refused, with who wanted what, why not, and what breaks it.

They are no part of the history, so they stand in a file of their own, one JSON object a line, bounded and
readable by its owner only. Whoever writes one has masked its secrets. A file that cannot be written or read
changes no answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from takeback.canonical import encode, parse_strict

PRIVATE: Final = ".takeback"
POLICY: Final = f"{PRIVATE}/policy.toml"
AUDIT: Final = f"{PRIVATE}/audit.jsonl"
"""Where reads are noted."""
ATTEMPTS: Final = f"{PRIVATE}/attempts.jsonl"
SEARCH: Final = f"{PRIVATE}/search.db"
MOST: Final = 1000
"""So many attempts are kept."""
LONGEST: Final = 64 << 10
"""Bytes of one attempt; of a longer one the breaking state is left out."""


def find_directory(adapter: object) -> str:
    """Return the directory that an adapter works in; empty for one without."""
    return str(getattr(getattr(adapter, "place", None), "root", "") or "")


def append_attempt(root: str | os.PathLike[str], attempt: Mapping[str, Any]) -> None:
    """Add an attempt to the list of a workspace; nothing happens where that cannot be done."""
    noted = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **attempt}
    line = encode(noted, ascii_only=True)
    if len(line) > LONGEST:
        line = encode({**noted, "state": None, "what": str(noted.get("what", ""))[:500]}, ascii_only=True)
    place = Path(root) / ATTEMPTS
    try:
        handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, f"{line}\n".encode())
            large = os.fstat(handle).st_size > MOST * 1024
        finally:
            os.close(handle)
        if large:
            _rewrite(place, list(_iter_lines(place))[-MOST // 2 :])
    except OSError:
        return


def read_attempts(root: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the attempts of a workspace, newest first."""
    attempts = []
    for line in _iter_lines(Path(root) / ATTEMPTS):
        try:
            attempt = parse_strict(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(attempt, dict) and isinstance(attempt.get("at"), str):
            attempts.append(attempt)
    return attempts[::-1][:MOST]


def forget_beside_journal(root: str | os.PathLike[str], matches: Callable[[bytes], bool]) -> None:
    """Delete the index beside the journal, and attempts that hold contents that were forgotten."""
    place = Path(root)
    for name in (SEARCH, f"{SEARCH}-journal", f"{SEARCH}-wal", f"{SEARCH}-shm"):
        (place / name).unlink(missing_ok=True)
    lines = list(_iter_lines(place / ATTEMPTS))
    kept = [line for line in lines if not any(map(matches, _list_texts(line)))]
    if len(kept) < len(lines):
        _rewrite(place / ATTEMPTS, kept)


def _list_texts(line: str) -> list[bytes]:
    """Return every text of an attempt, and all of it, as bytes to compare."""
    texts = [line.encode(errors="surrogatepass")]

    def take(value: Any) -> None:
        if isinstance(value, str):
            texts.append(value.encode(errors="surrogatepass"))
        elif isinstance(value, dict):
            for name, inner in value.items():
                take(name)
                take(inner)
        elif isinstance(value, list):
            for inner in value:
                take(inner)

    try:
        take(parse_strict(line))
    except (ValueError, RecursionError):
        return texts
    return texts


def _iter_lines(place: Path) -> Iterator[str]:
    try:
        text = place.read_text("utf-8", errors="replace")
    except OSError:
        return
    yield from (line for line in text.splitlines() if line)


def _rewrite(place: Path, lines: list[str]) -> None:
    beside = place.with_suffix(".new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as written:
        written.writelines(f"{line}\n" for line in lines)
    beside.replace(place)
