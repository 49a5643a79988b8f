"""Recordings as wholes: packed, counted, and their digest."""

from __future__ import annotations

import gzip
from dataclasses import asdict
from pathlib import Path

from takeback.canonical import digest
from takeback.repair.models.replies import IMPORTED, PACKED, PLAIN, RecordedLine, read_lines


def has_recording(directory: Path) -> bool:
    """Tell whether a directory holds a recording."""
    return any((directory / name).is_file() for name in (PACKED, PLAIN))


def pack(directory: Path) -> Path:
    """Fold a directory's recordings into one packed file, sorted by digest; equal recordings, equal bytes."""
    packed = directory / PACKED
    fresh = packed.with_suffix(".new")
    fresh.write_bytes(pack_to_bytes(directory))
    fresh.replace(packed)
    (directory / PLAIN).unlink(missing_ok=True)
    return packed


def pack_to_bytes(directory: Path) -> bytes:
    """Return a directory's recordings as one packed file."""
    lines = _sort_by_digest(directory)
    body = "".join(line.to_text() for line in lines).encode("utf-8")
    return gzip.compress(body, compresslevel=9, mtime=0)


def digest_replies(directory: Path) -> str:
    """Return the SHA-256 over every request's digest and whole reply: an altered reply changes it."""
    lines = _sort_by_digest(directory)
    return digest(
        [[line.digest, asdict(line.reply), *([dict(line.origin)] if line.origin else [])] for line in lines]
    )


def count_imported(directory: Path) -> int:
    """Return how many replies of a recording came from elsewhere."""
    return sum((line.origin or {}).get("how") == IMPORTED for line in _sort_by_digest(directory))


def _sort_by_digest(directory: Path) -> list[RecordedLine]:
    lines = {line.digest: line for line in read_lines(directory)}
    return [lines[name] for name in sorted(lines)]
