"""Drift: changes made outside Takeback, found beside a change, adopted as an entry, or discarded.

A change is planned on the journal's state. Where nothing that it writes, or that lies around or in that, was
changed outside Takeback, it is made on the things as they are, and the drift stays. A file that cannot be
read blocks only changes of that file. Adopting records drift by parts, with the bytes before and after; what
the client itself writes (an approval, a migration) is adopted without asking. Discarding changes files, never
the state, and keeps what was in them in the entry's images, so that it can be undone.
"""

from __future__ import annotations

import os
import shlex
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from takeback.errors import CannotSplice, HarnessError, InputError, OperationFailed, UnsafePathError
from takeback.harness.adapter import Broken, FileAdapter, Heeding, NotExpressible, TracksFormatting
from takeback.harness.engine import Engine, Inspection
from takeback.harness.images import (
    UNKNOWN,
    FileChange,
    FileImage,
    Image,
    KeptImage,
    LinkImage,
    Unknown,
    attach_images,
    is_same_file,
    list_recorded_links,
    load_file_changes,
)
from takeback.harness.missing_values import list_unkept_files
from takeback.harness.outcomes import Adopted, Discarded, RefusalReason, Refused
from takeback.harness.records import draft_change
from takeback.journal import Draft, Record
from takeback.lazy_names import load_later
from takeback.state import ABSENT, SURFACES, PMap, State, diff
from takeback.state.address import PLACE, is_part, make_part_name, parse_original_number
from takeback.state.chain import ChainPlace, Link
from takeback.state.file_paths import find_file
from takeback.state.forgotten import has_forgotten
from takeback.state.part_slots import compare_parts, get_parts, reserve_part_names
from takeback.state.parts import Parts, make_original_place
from takeback.state.slots import Slot, describe_slot, find_containing_slot, format_slot_key, get_slot, put_slots
from takeback.undo import SlotChange, Write
from takeback.undo.index import Versions

if TYPE_CHECKING:
    from takeback.harness import file_changes, file_history, recorded_evidence
    from takeback.language import Program
else:
    file_changes, file_history, recorded_evidence = load_later(
        globals(), "takeback.harness", "file_changes file_history recorded_evidence"
    )

FindVersions = Callable[[Slot], Versions]
"""Every version of a slot, oldest first."""
MOST_GONE: Final = 256
"""Of parts that were added and removed again, so many are looked for in the history, the last ones first."""


class Readings(NamedTuple):
    """Addresses of texts and lists of which more could be said than their versions before and after tell."""

    several: tuple[str, ...]
    """They allow several readings."""
    coarse: tuple[str, ...]
    """A stretch of them was too long to be compared line by line: it counts as replaced."""


def read_versions(before: State, after: State, writes: Iterable[Write], at: FindVersions) -> Readings:
    """Return what is open about the texts and lists whose parts were written; `at` tells of parts that are gone."""
    wholes: dict[Slot, list[Write]] = {}
    for write in writes:
        if find_containing_slot(write.slot) is not write.slot:
            wholes.setdefault(find_containing_slot(write.slot), []).append(write)
    several: list[str] = []
    coarse: list[str] = []
    for slot, written in wholes.items():
        compared = compare_parts(get_slot(before, slot), get_slot(after, slot))
        parts = get_parts(get_slot(after, slot))
        if compared is not None and compared.coarse:
            coarse.append(describe_slot(slot))
        several_here = compared is not None and compared.several
        if several_here or (parts is not None and _came_where_one_was(parts, slot, written, at)):
            several.append(describe_slot(slot))
    return Readings(tuple(several), tuple(coarse))


def _came_where_one_was(parts: Parts, whole: Slot, writes: Sequence[Write], at: FindVersions) -> bool:
    """Whether a part came between two others between which one had stood that is not there now."""
    written = {write.slot[-1][1:] for write in writes}
    came = {write.slot[-1][1:].removeprefix(PLACE) for write in writes if write.before is ABSENT}
    gaps = list(_gaps(parts, came))
    if not gaps:
        return False
    stood = sorted(
        _places(parts, [part for part in parts.list_gone_parts(MOST_GONE) if part not in written], whole, at)
    )
    return any(bisect_left(stood, high) > bisect_right(stood, low) for low, high in gaps)


def _gaps(parts: Parts, came: set[str]) -> Iterator[tuple[ChainPlace, ChainPlace]]:
    """Where the parts stand between which others came; at an end, what comes stands beyond all that ever was."""
    low: ChainPlace | None = None
    between = False
    for link in parts.links():
        if link.id in came:
            between = True
            continue
        if low is not None and between:
            yield low, link.place
        low, between = link.place, False


def _places(parts: Parts, gone: Iterable[str], whole: Slot, at: FindVersions) -> Iterator[ChainPlace]:
    """Where parts stood that are not there now: those from the start at their numbers, others as the history says."""
    for part in gone:
        number = parse_original_number(part)
        if number is not None:
            yield parts.standing(Link(make_original_place(number), part, None)).place
            continue
        versions = at((*whole, make_part_name(part)))
        last = versions[len(versions) - 1].write if len(versions) else None
        link = None if last is None else last.before if last.after is ABSENT else last.after
        if isinstance(link, Link):
            yield parts.standing(link).place


SHOWN = 3
"""How many things a refusal names."""


class Footing(NamedTuple):
    """What a change starts from and leads to, as things really are, and what others changed."""

    before: State
    after: State
    touched: tuple[SlotChange, ...] = ()
    """What others changed where the change writes: it cannot be made beside that."""
    elsewhere: tuple[SlotChange, ...] = ()
    """What else they changed; that stays."""
    broken: tuple[Broken, ...] = ()
    """Files that cannot be read and would have to be written."""
    unread: tuple[Broken, ...] = ()
    """Other files that cannot be read."""


def find_footing(
    engine: Engine,
    look: Inspection,
    after: State,
    changes: Sequence[SlotChange | Write],
    entries: Collection[int] = (),
) -> Footing:
    """Return what a change of the journal's state into `after` means for things as they are.

    `entries` are those that it takes back or brings back: files that only these changed are touched as well.
    """
    if not look.drift and not look.broken:
        return Footing(engine.ledger.state, after)
    touched = find_touched_drift(look.drift, changes)
    before = look.actual if look.drift else engine.ledger.state
    real = after
    if look.drift and not touched:
        try:
            real = put_changes(before, changes)
        except OperationFailed:  # something stands in the way of a slot
            touched = look.drift
    elsewhere = tuple(change for change in look.drift if change not in touched)
    wrong = _find_broken(engine, look.broken, before, real, entries)
    return Footing(
        before, real, touched, elsewhere, wrong, tuple(fault for fault in look.broken if fault not in wrong)
    )


def find_touched_drift(drift: Iterable[SlotChange], changes: Sequence[SlotChange | Write]) -> tuple[SlotChange, ...]:
    """Return the drift at, above or below what some changes write."""
    written = {change.slot for change in changes if not _is_container(change)}
    around = {slot[:depth] for slot in written for depth in range(1, len(slot))}
    claims = {slot[0] for slot in written if SURFACES[slot[0]].exclusive}

    def is_touched(slot: Slot) -> bool:
        if slot in written or slot in around or slot[0] in claims:
            return True
        return any(slot[:depth] in written for depth in range(1, len(slot)))

    return tuple(change for change in drift if is_touched(change.slot))


def put_changes(state: State, changes: Iterable[SlotChange | Write]) -> State:
    """Return a state with some changes made in it; a container stays as long as anything is in it."""
    for change in changes:
        there = get_slot(state, change.slot)
        if _is_container(change) and there is not ABSENT and (change.after is not ABSENT or not _is_empty(there)):
            continue
        state = put_slots(state, [(change.slot, change.after)])
    return state


def _is_empty(content: object) -> bool:
    return type(content) is PMap and not content


def _is_container(change: SlotChange | Write) -> bool:
    """Return whether a change only makes or removes an empty mapping or directory, which belongs to nobody."""
    contents = [value for value in (change.before, change.after) if value is not ABSENT]
    return len(contents) == 1 and _is_empty(contents[0])


def _find_broken(
    engine: Engine, broken: Sequence[Broken], before: State, after: State, entries: Collection[int]
) -> tuple[Broken, ...]:
    adapter = engine.files
    if not broken or adapter is None:
        return tuple(broken)
    try:
        paths = set(adapter.find_touched_files(before, after))
    except CannotSplice:  # said by whoever renders it
        paths = set()
    if engine.formatted is not None and entries:
        paths.update(file_history.list_changed_files(engine.ledger, entries))
    return tuple(fault for fault in broken if any(_is_at(path, fault.path) for path in paths))


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def refuse_drift(footing: Footing) -> Refused | None:
    """Return why a change cannot be made on things as they are, with the ways out; None if it can."""
    if footing.broken:
        fault = footing.broken[0]
        message = f"{fault}; mend it, or put it back with 'takeback discard {fault.path}'"
        return Refused(RefusalReason.BROKEN, message, drift=footing.touched, broken=footing.broken)
    if not footing.touched:
        return None
    names, count = _name_some(change.slot for change in footing.touched)
    return Refused(
        RefusalReason.DRIFT,
        f"{names} {'was' if count == 1 else 'were'} changed outside Takeback, where this change writes; nothing was "
        "changed: 'takeback adopt' records that as an entry first, 'takeback discard' puts it back",
        drift=footing.touched,
    )


def _name_some(slots: Iterable[Slot]) -> tuple[str, int]:
    """Return the names of a few slots for a sentence, and how many there are."""
    titles = list(dict.fromkeys(describe_slot(find_containing_slot(slot)) for slot in slots))
    more = f" and {len(titles) - SHOWN} more" if len(titles) > SHOWN else ""
    return f"{', '.join(titles[:SHOWN])}{more}", len(titles)


def reserve_drift_ids(look: Inspection, known: State, mutation: Program) -> State:
    """Return the journal's state with the ids that drift has given reserved, so that no new part gets one."""
    if not look.drift:
        return known
    taken: dict[Slot, list[str]] = {}
    for change in look.drift:
        if is_part(change.slot[-1]) and change.before is ABSENT:
            taken.setdefault(change.slot[:-1], []).append(change.slot[-1])
    surfaces = {op.kind.surface for op in mutation}
    contents = [
        (slot, reserve_part_names(get_slot(known, slot), names))
        for slot, names in taken.items()
        if slot[0] in surfaces
    ]
    return put_slots(known, contents) if contents else known


def has_same_effect(mutation: Program, footing: Footing) -> bool:
    """Tell whether a mutation does to things as they are just what it does to the journal's state."""
    from takeback.undo.record import run_and_record  # noqa: PLC0415 - start-up

    there = run_and_record(mutation, footing.before)
    return there.receipt.succeeded and next(diff(there.state, footing.after), None) is None


UNHEEDED: Final = "not at all, as the client will not load the file"
"""When a change by others is noticed that stands in a file which its client drops."""


def read_and_absorb_client_writes(engine: Engine) -> Inspection:
    """Inspect the harness before a change, and record what the client itself wrote as an entry."""
    look = engine.look()
    writers = engine.writers
    if writers is None or not look.drift:
        return look
    writers_by_change = ((change, writers.writer(change.slot, change.before, change.after)) for change in look.drift)
    own = {change.slot: name for change, name in writers_by_change if name is not None}
    if not own:
        return look
    about = {"note": "written by the client itself", "by": ", ".join(sorted(set(own.values())))}
    if len(own) == len(look.drift):
        adopted: Adopted | Refused | None = adopt_drift(engine, look, about)
        rest = engine.carry(replace(look, drift=()))
    else:
        adopted = adopt_selected_drift(engine, look, about, (), own)
        rest = engine.look()
    if isinstance(adopted, Adopted):
        engine.tell(adopted)
    return rest


def adopt_drift(
    engine: Engine,
    look: Inspection,
    about: dict[str, Any],
    images_of: Mapping[str, Image | None] = MappingProxyType({}),
    paths: Collection[str] | None = None,
) -> Adopted | None:
    """Record what others did; None if they did nothing.

    Files are recorded as they are, but for those in `images_of`; of files with another formatting, those in `paths`.
    """
    ledger, before = engine.ledger, engine.ledger.state
    layout = find_formatting_changes(engine, look)
    images = _collect_images(engine, look.actual, images_of, layout) if look.drift else []
    layout = [image for image in layout if image.path not in {image.path for image in images}]
    layout = [image for image in layout if paths is None or image.path in paths]
    if not look.drift and not layout:
        return None
    writes = ledger.history.with_parents(ledger.list_outside_writes(look.actual))
    several, coarse = read_versions(ledger.state, look.actual, writes, ledger.history.index.at)
    about = {
        **about,
        **_build_notice(engine, writes),
        **recorded_evidence.describe_evidence(ledger, look.actual, writes),
    }
    about |= {"ambiguous": list(several)} if several else {}
    about |= {"coarse": list(coarse)} if coarse else {}
    about |= {file_changes.LAYOUT: [image.path for image in layout]} if layout else {}
    ledger.hide_replacements(writes)
    draft = draft_change("adopt", writes, about, packer=ledger.packer)
    entry = ledger.record(attach_images(draft, [*images, *layout]), writes)
    ledger.hide_replacements(writes)
    if engine.live is not None:
        engine.live.write(look.actual, ledger.state)
        engine.adapter.read(ledger.state)  # which sees that this is what the journal says now
    if engine.notes is not None:
        engine.notes.note_recorded((image.path, image.after) for image in (*images, *layout))
    engine.tidy(list_unkept_files(ledger.capture, [*images, *layout]))
    return Adopted(entry, look.drift, several, tuple(image.path for image in layout), coarse, tuple(writes), before)


def adopt_selected_drift(
    engine: Engine, look: Inspection, about: dict[str, Any], paths: Collection[str], slots: Collection[Slot]
) -> Adopted | Refused | None:
    """Record what others did in some files or at some slots only; the rest stays, and is drift.

    A file of which only some is adopted is recorded as it would be without the rest.
    """
    adapter, state = engine.files, engine.ledger.state
    if adapter is None:
        return Refused(RefusalReason.UNSTORED, f"this harness ({engine.adapter.name}) has no files")
    files = group_by_file(adapter, state, look.drift)
    chosen = tuple(
        change for path, changes in files.items() for change in changes if path in paths or change.slot in slots
    )
    partly = put_slots(state, [(change.slot, change.after) for change in chosen])
    rest = adapter.render(look.actual, partly)
    if isinstance(rest, NotExpressible):
        return Refused(RefusalReason.UNSAYABLE, rest.build_refusal())
    without = {change.path: change.after for change in rest}
    return adopt_drift(engine, replace(look, drift=chosen, actual=partly), about, without, paths)


def group_by_file(
    adapter: FileAdapter, state: State, drift: Iterable[SlotChange]
) -> dict[str, tuple[SlotChange, ...]]:
    """Group changes made by others to a state by the file they are in."""
    wholes: dict[Slot, list[SlotChange]] = {}
    for change in drift:
        wholes.setdefault(find_containing_slot(change.slot), []).append(change)
    by_file: dict[str, list[SlotChange]] = {}
    for changes in wholes.values():
        touched = adapter.find_touched_files(
            state, put_slots(state, [(change.slot, change.after) for change in changes])
        )
        by_file.setdefault(touched[0] if touched else "", []).extend(changes)
    return {path: tuple(changes) for path, changes in by_file.items()}


def find_formatting_changes(engine: Engine, look: Inspection) -> list[KeptImage]:
    """Return files in which only formatting was changed; those that cannot be read are left out."""
    if engine.formatted is None or engine.files is None:
        return []
    adapter, ledger = engine.files, engine.ledger
    unread = {fault.path for fault in look.broken}
    there = dict(engine.formatted.list_formatted())
    gone = (
        (path, None) for path in list_recorded_links(ledger.store) if path not in there and _is_gone(adapter, path)
    )
    paths = ((path, image) for path, image in (*there.items(), *gone) if path not in unread)
    isolated = [
        file_history.isolate_formatting_change(adapter, ledger, ledger.state, image)
        for image in file_history.find_formatting_drift(ledger, paths)
    ]
    return [image for image in isolated if image is not None and not _is_only_read(engine.formatted, image)]


def _is_gone(adapter: FileAdapter, path: str) -> bool:
    """Whether nothing stands at a path by now that is the harness's own."""
    try:
        return adapter.image(path) is None
    except (HarnessError, UnsafePathError):
        return False


def _is_only_read(adapter: TracksFormatting, image: KeptImage) -> bool:
    """Return whether a file is new to the journal only because something imports it now."""
    new = image.before is None and isinstance(image.after, FileImage)
    return new and not adapter.is_document(image.path)


def build_effect_payload(engine: Engine, writes: Iterable[Write]) -> dict[str, Any]:
    """Return the payload that says when an entry takes effect."""
    effects = engine.effect_of(write.slot for write in writes)
    return {"effect": list(effects)} if effects else {}


def _build_notice(engine: Engine, writes: Iterable[Write]) -> dict[str, Any]:
    adapter = engine.adapter
    listed = list(writes)
    if not isinstance(adapter, Heeding):
        return build_effect_payload(engine, listed)
    why = {write.slot: adapter.why_unheeded(write.slot) for write in listed}
    reasons = list(dict.fromkeys(reason for reason in why.values() if reason))
    about = build_effect_payload(engine, [write for write in listed if not why[write.slot]])
    effect = [*about.get("effect", ()), *([UNHEEDED] if reasons else [])]
    return {**({"effect": effect} if effect else {}), **({"unheeded": reasons} if reasons else {})}


def _collect_images(
    engine: Engine, actual: State, given: Mapping[str, Image | None], layout: Sequence[KeptImage]
) -> list[KeptImage]:
    from takeback.progress import track_all_progress  # noqa: PLC0415 - start-up

    adapter, ledger = engine.files, engine.ledger
    if adapter is None:
        return []
    images: list[KeptImage] = []
    links = [change for change in layout if file_changes.is_link_change(change)]
    behind = file_changes.find_link_targets(adapter, links)
    for path in track_all_progress("files taken in", adapter.find_touched_files(ledger.state, actual)):
        if path in behind:
            continue  # it is not what changed: a link to it was put in a file's place, or taken from there
        after = given[path] if path in given else adapter.image(path)
        before = file_history.find_known_image(adapter, ledger, path, ledger.state)
        if isinstance(before, Unknown) and isinstance(after, LinkImage):
            before = _restore_before_link(adapter, actual, ledger.state, path)
        images.append(KeptImage(path, before, after))
    return images


def _restore_before_link(adapter: FileAdapter, actual: State, known: State, path: str) -> Image | Unknown | None:
    """Return what a file was before a link was put in its place, where the state tells that."""
    changes = adapter.render(actual, known)
    if isinstance(changes, NotExpressible):
        return UNKNOWN
    return next((change.after for change in changes if change.path == path), UNKNOWN)


def discard_drift(
    engine: Engine, paths: Sequence[str], about: dict[str, Any], slots: Collection[Slot] = ()
) -> Discarded | Refused | None:
    """Put back files that are not what the journal says, or only what was done to some slots; None if nothing was."""
    adapter = engine.files
    if adapter is None:
        return Refused(RefusalReason.UNSTORED, f"this harness ({engine.adapter.name}) has no files")
    with engine.get_lock():
        look = engine.look()
        gone = tuple(change.slot for change in look.drift if has_forgotten(change.before))
        if slots:
            reverted = _refuse_forgotten(gone) if set(gone) & set(slots) else _revert_slots(adapter, look, slots)
            return _make_discard(engine, reverted, about)
        links = [
            formatting
            for formatting in find_formatting_changes(engine, look)
            if file_changes.is_link_change(formatting)
        ]
        behind = file_changes.find_link_targets(adapter, links)
        known = put_slots(engine.ledger.state, [(slot, get_slot(look.actual, slot)) for slot in gone])
        touched = adapter.find_touched_files(known, look.actual) if look.drift else ()
        drifted = (path for path in touched if path not in behind)
        relinked = (link.path for link in links)
        wrong = tuple(dict.fromkeys((*(fault.path for fault in look.broken), *drifted, *relinked)))
        chosen = tuple(path for path in wrong if not paths or _is_selected(path, paths))
        for path in paths:
            if not any(_is_selected(fault, [path]) for fault in wrong) and not adapter.owns(path):
                _require_not_tracked(engine, path)
                raise InputError("path", found=path, expected="a file of this harness")
        if gone and not chosen:
            return _refuse_forgotten(gone)
        return _make_discard(engine, _plan_discard(adapter, engine, look, chosen, known), about)


def _refuse_forgotten(slots: Sequence[Slot]) -> Refused:
    """Return the refusal to put back what was forgotten and then changed outside: nobody knows what it was."""
    return Refused(
        RefusalReason.REAL,
        f"{_name_some(slots)[0]}: the earlier content was forgotten and cannot be restored; nothing was changed: "
        "'takeback adopt' records it as it is now",
    )


def _require_not_tracked(engine: Engine, path: str) -> None:
    """Refuse to discard what was done to a tracked file: that is recorded already, and is taken back."""
    project, path = engine.project, os.path.normpath(path)
    if project is None:
        return
    key = format_slot_key((project.surface, *path.split("/")))
    touching = engine.ledger.store.touching
    known = touching(key) or touching(key, below=True)
    if known or find_file(engine.ledger.state.part(project.surface), path) is not None or project.has_path(path):
        raise InputError(
            "path",
            found=f"{path}, which is tracked: every change of it is an entry, and there is nothing to discard",
            expected="a file of a client",
            hint=f"'takeback undo --path {shlex.quote(path)}' takes its changes back, with --plan it only shows them",
        )


def _make_discard(
    engine: Engine, changes: Sequence[FileChange] | Refused, about: dict[str, Any]
) -> Discarded | Refused | None:
    if isinstance(changes, Refused):
        return changes
    if not changes:
        return None
    entry = engine.make(Draft("discard", about), (), (engine.ledger.state, engine.ledger.state), changes)
    return Discarded(entry, tuple(change.path for change in changes))


def _revert_slots(adapter: FileAdapter, look: Inspection, slots: Collection[Slot]) -> Sequence[FileChange] | Refused:
    chosen = [(change.slot, change.before) for change in reversed(look.drift) if change.slot in slots]
    changes = adapter.render(look.actual, put_slots(look.actual, chosen)) if chosen else ()
    return (
        Refused(RefusalReason.UNSAYABLE, changes.build_refusal()) if isinstance(changes, NotExpressible) else changes
    )


def undo_discard(engine: Engine, record: Record, about: dict[str, Any]) -> Discarded | Refused:
    """Undo a discard: what was in the files comes back, where they still are what the discard made them."""
    adapter = engine.files
    changes = load_file_changes(engine.journal, record)
    if adapter is None or changes is None:
        return Refused(
            RefusalReason.REAL,
            "the earlier contents of the files were forgotten and cannot be restored; the files stay as they are: "
            f"'takeback show {record.id[:10]}' names them",
        )
    with engine.get_lock():
        engine.look()
        for change in changes:
            if not is_same_file(change.after, adapter.image(change.path)):
                return Refused(
                    RefusalReason.REAL,
                    f"{change.path} was changed since; nothing was changed: undo that change first, or copy the "
                    f"restored content from 'takeback show {record.id[:10]}'",
                )
        back = [FileChange(done.path, done.after, done.before) for done in reversed(changes)]
        draft = Draft("discard", {"note": f"undo of {record.id[:12]}", **about})
        entry = engine.make(draft, (), (engine.ledger.state, engine.ledger.state), back)
        return Discarded(entry, tuple(change.path for change in back))


def _is_selected(path: str, paths: Sequence[str]) -> bool:
    return any(path == selected or path.startswith(f"{selected.rstrip('/')}/") for selected in paths)


def _plan_discard(
    adapter: FileAdapter, engine: Engine, look: Inspection, paths: Sequence[str], state: State
) -> list[FileChange] | Refused:
    """Return how each file is put back: by the bytes the journal has of it, or by an edit where it has none.

    `state` is what the files should say: the journal's state, with what is there where that was forgotten.
    """
    spliced = adapter.render(look.actual, state) if look.drift else ()
    edits = {} if isinstance(spliced, NotExpressible) else {change.path: change for change in spliced}
    planned: list[FileChange] = []
    for path in paths:
        there = adapter.image(path)
        known = file_history.find_known_image(adapter, engine.ledger, path, state)
        if isinstance(known, Unknown) and path in edits:
            edit = edits[path]
            planned.append(replace(edit, before=there) if isinstance(there, LinkImage) else edit)
        elif isinstance(known, Unknown):
            return Refused(
                RefusalReason.UNSAYABLE, f"the journal does not know the content of {path}; nothing was changed"
            )
        elif not is_same_file(known, there):
            planned.append(FileChange(path, there, known))
    order = list(edits)
    return sorted(planned, key=lambda change: order.index(change.path) if change.path in order else -1)
