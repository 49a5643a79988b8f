"""Where a file's bytes are known, they are put back; only where they are not, the file is edited.

Undo and redo take a file from one recorded image to another where it still is the one: byte for byte, whatever the
formatting. Where other entries changed it meanwhile, an older image may still say exactly what is wanted, as long as
nobody but Takeback wrote to the file in between. Anything else is spliced by the adapter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from takeback.harness.adapter import FileAdapter
from takeback.harness.images import (
    UNKNOWN,
    FileChange,
    FileImage,
    Image,
    KeptImage,
    Unknown,
    images_at,
    images_of,
    same_file,
)
from takeback.harness.ledger import Ledger
from takeback.state import State

FARTHEST = 64
"""How many records of one file are looked through at most."""
Known = Image | None | Unknown


def exact(
    adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State, off: Iterable[int], on: Iterable[int]
) -> FileChange:
    """A change of one file by recorded bytes, where there are any that say what is wanted."""
    wanted = _direct(ledger, change, off, on)
    if isinstance(wanted, Unknown) or not adapter.means(change.path, wanted, after):
        wanted = _earlier(adapter, ledger, change, after)
    if isinstance(wanted, Unknown):
        return change
    if isinstance(wanted, FileImage) and isinstance(change.before, FileImage) and _chmodded(ledger, change):
        kept = replace(wanted, mode=change.before.mode)
        wanted = kept if adapter.means(change.path, kept, after) else wanted
    return FileChange(change.path, change.before, wanted)


def last_known(adapter: FileAdapter, ledger: Ledger, path: str, state: State) -> Known:
    """The image a file should have, as the journal knows it; UNKNOWN if no record tells."""
    for record, image in islice(images_at(ledger.store, path), FARTHEST):
        for known in (image.after, image.before):
            if not isinstance(known, Unknown) and not ledger.aborted(record) and adapter.means(path, known, state):
                return known
    return UNKNOWN


def _direct(ledger: Ledger, change: FileChange, off: Iterable[int], on: Iterable[int]) -> Known:
    """Step from image to image through the entries that are taken back and brought back."""
    here: Known = change.before
    moved = False
    for number in sorted(off, reverse=True):
        image = _image_in(ledger, number, change.path)
        if image is not None and not isinstance(here, Unknown) and same_file(image.after, here):
            here, moved = image.before, True
    for number in sorted(on):
        image = _image_in(ledger, number, change.path)
        if image is not None and not isinstance(here, Unknown) and same_file(image.before, here):
            here, moved = image.after, True
    return here if moved else UNKNOWN


def _image_in(ledger: Ledger, number: int, path: str) -> KeptImage | None:
    images = images_of(ledger.store, ledger.store.get(number)) or ()
    return next((image for image in images if image.path == path), None)


def _earlier(adapter: FileAdapter, ledger: Ledger, change: FileChange, after: State) -> Known:
    """Go back from image to image while nobody else has written in between, to one that says what is wanted."""
    here: Known = change.before
    for _, image in islice(images_at(ledger.store, change.path), FARTHEST):
        if isinstance(here, Unknown):
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
    made = (image for record, image in images_at(ledger.store, change.path) if not ledger.aborted(record))
    last = next(made, None)
    if last is None or not isinstance(last.after, FileImage) or not isinstance(change.before, FileImage):
        return False
    return last.after.mode != change.before.mode
