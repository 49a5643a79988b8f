"""Who read what: a hash chain beside the journal, one JSON object a line, of reads and never of what was read.

Each note holds the digest of the one before it. The last one is also kept outside of the project, for each user, so
that a chain that was cut or begun anew is noticed as well as one that was changed. A read that cannot be noted
is refused.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from takeback.canonical import encode, parse_strict, sha256
from takeback.errors import HarnessError
from takeback.harness.attempts import AUDIT

FIRST: Final = "0" * 64
MOST_SLOTS: Final = 200
"""So many slots are named in one note; of more it says how many there were."""
ANCHOR_BYTES: Final = 160
NEAR: Final = 1 << 12
"""The last note is looked for in so many bytes first."""
TAIL: Final = 1 << 20
"""Then in so many; none is longer."""
LONGEST: Final = 400
"""Characters of one name."""
FIELDS: Final = {"seq": int, "at": str, "who": str, "way": str, "entry": str, "slots": list, "more": int, "prev": str}


@dataclass(frozen=True, slots=True)
class ReadNote:
    """One read of contents."""

    seq: int
    at: str
    who: str
    way: str
    """How: show, diff, export, plan, page, server, …"""
    entry: str
    """The entry's id; empty for what is there now."""
    slots: tuple[str, ...]
    """Which slots; `*` for all of them."""
    more: int
    """How many slots are not named."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "entry": self.entry or None, "slots": list(self.slots)}


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the chain holds, and what is wrong with it."""

    notes: tuple[ReadNote, ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditChain:
    """The chain of one workspace."""

    root: Path
    anchor: Path | None = None
    """Where this user keeps how far the chain had come, outside of the project."""

    def append(self, who: str, way: str, entry: str, slots: list[str]) -> None:
        """Note a read; raise `HarnessError` if that cannot be done."""
        place = self.root / AUDIT
        try:
            with _lock_file(place) as file:
                seq, prev = _find_end(file, place)
                note = {
                    "seq": seq + 1,
                    "at": datetime.now(UTC).isoformat(timespec="microseconds"),
                    "who": who[:LONGEST],
                    "way": way,
                    "entry": entry,
                    "slots": [slot[:LONGEST] for slot in slots[:MOST_SLOTS]],
                    "more": max(0, len(slots) - MOST_SLOTS),
                    "prev": prev,
                }
                digest = _make_digest(note)
                line = encode({**note, "digest": digest}, ascii_only=True)
                _write_all(file, f"{line}\n".encode())
                self._move_anchor((seq, prev), (seq + 1, digest))
        except OSError as fault:
            raise HarnessError(
                f"{place}: the read cannot be noted ({fault.strerror}), and the policy wants it noted: "
                "nothing is shown",
                hint="make the file writable, or set reads = false below [audit] in .takeback/policy.toml",
            ) from None

    def examine(self) -> AuditReport:
        """Read the whole chain, and say by name what is wrong with it."""
        notes: list[ReadNote] = []
        faults: list[str] = []
        digests: dict[int, str] = {}
        prev = FIRST
        try:
            text = _read_plain(self.root / AUDIT)
        except OSError as fault:
            return AuditReport((), (f"it cannot be read: {fault.strerror}",))
        *lines, rest = text.split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                raw = _read_note(line)
            except (ValueError, RecursionError):
                faults.append(f"line {number} is no note of a read")
                continue
            if raw["digest"] != _make_digest(raw):
                faults.append(f"line {number} was changed: it does not have its digest")
            elif raw["prev"] != prev or raw["seq"] != number:
                faults.append(
                    f"line {number} does not continue the one before it: notes were removed, added or moved"
                )
            prev = raw["digest"]
            digests[raw["seq"]] = prev
            columns = (raw["seq"], raw["at"], raw["who"], raw["way"], raw["entry"], tuple(raw["slots"]), raw["more"])
            notes.append(ReadNote(*columns))
        if rest:
            faults.append("it ends in the middle of a note")
        faults.extend(self._check_anchor(digests))
        return AuditReport(tuple(notes), tuple(faults))

    def _move_anchor(self, before: tuple[int, str], after: tuple[int, str]) -> None:
        """Keep how far the chain has come, unless it is not the one of before: doctor must go on saying that."""
        if self.anchor is None or _replace_anchor(self.anchor, _format_anchor(before), _format_anchor(after)):
            return
        kept = self._read_anchor()
        if (
            kept is not None
            and kept != before
            and (kept[0] > before[0] or any(self._check_anchor(self._list_digests())))
        ):
            return
        if kept is None:
            self.anchor.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.anchor, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:  # in place and in one piece: replacing a file waits for the disk
            os.pwrite(handle, _format_anchor(after), 0)
        finally:
            os.close(handle)

    def _read_anchor(self) -> tuple[int, str] | None:
        """Return how far the chain had come; None if nothing was kept, (0, "") if it cannot be read."""
        if self.anchor is None or not os.path.lexists(self.anchor):
            return None
        try:
            raw: Any = parse_strict(self.anchor.read_text().strip())
            return int(raw["seq"]), str(raw["digest"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return 0, ""

    def _list_digests(self) -> dict[int, str]:
        digests: dict[int, str] = {}
        for line in _read_plain(self.root / AUDIT).split(b"\n"):
            with suppress(ValueError, RecursionError):
                raw = _read_note(line)
                digests[raw["seq"]] = raw["digest"]
        return digests

    def _check_anchor(self, digests: Mapping[int, str]) -> Iterator[str]:
        kept = self._read_anchor()
        if kept is not None and digests.get(kept[0]) != kept[1]:
            yield (
                f"it had {kept[0]} notes when you last read, and is another chain now: it was cut or begun anew "
                f"(delete {self.anchor} to accept it as it is)"
            )


def _read_note(line: bytes) -> dict[str, Any]:
    raw: Any = parse_strict(line.decode("ascii"))
    wanted = {**FIELDS, "digest": str}
    if not isinstance(raw, dict) or raw.keys() != wanted.keys():
        raise ValueError("no note")
    if any(type(raw[name]) is not kind for name, kind in wanted.items()):
        raise ValueError("no note")
    if not all(isinstance(slot, str) for slot in raw["slots"]):
        raise ValueError("no note")
    return raw


def _make_digest(note: Mapping[str, Any]) -> str:
    return sha256(encode({name: note[name] for name in FIELDS}, ascii_only=True))


def _format_anchor(end: tuple[int, str]) -> bytes:
    return encode({"seq": end[0], "digest": end[1]}).ljust(ANCHOR_BYTES).encode("ascii")


def _replace_anchor(place: Path, known: bytes, wanted: bytes) -> bool:
    """Write an anchor over the one that is known; return False, with nothing written, where another one is there."""
    try:
        file = os.open(place, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.pread(file, len(known) + 1, 0) == known and os.pwrite(file, wanted, 0) == len(wanted)
    finally:
        os.close(file)


@contextmanager
def _lock_file(place: Path) -> Iterator[int]:
    file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _find_end(file: int, place: Path) -> tuple[int, str]:
    """Return the number and the digest of the last note; half a note that a killed process left is taken away."""
    size = os.fstat(file).st_size
    start = max(0, size - NEAR)
    tail = os.pread(file, size - start, start)
    if tail.rfind(b"\n", 0, max(0, tail.rfind(b"\n"))) < 0:
        start = max(0, size - TAIL)
        tail = os.pread(file, size - start, start)
    whole = tail.rfind(b"\n") + 1
    if whole < len(tail):
        os.ftruncate(file, start + whole)
    os.lseek(file, 0, os.SEEK_END)
    if not whole:
        return 0, FIRST
    try:
        last = _read_note(tail[tail.rfind(b"\n", 0, whole - 1) + 1 : whole - 1])
    except (ValueError, RecursionError):
        raise HarnessError(
            f"{place}: its last line is no note of a read: somebody changed it; nothing is shown",
            hint="'takeback doctor' says what is wrong with it; move the file away to begin a new chain",
        ) from None
    return last["seq"], last["digest"]


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _read_plain(place: Path) -> bytes:
    try:
        file = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    with os.fdopen(file, "rb") as opened:
        return opened.read()
