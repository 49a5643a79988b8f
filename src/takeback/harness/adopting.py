"""Taking in what others did to the real things: as an entry of its own, by parts, with the bytes before and after.

What the client itself writes (an approval, a migration) is nobody's to decide about: it is taken in without asking,
so that it never stands in the way of a change or an undo.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from takeback.errors import HarnessError, UnsafePathError
from takeback.harness.adapter import FileAdapter, Formatted, Heeding, Unsayable
from takeback.harness.codec import change_draft
from takeback.harness.engine import Engine, Look
from takeback.harness.filing import LAYOUT
from takeback.harness.images import (
    UNKNOWN,
    FileImage,
    Image,
    KeptImage,
    LinkImage,
    Unknown,
    recorded_links,
    with_images,
)
from takeback.harness.links import find_behind, is_link_change
from takeback.harness.readings import read_versions
from takeback.harness.recorded import formatted
from takeback.harness.results import Adopted, Refused, Why
from takeback.harness.undrifted import known_image, layout_only
from takeback.journal.counted import counted_all
from takeback.state import ABSENT, State
from takeback.state.slots import Slot, put_slots, whole_of
from takeback.undo import SlotChange, Write
from takeback.undo.recording import writes_between

UNHEEDED: Final = "not at all, as the client will not load the file"
"""When a change by others is noticed that stands in a file which its client drops."""


def looked(engine: Engine) -> Look:
    """What is found by whoever is about to change the harness, with what the client itself wrote taken in."""
    look = engine.look()
    writers = engine.writers
    if writers is None or not look.drift:
        return look
    found = ((change, writers.writer(change.slot, change.before, change.after)) for change in look.drift)
    own = {change.slot: name for change, name in found if name is not None}
    if not own:
        return look
    about = {"note": "written by the client itself", "by": ", ".join(sorted(set(own.values())))}
    if len(own) == len(look.drift):
        adopt(engine, look, about)
        return engine.carry(replace(look, drift=()))
    adopt_some(engine, look, about, (), own)
    return engine.look()


def adopt(
    engine: Engine,
    look: Look,
    about: dict[str, Any],
    images_of: Mapping[str, Image | None] = MappingProxyType({}),
    paths: Collection[str] | None = None,
) -> Adopted | None:
    """Record what others did; None if they did nothing.

    Files are recorded as they are, but for those in `images_of`; of files with another layout, those in `paths`.
    """
    ledger, before = engine.ledger, engine.ledger.state
    layout = layout_changes(engine, look)
    images = _images(engine, look.actual, images_of, layout) if look.drift else []
    layout = [one for one in layout if one.path not in {image.path for image in images}]
    layout = [one for one in layout if paths is None or one.path in paths]
    if not look.drift and not layout:
        return None
    gone = tuple(Write(slot, held, ABSENT) for slot, held in ledger.holes.items())
    writes = ledger.history.grounded((*writes_between(ledger.state, look.actual), *gone))
    several, coarse = read_versions(ledger.state, look.actual, writes, ledger.history.index.at)
    about = {**about, **_noticed(engine, writes)}
    about |= {"ambiguous": list(several)} if several else {}
    about |= {"coarse": list(coarse)} if coarse else {}
    about |= {LAYOUT: [image.path for image in layout]} if layout else {}
    draft = change_draft("adopt", writes, about, packer=ledger.packer)
    entry = ledger.record(with_images(draft, [*images, *layout]), writes)
    if engine.live is not None:
        engine.live.write(look.actual, ledger.state)
        engine.adapter.read(ledger.state)  # which sees that this is what the journal says now
    engine.note()
    return Adopted(entry, look.drift, several, tuple(image.path for image in layout), coarse, tuple(writes), before)


def adopt_some(
    engine: Engine, look: Look, about: dict[str, Any], paths: Collection[str], slots: Collection[Slot]
) -> Adopted | Refused | None:
    """Record what others did in some files or at some slots only; what else they did stays there, and is drift.

    A file of which only some is taken in is recorded as it would be without the rest.
    """
    adapter, state = engine.files, engine.ledger.state
    if adapter is None:
        return Refused(Why.UNSTORED, f"this harness ({engine.adapter.name}) has no files")
    files = by_file(adapter, state, look.drift)
    chosen = tuple(
        change for path, changes in files.items() for change in changes if path in paths or change.slot in slots
    )
    partly = put_slots(state, [(change.slot, change.after) for change in chosen])
    rest = adapter.render(look.actual, partly)
    if isinstance(rest, Unsayable):
        return Refused(Why.UNSAYABLE, f"{rest.reason}; nothing was changed")
    without = {change.path: change.after for change in rest}
    return adopt(engine, replace(look, drift=chosen, actual=partly), about, without, paths)


def by_file(adapter: FileAdapter, state: State, drift: Iterable[SlotChange]) -> dict[str, tuple[SlotChange, ...]]:
    """Changes made by others to a state, by the file they are in."""
    wholes: dict[Slot, list[SlotChange]] = {}
    for change in drift:
        wholes.setdefault(whole_of(change.slot), []).append(change)
    found: dict[str, list[SlotChange]] = {}
    for changes in wholes.values():
        touched = adapter.touched(state, put_slots(state, [(change.slot, change.after) for change in changes]))
        found.setdefault(touched[0] if touched else "", []).extend(changes)
    return {path: tuple(changes) for path, changes in found.items()}


def layout_changes(engine: Engine, look: Look) -> list[KeptImage]:
    """Files in which someone changed nothing that the state says; those that cannot be read are none of them."""
    if engine.formatted is None or engine.files is None:
        return []
    adapter, ledger = engine.files, engine.ledger
    unread = {one.path for one in look.broken}
    there = dict(engine.formatted.formatted())
    gone = ((path, None) for path in recorded_links(ledger.store) if path not in there and _is_gone(adapter, path))
    paths = ((path, image) for path, image in (*there.items(), *gone) if path not in unread)
    found = [layout_only(adapter, ledger, ledger.state, image) for image in formatted(ledger, paths)]
    return [one for one in found if one is not None and not _is_only_read(engine.formatted, one)]


def _is_gone(adapter: FileAdapter, path: str) -> bool:
    """Whether nothing stands at a path by now that is the harness's own."""
    try:
        return adapter.image(path) is None
    except (HarnessError, UnsafePathError):
        return False


def _is_only_read(adapter: Formatted, image: KeptImage) -> bool:
    """Whether a file is new to the journal because something brings it in now, which is no change of the file."""
    new = image.before is None and isinstance(image.after, FileImage)
    return new and not adapter.is_document(image.path)


def taking_effect(engine: Engine, writes: Iterable[Write]) -> dict[str, Any]:
    """What an entry says about when it is noticed."""
    found = engine.effect_of(write.slot for write in writes)
    return {"effect": list(found)} if found else {}


def _noticed(engine: Engine, writes: Iterable[Write]) -> dict[str, Any]:
    """Say when what others wrote is noticed, and why it is not where that is so."""
    adapter = engine.adapter
    found = list(writes)
    if not isinstance(adapter, Heeding):
        return taking_effect(engine, found)
    why = {write.slot: adapter.why_unheeded(write.slot) for write in found}
    told = list(dict.fromkeys(reason for reason in why.values() if reason))
    about = taking_effect(engine, [write for write in found if not why[write.slot]])
    effect = [*about.get("effect", ()), *([UNHEEDED] if told else [])]
    return {**({"effect": effect} if effect else {}), **({"unheeded": told} if told else {})}


def _images(
    engine: Engine, actual: State, given: Mapping[str, Image | None], layout: Sequence[KeptImage]
) -> list[KeptImage]:
    adapter, ledger = engine.files, engine.ledger
    if adapter is None:
        return []
    found: list[KeptImage] = []
    links = [one for one in layout if is_link_change(one)]
    behind = find_behind(adapter, links)
    for path in counted_all("files taken in", adapter.touched(ledger.state, actual)):
        if path in behind:
            continue  # it is not what changed: a link to it was put in a file's place, or taken from there
        after = given[path] if path in given else adapter.image(path)
        before = known_image(adapter, ledger, path, ledger.state)
        if isinstance(before, Unknown) and isinstance(after, LinkImage):
            before = _spliced_back(adapter, actual, ledger.state, path)
        found.append(KeptImage(path, before, after))
    return found


def _spliced_back(adapter: FileAdapter, actual: State, known: State, path: str) -> Image | Unknown | None:
    """Return what a file was before a link was put in its place, where the state tells that."""
    changes = adapter.render(actual, known)
    if isinstance(changes, Unsayable):
        return UNKNOWN
    return next((change.after for change in changes if change.path == path), UNKNOWN)
