"""The changes of files that take entries back or bring them back: bytes, links, and whether a file exists.

An entry may have changed a file only in formatting or permission bits; taking it back changes the file all
the same, and is refused where later edits prevent it. A file that came with an entry goes with the last of
what was put into it, unless a comment by someone else is in it; one that was there before stays. A link is
never followed for writing: taking a link back puts the file back and leaves what it led to alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from takeback.errors import CannotSplice, NoPlaceError
from takeback.harness.adapter import FileAdapter, Linked, NotExpressible, SideWrites, TracksFormatting
from takeback.harness.engine import Engine
from takeback.harness.images import (
    UNKNOWN,
    DirectoryImage,
    FileChange,
    FileImage,
    Image,
    KeptImage,
    LinkImage,
    Unknown,
    images_with_links,
    index_files,
    is_same_file,
    iter_images_at,
    load_images,
    paths_of,
)
from takeback.harness.ledger import CHANGES, Ledger
from takeback.harness.outcomes import RefusalReason, Refused
from takeback.journal import Draft
from takeback.lazy_names import load_later
from takeback.progress import track_all_progress
from takeback.state import State
from takeback.undo import Plan

if TYPE_CHECKING:
    from takeback.harness import file_history
else:
    (file_history,) = load_later("takeback.harness", "file_history")


def decide_existence(
    adapter: FileAdapter,
    formatted: TracksFormatting,
    ledger: Ledger,
    change: FileChange,
    spliced: FileChange | None,
    after: State,
    toggled: tuple[Collection[int], Collection[int]],
) -> FileChange:
    """Return a change that removes a file only with all that is in it, and leaves no empty one that entries made."""
    path = change.path
    if not isinstance(change.before, FileImage) or not adapter.means(path, None, after):
        return change
    rest = change.after if isinstance(change.after, FileImage) else None if spliced is None else spliced.after
    if not isinstance(rest, FileImage):
        return change
    past = _Past(ledger, path, *toggled)
    gone = FileChange(path, change.before, None)
    if past.removed and past.last == change.before:
        return gone
    if formatted.is_bare(path, rest):
        return change if past.outlives else gone
    accounted = past.last == change.before and not past.live
    return gone if change.after is None and accounted else FileChange(path, change.before, rest)


class _Past:
    """What the journal knows of a file's being there, once some entries are taken back and others brought back."""

    def __init__(self, ledger: Ledger, path: str, off: Collection[int], on: Collection[int]) -> None:
        made = False
        self.outlives = False
        """Whether it was there from the start, or an entry that made it is live."""
        self.live = False
        """Whether any entry that changed it is live."""
        self.removed = False
        """Whether the last live entry that changed it removed it."""
        self.last: object = UNKNOWN
        """What it was when it was last recorded."""
        for record, image in iter_images_at(ledger.store, path):
            if ledger.is_aborted(record):
                continue
            self.last = image.after if self.last is UNKNOWN else self.last
            self.outlives |= record.kind == "genesis"
            if record.kind not in CHANGES:
                continue
            entry = record.entry
            live = entry in on or (entry not in off and entry not in ledger.history.undone)
            self.removed |= live and not self.live and image.after is None
            self.live |= live
            made |= image.before is None
            self.outlives |= live and image.before is None
        self.outlives |= not made


class Relinking(NamedTuple):
    """What taking entries back or bringing them back does to links."""

    changes: dict[str, FileChange]
    behind: frozenset[str]
    """Files that these links lead to: they are not what changes."""


def is_link_change(image: KeptImage) -> bool:
    """Tell whether a file was a link before or after."""
    return isinstance(image.before, LinkImage) or isinstance(image.after, LinkImage)


def find_link_targets(adapter: FileAdapter, images: Iterable[KeptImage]) -> frozenset[str]:
    """Return the files that links among some images lead to, before or after."""
    if not isinstance(adapter, Linked):
        return frozenset()
    links = (
        (image.path, side) for image in images for side in (image.before, image.after) if isinstance(side, LinkImage)
    )
    return frozenset(real for path, link in links if (real := adapter.behind(path, link)) is not None)


def plan_link_changes(
    adapter: FileAdapter, ledger: Ledger, after: State, off: Collection[int], on: Collection[int]
) -> Relinking | Refused:
    """Return which links come, go or change; a refusal where something else is there by now."""
    steps: dict[str, list[tuple[Image | Unknown | None, Image | Unknown | None]]] = {}
    images: list[KeptImage] = []
    touched: set[str] = set()
    toggled = [(number, True) for number in sorted(off, reverse=True)] + [(number, False) for number in sorted(on)]
    for number, back in toggled:
        record = ledger.store.get(number)
        touched.update(paths_of(record))
        for link in images_with_links(ledger.store, record):
            if is_link_change(link):
                images.append(link)
                step = (link.after, link.before) if back else (link.before, link.after)
                steps.setdefault(link.path, []).append(step)
    changes: dict[str, FileChange] = {}
    for path, steps_of_path in steps.items():
        there = current = adapter.image(path)
        for start, end in steps_of_path:
            if current != start or isinstance(end, Unknown):
                problem = f"{path} was replaced since by something else; nothing was changed: "
                return Refused(
                    RefusalReason.UNSAYABLE, f"{problem}undo the replacement first, or restore it yourself"
                )
            current = end
        if not isinstance(current, LinkImage) and not adapter.means(path, current, after):
            problem = f"{path}, which was a link, was edited since; nothing was changed: "
            return Refused(RefusalReason.UNSAYABLE, f"{problem}undo these edits first")
        changes[path] = FileChange(path, there, current)
    behind = find_link_targets(adapter, (image for image in images if image.path in changes))
    return Relinking(changes, frozenset(behind - touched))


def add_link_changes(
    adapter: FileAdapter, changes: Sequence[FileChange], relinking: Relinking
) -> Sequence[FileChange] | Refused:
    """Return all changes, with those of links; a refusal where one would be written over a link."""
    added = [change for change in relinking.changes.values() if change.before != change.after]
    going = {change.path for change in changes if isinstance(change.before, FileImage | LinkImage)}
    for change in changes:
        if change.path in relinking.changes or change.path in relinking.behind:
            continue
        is_new = change.before is None and going.isdisjoint(
            str(parent) for parent in PurePosixPath(change.path).parents
        )
        there = adapter.image(change.path) if is_new else None
        if isinstance(there, LinkImage):
            problem = (
                f"{change.path} is a link to {there.target}, which is not written through; nothing was changed: "
            )
            way = f"put a file in its place, or 'takeback discard {change.path}' brings back the file that was there"
            return Refused(RefusalReason.UNSAYABLE, problem + way)
        added.append(change)  # a path may come twice: as a file that goes, and as a directory that comes
    return added


NO_LINKS = Relinking({}, frozenset())
LAYOUT = "layout"
"""In the payload of an entry: the files it changed in nothing that the state says."""


def plan_file_changes(
    engine: Engine, before: State, after: State, off: Collection[int] = (), on: Collection[int] = ()
) -> Sequence[FileChange] | Refused:
    """Return the changes of files that turn `before` into `after`, and take the resources needed; or why not."""
    changes = render_file_changes(engine, before, after, off, on)
    if isinstance(changes, Refused) or (engine.formatted is not None and (off or on)):
        return changes
    blocker = engine.prepare(before, after)
    return changes if blocker is None else Refused(RefusalReason.REAL, blocker)


def render_file_changes(
    engine: Engine, before: State, after: State, off: Collection[int] = (), on: Collection[int] = ()
) -> Sequence[FileChange] | Refused:
    """Return the changes of files that turn `before` into `after`, or why it cannot be written."""
    changes = _render_own_changes(engine, before, after, off, on)
    if isinstance(changes, Refused) or engine.project is None:
        return changes
    return (*changes, *engine.project.list_changes(before, after))


def _render_own_changes(
    engine: Engine, before: State, after: State, off: Collection[int], on: Collection[int]
) -> Sequence[FileChange] | Refused:
    """Return the changes of the files that the adapter stores."""
    if engine.files is None:
        return _render_changes(engine, before, after, off, on, NO_LINKS)
    try:
        relinking = plan_link_changes(engine.files, engine.ledger, after, off, on)
        if isinstance(relinking, Refused):
            return relinking
        changes = _render_changes(engine, before, after, off, on, relinking)
        return changes if isinstance(changes, Refused) else add_link_changes(engine.files, changes, relinking)
    except NoPlaceError as fault:
        return Refused(RefusalReason.UNSAYABLE, f"{fault.message}; nothing was changed: {fault.hint}")


def _render_changes(
    engine: Engine,
    before: State,
    after: State,
    off: Collection[int],
    on: Collection[int],
    relinking: Relinking,
) -> Sequence[FileChange] | Refused:
    adapter = engine.files
    if adapter is not None and engine.formatted is not None and (off or on) and not relinking.changes:
        known = _changes_by_history(engine, adapter, engine.formatted, (before, after), off, on)
        if known is not None:
            return known
    changes = engine.render_changes(before, after)
    if adapter is not None and (off or on):
        if engine.formatted is not None:
            return _decide_bytes(engine, adapter, changes, (before, after), off, on, relinking)
        changes = _restore_all_bytes(engine.ledger, adapter, changes, (before, after), off, on)
    if isinstance(changes, NotExpressible):
        return Refused(RefusalReason.UNSAYABLE, changes.build_refusal())
    return changes


def _restore_all_bytes(
    ledger: Ledger,
    adapter: FileAdapter,
    changes: tuple[FileChange, ...] | NotExpressible,
    real: tuple[State, State],
    off: Collection[int],
    on: Collection[int],
) -> tuple[FileChange, ...] | NotExpressible:
    before, after = real
    if isinstance(changes, NotExpressible):
        restored = [
            file_history.restore_bytes(adapter, ledger, FileChange(path, adapter.image(path), None), after, off, on)
            for path in adapter.find_touched_files(before, after)
        ]
        if not all(adapter.means(change.path, change.after, after) for change in restored):
            return changes
        changes = tuple(restored)
    worked_out = track_all_progress("files worked out", changes)
    return tuple(file_history.restore_bytes(adapter, ledger, change, after, off, on) for change in worked_out)


def _changes_by_history(
    engine: Engine,
    adapter: FileAdapter,
    formatted: TracksFormatting,
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
        touched = adapter.find_touched_files(before, after)
    except CannotSplice:
        return None
    layout = find_formatting_only_files(ledger, entries)
    changes: list[FileChange] = []
    for path in dict.fromkeys((*touched, *file_history.list_changed_files(ledger, entries))):
        there = adapter.image(path)
        if not isinstance(there, FileImage):
            return None
        change = file_history.restore_bytes_by_history(
            adapter, ledger, FileChange(path, there, there), after, off, on
        )
        change = decide_existence(adapter, formatted, ledger, change, None, after, (off, on))
        stays = change.after == there
        if not isinstance(change.after, FileImage) or not adapter.means(path, change.after, after):
            return None
        if stays and path in layout and path not in touched:
            return None
        changes += [] if stays else [change]
    return changes


def _decide_bytes(
    engine: Engine,
    adapter: FileAdapter,
    rendered: tuple[FileChange, ...] | NotExpressible,
    real: tuple[State, State],
    off: Collection[int],
    on: Collection[int],
    relinking: Relinking,
) -> Sequence[FileChange] | Refused:
    """Return the changes of files that change the state, and those that only restore formatting."""
    entries, (before, after) = (*off, *on), real
    spliced = {} if isinstance(rendered, NotExpressible) else {change.path: change for change in rendered}
    wanted = dict.fromkeys((*spliced, *file_history.list_changed_files(engine.ledger, entries)))
    if isinstance(rendered, NotExpressible):
        wanted |= dict.fromkeys(adapter.find_touched_files(before, after))
    layout = find_formatting_only_files(engine.ledger, entries)
    wanted = {path: None for path in wanted if path not in relinking.changes and path not in relinking.behind}
    decided: list[FileChange] = []
    for path in track_all_progress("files worked out", wanted):
        there = adapter.image(path)
        change = file_history.restore_bytes_by_history(
            adapter, engine.ledger, spliced.get(path, FileChange(path, there, there)), after, off, on
        )
        if engine.formatted is not None:
            change = decide_existence(
                adapter, engine.formatted, engine.ledger, change, spliced.get(path), after, (off, on)
            )
        if not isinstance(change.after, DirectoryImage) and not adapter.means(path, change.after, after):
            reason = rendered.reason if isinstance(rendered, NotExpressible) else f"{path} cannot be brought back"
            return Refused(RefusalReason.UNSAYABLE, f"{reason}; nothing was changed")
        if (
            path in layout
            and path not in spliced
            and change.after == change.before
            and _is_blocked_by_edits(engine, change, entries)
        ):
            return Refused(
                RefusalReason.UNSAYABLE,
                f"{path} was edited since in the same places; nothing was changed: undo those edits first",
            )
        if change.after != change.before:
            decided.append(change)
    return _order_changes([*decided, *_remove_empty_folders(engine.ledger, adapter, decided)])


def _is_blocked_by_edits(engine: Engine, change: FileChange, entries: Iterable[int]) -> bool:
    """Return whether later edits keep bytes from being restored; other modes, or a missing file, do not."""
    images = (
        image for entry in entries for image in load_images(engine.ledger.store, engine.ledger.store.get(entry)) or ()
    )
    return change.before is not None and any(
        image.path == change.path and not is_same_file(image.before, image.after) for image in images
    )


def _remove_empty_folders(
    ledger: Ledger, adapter: FileAdapter, changes: Sequence[FileChange]
) -> Iterator[FileChange]:
    """Yield removals of directories that an entry made, above files that go, if nothing else is in them."""
    known = {change.path for change in changes}
    gone = [change.path for change in changes if isinstance(change.before, FileImage) and change.after is None]
    for above in dict.fromkeys(above for path in gone for above in _iter_folders(path)):
        there = None if above in known else adapter.image(above)
        if isinstance(there, DirectoryImage) and file_history.is_made_by_entry(ledger, above):
            yield FileChange(above, there, None)


def _iter_folders(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def index_by_files(engine: Engine, draft: Draft, entries: Iterable[int]) -> Draft:
    """Return a draft of toggled entries that is also indexed by the files those changed."""
    return (
        draft
        if engine.formatted is None
        else index_files(draft, file_history.list_changed_files(engine.ledger, entries))
    )


def annotate_plan(engine: Engine, plan: Plan) -> Plan:
    """Return a plan with its entries that have no admitted recovery, and files whose formatting alone changes."""
    ledger = engine.ledger
    if plan.on or not ledger.admitted.issuperset(plan.off):
        from takeback.harness.cross_check import list_unadmitted  # noqa: PLC0415 - start-up

        plan = plan._replace(unadmitted=list_unadmitted(ledger, plan))
    if engine.formatted is not None:
        plan = plan._replace(layout=find_formatting_only_files(ledger, (*plan.off, *plan.on)))
    return plan


def find_formatting_only_files(ledger: Ledger, entries: Iterable[int]) -> tuple[str, ...]:
    """Return the files that some entries changed in formatting only."""
    paths: dict[str, None] = {}
    for record in ledger.store.many(tuple(entries)):
        paths |= dict.fromkeys(record.reformatted)
    return tuple(paths)


def _order_changes(changes: Sequence[FileChange]) -> list[FileChange]:
    """Order directories that are made first, then files, then directories that go, deepest first."""
    made = sorted(
        (change for change in changes if isinstance(change.after, DirectoryImage)), key=lambda item: item.path
    )
    gone = [change for change in changes if isinstance(change.before, DirectoryImage) and change.after is None]
    files = [path for path in changes if path not in made and path not in gone]
    return [*made, *files, *sorted(gone, key=lambda item: item.path, reverse=True)]
