"""Where a file's bytes are known, they are put back; only where they are not, the file is edited.

Undo and redo take a file from one recorded image to another where it still is the one: byte for byte, whatever the
formatting. Where other entries changed it meanwhile, what the entry changed is merged out of the text, if the result
says exactly what is wanted; or an older image may, as long as nobody but Takeback wrote to the file in between.
Anything else is spliced by the adapter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from takeback.harness.adapter import FileAdapter
from takeback.harness.images import (
    UNKNOWN,
    DirectoryImage,
    FileChange,
    FileImage,
    Image,
    KeptImage,
    LinkImage,
    Unknown,
    file_key,
    image_in,
    images_at,
    images_of,
    modes_at,
    same_file,
)
from takeback.harness.ledger import Ledger
from takeback.harness.merging import readings
from takeback.harness.timeline import FARTHEST, Timeline
from takeback.state import State

MOST = 8
"""How many readings of a merge are followed at most."""
KnownImage = Image | None | Unknown


def exact(
    adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State, off: Iterable[int], on: Iterable[int]
) -> FileChange:
    """A change of one file by recorded bytes, where there are any that say what is wanted."""
    return _by_bytes(adapter, ledger, change, after, _stepped(ledger, change, off, on))


def followed(
    adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State, off: Collection[int], on: Collection[int]
) -> FileChange:
    """As `exact`, of a file in which every byte counts: as it was when the same entries were live, if ever."""
    timeline = Timeline(ledger, change.path)
    live = timeline.after(off, on)
    known = UNKNOWN if live is None else timeline.as_it_was(change, live)
    if live is None or any(isinstance(one, DirectoryImage) for one in (change.before, change.after, known)):
        return exact(adapter, ledger, change, after, off, on)
    if not isinstance(known, Unknown) and adapter.means(change.path, known, after):
        return FileChange(change.path, change.before, known)
    stepped, again = _stepped(ledger, change, off, on), _replayed(timeline, live)
    ways = (*again, *stepped) if change.before is None else (*stepped, *again)
    found = _by_bytes(adapter, ledger, change, after, ways)
    mode = timeline.mode(live)
    if mode is None or not isinstance(found.after, FileImage) or _chmodded(ledger, change):
        return found
    settled = replace(found.after, mode=mode)
    return replace(found, after=settled) if adapter.means(change.path, settled, after) else found


def _replayed(timeline: Timeline, live: frozenset[int]) -> Sequence[Image | None]:
    """What a file may be if only some of the entries that changed it had ever been made."""
    found = timeline.replay(live)
    if found is None:
        return ()
    here, steps = [found[0]], found[1]
    for step in steps:
        if isinstance(step.before, Unknown):
            return ()
        here = list(dict.fromkeys(one for image in here for one in merge_step(image, step.before, step.after)))[:MOST]
    return here


def _by_bytes(
    adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State, stepped: Sequence[Image | None]
) -> FileChange:
    wanted: KnownImage = next((known for known in stepped if adapter.means(change.path, known, after)), UNKNOWN)
    if isinstance(wanted, Unknown):
        wanted = _earlier(adapter, ledger, change, after)
        if isinstance(change.after, DirectoryImage) and not isinstance(wanted, DirectoryImage):
            return change
    if isinstance(wanted, Unknown) or _clears_the_way(change, wanted):
        return change
    if isinstance(wanted, FileImage) and isinstance(change.before, FileImage) and _chmodded(ledger, change):
        kept = replace(wanted, mode=change.before.mode)
        wanted = kept if adapter.means(change.path, kept, after) else wanted
    return FileChange(change.path, change.before, wanted)


def _clears_the_way(change: FileChange, wanted: Image | None) -> bool:
    """Whether a change removes a file for a directory, or a directory for a file, which is put there by another."""
    return change.after is None and None not in (change.before, wanted) and type(change.before) is not type(wanted)


def last_known(adapter: FileAdapter, ledger: Ledger, path: str, state: State) -> KnownImage:
    """The image a file should have, as the journal knows it; UNKNOWN if no record tells."""
    for record, image in islice(images_at(ledger.store, path), FARTHEST):
        for known in (image.after, image.before):
            if not isinstance(known, Unknown) and not ledger.aborted(record) and adapter.means(path, known, state):
                return known
    return UNKNOWN


def formatted(ledger: Ledger, paths: Iterable[tuple[str, Image | None]]) -> list[KeptImage]:
    """Files that are not what was last recorded of them: in a byte, in permission bits, or in being there."""
    found: list[KeptImage] = []
    for path, image in paths:
        last = next((kept for record, kept in images_at(ledger.store, path) if not ledger.aborted(record)), None)
        before = None if last is None else last.after
        if last is None and (image is None or ledger.store.touching(file_key(path))):
            continue  # it never was there, or what was recorded of it was forgotten
        if isinstance(before, FileImage | LinkImage | None) and before != image:
            found.append(KeptImage(path, before, image))
    return found


def recorded_paths(ledger: Ledger, entries: Iterable[int]) -> list[str]:
    """The files that some entries changed, those of the last entry first, each entry's last first."""
    found: dict[str, None] = {}
    for number in sorted(entries, reverse=True):
        for image in reversed(images_of(ledger.store, ledger.store.get(number)) or ()):
            found.setdefault(image.path)
    return list(found)


def was_made(ledger: Ledger, path: str) -> bool:
    """Whether an entry made a directory."""
    images = (image for _, image in islice(images_at(ledger.store, path), FARTHEST))
    return any(image.before is None and isinstance(image.after, DirectoryImage) for image in images)


def _stepped(ledger: Ledger, change: FileChange, off: Iterable[int], on: Iterable[int]) -> Sequence[Image | None]:
    """What the file may become, step by step through the entries that are taken back and brought back.

    A file that is what an entry left becomes what it was before; otherwise the entry's change is merged out of it.
    """
    here: list[Image | None] = [change.before]
    stepped = False
    for one, two in _steps(ledger, change, off, on):
        if isinstance(one, Unknown) or isinstance(two, Unknown):
            return ()
        here = list(dict.fromkeys(found for image in here for found in merge_step(image, one, two)))[:MOST]
        stepped = True
    return here if stepped else ()


def _steps(
    ledger: Ledger, change: FileChange, off: Iterable[int], on: Iterable[int]
) -> Iterator[tuple[KnownImage, KnownImage]]:
    """Yield the images of a file before and after each step; the bytes of one step are held at a time."""
    path, near = change.path, (change.before, change.after)
    touching = set(ledger.store.touching(file_key(path)))
    for record in ledger.store.many(sorted(touching.intersection(off), reverse=True)):
        image = image_in(ledger.store, record, path, near)
        if isinstance(image, KeptImage):
            yield image.after, image.before
    for record in ledger.store.many(sorted(touching.intersection(on))):
        image = image_in(ledger.store, record, path, near)
        if isinstance(image, KeptImage):
            yield image.before, image.after


def merge_step(here: Image | None, one: Image | None, two: Image | None) -> Iterator[Image | None]:
    """Yield what a file may become when what made `two` of `one` is done to it."""
    if same_file(one, here):
        if isinstance(here, FileImage) and isinstance(one, FileImage) and isinstance(two, FileImage):
            yield replace(two, mode=_mode(here, one, two))
        else:
            yield two
    elif isinstance(here, FileImage) and isinstance(one, FileImage) and isinstance(two, FileImage):
        for content in readings(one.content, here.content, two.content):
            yield FileImage(content, _mode(here, one, two))
    elif same_file(two, here):
        yield here
    elif two is None:
        yield None


def _mode(here: FileImage, one: FileImage, two: FileImage) -> int:
    """The permission bits after a step: those of the other image, unless the step did not change them."""
    return here.mode if one.mode == two.mode else two.mode


def _earlier(adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State) -> KnownImage:
    """Go back from image to image while nobody else has written in between, to one that says what is wanted."""
    here: KnownImage = change.before
    for record, image in islice(images_at(ledger.store, change.path), FARTHEST):
        if isinstance(here, Unknown) or record.kind == "adopt":
            break
        if not same_file(image.after, here):
            if same_file(image.before, here):
                continue  # a change that was given up
            break
        here = image.before
        if not isinstance(here, Unknown) and adapter.means(change.path, here, after):
            return here
    return UNKNOWN


def _chmodded(ledger: Ledger, change: FileChange) -> bool:
    """Whether someone else changed a file's permission bits since it was last recorded."""
    made = (mode for record, mode in modes_at(ledger.store, change.path) if not ledger.aborted(record))
    mode = next(made, None)
    return mode is not None and isinstance(change.before, FileImage) and mode != change.before.mode
