"""The bytes of a file through time, and which of them an undo or redo restores.

A file follows from the entries that are live. Where the same ones were live before, it becomes what it was
then, byte for byte. Where other entries changed it meanwhile, the entry's change is merged out of the text,
if the result says exactly what is wanted; or an older image is used, as long as nobody but Takeback wrote to
the file in between. Anything else is edited by the adapter. Drift that nobody recorded is removed from an
image by making the recorded changes again, each merged in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from takeback.harness.adapter import FileAdapter, TracksFormatting
from takeback.harness.images import (
    UNKNOWN,
    DirectoryImage,
    FileChange,
    FileImage,
    Image,
    KeptImage,
    LinkImage,
    Unknown,
    is_same_file,
    iter_images_at,
    iter_modes_at,
    load_image,
    make_file_key,
    paths_of,
)
from takeback.harness.ledger import CHANGES, TOGGLES, Ledger
from takeback.journal import Record
from takeback.state import State

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
    """What the journal knows of one file, as far back as it is looked at; bytes are read as far as that is.

    `there` is the file as it is: recorded bytes that equal it are held once.
    """

    def __init__(self, ledger: Ledger, path: str, there: Image | None = None) -> None:
        numbers = dict.fromkeys(reversed(ledger.store.touching(make_file_key(path))))
        records = [ledger.store.get(number) for number in islice(numbers, FARTHEST)]
        self._complete = len(records) == len(numbers)
        self._made = {record.entry for record in records if record.kind in CHANGES}
        self._live = frozenset(self._made - ledger.history.undone)
        self._known: list[Moment] = []
        self._further = self._walk_back(ledger, path, records, there)

    @property
    def moments(self) -> Iterator[Moment]:
        """The moments, the newest first; one is read when it is asked for."""
        at = 0
        while at < len(self._known) or self._read_further():
            yield self._known[at]
            at += 1

    def _read_further(self) -> bool:
        moment = next(self._further, None)
        if moment is not None:
            self._known.append(moment)
        return moment is not None

    def _walk_back(
        self, ledger: Ledger, path: str, records: Iterable[Record], there: Image | None
    ) -> Iterator[Moment]:
        live, near = self._live, (there, there)
        for record in records:
            if record.kind == "genesis" or ledger.is_aborted(record):
                continue
            image = load_image(ledger.store, record, path, near)
            if isinstance(image, Unknown) or record.kind not in CHANGES | TOGGLES:
                return
            if record.kind in TOGGLES:
                earlier = live.union(record.off).difference(record.on)
            else:
                earlier = live - {record.entry}
            earlier &= self._made
            yield Moment(record, image, live, earlier)
            live = earlier
            if image is not None and not isinstance(image.before, Unknown):
                near = (there, image.before)

    def after(self, off: Collection[int], on: Collection[int]) -> frozenset[int] | None:
        """Return the entries of this file that are live once some are taken back and others brought back."""
        if not self._complete and not self._made.issuperset((*off, *on)):
            return None
        return (self._live - frozenset(off)) | (frozenset(on) & self._made)

    def find_image(self, change: FileChange, live: frozenset[int]) -> Image | Unknown | None:
        """Return the file as it was when just these entries were live; UNKNOWN if no record has it."""
        image = change.before
        for moment in self.moments:
            if moment.image is None:
                continue
            if moment.image.after != image:
                return UNKNOWN
            if moment.live == live:
                return moment.image.after
            if isinstance(moment.image.before, Unknown):
                return UNKNOWN
            image = moment.image.before
            if moment.earlier == live:
                return image
        return UNKNOWN

    def replay(self, live: frozenset[int]) -> tuple[Image | None, list[KeptImage]] | None:
        """Return the file as it was when some of these entries were live, and what the others did to it, in order."""
        done = {past.record.entry: past.image for past in self.moments if past.record.kind in CHANGES}
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
        """Return the permission bits that these entries give a file; None if that is not known."""
        mode: int | None = None
        for moment in reversed(list(self.moments)):
            image = moment.image
            if image is None or moment.record.kind in TOGGLES or not isinstance(image.after, FileImage):
                continue
            before = image.before.mode if isinstance(image.before, FileImage) else None
            mode = before if mode is None else mode
            if moment.record.entry in live and before != image.after.mode:
                mode = image.after.mode
        return mode


MOST = 8
"""How many readings of a merge are followed at most."""
KnownImage = Image | None | Unknown


def restore_bytes(
    adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State, off: Iterable[int], on: Iterable[int]
) -> FileChange:
    """Return a change of one file by recorded bytes, where there are any that say what is wanted."""
    return _choose_bytes(adapter, ledger, change, after, _step_through(ledger, change, off, on))


def restore_bytes_by_history(
    adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State, off: Collection[int], on: Collection[int]
) -> FileChange:
    """Return a change, by recorded bytes of when the same entries were live, of a file in which every byte counts."""
    timeline = Timeline(ledger, change.path, change.before)
    live = timeline.after(off, on)
    known = UNKNOWN if live is None else timeline.find_image(change, live)
    if live is None or any(isinstance(image, DirectoryImage) for image in (change.before, change.after, known)):
        return restore_bytes(adapter, ledger, change, after, off, on)
    if not isinstance(known, Unknown) and adapter.means(change.path, known, after):
        return FileChange(change.path, change.before, known)
    stepped, again = _step_through(ledger, change, off, on), _replay_entries(timeline, live)
    ways = (*again, *stepped) if change.before is None else (*stepped, *again)
    chosen = _choose_bytes(adapter, ledger, change, after, ways)
    mode = timeline.mode(live)
    if mode is None or not isinstance(chosen.after, FileImage) or _is_chmodded(ledger, change):
        return chosen
    settled = chosen.after.with_mode(mode)
    return replace(chosen, after=settled) if adapter.means(change.path, settled, after) else chosen


def _replay_entries(timeline: Timeline, live: frozenset[int]) -> Sequence[Image | None]:
    """Return what a file may be if only some of the entries that changed it had ever been made."""
    replayed = timeline.replay(live)
    if replayed is None:
        return ()
    images, steps = [replayed[0]], replayed[1]
    for step in steps:
        if isinstance(step.before, Unknown):
            return ()
        images = list(
            dict.fromkeys(merged for image in images for merged in merge_step(image, step.before, step.after))
        )[:MOST]
    return images


def _choose_bytes(
    adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State, stepped: Sequence[Image | None]
) -> FileChange:
    wanted: KnownImage = next((known for known in stepped if adapter.means(change.path, known, after)), UNKNOWN)
    if isinstance(wanted, Unknown):
        wanted = _find_earlier_image(adapter, ledger, change, after)
        if isinstance(change.after, DirectoryImage) and not isinstance(wanted, DirectoryImage):
            return change
    if isinstance(wanted, Unknown) or _is_clearing_path(change, wanted):
        return change
    if isinstance(wanted, FileImage) and isinstance(change.before, FileImage) and _is_chmodded(ledger, change):
        kept = wanted.with_mode(change.before.mode)
        wanted = kept if adapter.means(change.path, kept, after) else wanted
    return FileChange(change.path, change.before, wanted)


def _is_clearing_path(change: FileChange, wanted: Image | None) -> bool:
    return change.after is None and None not in (change.before, wanted) and type(change.before) is not type(wanted)


def find_last_image(adapter: FileAdapter, ledger: Ledger, path: str, state: State) -> KnownImage:
    """Return the image a file should have, as the journal knows it; UNKNOWN if no record has it."""
    for record, image in islice(iter_images_at(ledger.store, path), FARTHEST):
        for known in (image.after, image.before):
            if not isinstance(known, Unknown) and not ledger.is_aborted(record) and adapter.means(path, known, state):
                return known
    return UNKNOWN


def find_formatting_drift(ledger: Ledger, paths: Iterable[tuple[str, Image | None]]) -> list[KeptImage]:
    """Return files that differ from what was last recorded: in a byte, in permission bits, or in existence."""
    images: list[KeptImage] = []
    for path, image in paths:
        last = next(
            (kept for record, kept in iter_images_at(ledger.store, path) if not ledger.is_aborted(record)), None
        )
        before = None if last is None else last.after
        if last is None and (image is None or ledger.store.touching(make_file_key(path))):
            continue  # it never was there, or what was recorded of it was forgotten
        if isinstance(before, FileImage | LinkImage | None) and before != image:
            images.append(KeptImage(path, before, image))
    return images


def list_changed_files(ledger: Ledger, entries: Iterable[int]) -> list[str]:
    """Return the files that some entries changed, those of the last entry first, each entry's last first.

    No bytes are read.
    """
    paths: dict[str, None] = {}
    for number in sorted(entries, reverse=True):
        for path in reversed(tuple(paths_of(ledger.store.get(number)))):
            paths.setdefault(path)
    return list(paths)


def is_made_by_entry(ledger: Ledger, path: str) -> bool:
    """Return whether an entry made a directory."""
    images = (image for _, image in islice(iter_images_at(ledger.store, path), FARTHEST))
    return any(image.before is None and isinstance(image.after, DirectoryImage) for image in images)


def _step_through(
    ledger: Ledger, change: FileChange, off: Iterable[int], on: Iterable[int]
) -> Sequence[Image | None]:
    """Return what the file may become, step by step through the entries taken back and brought back.

    A file that is what an entry left becomes what it was before; otherwise its change is merged out of it.
    """
    images: list[Image | None] = [change.before]
    stepped = False
    for old, new in _iter_steps(ledger, change, off, on):
        if isinstance(old, Unknown) or isinstance(new, Unknown):
            return ()
        images = list(dict.fromkeys(merged for image in images for merged in merge_step(image, old, new)))[:MOST]
        stepped = True
    return images if stepped else ()


def _iter_steps(
    ledger: Ledger, change: FileChange, off: Iterable[int], on: Iterable[int]
) -> Iterator[tuple[KnownImage, KnownImage]]:
    """Yield the images of a file before and after each step; the bytes of one step are held at a time."""
    path, near = change.path, (change.before, change.after)
    touching = set(ledger.store.touching(make_file_key(path)))
    for record in ledger.store.many(sorted(touching.intersection(off), reverse=True)):
        image = load_image(ledger.store, record, path, near)
        if isinstance(image, KeptImage):
            yield image.after, image.before
    for record in ledger.store.many(sorted(touching.intersection(on))):
        image = load_image(ledger.store, record, path, near)
        if isinstance(image, KeptImage):
            yield image.before, image.after


def merge_step(image: Image | None, old: Image | None, new: Image | None) -> Iterator[Image | None]:
    """Yield what a file may become when what made `two` of `one` is done to it."""
    if is_same_file(old, image):
        if isinstance(image, FileImage) and isinstance(old, FileImage) and isinstance(new, FileImage):
            yield new.with_mode(_choose_mode(image, old, new))
        else:
            yield new
    elif isinstance(image, FileImage) and isinstance(old, FileImage) and isinstance(new, FileImage):
        from takeback.harness.merge import iter_merge_results  # noqa: PLC0415 - start-up

        for content in iter_merge_results(old.content, image.content, new.content):
            yield FileImage(content, _choose_mode(image, old, new))
    elif is_same_file(new, image):
        yield image
    elif new is None:
        yield None


def _choose_mode(image: FileImage, old: FileImage, new: FileImage) -> int:
    """Return the permission bits after a step: those of the other image, unless the step did not change them."""
    return image.mode if old.mode == new.mode else new.mode


def _find_earlier_image(adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State) -> KnownImage:
    """Go back from image to image while nobody else has written in between, to one that says what is wanted."""
    known: KnownImage = change.before
    for record, image in islice(iter_images_at(ledger.store, change.path), FARTHEST):
        if isinstance(known, Unknown) or record.kind == "adopt":
            break
        if not is_same_file(image.after, known):
            if is_same_file(image.before, known):
                continue  # a change that was given up
            break
        known = image.before
        if not isinstance(known, Unknown) and adapter.means(change.path, known, after):
            return known
    return UNKNOWN


def _is_chmodded(ledger: Ledger, change: FileChange) -> bool:
    made = (mode for record, mode in iter_modes_at(ledger.store, change.path) if not ledger.is_aborted(record))
    mode = next(made, None)
    return mode is not None and isinstance(change.before, FileImage) and mode != change.before.mode


MOST_STEPS: Final = 16
"""How many records of one file are made again at most."""


def find_known_image(adapter: FileAdapter, ledger: Ledger, path: str, state: State) -> KnownImage:
    """Return the image a file should have, as the journal knows it; UNKNOWN if no record has it."""
    if not ledger.store.touching(
        make_file_key(path)
    ):  # a document that was there would have been read at the beginning
        is_document = isinstance(adapter, TracksFormatting) and adapter.is_document(path)
        return None if is_document and adapter.means(path, None, state) else UNKNOWN
    image = find_last_image(adapter, ledger, path, state)
    return _rebuild_image(adapter, ledger, path, state) if isinstance(image, Unknown) else image


def _rebuild_image(adapter: FileAdapter, ledger: Ledger, path: str, state: State) -> KnownImage:
    made = (image for record, image in iter_images_at(ledger.store, path) if not ledger.is_aborted(record))
    images = list(islice(made, MOST_STEPS))
    for start in range(1, len(images)):
        candidates: list[Image | None] = [images[start].after]
        for image in reversed(images[:start]):
            if isinstance(image.before, Unknown):
                break
            step = (image.before, image.after)
            candidates = list(dict.fromkeys(merged for there in candidates for merged in merge_step(there, *step)))[
                :MOST
            ]
        for candidate in candidates:
            if adapter.means(path, candidate, state):
                return candidate
    return UNKNOWN


def isolate_formatting_change(
    adapter: FileAdapter, ledger: Ledger, state: State, image: KeptImage
) -> KeptImage | None:
    """Return what was changed of a file in formatting only; None where nothing was.

    Where what was recorded last includes drift, the file is compared with what it is without that.
    """
    last = image.before
    if isinstance(last, Unknown) or adapter.means(image.path, last, state):
        return image
    known = find_known_image(adapter, ledger, image.path, state)
    if isinstance(known, Unknown):
        return image
    return None if known == image.after else KeptImage(image.path, known, image.after)
