"""A change that others made, as operations: what its writes say, surface by surface.

For each thing that was written there are one or more ways to say it, the finest first: edits of a text by stretches
that occur once, items of a list, a move of a file; then the whole. Nothing is run here: whoever asks runs the ways
on the state before and takes the first that gives the state after. Where no way is known, the reason is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Final

from takeback.canonical import encode
from takeback.sequences import count_common_ends, find_differing
from takeback.state import ABSENT, SURFACES, PMap, State
from takeback.state.chain import Chain
from takeback.state.chain_surface import ChainSurface
from takeback.state.file import LINK_MODE, File
from takeback.state.items import Items
from takeback.state.keyed_surface import KeyedSurface
from takeback.state.part_slots import get_parts
from takeback.state.slots import Slot, describe_slot, find_containing_slot, get_slot
from takeback.state.surface import Surface
from takeback.state.text import Text, cut_into_lines
from takeback.state.tree import iter_leaves
from takeback.state.tree_surface import TreeSurface
from takeback.state.values import is_same_record, thaw
from takeback.undo import SlotChange, Write

PlainOperation = dict[str, Any]
Way = Callable[[], tuple[PlainOperation, ...]]
"""Says what was done by operations; by none, where it cannot. Called when the ways before it have failed."""
MOST_EDITS: Final = 16
"""A text or list in which more stretches differ is written whole."""
MOST_MOVES: Final = 8
"""Where more files were moved, each is said to have gone and come: a move takes a hundred times as long to prove."""
LONGEST_EDIT: Final = 1 << 16
"""Characters that an edit may replace or put in; a longer one is a whole write."""
_REMOVAL, _MOVE, _WRITE = range(3)
"""In this order: what stands in the way goes first, and a file is moved before another is written to its place."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that was written, and the ways to say so, the finest first; `is_made` tells it is as it should be."""

    title: str
    ways: tuple[Way, ...]
    is_made: Callable[[State], bool]
    order: int = _WRITE


def list_units(before: State, after: State, writes: Sequence[Write | SlotChange]) -> list[Unit] | str:
    """Return what writes changed as units, in an order in which they can be made; or why that cannot be said."""
    wholes: dict[str, dict[Slot, None]] = {}
    for write in writes:
        surface = SURFACES[write.slot[0]]
        slot = write.slot[:2] if isinstance(surface, KeyedSurface) else find_containing_slot(write.slot)
        wholes.setdefault(surface.name, {})[slot] = None
    units: list[Unit] = []
    for name, slots in wholes.items():
        surface = SURFACES[name]
        if isinstance(surface, KeyedSurface):
            keyed = [_build_keyed_unit(surface, slot, before, after) for slot in slots]
            units += [_join_units(name, keyed)] if surface.exclusive and len(keyed) > 1 else keyed
        elif name == "files" and isinstance(surface, TreeSurface):
            units += _list_file_units(surface, before, after)
        elif isinstance(surface, TreeSurface):
            units += [_build_tree_unit(surface, slot, before, after) for slot in _drop_inner(slots)]
        elif isinstance(surface, ChainSurface):
            paths = dict.fromkeys(slot[1:-1] for slot in slots)
            units += [_build_chain_unit(surface, path, before, after) for path in paths]
        else:
            return f"{name} has no operations for such a change"
    return sorted(units, key=lambda unit: (unit.order, -len(unit.ways)))


def _find_kind(surface: Surface, verb: str) -> str | None:
    """Return the name of a surface's operation for a verb of one-line changes; None if it has none."""
    return next((kind.name for kind in surface.kinds if kind.verb == verb), None)


def _say(surface: Surface, verb: str, target: str, **fields: Any) -> tuple[PlainOperation, ...]:
    kind = _find_kind(surface, verb)
    return () if kind is None else ({"op_type": kind, "target": target, **fields},)


def _drop_inner(slots: Iterable[Slot]) -> list[Slot]:
    """Return slots without those that lie in another one of them."""
    known = dict.fromkeys(slots)
    return [slot for slot in known if not any(slot[:depth] in known for depth in range(2, len(slot)))]


def _build_keyed_unit(surface: KeyedSurface, slot: Slot, before: State, after: State) -> Unit:
    key, old, new = slot[1], get_slot(before, slot), get_slot(after, slot)

    def is_made(state: State) -> bool:
        return surface.equivalent(get_slot(state, slot), new)

    remove: Way = partial(_say, surface, "remove", key)
    if new is ABSENT:
        return Unit(describe_slot(slot), (remove,), is_made, _REMOVAL)
    put: Way = partial(_set_whole, surface, key, new)
    if surface.exclusive:
        return Unit(describe_slot(slot), (put, lambda: (*remove(), *put())), is_made)
    return Unit(describe_slot(slot), (partial(_edit_text, surface, key, old, new), put), is_made)


def _set_whole(surface: Surface, target: str, content: Any) -> tuple[PlainOperation, ...]:
    return _say(surface, "set", target, value=surface.describe(content))


def _join_units(name: str, units: Sequence[Unit]) -> Unit:
    """Return units of things that exclude each other as one: all let go of what they hold first."""

    def say() -> tuple[PlainOperation, ...]:
        ops = [op for unit in units for op in unit.ways[-1]()]
        return (*(op for op in ops if "value" not in op), *(op for op in ops if "value" in op))

    return Unit(name, (say,), lambda state: all(unit.is_made(state) for unit in units))


def _build_tree_unit(surface: TreeSurface, slot: Slot, before: State, after: State) -> Unit:
    old, new = get_slot(before, slot), get_slot(after, slot)

    def is_made(state: State) -> bool:
        return surface.equivalent(get_slot(state, slot), new)

    target = surface.join(slot[1:])
    ways: list[Way] = [partial(_say, surface, "remove", target)]
    if new is not ABSENT:
        ways = [partial(_edit_list, surface, target, old, new), partial(_set_whole, surface, target, new)]
    for depth in range(len(slot) - 1, 1, -1):  # where the path cannot be named, the mapping around it is written
        above = get_slot(after, slot[:depth])
        if type(above) is PMap:
            ways.append(partial(_set_whole, surface, surface.join(slot[1:depth]), above))
    return Unit(describe_slot(slot), tuple(ways), is_made, _REMOVAL if new is ABSENT else _WRITE)


def _list_file_units(surface: TreeSurface, before: State, after: State) -> Iterator[Unit]:
    """Yield what happened to each file; one that went and one that came with the same content is a move."""
    changes = list(surface.diff(before.part("files"), after.part("files")))
    gone = dict(_iter_files(surface, ((change.address.key, change.before) for change in changes)))
    came = dict(_iter_files(surface, ((change.address.key, change.after) for change in changes)))
    moved: dict[str, str] = {}
    sources: dict[tuple[bytes, int], list[str]] = {}
    for path in sorted(gone.keys() - came.keys()):
        sources.setdefault((gone[path].content, gone[path].mode), []).append(path)
    for path in sorted(came.keys() - gone.keys()):
        same = sources.get((came[path].content, came[path].mode))
        if same and came[path].content:
            moved[same.pop(0)] = path
    if len(moved) > MOST_MOVES:
        moved.clear()
    turned = [change for change in changes if type(change.before) is PMap and isinstance(change.after, File)]
    for change in turned:
        yield _build_directory_unit(surface, change.address.key)
    inside = {path for path, _ in _iter_files(surface, ((change.address.key, change.before) for change in turned))}
    for path in sorted(gone.keys() - came.keys() - (inside - moved.keys())):
        yield _build_removal_or_move(surface, path, moved.get(path), before, after)
    for path in sorted(came.keys() - set(moved.values())):
        yield _build_file_unit(surface, path, gone.get(path, ABSENT), came[path])


def _build_directory_unit(surface: TreeSurface, path: str) -> Unit:
    """Return what happened to a directory that is a file now: it went with all that was in it."""
    slot = ("files", *surface.parse_key(path))
    removal: Way = partial(_say_kind, "remove_directory", path)
    return Unit(describe_slot(slot), (removal,), lambda state: get_slot(state, slot) is ABSENT, _REMOVAL)


def _say_kind(kind: str, target: str) -> tuple[PlainOperation, ...]:
    return ({"op_type": kind, "target": target},)


def _iter_files(surface: TreeSurface, contents: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, File]]:
    for key, content in contents:
        for path, leaf in iter_leaves(content, surface.parse_key(key)) if content is not ABSENT else ():
            if isinstance(leaf, File):
                yield surface.join(path), leaf


def _build_removal_or_move(surface: TreeSurface, path: str, to: str | None, before: State, after: State) -> Unit:
    slot = ("files", *surface.parse_key(path))
    removal: Way = partial(_say, surface, "remove", path)
    if to is None:
        return Unit(describe_slot(slot), (removal,), lambda state: get_slot(state, slot) is ABSENT, _REMOVAL)
    there = ("files", *surface.parse_key(to))
    wanted = get_slot(after, there)
    put: Way = partial(_set_whole, surface, to, get_slot(before, slot))

    def is_made(state: State) -> bool:
        return not isinstance(get_slot(state, slot), File) and surface.equivalent(get_slot(state, there), wanted)

    move: Way = partial(_say, surface, "move", path, value=to)
    return Unit(describe_slot(there), (move, lambda: (*removal(), *put())), is_made, _MOVE)


def _build_file_unit(surface: TreeSurface, path: str, old: Any, new: File) -> Unit:
    slot = ("files", *surface.parse_key(path))
    same_mode = isinstance(old, File) and old.mode == new.mode != LINK_MODE
    put: Way = partial(_set_whole, surface, path, new)

    def is_made(state: State) -> bool:
        return surface.equivalent(get_slot(state, slot), new)

    ways: tuple[Way, ...] = (partial(_edit_text, surface, path, old, new), put) if same_mode else (put,)
    return Unit(describe_slot(slot), ways, is_made)


def _edit_text(surface: Surface, target: str, old: Any, new: Any) -> tuple[PlainOperation, ...]:
    """Return the edits that make one text another; none where it is no text, or is better written whole."""
    before, after = (None if content is ABSENT else get_parts(content) for content in (old, new))
    kind = _find_kind(surface, "edit")
    if kind is None or not isinstance(before, Text) or not isinstance(after, Text):
        return ()
    edits = list_edits(before.whole(), after.whole())
    return tuple({"op_type": kind, "target": target, "value": {"old": a, "new": b}} for a, b in edits or ())


def list_edits(old: str, new: str) -> list[tuple[str, str]] | None:
    """Return edits that make one text another, one after the other; None where there are too many, or none fit.

    What an edit replaces occurs once in the text at its turn: a stretch of lines, grown until it does.
    """
    if not old:
        return None
    begin, end = count_common_ends(old, new)
    begin = old.rfind("\n", 0, begin) + 1
    end = len(old) - (old.find("\n", len(old) - end) + 1 or len(old)) if end else 0
    lines, wanted = _cut(old[begin : len(old) - end]), _cut(new[begin : len(new) - end])
    stretches = list(find_differing(lines, wanted, lambda line: any(map(str.isalnum, line))))
    if not stretches or len(stretches) > MOST_EDITS:
        return None
    edits: list[tuple[str, str]] = []
    starts = list(accumulate(map(len, lines), initial=begin))
    now = old
    for low, high, first, last in reversed(stretches):
        edit = _grow_edit(now, starts[low], starts[high], "".join(wanted[first:last]))
        if edit is None:
            return None
        edits.append(edit)
        at = now.index(edit[0]) if edit[0] else len(now)
        now = now[:at] + edit[1] + now[at + len(edit[0]) :]
    return edits if now == new else None


def _cut(text: str) -> list[str]:
    whole = cut_into_lines(text + "\n")
    return [*whole[:-1], whole[-1][:-1]] if whole[-1] != "\n" else whole[:-1]


def _grow_edit(text: str, start: int, end: int, new: str) -> tuple[str, str] | None:
    """Return the edit of a stretch with as many lines around it as make it occur once; None if all of it does not."""
    if start == end == len(text) and text:
        return ("", new) if len(new) <= LONGEST_EDIT else None
    low, high, step = start, end, 1
    while high - low <= LONGEST_EDIT and len(new) <= LONGEST_EDIT:
        if low < high and _occurs_once(text, text[low:high]):
            return text[low:high], text[low:start] + new + text[end:high]
        if low == 0 and high == len(text):
            return None
        for _ in range(step):
            low = text.rfind("\n", 0, low - 1) + 1 if low else 0
            high = text.find("\n", high) + 1 or len(text) if high < len(text) else high
        step *= 2
    return None


def _occurs_once(text: str, part: str) -> bool:
    at = text.find(part)
    return at >= 0 and text.find(part, at + 1) < 0


def _edit_list(surface: Surface, target: str, old: Any, new: Any) -> tuple[PlainOperation, ...]:
    """Return what takes items out of a list and puts others in; none where an item that goes is there twice."""
    before, after = (None if content is ABSENT else get_parts(content) for content in (old, new))
    if not isinstance(before, Items) or not isinstance(after, Items) or _find_kind(surface, "remove item") is None:
        return ()
    items, wanted = thaw(before.whole()), thaw(after.whole())
    keys, others = [encode(item) for item in items], [encode(item) for item in wanted]
    stretches = list(find_differing(keys, others, lambda _: True))
    if sum(high - low + last - first for low, high, first, last in stretches) > MOST_EDITS:
        return ()
    taken = [at for low, high, _, _ in stretches for at in range(low, high)]
    left = list(keys)
    operations: list[PlainOperation] = []
    for at in taken:
        if left.count(keys[at]) != 1:
            return ()
        left.remove(keys[at])
        operations += _say(surface, "remove item", target, value=items[at])
    for _, _, first, last in stretches:
        for at in range(first, last):
            end = at >= len(left)
            left.insert(at, others[at])
            operations += (
                _say(surface, "append", target, value=wanted[at])
                if end
                else _say(surface, "insert", target, value=wanted[at], index=at)
            )
    return tuple(operations)


def _build_chain_unit(surface: ChainSurface, path: tuple[str, ...], before: State, after: State) -> Unit:
    old, new = (surface.chain(state.part(surface.name), path) for state in (before, after))

    def is_made(state: State) -> bool:
        made = surface.with_chain(surface.empty, path, surface.chain(state.part(surface.name), path))
        return next(surface.diff(made, surface.with_chain(surface.empty, path, new)), None) is None

    return Unit(
        describe_slot((surface.name, *path)), (lambda: tuple(_iter_arrangement(surface, path, old, new)),), is_made
    )


def _iter_arrangement(
    surface: ChainSurface, path: tuple[str, ...], old: Chain, new: Chain
) -> Iterator[PlainOperation]:
    """Yield elements taken out, replaced in place, put in, and moved."""
    say = partial(_say_element, surface, path)
    records = {link.id: link.record for link in new}
    wanted, current = list(records), [element for element in old.ids() if element in records]
    for element in old.ids():
        if element not in records:
            yield from say("remove", element)
    places = {link.id: link.place for link in old}
    stays = {link.id for link in new if places.get(link.id) == link.place}
    for at, element in enumerate(wanted):
        known, record = old.find(element), records[element]
        if known is None:
            yield from say("add", element, record)
            current.append(element)
        elif not is_same_record(known.record, record):
            yield from say("replace", element, record)
        if element not in stays:
            near = wanted[at - 1] if at else None
            current.remove(element)
            to = current.index(near) + 1 if near is not None else 0
            last = to == len(current)
            current.insert(to, element)
            if known is not None or not last:
                yield from say("move", element, **({"index": 0} if near is None else {"after": near}))


def _say_element(
    surface: ChainSurface, path: tuple[str, ...], verb: str, element: str, record: Any = ABSENT, **spot: Any
) -> tuple[PlainOperation, ...]:
    """Say what is done to an element of a chain.

    The callbacks of an event are named by their event; adding one that is there replaces it.
    """
    if not path:
        value = {} if record is ABSENT else {"value": thaw(record)}
        return _say(surface, verb, element, **value, **spot)
    value = {"value": element if record is ABSENT else thaw(record)}
    return _say(surface, "add" if verb == "replace" else verb, path[0], **value, **spot)
