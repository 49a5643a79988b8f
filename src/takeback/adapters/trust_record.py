"""Which harnesses this user made or trusted on this machine: one record each, outside of every project.

A trusted harness has a mark: a small file in `.takeback` with a random name in it. The record of that name says in
which directory the mark lies and which file it is, by inode and by the time of its last change or of its making, so
that neither a clone, nor a copy, nor a file that git writes over the mark has it. Every hook asks this, so that next
to nothing is imported.
"""

from __future__ import annotations

import json
import os
import stat
import sys

from takeback.adapters.roots import PRIVATE

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

MARK = "trusted"
"""The name of the mark in `.takeback`."""
DEFAULT = "~/.local/state/takeback/trusted"
NAME_LENGTH = 32
OTHERS_WRITE = 0o022
ROOT_USER = 0
AT_HERE, NO_LINK, BIRTH = -100, 0x100, 0x800
"""What Linux's `statx` is told: a path from here, no link followed, the time of birth wanted."""
STATX_SIZE = 256
STATX_PARTS = ((0, 4), (80, 8), (88, 4))
"""Where it answers: what it knows, and the time of birth in seconds and nanoseconds."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Records:
    """Where the records of this process are; nothing for the user's own folder."""

    folder: str = ""


def use_trust_folder(folder: str) -> None:
    """Keep and look for trust records in this folder from now on; with an empty name, in the user's own."""
    _Records.folder = folder


def find_trust_folder() -> str:
    """Return the folder of the trust records."""
    return _Records.folder or os.path.expanduser(DEFAULT)


def is_trusted(root: str) -> bool:
    """Return whether this user made or trusted the harness in a directory."""
    return read_record(root) is not None


def read_record(root: str) -> dict[str, Any] | None:
    """Return the record of a harness that this user made or trusted; None for any other."""
    mark = _read_mark(root)
    if mark is None:
        return None
    record = _load_record(os.path.join(find_trust_folder(), mark[0]))
    same = record is not None and record["path"] == os.path.realpath(root) and _is_same_file(root, mark, record)
    return record if same else None


def _is_same_file(root: str, mark: tuple[str, int, int], record: dict[str, Any]) -> bool:
    """Return whether a mark is the recorded file; its mode or owner may have changed since."""
    known, born = record.get("mark"), record.get("born")
    if known == list(mark[1:]):
        return True
    same = isinstance(known, list) and known[:1] == [mark[1]] and isinstance(born, int)
    return same and born == _read_birth(os.path.join(root, PRIVATE, MARK))


def _read_birth(place: str) -> int | None:
    """Return when a file was made, which nobody can set; None where the system does not say."""
    try:
        seconds: float | None = getattr(os.stat(place, follow_symlinks=False), "st_birthtime", None)
        if seconds is not None:
            return int(seconds * 1_000_000_000)
        import ctypes  # noqa: PLC0415 - only where a mark was changed

        buffer = ctypes.create_string_buffer(STATX_SIZE)
        if ctypes.CDLL(None).statx(AT_HERE, os.fsencode(place), NO_LINK, BIRTH, buffer):
            return None
    except (OSError, AttributeError, ImportError):
        return None
    mask, whole, rest = (int.from_bytes(buffer.raw[at : at + size], sys.byteorder) for at, size in STATX_PARTS)
    return whole * 1_000_000_000 + rest if mask & BIRTH else None


def identify_file(place: str) -> list[int | None] | None:
    """Return what tells a file from any that is put in its place: inode and birth; None for no file."""
    try:
        status = os.stat(place, follow_symlinks=False)
    except OSError:
        return None
    return [status.st_ino, _read_birth(place)]


def read_former_record(root: str) -> dict[str, Any] | None:
    """Return the record that the mark in a directory names, though it may be about another place or another file."""
    mark = _read_mark(root)
    return None if mark is None else _load_record(os.path.join(find_trust_folder(), mark[0]))


def write_record(root: str, about: Mapping[str, Any]) -> None:
    """Record that the harness in a directory is this user's; `OSError` if that cannot be written.

    A mark that is there stays, since another user's record may rest on it, unless it is the name of another record.
    """
    folder, real = find_trust_folder(), os.path.realpath(root)
    os.makedirs(folder, 0o700, exist_ok=True)
    mark = _read_mark(root)
    known = None if mark is None else _load_record(os.path.join(folder, mark[0]))
    if mark is None or (known is not None and known["path"] != real):
        mark = _make_mark(root)
    born = _read_birth(os.path.join(root, PRIVATE, MARK))
    _save_record(os.path.join(folder, mark[0]), {**about, "path": real, "mark": list(mark[1:]), "born": born})


def _make_mark(root: str) -> tuple[str, int, int]:
    """Put a new mark in a directory, which whoever has the directory can read."""
    from contextlib import suppress  # noqa: PLC0415 - start-up

    name = os.urandom(NAME_LENGTH // 2).hex()
    private = os.open(os.path.join(root, PRIVATE), _FOLDER)
    try:
        with suppress(FileNotFoundError):
            os.unlink(MARK, dir_fd=private)
        mark = os.open(MARK, _MAKE, 0o600, dir_fd=private)
        try:
            os.write(mark, f"{name}\n".encode())
            if os.geteuid() == ROOT_USER:
                owner = os.fstat(private)
                os.fchown(mark, owner.st_uid, owner.st_gid)
            os.fsync(mark)
            status = os.fstat(mark)
        finally:
            os.close(mark)
    finally:
        os.close(private)
    return name, status.st_ino, status.st_ctime_ns


def forget_record(root: str) -> bool:
    """Remove the record of a directory; whether there was one."""
    record = read_record(root)
    mark = _read_mark(root)
    if record is None or mark is None:
        return False
    os.unlink(os.path.join(find_trust_folder(), mark[0]))
    return True


def list_records() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every record of this user, with the file it is in."""
    try:
        names = sorted(os.listdir(find_trust_folder()))
    except OSError:
        return
    for name in names:
        place = os.path.join(find_trust_folder(), name)
        record = _load_record(place) if _is_name(name) else None
        if record is not None:
            yield place, record


def _read_mark(root: str) -> tuple[str, int, int] | None:
    """Return what the mark of a directory says, its inode, and when it was last changed."""
    place = os.path.join(root, PRIVATE)
    if os.path.islink(place):
        return None
    read = _read_small_file(os.path.join(place, MARK))
    if read is None:
        return None
    data, status = read
    name = data.decode("ascii", "replace").rstrip("\n")
    return (name, status.st_ino, status.st_ctime_ns) if _is_name(name) else None


def _is_name(name: str) -> bool:
    return len(name) == NAME_LENGTH and all(char in "0123456789abcdef" for char in name)


def _load_record(place: str) -> dict[str, Any] | None:
    """Return a record, if it is this user's own and nobody else may write it."""
    read = _read_small_file(place)
    if read is None or read[1].st_uid != os.geteuid() or read[1].st_mode & OTHERS_WRITE:
        return None
    try:
        record = json.loads(read[0])
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("path"), str) else None


def _save_record(place: str, record: dict[str, Any]) -> None:
    beside = f"{place}.{os.urandom(4).hex()}"
    file = os.open(beside, _MAKE, 0o600)
    try:
        os.write(file, json.dumps(record).encode())
        os.fsync(file)
    finally:
        os.close(file)
    os.rename(beside, place)


def _read_small_file(place: str) -> tuple[bytes, os.stat_result] | None:
    """Return a small file's bytes and status; None for a link, for anything else that is no file, and for no file."""
    try:
        file = os.open(place, _READ)
    except OSError:
        return None
    try:
        status = os.fstat(file)
        return (os.read(file, 1 << 16), status) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        return None
    finally:
        os.close(file)
