"""Taking in what others did to the real things: as an entry of its own, by parts, with the bytes before and after.

What the client itself writes (an approval, a migration) is nobody's to decide about: it is taken in without asking,
so that it never stands in the way of a change or an undo.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from takeback.harness.codec import change_draft
from takeback.harness.engine import Engine, Look
from takeback.harness.filing import LAYOUT
from takeback.harness.images import KeptImage, with_images
from takeback.harness.readings import several_readings
from takeback.harness.recorded import formatted, last_known
from takeback.harness.results import Adopted
from takeback.state import ABSENT, State
from takeback.undo import Write
from takeback.undo.recording import writes_between


def looked(engine: Engine) -> Look:
    """What is found by whoever is about to change the harness, with what the client itself wrote taken in."""
    look = engine.look()
    writers = engine.writers
    if writers is None or not look.drift or look.broken:
        return look
    who = {writers.writer(change.slot, change.before, change.after) for change in look.drift}
    names = sorted(name for name in who if name is not None)
    if len(names) < len(who):
        return look
    adopt(engine, look, {"note": "written by the client itself", "by": ", ".join(names)})
    return look._replace(drift=())


def adopt(engine: Engine, look: Look, about: dict[str, Any]) -> Adopted | None:
    """Record what others did; None if they did nothing."""
    ledger = engine.ledger
    images = _images(engine, look.actual) if look.drift else []
    layout = [one for one in layout_changes(engine) if one.path not in {image.path for image in images}]
    if not look.drift and not layout:
        return None
    gone = tuple(Write(slot, held, ABSENT) for slot, held in ledger.holes.items())
    writes = ledger.history.grounded((*writes_between(ledger.state, look.actual), *gone))
    several = several_readings(ledger.state, look.actual, writes)
    about = {**about, **taking_effect(engine, writes)}
    about |= {"ambiguous": list(several)} if several else {}
    about |= {LAYOUT: [image.path for image in layout]} if layout else {}
    draft = change_draft("adopt", writes, about, packer=ledger.packer)
    entry = ledger.record(with_images(draft, [*images, *layout]), writes)
    if engine.live is not None:
        engine.live.write(look.actual, ledger.state)
    engine.note()
    return Adopted(entry, look.drift, several, tuple(image.path for image in layout))


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
