"""Putting files back as the journal knows them, and taking that back.

A discard changes files, never the state: the journal's state is what they should say. What was in them, readable or
not, is kept in the entry's images. Undoing a discard is a discard the other way round.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from takeback.errors import InputError
from takeback.harness.adapter import FileAdapter, Unsayable
from takeback.harness.adopting import layout_changes
from takeback.harness.engine import Engine, Look
from takeback.harness.images import FileChange, LinkImage, Unknown, changes_of, same_file
from takeback.harness.links import find_behind, is_link_change
from takeback.harness.results import Discarded, Refused, Why
from takeback.harness.undrifted import known_image
from takeback.journal import Draft, Record
from takeback.state.slots import Slot, put_slots


def discard(
    engine: Engine, paths: Sequence[str], about: dict[str, Any], slots: Collection[Slot] = ()
) -> Discarded | Refused | None:
    """Put back files that are not what the journal says, or only what was done to some slots; None if nothing was."""
    adapter = engine.files
    if adapter is None:
        return Refused(Why.UNSTORED, f"this harness ({engine.adapter.name}) has no files")
    with engine.locked():
        look = engine.look()
        if slots:
            return _made(engine, _some(adapter, look, slots), about)
        links = [one for one in layout_changes(engine, look) if is_link_change(one)]
        behind = find_behind(adapter, links)
        drifted = (path for path in _drifted(adapter, engine, look) if path not in behind)
        relinked = (one.path for one in links)
        wrong = tuple(dict.fromkeys((*(one.path for one in look.broken), *drifted, *relinked)))
        chosen = tuple(path for path in wrong if not paths or _meant(path, paths))
        for path in paths:
            if not any(_meant(one, [path]) for one in wrong) and not adapter.owns(path):
                raise InputError("path", found=path, expected="a file of this harness")
        return _made(engine, _changes(adapter, engine, look, chosen), about)


def _made(
    engine: Engine, changes: Sequence[FileChange] | Refused, about: dict[str, Any]
) -> Discarded | Refused | None:
    if isinstance(changes, Refused):
        return changes
    if not changes:
        return None
    entry = engine.make(Draft("discard", about), (), (engine.ledger.state, engine.ledger.state), changes)
    return Discarded(entry, tuple(change.path for change in changes))


def _some(adapter: FileAdapter, look: Look, slots: Collection[Slot]) -> Sequence[FileChange] | Refused:
    """How files change when what was done to some slots is put back."""
    chosen = [(change.slot, change.before) for change in reversed(look.drift) if change.slot in slots]
    changes = adapter.render(look.actual, put_slots(look.actual, chosen)) if chosen else ()
    return (
        Refused(Why.UNSAYABLE, f"{changes.reason}; nothing was changed")
        if isinstance(changes, Unsayable)
        else changes
    )


def put_back(engine: Engine, record: Record, about: dict[str, Any]) -> Discarded | Refused:
    """Undo a discard: what was in the files comes back, where they still are what the discard made them."""
    adapter = engine.files
    changes = changes_of(engine.journal, record)
    if adapter is None or changes is None:
        return Refused(Why.REAL, "what was in the files was forgotten")
    with engine.locked():
        engine.look()
        for change in changes:
            if not same_file(change.after, adapter.image(change.path)):
                return Refused(Why.REAL, f"{change.path} was changed since; nothing was changed")
        back = [FileChange(one.path, one.after, one.before) for one in reversed(changes)]
        draft = Draft("discard", {"note": f"undo of {record.id[:12]}", **about})
        entry = engine.make(draft, (), (engine.ledger.state, engine.ledger.state), back)
        return Discarded(entry, tuple(change.path for change in back))


def _drifted(adapter: FileAdapter, engine: Engine, look: Look) -> tuple[str, ...]:
    return adapter.touched(engine.ledger.state, look.actual) if look.drift else ()


def _meant(path: str, paths: Sequence[str]) -> bool:
    return any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in paths)


def _changes(adapter: FileAdapter, engine: Engine, look: Look, paths: Sequence[str]) -> list[FileChange] | Refused:
    """How each file is put back: by the bytes the journal has of it, or by an edit where it has none."""
    state = engine.ledger.state
    spliced = adapter.render(look.actual, state) if look.drift else ()
    edits = {} if isinstance(spliced, Unsayable) else {change.path: change for change in spliced}
    found: list[FileChange] = []
    for path in paths:
        there = adapter.image(path)
        known = known_image(adapter, engine.ledger, path, state)
        if isinstance(known, Unknown) and path in edits:
            edit = edits[path]
            found.append(replace(edit, before=there) if isinstance(there, LinkImage) else edit)
        elif isinstance(known, Unknown):
            return Refused(Why.UNSAYABLE, f"the journal does not know what was in {path}; nothing was changed")
        elif not same_file(known, there):
            found.append(FileChange(path, there, known))
    order = list(edits)
    return sorted(found, key=lambda change: order.index(change.path) if change.path in order else -1)
