"""A file as it would be without what others did to it and nobody recorded.

A change may be recorded of a file in which someone else changed something too: its images hold both. What the file
would be without that is found by making the recorded changes again, from an image of before, each merged in.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from takeback.harness.adapter import FileAdapter, Formatted
from takeback.harness.images import UNKNOWN, Image, KeptImage, Unknown, file_key, images_at
from takeback.harness.ledger import Ledger
from takeback.harness.recorded import MOST, KnownImage, last_known, merge_step
from takeback.state import State

MOST_STEPS: Final = 16
"""How many records of one file are made again at most."""


def known_image(adapter: FileAdapter, ledger: Ledger, path: str, state: State) -> KnownImage:
    """Return the image a file should have, as the journal knows it; UNKNOWN if no record tells."""
    if not ledger.store.touching(file_key(path)):  # a document that was there would have been read at the beginning
        is_document = isinstance(adapter, Formatted) and adapter.is_document(path)
        return None if is_document and adapter.means(path, None, state) else UNKNOWN
    found = last_known(adapter, ledger, path, state)
    return _made_again(adapter, ledger, path, state) if isinstance(found, Unknown) else found


def _made_again(adapter: FileAdapter, ledger: Ledger, path: str, state: State) -> KnownImage:
    made = (image for record, image in images_at(ledger.store, path) if not ledger.aborted(record))
    images = list(islice(made, MOST_STEPS))
    for start in range(1, len(images)):
        here: list[Image | None] = [images[start].after]
        for image in reversed(images[:start]):
            if isinstance(image.before, Unknown):
                break
            step = (image.before, image.after)
            here = list(dict.fromkeys(one for there in here for one in merge_step(there, *step)))[:MOST]
        for one in here:
            if adapter.means(path, one, state):
                return one
    return UNKNOWN


def layout_only(adapter: FileAdapter, ledger: Ledger, state: State, image: KeptImage) -> KeptImage | None:
    """Return what was changed of a file in nothing that the state says; None where nothing was.

    Where what was recorded last holds what others did as well, the file is compared with what it is without that.
    """
    last = image.before
    if isinstance(last, Unknown) or adapter.means(image.path, last, state):
        return image
    known = known_image(adapter, ledger, image.path, state)
    if isinstance(known, Unknown):
        return image
    return None if known == image.after else KeptImage(image.path, known, image.after)
