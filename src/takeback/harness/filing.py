"""Files of which every byte counts: what taking entries back and bringing them back does to them.

An entry may have changed a file in nothing that the state says: a comment, the formatting, permission bits. Taking it
back changes the file all the same. Where later edits stand in the way of that, it is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from takeback.errors import CannotSplice, NoPlaceError
from takeback.harness.adapter import FileAdapter, Formatted, SideWrites, Unsayable
from takeback.harness.engine import Engine
from takeback.harness.existence import settle_existence
from takeback.harness.images import DirectoryImage, FileChange, FileImage, images_of, same_file, touching_files
from takeback.harness.ledger import Ledger
from takeback.harness.links import Relinking, place_links, relink
from takeback.harness.recorded import exact, followed, recorded_paths, was_made
from takeback.harness.results import Refused, Why
from takeback.harness.two_roads import unadmitted
from takeback.journal import Draft
from takeback.journal.counted import counted_all
from takeback.state import State
from takeback.undo import Plan

NO_LINKS = Relinking({}, frozenset())
LAYOUT = "layout"
"""In the payload of an entry: the files it changed in nothing that the state says."""


def ready(
    engine: Engine, before: State, after: State, off: Collection[int] = (), on: Collection[int] = ()
) -> Sequence[FileChange] | Refused:
    """The changes of files that make what is there another, and what that must hold taken; or why not."""
    changes = written(engine, before, after, off, on)
    if isinstance(changes, Refused) or (engine.formatted is not None and (off or on)):
        return changes
    blocker = engine.prepare(before, after)
    return changes if blocker is None else Refused(Why.REAL, blocker)


def written(
    engine: Engine, before: State, after: State, off: Collection[int] = (), on: Collection[int] = ()
) -> Sequence[FileChange] | Refused:
    """The changes of files that make what is there another, or why it cannot be written."""
    if engine.files is None:
        return _written(engine, before, after, off, on, NO_LINKS)
    try:
        relinking = relink(engine.files, engine.ledger, after, off, on)
        if isinstance(relinking, Refused):
            return relinking
        changes = _written(engine, before, after, off, on, relinking)
        return changes if isinstance(changes, Refused) else place_links(engine.files, changes, relinking)
    except NoPlaceError as fault:
        return Refused(Why.UNSAYABLE, f"{fault.message}; nothing was changed: {fault.hint}")


def _written(
    engine: Engine,
    before: State,
    after: State,
    off: Collection[int],
    on: Collection[int],
    relinking: Relinking,
) -> Sequence[FileChange] | Refused:
    adapter, ledger = engine.files, engine.ledger
    if adapter is not None and engine.formatted is not None and (off or on) and not relinking.changes:
        known = _changes_by_history(engine, adapter, engine.formatted, (before, after), off, on)
        if known is not None:
            return known
    changes = engine.rendered(before, after)
    if adapter is not None and engine.formatted is not None and (off or on):
        return _changes_of_bytes(engine, adapter, changes, (before, after), off, on, relinking)
    if isinstance(changes, Unsayable) and adapter is not None and (off or on):
        found = [
            exact(adapter, ledger, FileChange(path, adapter.image(path), None), after, off, on)
            for path in adapter.touched(before, after)
        ]
        if all(adapter.means(change.path, change.after, after) for change in found):
            changes = tuple(found)
    if isinstance(changes, Unsayable):
        return Refused(Why.UNSAYABLE, f"{changes.reason}; nothing was changed")
    if adapter is not None and (off or on):
        worked_out = counted_all("files worked out", changes)
        changes = tuple(exact(adapter, ledger, change, after, off, on) for change in worked_out)
    return changes


def _changes_by_history(
    engine: Engine,
    adapter: FileAdapter,
    formatted: Formatted,
    real: tuple[State, State],
    off: Collection[int],
    on: Collection[int],
) -> list[FileChange] | None:
    """Return the changes of files by recorded bytes alone; None where a document has to be spliced to tell.

    That is so where a file comes or goes, or is no plain file, and where rendering would do more than write files.
    """
    (before, after), entries, ledger = real, (*off, *on), engine.ledger
    if not isinstance(adapter, SideWrites) or adapter.writes_aside(before, after):
        return None
    try:
        touched = adapter.touched(before, after)
    except CannotSplice:
        return None
    layout = layout_of(ledger, entries)
    found: list[FileChange] = []
    for path in dict.fromkeys((*touched, *recorded_paths(ledger, entries))):
        there = adapter.image(path)
        if not isinstance(there, FileImage):
            return None
        change = followed(adapter, ledger, FileChange(path, there, there), after, off, on)
        change = settle_existence(adapter, formatted, ledger, change, None, after, (off, on))
        stays = change.after == there
        if not isinstance(change.after, FileImage) or not adapter.means(path, change.after, after):
            return None
        if stays and path in layout and path not in touched:
            return None
        found += [] if stays else [change]
    return found


def _changes_of_bytes(
    engine: Engine,
    adapter: FileAdapter,
    rendered: tuple[FileChange, ...] | Unsayable,
    real: tuple[State, State],
    off: Collection[int],
    on: Collection[int],
    relinking: Relinking,
) -> Sequence[FileChange] | Refused:
    """The changes of files that make the state another, and that take back or bring back what it does not say."""
    entries, (before, after) = (*off, *on), real
    spliced = {} if isinstance(rendered, Unsayable) else {change.path: change for change in rendered}
    wanted = dict.fromkeys((*spliced, *recorded_paths(engine.ledger, entries)))
    if isinstance(rendered, Unsayable):
        wanted |= dict.fromkeys(adapter.touched(before, after))
    layout = layout_of(engine.ledger, entries)
    wanted = {path: None for path in wanted if path not in relinking.changes and path not in relinking.behind}
    found: list[FileChange] = []
    for path in counted_all("files worked out", wanted):
        there = adapter.image(path)
        change = followed(adapter, engine.ledger, spliced.get(path, FileChange(path, there, there)), after, off, on)
        if engine.formatted is not None:
            change = settle_existence(
                adapter, engine.formatted, engine.ledger, change, spliced.get(path), after, (off, on)
            )
        if not isinstance(change.after, DirectoryImage) and not adapter.means(path, change.after, after):
            reason = rendered.reason if isinstance(rendered, Unsayable) else f"{path} cannot be brought back"
            return Refused(Why.UNSAYABLE, f"{reason}; nothing was changed")
        if (
            path in layout
            and path not in spliced
            and change.after == change.before
            and _in_the_way(engine, change, entries)
        ):
            return Refused(Why.UNSAYABLE, f"{path} was edited since in the same places; nothing was changed")
        if change.after != change.before:
            found.append(change)
    return _in_order([*found, *_emptied(engine.ledger, adapter, found)])


def _in_the_way(engine: Engine, change: FileChange, entries: Iterable[int]) -> bool:
    """Whether later edits keep bytes from being taken back; other permission bits, or a file gone, do not."""
    images = (
        one for entry in entries for one in images_of(engine.ledger.store, engine.ledger.store.get(entry)) or ()
    )
    return change.before is not None and any(
        one.path == change.path and not same_file(one.before, one.after) for one in images
    )


def _emptied(ledger: Ledger, adapter: FileAdapter, changes: Sequence[FileChange]) -> Iterator[FileChange]:
    """Directories that an entry made, above files that go: removed if nothing else is in them."""
    known = {change.path for change in changes}
    gone = [change.path for change in changes if isinstance(change.before, FileImage) and change.after is None]
    for above in dict.fromkeys(above for path in gone for above in _folders(path)):
        there = None if above in known else adapter.image(above)
        if isinstance(there, DirectoryImage) and was_made(ledger, above):
            yield FileChange(above, there, None)


def _folders(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def found_by_files(engine: Engine, draft: Draft, entries: Iterable[int]) -> Draft:
    """A record of toggled entries that is found by the files they changed, whether it changes them or not."""
    return draft if engine.formatted is None else touching_files(draft, recorded_paths(engine.ledger, entries))


def annotated(engine: Engine, plan: Plan) -> Plan:
    """A plan with its entries that have no admitted recovery, and the files of which only the layout changes."""
    ledger = engine.ledger
    if plan.on or not ledger.admitted.issuperset(plan.off):
        plan = plan._replace(unadmitted=unadmitted(ledger, plan))
    if engine.formatted is not None:
        plan = plan._replace(layout=layout_of(ledger, (*plan.off, *plan.on)))
    return plan


def layout_of(ledger: Ledger, entries: Iterable[int]) -> tuple[str, ...]:
    """The files that some entries changed in nothing that the state says."""
    found: dict[str, None] = {}
    for record in ledger.store.many(tuple(entries)):
        paths: Any = record.payload.get(LAYOUT, ())
        found |= dict.fromkeys(paths)
    return tuple(found)


def _in_order(changes: Sequence[FileChange]) -> list[FileChange]:
    """Directories that are made first, then files, then directories that go, the deepest first."""
    made = sorted((one for one in changes if isinstance(one.after, DirectoryImage)), key=lambda one: one.path)
    gone = [one for one in changes if isinstance(one.before, DirectoryImage) and one.after is None]
    files = [one for one in changes if one not in made and one not in gone]
    return [*made, *files, *sorted(gone, key=lambda one: one.path, reverse=True)]
