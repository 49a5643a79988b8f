"""One file through time: which entries that changed it were live, and what it was then.

What a file is follows from the entries that are live. Where the same ones were live before, the file becomes what it
was then, byte for byte, whatever was done in between; its permission bits are those of the last live entry that set
them. Only what the journal recorded counts: after an edit that is not recorded nothing is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from takeback.harness.images import UNKNOWN, FileChange, FileImage, Image, KeptImage, Unknown, file_key, image_in
from takeback.harness.ledger import CHANGES, TOGGLES, Ledger
from takeback.journal import Record

FARTHEST: Final = 64
"""How many records of one file are looked through at most."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A record that changed a file, or entries that did: what it made of the file, and which entries it left live."""

    record: Record
    image: KeptImage | None
    """None where the file stayed as it was."""
    live: frozenset[int]
    """Entries of this file that were live after it."""
    earlier: frozenset[int]
    """Those that were live before it."""


class Timeline:
    """What the journal knows of one file, as far back as it is looked at."""

    def __init__(self, ledger: Ledger, path: str) -> None:
        numbers = dict.fromkeys(reversed(ledger.store.touching(file_key(path))))
        records = [ledger.store.get(number) for number in islice(numbers, FARTHEST)]
        self._complete = len(records) == len(numbers)
        self._made = {record.entry for record in records if record.kind in CHANGES}
        self._live = frozenset(self._made - ledger.history.undone)
        self.moments = tuple(self._walked(ledger, path, records))

    def _walked(self, ledger: Ledger, path: str, records: Iterable[Record]) -> Iterator[Moment]:
        """From the last record back, as far as each says what it did."""
        live = self._live
        for record in records:
            if record.kind == "genesis" or ledger.aborted(record):
                continue
            image = image_in(ledger.store, record, path)
            if isinstance(image, Unknown) or record.kind not in CHANGES | TOGGLES:
                return
            if record.kind in TOGGLES:
                earlier = live.union(record.off).difference(record.on)
            else:
                earlier = live - {record.entry}
            earlier &= self._made
            yield Moment(record, image, live, earlier)
            live = earlier

    def after(self, off: Collection[int], on: Collection[int]) -> frozenset[int] | None:
        """The entries of this file that are live once some are taken back and others are brought back."""
        if not self._complete and not self._made.issuperset((*off, *on)):
            return None
        return (self._live - frozenset(off)) | (frozenset(on) & self._made)

    def as_it_was(self, change: FileChange, live: frozenset[int]) -> Image | Unknown | None:
        """The file as it was when just these entries were live; UNKNOWN if no record tells."""
        here = change.before
        for moment in self.moments:
            if moment.image is None:
                continue
            if moment.image.after != here:
                return UNKNOWN
            if moment.live == live:
                return moment.image.after
            if isinstance(moment.image.before, Unknown):
                return UNKNOWN
            here = moment.image.before
            if moment.earlier == live:
                return here
        return UNKNOWN

    def replay(self, live: frozenset[int]) -> tuple[Image | None, list[KeptImage]] | None:
        """The file as it was when some of these entries were live, and what the others did to it, in order."""
        done = {one.record.entry: one.image for one in self.moments if one.record.kind in CHANGES}
        for moment in self.moments:
            for image, there in self._sides(moment):
                if there <= live <= there | done.keys() and not isinstance(image, Unknown):
                    steps = [done[entry] for entry in sorted(live - there)]
                    return image, [step for step in steps if step is not None]
        return None

    @staticmethod
    def _sides(moment: Moment) -> Iterator[tuple[Image | Unknown | None, frozenset[int]]]:
        if moment.image is not None:
            yield moment.image.after, moment.live
            yield moment.image.before, moment.earlier

    def mode(self, live: frozenset[int]) -> int | None:
        """The permission bits that these entries give a file; None if that is not known."""
        found: int | None = None
        for moment in reversed(self.moments):
            image = moment.image
            if image is None or moment.record.kind in TOGGLES or not isinstance(image.after, FileImage):
                continue
            before = image.before.mode if isinstance(image.before, FileImage) else None
            found = before if found is None else found
            if moment.record.entry in live and before != image.after.mode:
                found = image.after.mode
        return found
