"""Links are state: a link put in a file's place, or a file in a link's, is recorded and taken back as that.

A link is never followed for writing. While a file is a link, what it leads to holds its text: taking the link back
puts the file back in its place and leaves what it led to alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from takeback.harness.adapter import FileAdapter, Linked
from takeback.harness.images import (
    FileChange,
    FileImage,
    Image,
    KeptImage,
    LinkImage,
    Unknown,
    images_with_links,
    paths_of,
)
from takeback.harness.ledger import Ledger
from takeback.harness.results import Refused, Why
from takeback.state import State


class Relinking(NamedTuple):
    """What taking entries back or bringing them back does to links."""

    changes: dict[str, FileChange]
    behind: frozenset[str]
    """Files that these links lead to: they are not what changes."""


def is_link_change(image: KeptImage) -> bool:
    """Tell whether a file was a link before or after."""
    return isinstance(image.before, LinkImage) or isinstance(image.after, LinkImage)


def find_behind(adapter: FileAdapter, images: Iterable[KeptImage]) -> frozenset[str]:
    """Return the files that links among some images lead to, before or after."""
    if not isinstance(adapter, Linked):
        return frozenset()
    links = ((one.path, side) for one in images for side in (one.before, one.after) if isinstance(side, LinkImage))
    return frozenset(real for path, link in links if (real := adapter.behind(path, link)) is not None)


def relink(
    adapter: FileAdapter, ledger: Ledger, after: State, off: Collection[int], on: Collection[int]
) -> Relinking | Refused:
    """Work out which links come, go or change; a refusal where something else stands there by now."""
    steps: dict[str, list[tuple[Image | Unknown | None, Image | Unknown | None]]] = {}
    images: list[KeptImage] = []
    touched: set[str] = set()
    toggled = [(number, True) for number in sorted(off, reverse=True)] + [(number, False) for number in sorted(on)]
    for number, back in toggled:
        record = ledger.store.get(number)
        touched.update(paths_of(record))
        for one in images_with_links(ledger.store, record):
            if is_link_change(one):
                images.append(one)
                step = (one.after, one.before) if back else (one.before, one.after)
                steps.setdefault(one.path, []).append(step)
    changes: dict[str, FileChange] = {}
    for path, found in steps.items():
        there = here = adapter.image(path)
        for start, end in found:
            if here != start or isinstance(end, Unknown):
                told = f"{path} was replaced since by something else; nothing was changed: "
                return Refused(Why.UNSAYABLE, f"{told}take back what replaced it first, or put it there by hand")
            here = end
        if not isinstance(here, LinkImage) and not adapter.means(path, here, after):
            told = f"{path}, which was a link, was edited since; nothing was changed: "
            return Refused(Why.UNSAYABLE, f"{told}take back these edits first")
        changes[path] = FileChange(path, there, here)
    behind = find_behind(adapter, (one for one in images if one.path in changes))
    return Relinking(changes, frozenset(behind - touched))


def place_links(
    adapter: FileAdapter, changes: Sequence[FileChange], relinking: Relinking
) -> Sequence[FileChange] | Refused:
    """Return all changes, with those of links; a refusal where one would be written over a link."""
    found = [change for change in relinking.changes.values() if change.before != change.after]
    going = {change.path for change in changes if isinstance(change.before, FileImage | LinkImage)}
    for change in changes:
        if change.path in relinking.changes or change.path in relinking.behind:
            continue
        is_new = change.before is None and going.isdisjoint(str(one) for one in PurePosixPath(change.path).parents)
        there = adapter.image(change.path) if is_new else None
        if isinstance(there, LinkImage):
            told = f"{change.path} is a link to {there.target}, which is not written through; nothing was changed: "
            way = f"put a file in its place, or 'takeback discard {change.path}' brings back the file that was there"
            return Refused(Why.UNSAYABLE, told + way)
        found.append(change)  # a path may come twice: as a file that goes, and as a directory that comes
    return found
