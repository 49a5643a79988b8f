"""Contents of a journal that are read when they are needed, several at once where they are asked for in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, final

from takeback.errors import JournalError
from takeback.journal import Ref, Store
from takeback.journal.content import BATCH, is_redacted
from takeback.state.file import File, Frame, LateContent
from takeback.state.slots import Slot

MANY_PARTS: Final = 1000
"""From how many contents of a state on those of files are read when they are needed."""


MOST_AT_ONCE: Final = 256
MOST_BYTES: Final = 1 << 20
"""So many contents, and about so many bytes, are read at once and held until others are read."""


class ReadAhead:
    """Contents that have an order in which they are likely to be asked for: then several are read at once.

    `read_some` reads those from one place on, so many at most and one at least.
    """

    def __init__(self, read_some: Callable[[int, int], Sequence[bytes]]) -> None:
        self._read_some = read_some
        self._held: tuple[int, Sequence[bytes]] = (0, ())

    def read(self, at: int) -> bytes:
        """Return the content at a place in the order."""
        start, held = self._held
        if not start <= at < start + len(held):
            start, held = self._held = at, self._read_some(at, self._choose_size(at))
        return held[at - start]

    def _choose_size(self, at: int) -> int:
        """Return how many contents to read: more each time they are asked for in order."""
        start, held = self._held
        if not held or at != start + len(held):
            return 1
        size = sum(map(len, held)) // len(held) + 1
        return max(min(2 * len(held), MOST_AT_ONCE, MOST_BYTES // size), 1)


StoredFile = tuple[Slot, Frame, Ref]
"""A file that the journal holds with its mode: where it was, mode and path, and the id of the whole."""


class LateContents:
    """Contents of one journal, in the order in which they are likely to be asked for."""

    def __init__(self, store: Store, refs: Sequence[Ref], files: Sequence[StoredFile] = ()) -> None:
        self._store = store
        self._refs = refs
        self._files = files
        """The files that these are the bytes of, where these are stored with their modes."""
        self._ahead = ReadAhead(self._read_from)
        self._pinned: dict[Ref, bytes] = {}

    def pin(self, refs: Collection[Ref]) -> None:
        """Read some contents now and hold them: they are about to be forgotten."""
        own = [ref for ref in set(self._refs).intersection(refs) if ref not in self._pinned]
        for ref, stored in self._store.contents(own).items():
            if stored is not None:
                self._pinned[ref] = stored.data

    def list_contents(self) -> list[StoredContent]:
        """Return all of them, none read yet."""
        return [StoredContent(self, at, ref) for at, ref in enumerate(self._refs)]

    def find_file(self, at: int, slot: Slot, frame: Frame) -> Ref | None:
        """Return the id of a file that is stored with its mode; None where it is not, or was another's."""
        if at >= len(self._files):
            return None
        of_slot, stored, ref = self._files[at]
        return ref if stored == frame and of_slot == slot else None

    def is_pinned(self, ref: Ref) -> bool:
        """Return whether a content is held, whatever becomes of the journal's."""
        return ref in self._pinned

    def read(self, at: int) -> bytes:
        """Return the content at a place in the order."""
        return self._ahead.read(at)

    def _read_from(self, at: int, most: int) -> list[bytes]:
        chosen = self._refs[at : at + most]
        stored = self._store.contents(ref for ref in chosen if ref not in self._pinned)
        read: list[bytes] = []
        for ref in chosen:
            content = stored.get(ref)
            if ref not in self._pinned and content is None:
                break
            read.append(self._pinned[ref] if content is None else content.data)
        if not read:
            raise JournalError(
                f"content {chosen[0][:12]} of {self._store.location} was forgotten while it was needed",
                hint="run the command again: it then goes by what is left",
            )
        return read


@final
class StoredContent(LateContent):
    """A content of a journal, by its place in the order."""

    __slots__ = ("at", "contents", "ref")
    contents: LateContents
    at: int
    ref: Ref

    def __init__(self, contents: LateContents, at: int, ref: Ref) -> None:
        self.contents = contents
        self.at = at
        self.ref = ref

    @property
    def is_at_hand(self) -> bool:
        """Whether it is held, whatever becomes of the journal's copy."""
        return self.contents.is_pinned(self.ref)

    def read(self) -> bytes:
        """Return the bytes, checked against the id."""
        return self.contents.read(self.at)

    def is_kept_with(self, other: LateContent) -> bool:
        """Return whether two are one content of one journal."""
        return isinstance(other, StoredContent) and self.contents is other.contents and self.ref == other.ref


def can_read_late(store: Store, parts: Sequence[Ref]) -> bool:
    """Return whether contents of a state may be read later: there are many, and none was ever forgotten."""
    return len(parts) >= MANY_PARTS and getattr(store, "reads_late", False) and store.latest("forget") is None


def defer_contents(
    store: Store, parts: Sequence[Ref], positions: Sequence[int]
) -> tuple[LateContents, dict[int, StoredContent]]:
    """Return the contents at some positions of a state, none of which is read yet."""
    late = [at for at in positions if parts[at] and not is_redacted(parts[at])]
    contents = LateContents(store, [parts[at] for at in late])
    return contents, dict(zip(late, contents.list_contents(), strict=True))


def defer_files(
    store: Store, slots: Sequence[Slot], refs: Sequence[Ref | None]
) -> tuple[LateContents, dict[int, File]]:
    """Return those of some stored slots that are whole files, none of whose bytes is read yet, by position."""
    files: list[StoredFile] = []
    contents: list[Ref] = []
    positions: list[int] = []
    for start in range(0, len(refs), BATCH):
        part = refs[start : start + BATCH]
        held = store.contents(ref for ref in part if ref)
        for at, ref in enumerate(part, start):
            stored = held.get(ref) if ref else None
            if ref is None or stored is None or not stored.tree:
                continue
            match stored.open_tree():
                case [[content], ["f", frame, 0]] if content and not is_redacted(content):
                    files.append((slots[at], tuple(frame) if isinstance(frame, list) else frame, ref))
                    contents.append(content)
                    positions.append(at)
    late = LateContents(store, contents, files)
    pairs = zip(late.list_contents(), files, strict=True)
    return late, dict(
        zip(positions, (File(content).with_frame(frame) for content, (_, frame, _) in pairs), strict=True)
    )


def find_stored_content(value: Any) -> StoredContent | None:
    """Return the content of the journal that a file's bytes are, where nothing else has them; None otherwise."""
    source = value.source if type(value) is File and not value.edited and value.holds_bytes else None
    return source if isinstance(source, StoredContent) and not source.is_at_hand else None


def is_unread(value: Any) -> bool:
    """Return whether a value is a file whose bytes only the journal has."""
    return find_stored_content(value) is not None


__all__ = [
    "LateContents",
    "StoredContent",
    "can_read_late",
    "defer_contents",
    "defer_files",
    "find_stored_content",
    "is_unread",
]
