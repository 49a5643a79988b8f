"""Plans: what undoing entries, or bringing them back, would do, or why it cannot be done alone.

The result of a plan is the history without the undone entries, each other write where it was. A write that
could not have happened in that history blocks it (`find_consequences`). What others have written since stays
as it is, and is reported. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any, Final

from takeback.errors import JournalCorruptError, OperationFailed
from takeback.progress import track_all_progress
from takeback.state import ABSENT, SURFACES, PMap, State
from takeback.state.address import is_frame, is_part, is_place
from takeback.state.forgotten import has_forgotten
from takeback.state.part_slots import get_parts
from takeback.state.pmap import EMPTY, fast_tuple
from takeback.state.slots import (
    Slot,
    describe_slot,
    find_containing_slot,
    get_slot,
    is_same_content,
    list_slots_above,
    put_slots,
)
from takeback.undo.consequences import Entries, find_consequences, find_smallest_unblocking_set
from takeback.undo.history import END, ContentGone, History, View, find_parent_write
from takeback.undo.index import Node, Version, build_slot_change, get_entry, get_write_time
from takeback.undo.plan_types import Blocked, Gone, Outcome, Overwritten, Plan, SlotChange

_state_of: Final = State.of  # bound once: looking up a class method costs as much as calling it


def plan_undo(history: History, state: State, entries: Collection[int]) -> Outcome:
    """Take live entries back."""
    return plan_toggle(history, state, entries, ())


def plan_redo(history: History, state: State, entries: Collection[int]) -> Outcome:
    """Bring undone entries back."""
    return plan_toggle(history, state, (), entries)


def plan_toggle(history: History, state: State, off: Collection[int], on: Collection[int]) -> Outcome:
    """Take some entries back and bring others back, at once."""
    history.index.load_around((*off, *on))
    try:
        if len(off) == 1 and not on:
            (entry,) = off
            simple = _plan_independent(history, state, entry)
            if simple is not None:
                return simple
        return _plan_request(history, state, frozenset(off), frozenset(on))
    except ContentGone:
        return _plan_what_is_left(history, state, frozenset(off), frozenset(on))


def _plan_request(history: History, state: State, off: Entries, on: Entries) -> Outcome:
    settled = find_consequences(history, off, on)
    if settled.nothing:
        return _plan_possible(history, state, off, on)
    reasons = {**settled.unmet, **settled.removed}
    taken, back = frozenset(settled.removed), frozenset[int]()
    if settled.unmet:
        unblocking = find_smallest_unblocking_set(history, off, on, settled)
        if unblocking is None:
            return Blocked(tuple(sorted(taken)), (), tuple(sorted(reasons.items())), None)
        taken, back = unblocking
        later = find_consequences(history, off | taken, on | back).removed
        reasons = {**settled.unmet, **{entry: settled.removed.get(entry, "") for entry in taken}, **later}
        reasons = {entry: why or "it cannot stand beside what is brought back" for entry, why in reasons.items()}
    together = _plan_possible(history, state, off | taken, on | back)
    return Blocked(tuple(sorted(taken)), tuple(sorted(back)), tuple(sorted(reasons.items())), together)


def _plan_possible(history: History, state: State, off: Entries, on: Entries) -> Plan | Gone:
    """Return the plan for an unblocked request, unless what it needs was forgotten."""
    try:
        return make_plan(history, state, off, on)
    except ContentGone:
        return _plan_what_is_left(history, state, off, on)
    except OperationFailed:
        parts = (write.slot for entry in off | on for write in history.index.writes(entry) if is_part(write.slot[-1]))
        wholes = dict.fromkeys(slot[:-1] for slot in parts if get_parts(get_slot(state, slot[:-1])) is None)
        if not wholes:
            raise
        return Gone(tuple(wholes), ())  # what they were edited in was forgotten, and is another thing since


def _plan_independent(history: History, state: State, entry: int) -> Plan | None:
    """Return the plan for one entry whose slots no other write can depend on; None where that is not plain to see.

    The answer equals the general one; versions are read by position for speed: (entry, position, write).
    """
    index = history.index
    if entry in history.undone or index.supposes:
        return None
    planned = _PlannedState(state)
    changes: list[SlotChange] = []
    kept: tuple[Overwritten, ...] = ()
    for node, back, before, after in index.list_written_nodes(entry):
        if node.part or (node.surface.movable and index.has_moved(node.surface.name)):
            return None
        if node.sole != entry:
            surface = node.surface
            if (surface.nested and not index.is_alone(node)) or surface.can_merge_in_place(node.versions[-1][2][2]):
                return None
            later = _find_later_writer(history, node, entry)
            if later is not None:
                if node.contained or surface.strict or surface.exclusive or _is_needed(history, node, entry):
                    return None  # others may depend on the entry
                kept += (Overwritten(node.slot, later),)
                continue
            back = _build_way_back(history, state, node, entry)  # noqa: PLW2901
            before, after = back[1:] if back else (None, None)  # noqa: PLW2901
        if back is None:
            return None
        if before is after:
            continue
        changes.append(back)
        if after is not ABSENT:
            planned.put(node.slot, after)
        elif not planned.drop(history, node, changes):
            return None
    return fast_tuple(Plan, ((entry,), (), tuple(changes), planned.read(), state, kept, (), ()))


class _PlannedState:
    """A state in which slots change one by one; what is put into it waits until it is read, and is put at once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._waiting: list[tuple[Slot, Any]] = []

    def put(self, slot: Slot, content: Any) -> None:
        """Put content into a slot."""
        self._waiting.append((slot, content))

    def drop(self, history: History, node: Node, changes: list[SlotChange]) -> bool:
        """Empty a slot, and drop what held up nothing else; whether it is plain what that is."""
        parts = self.read().parts.copy()
        name = node.slot[0]
        part = node.surface.put_slot(parts[name], node.path, ABSENT)
        if node.contained:
            part = _prune_containers(history, node, part, changes)
            if part is None:
                return False
        parts[name] = part
        self._state = _state_of(parts)
        return True

    def read(self) -> State:
        """Return the state as it is now."""
        if self._waiting:
            self._state, self._waiting = put_slots(self._state, self._waiting), []
        return self._state


def _find_later_writer(history: History, node: Node, entry: int) -> int | None:
    """Return the later entry whose write to a slot is in force; None where that is this entry's."""
    numbers = (get_entry(node.versions, at) for at in reversed(range(len(node.versions))))
    last = next(number for number in numbers if number not in history.undone)
    return None if last == entry else last


def _is_needed(history: History, node: Node, entry: int) -> bool:
    """Tell whether the next live write to a slot could not have happened without what was there."""
    following = history.next(node.slot, View(history.undone), entry)
    return following is not None and following.write.needs


def _build_way_back(history: History, state: State, node: Node, entry: int) -> SlotChange | None:
    """Return what undoing an entry does to a slot that nothing lies above or below, and no later entry wrote."""
    versions = node.versions
    restored: list[Any] = []
    after: Any = None
    for at in reversed(range(len(versions))):
        number = get_entry(versions, at)
        if number != entry and number in history.undone:
            continue
        write = versions[at][2]
        if write.bare:
            return None  # the mode may be another's
        if number != entry:
            after = write[2]
            break
        restored.append(write[2])
    else:
        after = history.base_content(node.slot)
    before = restored[0]
    if history.index.source is not None and not has_forgotten(before):
        _require_same(node.slot, get_slot(state, node.slot), before)
    return build_slot_change(node, before, after)


def _prune_containers(history: History, node: Node, part: Any, changes: list[SlotChange]) -> Any | None:
    """Return the value without containers that held up nothing but this slot; None where others may hold them up."""
    if len(node.versions) > 1:
        return None
    surface, path = node.surface, node.path[:-1]
    while path and not surface.get_slot(part, path):
        if type(history.base_content((surface.name, *path))) is PMap:
            break
        if node.above is None or len(node.above.children) != 1 or history.index.source is not None:
            return None
        node = node.above
        part = surface.put_slot(part, path, ABSENT)
        changes.append(SlotChange((surface.name, *path), EMPTY, ABSENT))
        path = path[:-1]
    return part


def make_plan(history: History, state: State, off: Iterable[int], on: Iterable[int]) -> Plan:
    """Return the plan for a request that nothing blocks."""
    off, on = tuple(sorted(off)), tuple(sorted(on))
    view, now = View(history.undone, off, on), View(history.undone)
    slots = dict.fromkeys(write.slot for entry in chain(off, on) for write in history.index.writes(entry))
    flat = [slot for slot in slots if not SURFACES[slot[0]].nested]
    changes: list[SlotChange] = []
    for slot in track_all_progress("places planned", flat):
        before, after = get_slot(state, slot), history.content(slot, view)
        if history.index.source is not None and not has_forgotten(recorded := history.get_content(slot, now)):
            _require_same(slot, before, recorded)
        if before is not after and not is_same_content(slot, before, after):
            changes.append(SlotChange(slot, before, after))
    after_state = put_slots(state, [(change.slot, change.after) for change in changes])
    places = (_find_changing_slot(history, slot, view, now) for slot in slots if SURFACES[slot[0]].nested)
    nested = [slot for slot in places if slot is not None]
    if nested:
        after_state = _change_nested_slots(history, view, nested, after_state, changes)
    return Plan(off, on, tuple(changes), after_state, state, _find_overwritten(history, view))


def _require_same(slot: Slot, held: Any, recorded: Any) -> None:
    if not is_same_content(slot, held, recorded):
        raise JournalCorruptError(
            f"the journal's index does not hold every entry that wrote {describe_slot(slot)}; nothing was changed"
        )


def _find_changing_slot(history: History, slot: Slot, view: View, now: View) -> Slot | None:
    """Return the slot at which a nested one changes: the whole of a part where that comes, goes or is another.

    It is the whole too where that was taken out since, if the part made it: it made what stands above as well. None
    for another part of a whole that neither is there now nor will be.
    """
    if not is_part(slot[-1]):
        return slot
    grounds = history.ground(slot, now), history.ground(slot, view)
    mine = view.off | view.on
    own = [version for version in history.index.at(slot) if version.entry in mine]
    if not any(find_parent_write(version) in grounds for version in own):
        whole, made = slot[:-1], any(version.write.shared for version in own) and not is_place(slot[-1])
        missing = made and history.node(whole, view)[0] is ABSENT and not history.is_container(whole, view)
        return whole if missing else None
    return slot if grounds[0] == grounds[1] else slot[:-1]


def _find_overwritten(history: History, view: View) -> tuple[Overwritten, ...]:
    overwritten: dict[Slot, Overwritten] = {}
    last: dict[Slot, Version | None] = {}
    for entry in track_all_progress("entries planned", sorted(view.off | view.on)):
        for write in history.index.writes(entry):
            slot = write.slot
            if slot not in last:
                last[slot] = _find_last_write(history, slot, view)
            later = last[slot]
            if later is not None and later.entry > entry and later.entry not in view.on:
                if SURFACES[slot[0]].can_merge_in_place(later.write.after) and not history.hides(write, entry, view):
                    continue
                over = later.write.slot
                overwritten[slot] = Overwritten(slot, later.entry, None if over == slot else over)
    return tuple(overwritten.values())


def _find_last_write(history: History, slot: Slot, view: View) -> Version | None:
    last = history.last(slot, view)
    if is_frame(slot[-1]):
        cover = history.find_framing(slot[:-1], view)
    else:
        cover = history.find_cover(find_containing_slot(slot), view) if SURFACES[slot[0]].nested else None
    return max((version for version in (last, cover) if version is not None), default=None, key=get_write_time)


def _change_nested_slots(
    history: History, view: View, slots: Iterable[Slot], state: State, changes: list[SlotChange]
) -> State:
    known = set(slots)
    roots = {slot for slot in known if not any(above in known for above in list_slots_above(slot))}
    wanted = [(slot, history.subtree(slot, view)) for slot in sorted(roots)]

    def change(*contents: tuple[Slot, Any]) -> None:
        nonlocal state
        nested = [SlotChange(slot, get_slot(state, slot), after) for slot, after in contents]
        nested = [difference for difference in nested if not is_same_content(*difference)]
        changes.extend(nested)
        state = put_slots(state, [(difference.slot, difference.after) for difference in nested])

    change(*((slot, content) for slot, content in wanted if content is ABSENT))
    change(*((slot, content) for slot, content in wanted if content is not ABSENT))
    gone = [slot for slot, content in wanted if content is ABSENT]
    above = sorted({place for slot in gone for place in list_slots_above(slot)})
    for slot in reversed(above):
        node = get_slot(state, slot)
        if type(node) is PMap and not node and not history.is_container(slot, view):
            change((slot, ABSENT))
    for slot in above:
        if get_slot(state, slot) is ABSENT and history.is_container(slot, view):
            change((slot, EMPTY))
    return state


def _plan_what_is_left(history: History, state: State, off: Entries, on: Entries) -> Gone:
    """Return, slot by slot, whose content was forgotten, and what could still be put back."""
    view = View(history.undone, off, on)
    gone: dict[Slot, str] = {}
    left: list[SlotChange] = []
    nested: dict[Slot, None] = {}
    slots = dict.fromkeys(write.slot for entry in sorted(off | on) for write in history.index.writes(entry))
    for slot in slots:
        before, deep = get_slot(state, slot), SURFACES[slot[0]].nested
        try:
            place = _find_changing_slot(history, slot, view, View(history.undone))
            if place is None or (place != slot and place in slots):
                continue
            if place != slot:
                slot, before = place, get_slot(state, place)  # noqa: PLW2901 - the whole it lies in
            after = (history.subtree if deep else history.content)(slot, view)
        except ContentGone as fault:
            gone[slot] = fault.sealed
            continue
        if deep and _is_known_above(history, slot, view):
            nested[slot] = None
        elif not is_same_content(slot, before, after) and not (deep and _has_leaf_above(state, slot)):
            left.append(SlotChange(slot, before, after))
    missing = {slot for slot in gone if get_parts(get_slot(state, slot)) is None}
    homeless = {slot for slot in nested if is_part(slot[-1]) and slot[:-1] in missing}
    for slot in nested:
        if _has_leaf_above(state, find_containing_slot(slot)) and not any(
            above in nested for above in list_slots_above(slot)
        ):
            homeless.add(slot)
    _change_nested_slots(history, view, nested.keys() - homeless, state, left)
    return Gone(tuple(gone), tuple(left), tuple((slot, seal) for slot, seal in gone.items() if seal))


def _is_known_above(history: History, slot: Slot, view: View) -> bool:
    try:
        for place in list_slots_above(slot):
            history.is_container(place, view, END)
    except ContentGone:
        return False
    return True


def _has_leaf_above(state: State, slot: Slot) -> bool:
    above = (get_slot(state, place) for place in list_slots_above(slot))
    return any(content is not ABSENT and type(content) is not PMap for content in above)
