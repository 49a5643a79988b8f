"""The changes of files that take entries back or bring them back: bytes, links, and whether a file exists.

An entry may have changed a file only in formatting or permission bits; taking it back changes the file all
the same, and is refused where later edits prevent it. A file that came with an entry goes with the last of
what was put into it, unless a comment by someone else is in it; one that was there before stays. A link is
never followed for writing: taking a link back puts the file back and leaves what it led to alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
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
    (file_history,) = load_later(globals(), "takeback.harness", "file_history")


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
    changes: Sequence[FileChange] | Refused = ()
    if engine.files is not None:
        try:
            changes = _Rendering(engine, engine.files, before, after, off, on).list_changes()
        except NoPlaceError as fault:
            changes = Refused(RefusalReason.UNSAYABLE, f"{fault.message}; nothing was changed: {fault.hint}")
    if isinstance(changes, Refused) or engine.project is None:
        return changes
    return (*changes, *engine.project.list_changes(before, after))


class _Rendering:
    """What becomes of the files that an adapter stores where one state becomes another, by entries off and on."""

    def __init__(
        self,
        engine: Engine,
        adapter: FileAdapter,
        before: State,
        after: State,
        off: Collection[int],
        on: Collection[int],
    ) -> None:
        self._adapter = adapter
        self._ledger = engine.ledger
        self._formatted = engine.formatted
        self._before, self._after = before, after
        self._off, self._on = off, on
        self._entries = (*off, *on)

    def list_changes(self) -> Sequence[FileChange] | Refused:
        relinking = plan_link_changes(self._adapter, self._ledger, self._after, self._off, self._on)
        if isinstance(relinking, Refused):
            return relinking
        changes = self._choose_bytes(relinking)
        return changes if isinstance(changes, Refused) else add_link_changes(self._adapter, changes, relinking)

    def _choose_bytes(self, relinking: Relinking) -> Sequence[FileChange] | Refused:
        if self._formatted is not None and self._entries and not relinking.changes:
            known = self._list_by_history(self._formatted)
            if known is not None:
                return known
        changes = self._adapter.render(self._before, self._after)
        if self._formatted is not None and self._entries:
            return self._decide_bytes(self._formatted, changes, relinking)
        changes = self._restore_all_bytes(changes) if self._entries else changes
        if isinstance(changes, NotExpressible):
            return Refused(RefusalReason.UNSAYABLE, changes.build_refusal())
        return changes

    def _restore_all_bytes(
        self, changes: tuple[FileChange, ...] | NotExpressible
    ) -> tuple[FileChange, ...] | NotExpressible:
        adapter, after, how = self._adapter, self._after, (self._after, self._off, self._on)
        restore = partial(file_history.restore_bytes, adapter, self._ledger)
        if isinstance(changes, NotExpressible):
            restored = [
                restore(FileChange(path, adapter.image(path), None), *how)
                for path in adapter.find_touched_files(self._before, after)
            ]
            if not all(adapter.means(change.path, change.after, after) for change in restored):
                return changes
            changes = tuple(restored)
        return tuple(restore(change, *how) for change in track_all_progress("files worked out", changes))

    def _list_by_history(self, formatted: TracksFormatting) -> list[FileChange] | None:
        """Return the changes of files by recorded bytes alone; None where a document has to be spliced to tell.

        That is so where a file comes or goes, or is no plain file, and where rendering would do more than write.
        """
        adapter, ledger, after = self._adapter, self._ledger, self._after
        if not isinstance(adapter, SideWrites) or adapter.writes_aside(self._before, after):
            return None
        try:
            touched = adapter.find_touched_files(self._before, after)
        except CannotSplice:
            return None
        layout = find_formatting_only_files(ledger, self._entries)
        changes: list[FileChange] = []
        for path in dict.fromkeys((*touched, *file_history.list_changed_files(ledger, self._entries))):
            there = adapter.image(path)
            if not isinstance(there, FileImage):
                return None
            change = self._restore(formatted, FileChange(path, there, there), None)
            stays = change.after == there
            if not isinstance(change.after, FileImage) or not adapter.means(path, change.after, after):
                return None
            if stays and path in layout and path not in touched:
                return None
            changes += [] if stays else [change]
        return changes

    def _restore(self, formatted: TracksFormatting, change: FileChange, spliced: FileChange | None) -> FileChange:
        """Return a change by recorded bytes, which removes a file with all that is in it, and leaves no empty one."""
        adapter, ledger, path, toggled = self._adapter, self._ledger, change.path, (self._off, self._on)
        change = file_history.restore_bytes_by_history(adapter, ledger, change, self._after, *toggled)
        if not isinstance(change.before, FileImage) or not adapter.means(path, None, self._after):
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

    def _decide_bytes(
        self, formatted: TracksFormatting, rendered: tuple[FileChange, ...] | NotExpressible, relinking: Relinking
    ) -> Sequence[FileChange] | Refused:
        """Return the changes of files that change the state, and those that only restore formatting."""
        adapter, ledger, after = self._adapter, self._ledger, self._after
        spliced = {} if isinstance(rendered, NotExpressible) else {change.path: change for change in rendered}
        wanted = [*spliced, *file_history.list_changed_files(ledger, self._entries)]
        if isinstance(rendered, NotExpressible):
            wanted += adapter.find_touched_files(self._before, after)
        layout = find_formatting_only_files(ledger, self._entries)
        linked = relinking.changes.keys() | relinking.behind
        own = [path for path in dict.fromkeys(wanted) if path not in linked]
        decided: list[FileChange] = []
        for path in track_all_progress("files worked out", own):
            there = adapter.image(path)
            change = self._restore(formatted, spliced.get(path, FileChange(path, there, there)), spliced.get(path))
            if not isinstance(change.after, DirectoryImage) and not adapter.means(path, change.after, after):
                reason = rendered.reason if isinstance(rendered, NotExpressible) else f"{path} cannot be brought back"
                return Refused(RefusalReason.UNSAYABLE, f"{reason}; nothing was changed")
            if change.after != change.before:
                decided.append(change)
            elif path in layout and path not in spliced and self._is_blocked_by_edits(change):
                return Refused(
                    RefusalReason.UNSAYABLE,
                    f"{path} was edited since in the same places; nothing was changed: undo those edits first",
                )
        return _order_changes([*decided, *self._remove_empty_folders(decided)])

    def _is_blocked_by_edits(self, change: FileChange) -> bool:
        """Return whether later edits keep bytes from being restored; other modes, or a missing file, do not."""
        records = map(self._ledger.store.get, self._entries)
        images = (image for record in records for image in load_images(self._ledger.store, record) or ())
        return change.before is not None and any(
            image.path == change.path and not is_same_file(image.before, image.after) for image in images
        )

    def _remove_empty_folders(self, changes: Sequence[FileChange]) -> Iterator[FileChange]:
        """Yield removals of directories that an entry made, above files that go, if nothing else is in them."""
        known = {change.path for change in changes}
        gone = [change.path for change in changes if isinstance(change.before, FileImage) and change.after is None]
        for above in dict.fromkeys(above for path in gone for above in _iter_folders(path)):
            there = None if above in known else self._adapter.image(above)
            if isinstance(there, DirectoryImage) and file_history.is_made_by_entry(self._ledger, above):
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
