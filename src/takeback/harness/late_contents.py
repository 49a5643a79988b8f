"""Contents of a journal that are read when they are needed, several at once where they are asked for in order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, final

from takeback.errors import JournalError
from takeback.journal import Ref, Store
from takeback.journal.content import is_redacted
from takeback.state.file import File, LateContent

MANY_PARTS: Final = 1000
"""From how many contents of a state on those of files are read when they are needed."""
MOST_AT_ONCE: Final = 256
MOST_BYTES: Final = 1 << 20
"""So many contents, and about so many bytes, are read at once and held until others are read."""


class LateContents:
    """Contents of one journal, in the order in which they are likely to be asked for."""

    def __init__(self, store: Store, refs: Sequence[Ref]) -> None:
        self._store = store
        self._refs = refs
        self._held: tuple[int, list[bytes]] = (0, [])
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

    def is_pinned(self, ref: Ref) -> bool:
        """Return whether a content is held, whatever becomes of the journal's."""
        return ref in self._pinned

    def read(self, at: int) -> bytes:
        """Return the content at a place in the order."""
        start, held = self._held
        if not start <= at < start + len(held):
            start, held = self._held = at, self._read_from(at, self._choose_size(at))
        return held[at - start]

    def _choose_size(self, at: int) -> int:
        """Return how many contents to read: more each time they are asked for in order."""
        start, held = self._held
        if not held or at != start + len(held):
            return 1
        size = sum(map(len, held)) // len(held) + 1
        return max(min(2 * len(held), MOST_AT_ONCE, MOST_BYTES // size), 1)

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


def is_unread(value: Any) -> bool:
    """Return whether a value is a file whose bytes only the journal has."""
    source = value.source if isinstance(value, File) and not value.edited else None
    return isinstance(source, StoredContent) and not source.is_at_hand


__all__ = ["LateContents", "StoredContent", "can_read_late", "defer_contents", "is_unread"]
