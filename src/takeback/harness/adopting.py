"""Taking in what others did to the real things: as an entry of its own, by parts, with the bytes before and after.

What the client itself writes (an approval, a migration) is nobody's to decide about: it is taken in without asking,
so that it never stands in the way of a change or an undo.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from takeback.harness.codec import change_draft
from takeback.harness.engine import Engine, Look
from takeback.harness.filing import LAYOUT
from takeback.harness.images import KeptImage, with_images
from takeback.harness.readings import several_readings
from takeback.harness.recorded import formatted, last_known
from takeback.harness.results import Adopted
from takeback.state import State
from takeback.state.slots import Slot, put_slots, whole_of
from takeback.undo import SlotChange, Write
from takeback.undo.recording import writes_between


def looked(engine: Engine) -> Look:
    """What is found by whoever is about to change the harness, with what the client itself wrote taken in."""
    look = engine.look()
    writers = engine.writers
    if writers is None or not look.drift or look.broken:
        return look
    who = {writers.writer(change.slot) for change in look.drift}
    names = sorted(name for name in who if name is not None)
    if len(names) < len(who):
        return look
    adopt(engine, look, {"note": "written by the client itself", "by": ", ".join(names)})
    return look._replace(drift=())


def adopt(engine: Engine, look: Look, about: dict[str, Any], paths: Sequence[str] = ()) -> Adopted | None:
    """Record what others did, in some files only where they are named; None if they did nothing there."""
    ledger = engine.ledger
    if paths:
        look = _only(engine, look, paths)
    images = _images(engine, look.actual) if look.drift else []
    layout = [one for one in layout_changes(engine) if one.path not in {image.path for image in images}]
    layout = [one for one in layout if not paths or one.path in paths]
    if not look.drift and not layout:
        return None
    writes = ledger.history.grounded(writes_between(ledger.state, look.actual))
    several = several_readings(ledger.state, look.actual, writes)
    about = {**about, **taking_effect(engine, writes)}
    about |= {"ambiguous": list(several)} if several else {}
    about |= {LAYOUT: [image.path for image in layout]} if layout else {}
    entry = ledger.record(with_images(change_draft("adopt", writes, about), [*images, *layout]), writes)
    if engine.live is not None:
        engine.live.write(look.actual, ledger.state)
    engine.note()
    return Adopted(entry, look.drift, several, tuple(image.path for image in layout))


def by_file(engine: Engine, drift: Iterable[SlotChange]) -> dict[str, tuple[SlotChange, ...]]:
    """Changes made by others, by the file they are in; under "" where they are in none."""
    state, adapter = engine.ledger.state, engine.files
    wholes: dict[Slot, list[SlotChange]] = {}
    for change in drift:
        wholes.setdefault(whole_of(change.slot), []).append(change)
    found: dict[str, list[SlotChange]] = {}
    for changes in wholes.values():
        after = put_slots(state, [(change.slot, change.after) for change in changes])
        touched = () if adapter is None else adapter.touched(state, after)
        found.setdefault(touched[0] if touched else "", []).extend(changes)
    return {path: tuple(changes) for path, changes in found.items()}


def _only(engine: Engine, look: Look, paths: Sequence[str]) -> Look:
    """What was found, with nothing but the changes in some files."""
    chosen = tuple(
        change for path, changes in by_file(engine, look.drift).items() if path in paths for change in changes
    )
    actual = put_slots(engine.ledger.state, [(change.slot, change.after) for change in chosen])
    return look._replace(drift=chosen, actual=actual)


def layout_changes(engine: Engine) -> list[KeptImage]:
    """Files in which someone changed nothing that the state says."""
    return [] if engine.formatted is None else formatted(engine.ledger, engine.formatted.formatted())


def taking_effect(engine: Engine, writes: Iterable[Write]) -> dict[str, Any]:
    """What an entry says about when it is noticed."""
    found = engine.effect_of(write.slot for write in writes)
    return {"effect": list(found)} if found else {}


def _images(engine: Engine, actual: State) -> list[KeptImage]:
    adapter = engine.files
    if adapter is None:
        return []
    return [
        KeptImage(path, last_known(adapter, engine.ledger, path, engine.ledger.state), adapter.image(path))
        for path in adapter.touched(engine.ledger.state, actual)
    ]
