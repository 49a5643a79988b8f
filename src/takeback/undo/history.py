"""What a slot holds, at any time and for any set of undone entries.

A history is a base state, the writes of every entry, and which entries are undone. A `View` is the same
history with some entries supposed undone or back: every question is asked of a view, so that a plan can look
at the history it would make. An entry is a number; times are (entry, position) pairs. A part (a line, an
item) lies in the whole that its parent write put there, and cannot be without it. The frame of a file (its mode,
where it stands) lies in the file as it came into being: writes of its content alone (`bare`) are passed over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from takeback.errors import TakebackError
from takeback.state import ABSENT, SURFACES, PMap, State, tree
from takeback.state.address import APART, FRAME, FRAMES, PATH, is_frame, is_part, is_place, make_part_name
from takeback.state.chain import Link
from takeback.state.file import File
from takeback.state.forgotten import Forgotten, find_seal, has_forgotten
from takeback.state.items import Items
from takeback.state.part_slots import get_parts, reserve_part_names
from takeback.state.slots import Slot, get_slot, is_same_content, list_slots_above
from takeback.state.surface import Slotted
from takeback.undo.index import (
    OWN,
    START,
    SUPPOSED,
    Index,
    Version,
    Versions,
    When,
    Write,
    find_content_claim,
    find_index_after,
    get_entry,
    get_write_time,
    number_taken_in,
)

LAST: Final = 2**62
"""After every write of an entry."""
END: Final[When] = (2**62, 0)
BELOW: Final = "\0below"
"""After a slot, stands for everything beneath it."""


_FRAMED: Final = make_part_name(FRAME)


class ContentGone(TakebackError):  # noqa: N818 - says what is gone; a plan turns it into a result
    """The content a slot should get was forgotten."""

    def __init__(self, slot: Slot, entry: int | None, content: Any = None) -> None:
        source = "the state at the beginning" if entry is None or entry < 0 else f"entry {entry}"
        self.slot = slot
        self.sealed = find_seal(content)
        """Of a content that is only sealed with a key that is not here: which one."""
        gone = f"is sealed: {self.sealed}" if self.sealed else "was forgotten"
        super().__init__(f"what {source} held at {'/'.join(slot)} {gone}")


class View:
    """Which entries count as live. An entry may cease to be live in a view, but none becomes live in it."""

    __slots__ = ("_ahead", "off", "on", "undone")

    def __init__(self, undone: set[int], off: Iterable[int] = (), on: Iterable[int] = ()) -> None:
        self.undone = undone
        self.off = set(off)
        self.on = set(on)
        self._ahead: dict[Slot, dict[int, int]] = {}

    def live(self, entry: int) -> bool:
        """Tell whether the entry's writes count."""
        if entry in self.off:
            return False
        return entry in self.on or entry not in self.undone

    def first_live(self, slot: Slot, versions: Versions, at: int) -> int:
        """Return the index of a slot's first live version from `at` on; the number of versions if none is live.

        What was passed over is not looked at again, so that taking many entries back is linear in their number.
        """
        ahead = self._ahead.setdefault(slot, {})
        passed: list[int] = []
        while at < len(versions) and (at in ahead or not self.live(get_entry(versions, at))):
            passed.append(at)
            at = ahead.get(at, at + 1)
        ahead.update(dict.fromkeys(passed, at))
        return at


class History:
    """The writes of every entry over a base state. `base` is asked for only when a slot needs it."""

    def __init__(
        self, base: Callable[[], State | None], index: Index | None = None, undone: Iterable[int] = ()
    ) -> None:
        self._base = base
        self.index = Index() if index is None else index
        self.undone = set(undone)

    def add(self, entry: int, writes: tuple[Write, ...], taken_in: tuple[Write, ...] = ()) -> None:
        """Take in the newest entry, live, and before it what was there already and is known only since."""
        if taken_in:
            self.index.add(number_taken_in(entry), taken_in)
        self.index.add(entry, self.with_parents(writes))

    def toggle(self, off: Iterable[int], on: Iterable[int]) -> None:
        """Note that entries were undone, and others brought back."""
        self.undone.update(off)
        self.undone.difference_update(on)

    def with_parents(
        self, writes: tuple[Write, ...], taken_in: tuple[Write, ...] = (), entry: int = 0
    ) -> tuple[Write, ...]:
        """Return the writes of a new entry, each part with its parent write: the one that put its whole there.

        `taken_in` is what the new entry, which will have the number given, takes in.
        """
        if not any(is_part(write.slot[-1]) and write.on is None for write in writes):
            return writes
        view = View(self.undone)
        grounded: list[Write] = []
        last: dict[Slot, int] = {}
        """The last write so far to each slot; with `_FRAMED` behind it, the last one that wrote the frame too."""
        taken = {write.slot: at for at, write in enumerate(taken_in)}
        for position, write in enumerate(writes):
            if is_part(write.slot[-1]) and write.on is None:
                whole = write.slot[:-1]
                above = [last.get(write.slot[:depth], -1) for depth in range(1, len(whole))]
                above.append(last.get((*whole, _FRAMED) if is_frame(write.slot[-1]) else whole, -1))
                own = max((at for at in above if at >= 0), default=None)
                ground = self._find_new_parent(write.slot, own, taken, entry) or self.ground(write.slot, view)
                base = writes[own] if own is not None else None if ground[0] < 0 else self._write_at(ground)
                grounded.append(
                    write._replace(on=ground, shared=base is not None and _is_shared_list(base, write.slot[:-1]))
                )
            else:
                grounded.append(write)
            if not is_part(write.slot[-1]):
                last[write.slot] = position
                if not write.bare:
                    last[(*write.slot, _FRAMED)] = position
        return tuple(grounded)

    @staticmethod
    def _find_new_parent(slot: Slot, own: int | None, taken: dict[Slot, int], entry: int) -> When | None:
        """Return the parent write of a part among what its own entry wrote or took in; None where it is older."""
        if own is not None:
            return (OWN, own)
        places = (taken[slot[:depth]] for depth in range(1, len(slot)) if slot[:depth] in taken)
        new = next(places, None)
        return None if new is None else (number_taken_in(entry), new)

    def ground(self, slot: Slot, view: View, until: When = END) -> When:
        """Return the time of a part's parent write, which put there the whole it lies in."""
        if is_frame(slot[-1]):
            return self.framing(slot[:-1], view, until)[1]
        _, when, founder = self.footing(slot[:-1], view, until)
        return when if founder is None else _find_parent_or_start(founder)

    def framing(self, slot: Slot, view: View, until: When) -> tuple[Any, When]:
        """Return what the last write of a file left that wrote its frame too, and its time.

        A write of the content alone counts where nothing stood there before it: what put the file there was undone.
        """
        version = self.find_framing(slot, view, until)
        return self.node(slot, view, START if version is None else _just_after(version))

    def find_framing(self, slot: Slot, view: View, until: When = END) -> Version | None:
        """Return the last live write at or above a file that wrote its frame too; None: it is as at the beginning."""
        version = self.find_cover(slot, view, until)
        while version is not None and version.write.bare:
            when = get_write_time(version)
            if not self._is_file(self.node(slot, view, when)[0]):
                break
            version = self.find_cover(slot, view, when)
        return version

    @staticmethod
    def _is_file(content: Any) -> bool:
        return content is not ABSENT and type(content) is not PMap

    def path(self, slot: Slot, view: View, until: When = END) -> tuple[str | None, When] | None:
        """Return where a file stands, if not at its slot, and since when; None where there is no file.

        It is known also of a file whose content was forgotten.
        """
        content, _ = self.node(slot, view, until)
        if not isinstance(content, File | Forgotten):
            return None
        part, when = self._frame((*slot, make_part_name(PATH)), view, until)
        return None if part is ABSENT else (part.record, when)

    def _frame(self, slot: Slot, view: View, until: When) -> tuple[Any, When]:
        """Return a part of a file's frame, and when it was written."""
        held, ground = self.framing(slot[:-1], view, until)
        versions = self.index.at(slot)
        at = len(versions) if until is END else bisect_left(versions, until, key=get_write_time)
        for version in reversed(versions[:at]):
            if get_write_time(version) < ground:
                break
            if view.live(version.entry) and find_parent_write(version) == ground:
                return version.write.after, get_write_time(version)
        if isinstance(held, Forgotten) and held.frame is not None:
            held = File(b"").with_frame(held.frame)
        return tree.get(PMap({"": held}), ("", slot[-1])), ground

    def footing(self, slot: Slot, view: View, until: When) -> tuple[Any, When, Version | None]:
        """Return what the last write at or above a nested slot left there, its time, and who made the list since.

        A list that belongs to nobody is made by the first live write of a part of it.
        """
        content, when, at = self.find_covering_content(slot, view, until)
        content = tree.get(content, slot[len(at) :]) if len(at) < len(slot) else content
        if content is not ABSENT or not SURFACES[slot[0]].listed:
            return content, when, None
        for version in self.index.list_shared_parts(slot):
            if is_place(version.write.slot[-1]):
                continue  # where an item was moved to makes no list
            if (
                when < get_write_time(version) < until
                and version.write.after is not ABSENT
                and view.live(version.entry)
            ):
                return self._empty_list(version), when, version
        return content, when, None

    def _empty_list(self, part: Version) -> Any:
        """Return the list that a part lies in, without what came with it, which may have been forgotten."""
        base, slot = self._write_at(_find_parent_or_start(part)), part.write.slot[:-1]
        whole = tree.get(PMap({"": base.after}), ("", *slot[len(base.slot) :]))
        items = whole.form if isinstance(whole, Forgotten) else get_parts(whole)
        return items.without_items() if isinstance(items, Items) else Items.of(())

    def _write_at(self, when: When) -> Write:
        return self.index.writes(when[0])[when[1]]

    def last(self, slot: Slot, view: View, until: When = END) -> Version | None:
        """Return the last live write to exactly this slot before a time."""
        return _find_last_live(self.index.at(slot), view, until)

    def next(self, slot: Slot, view: View, entry: int) -> Version | None:
        """Return the first live write to exactly this slot by a later entry."""
        versions = self.index.at(slot)
        at = view.first_live(slot, versions, find_index_after(versions, entry))
        return versions[at] if at < len(versions) else None

    def find_cover(self, slot: Slot, view: View, until: When = END) -> Version | None:
        """Return the last live write before a time to a nested slot or to anything above it."""
        best: Version | None = None
        for node in self.index.list_line(slot):
            version = _find_last_live(node.versions, view, until) if len(node.versions) else None
            if version is not None and (best is None or get_write_time(version) > get_write_time(best)):
                best = version
        return best

    def base_content(self, slot: Slot) -> Any:
        """Return what the slot held before the first entry; `Forgotten` stands for what is gone of it."""
        base = self._base()
        if base is not None:
            return get_slot(base, slot)
        node = self.index.node(slot)
        if len(node.versions) and (not node.surface.nested or self.index.is_alone(node)):
            before = node.versions[0].write.before
            return _require_known(slot, before, None)
        raise ContentGone(slot, None)

    def content(self, slot: Slot, view: View, until: When = END) -> Any:
        """Return what a slot holds that nothing lies above or below."""
        version = self.last(slot, view, until)
        return _require_known(slot, self.get_content(slot, view, until), None if version is None else version.entry)

    def get_content(self, slot: Slot, view: View, until: When = END) -> Any:
        """Return what a slot holds that nothing lies above or below; `Forgotten` where that is gone."""
        version = self.last(slot, view, until)
        if version is None:
            return self.base_content(slot)
        return self._merge_writes(version, view)

    def _merge_writes(self, last: Version, view: View) -> Any:
        """Return what a last write left, or the merge of all live ones where each changed only some places."""
        slot, surface = last.write.slot, SURFACES[last.write.slot[0]]
        if not surface.can_merge_in_place(last.write.after):
            return last.write.after
        versions = self.index.at(slot)
        live = [
            newer for newer in versions if get_write_time(newer) <= get_write_time(last) and view.live(newer.entry)
        ]
        whole = (at for at in reversed(range(len(live))) if not _is_edit(surface, live[at].write))
        start = next(whole, None)
        content = self.base_content(slot) if start is None else ABSENT
        for at, version in enumerate(live[start:]):
            if (at or start is None) and (has_forgotten(version.write.before) or has_forgotten(content)):
                seal = find_seal(version.write.before) or find_seal(content)
                return Forgotten(sealed=seal)  # what it changed is not known here any more
            content = surface.merge_write(content, version.write.before, version.write.after)
        return content

    def hides(self, write: Write, entry: int, view: View) -> bool:
        """Tell whether later entries overwrote all or some of a write to a slot that is merged in place."""
        slot, surface = write.slot, SURFACES[write.slot[0]]
        without = self.get_content(slot, View(self.undone, view.off | {entry}, view.on - {entry}))
        there = self.get_content(slot, View(self.undone, view.off - {entry}, view.on | {entry}))
        return not is_same_content(slot, surface.merge_write(without, write.before, write.after), there)

    def part(self, slot: Slot, view: View, until: When = END) -> Any:
        """Return what a part holds: its last live version since its parent write, or what that put there."""
        content, entry = self._part(slot, view, until)
        return _require_known(slot, content, entry)

    def _part(self, slot: Slot, view: View, until: When) -> tuple[Any, int | None]:
        """Return what a part holds, `Forgotten` where that is gone, and which entry wrote it."""
        if is_frame(slot[-1]):
            content, written = self._frame(slot, view, until)
            return content, None if written[0] < 0 else written[0]
        held, when, founder = self.footing(slot[:-1], view, until)
        ground = when if founder is None else _find_parent_or_start(founder)
        versions = self.index.at(slot)
        at = len(versions) if until is END else bisect_left(versions, until, key=get_write_time)
        for version in reversed(versions[:at]):
            if get_write_time(version) < when:
                break
            if view.live(version.entry) and find_parent_write(version) == ground:
                return version.write.after, version.entry
        first = next((version for version in versions if find_parent_write(version) == ground), None)
        if first is None or founder is not None:
            whole = _require_known(slot, held, None)
            return tree.get(PMap({"": whole}), ("", slot[-1])), None
        return first.write.before, first.entry

    def find_covering_content(self, slot: Slot, view: View, until: When = END) -> tuple[Any, When, Slot]:
        """Return the content, time and slot of the last write at or above a nested slot.

        The content returned is that of the write's own slot; base content is that of the first name. Where a value
        is gone, `Forgotten` stands in it: it is still known that something is there.
        """
        version = self.find_cover(slot, view, until)
        if version is None:
            return self.base_content(slot[:2]), START, slot[:2]
        return version.write.after, get_write_time(version), version.write.slot

    def node(self, slot: Slot, view: View, until: When = END) -> tuple[Any, When]:
        """Return what the last write at or above a nested slot left exactly there, and when."""
        return self.footing(slot, view, until)[:2]

    def subtree(self, slot: Slot, view: View, until: When = END) -> Any:
        """Return what a nested slot holds, with everything that later writes put below it."""
        if is_part(slot[-1]):
            return self.part(slot, view, until)
        content, when = self.node(slot, view, until)
        holder = PMap({} if content is ABSENT else {"": content})
        for version in self.live_below(slot, view, when, until):
            after, path = version.write.after, ("", *version.write.slot[len(slot) :])
            if is_part(path[-1]) and isinstance(whole := tree.get(holder, path[:-1]), Forgotten):
                raise ContentGone(slot, version.entry, whole)
            if version.write.bare and isinstance(there := tree.get(holder, path), File):
                after = after.with_frame(there.frame) if isinstance(after, File) else after
            if version.write.shared and is_part(path[-1]) and tree.get(holder, path[:-1]) is ABSENT:
                if is_place(path[-1]):
                    continue
                holder = tree.put(holder, path[:-1], self._empty_list(version))
            holder = tree.drop(holder, path) if after is ABSENT else tree.put(holder, path, after)
        if isinstance(content, File) and self.framing(slot, view, until)[1] != when:
            for name in map(make_part_name, FRAMES):
                holder = tree.put(holder, ("", name), self._frame((*slot, name), view, until)[0])
        return _require_known(slot, self._reserve_names(slot, holder).get("", ABSENT), None)

    def _reserve_names(self, slot: Slot, holder: PMap) -> PMap:
        """Return the content with the names of all parts that ever existed reserved, so that no new one gets them."""
        written: dict[tuple[str, ...], list[Write]] = {}
        for version in self.index.below(slot):
            if is_part(version.write.slot[-1]):
                written.setdefault(("", *version.write.slot[len(slot) : -1]), []).append(version.write)
        for path, writes in written.items():
            there = tree.get(holder, path)
            if there is not ABSENT and type(there) is not PMap:
                sides = (side for write in writes for side in (write.before, write.after) if type(side) is Link)
                places = [side.place for side in sides if side.id not in APART]
                holder = tree.put(
                    holder, path, reserve_part_names(there, [write.slot[-1] for write in writes], places)
                )
        return holder

    def is_container(self, slot: Slot, view: View, until: When = END) -> bool:
        """Tell whether a nested slot is a mapping or directory, also one that only holds up what is below it."""
        content, when = self.node(slot, view, until)
        if content is not ABSENT:
            return type(content) is PMap
        return any(
            version.write.after is not ABSENT and _can_hold_up(version.write)
            for version in self.live_below(slot, view, when, until)
        )

    def live_below(self, slot: Slot, view: View, after: When, until: When) -> Iterator[Version]:
        """Yield live writes beneath a slot between two times, oldest first."""
        versions = self.index.below(slot)
        at = bisect_right(versions, after, key=get_write_time)
        while (at := view.first_live((*slot, BELOW), versions, at)) < len(versions) and get_write_time(
            versions[at]
        ) < until:
            yield versions[at]
            at += 1

    def is_there(self, slot: Slot, view: View, until: When = END) -> bool:
        """Tell whether a slot holds anything but a container, also something that was forgotten."""
        try:
            if is_part(slot[-1]):
                content = self._part(slot, view, until)[0]
            elif SURFACES[slot[0]].nested:
                content = self.node(slot, view, until)[0]
            else:
                last = self.last(slot, view, until)
                content = self.base_content(slot) if last is None else last.write.after
        except ContentGone:
            return True
        return content is not ABSENT and type(content) is not PMap

    def leaf_above(self, slot: Slot, view: View, until: When = END) -> Slot | None:
        """Return the highest slot above one that is neither a container nor absent.

        The search goes from the top: a removal below a leaf does nothing, so it proves nothing about the leaf.
        """
        for place in list_slots_above(slot):
            content, _ = self.node(place, view, until)
            if content is not ABSENT and type(content) is not PMap:
                return place
        return None

    def holders(self, surface: str, claim: str) -> set[Slot]:
        """Return the slots that ever held what is claimed."""
        slots = {version.write.slot for version in self.index.list_claims(surface, claim)}
        base = self._base()
        if base is not None:
            part = base.part(surface)
            slots.update((surface, key) for key in part if find_content_claim(surface, part[key]) == claim)
        return slots


def _find_last_live(versions: Versions, view: View, until: When) -> Version | None:
    at = len(versions) if until is END else bisect_left(versions, until, key=get_write_time)
    while at:
        at -= 1
        if view.live(get_entry(versions, at)):
            return versions[at]
    return None


def _just_after(version: Version) -> When:
    return (version.entry, version.position + 1)


def find_parent_write(version: Version) -> When | None:
    """Return the time of the parent write of a part: the write that put the whole there in which it was written."""
    on = version.write.on
    return (version.entry, on[1]) if on is not None and on[0] == OWN else on


def _find_parent_or_start(version: Version) -> When:
    parent = find_parent_write(version)
    return START if parent is None else parent


def _can_hold_up(write: Write) -> bool:
    """Tell whether a write makes what is missing above it; a part makes only a list that belongs to nobody."""
    name = write.slot[-1]
    return not is_part(name) or (write.shared and not is_place(name))


def _is_shared_list(write: Write, slot: Slot) -> bool:
    content = tree.get(PMap({"": write.after}), ("", *slot[len(write.slot) :]))
    return write.shared and (type(content) is tuple or isinstance(content, Items | Forgotten))


def _is_edit(surface: Slotted, write: Write) -> bool:
    """Tell whether a write changed a content in places; what it found may have been forgotten."""
    return surface.can_merge_in_place(write.before) or (write.needs and has_forgotten(write.before))


def _require_known(slot: Slot, content: Any, entry: int | None) -> Any:
    if has_forgotten(content):
        raise ContentGone(slot, entry, content)
    return content


__all__ = ["END", "LAST", "START", "SUPPOSED", "ContentGone", "History", "View", "When", "find_parent_write"]
