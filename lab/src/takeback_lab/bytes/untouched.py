"""Whether a change left every byte alone that it need not change; knows nothing of how files are edited.

An insertion leaves every old byte, in order. A removal adds none. A replacement of one value changes one stretch,
within a line unless the value is a text of several, and no comment. A rewrite of a whole table or list changes one
stretch. A move keeps every line. A whole write may change all of one file.
"""

from __future__ import annotations

from collections.abc import Mapping

FileBytes = Mapping[str, bytes]
COMMENT = (b"#", b"//")
MANY_LINES = (b'""', b"''")
DOCUMENTS = (".toml", ".json", ".jsonc")
"""Files in which a comment is one."""


def untouched(before: FileBytes, after: FileBytes, effect: str) -> bool:
    """Whether the files differ only as a change of this effect may make them."""
    changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    if effect == "write":
        return len(changed) <= 2  # noqa: PLR2004 - one that goes and one that comes, for a file that moves
    kept = (_kept(path, before.get(path, b""), after.get(path, b""), effect) for path in changed)
    return len(changed) <= 1 and all(kept)


def _kept(path: str, old: bytes, new: bytes, effect: str) -> bool:
    start, end = _stretch(old, new)
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    match effect:
        case "insert":
            return _within(old, new)
        case "remove":
            return _within(new, old) or (set(come) <= set(b" ={}[]") and len(come) < len(gone))
        case "replace":
            return not path.endswith(DOCUMENTS) or _one_value(gone)
        case "move":
            return _lines(old) == _lines(new) or (old.count(b"\n") <= 1 and sorted(old) == sorted(new))
        case _:
            return _within(b"".join((old[:start], old[len(old) - end :])), new)


def _one_value(gone: bytes) -> bool:
    """Whether what a replacement took away can be one value."""
    text = any(mark in gone for mark in MANY_LINES)
    return text or not (b"\n" in gone or any(mark in gone for mark in COMMENT))


def _within(short: bytes, long: bytes) -> bool:
    """Whether one is left when some bytes are taken out of the other."""
    left = iter(long)
    return all(byte in left for byte in short)


def _lines(data: bytes) -> list[bytes]:
    """Lines that say something, whatever their order, their line breaks, and the commas between them."""
    bare = (line.strip().replace(b",", b"") for line in data.splitlines())
    return sorted(line for line in bare if line)


def _stretch(old: bytes, new: bytes) -> tuple[int, int]:
    """How many bytes are the same at the beginning and at the end."""
    short = min(len(old), len(new))
    start = next((at for at in range(short) if old[at] != new[at]), short)
    rest = short - start
    end = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    return start, end
