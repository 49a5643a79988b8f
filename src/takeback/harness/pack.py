"""Slot contents and whole states as contents of the journal, and back.

A value is one leaf. What has an inside that other entries write on its own (a mapping of config, a directory, a
chain) is a tree: names, modes and places stand in it as they are, values are its parts, so that a value in an entry,
in a checkpoint and in the first state is one content. Where a part was forgotten, a `Forgotten` stands in what is
read back: it is known that something was there, what kind of thing, and what it claimed, but not its value.

    node = position of a part           a value
         | ["d", {name: node}]          a mapping or directory, or a surface's keys
         | ["f", frame, node]           a file: its mode, or its mode and where it stands since it was moved
         | ["m", path]                  where a file stands since it was moved, written apart from its content
         | ["l", place, position]       an element of a chain, with its place
         | ["c", reach, {name: node}]   a chain, and how far its places reach
         | ["p", {…}]                   a text or list that was edited inside; its segments are positions
         | ["x", claim, node]           something that claims what no other slot may hold
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from takeback.harness.late_contents import StoredContent, find_stored_content
from takeback.journal.content import (
    FORGOTTEN,
    Content,
    Json,
    Leaf,
    Ref,
    Stored,
    Tree,
    guard_against_corruption,
    is_redacted,
    make_leaf,
)
from takeback.state import ABSENT, SURFACES, PMap, Slotted, State
from takeback.state.address import PATH, is_part, make_part_name
from takeback.state.chain import Chain, Link
from takeback.state.file import File, Frame, LateContent
from takeback.state.forgotten import Forgotten, HiddenLines, make_blank
from takeback.state.items import Items
from takeback.state.keyed_surface import KeyedSurface
from takeback.state.part_slots import link_from_json, make_frame_link
from takeback.state.parts import Parts
from takeback.state.slots import Slot, format_slot_key
from takeback.state.surfaces.listeners import ListenersSurface
from takeback.state.text import Text
from takeback.state.tree_surface import TreeSurface
from takeback.state.values import is_same_value, thaw

KnownRefs = dict[Slot, tuple[Any, Ref]]
"""Values that are stored already, by where they stand: the value itself, and its id."""


class Packer:
    """Turns contents of slots into contents of the journal.

    Values in `known` are referred to, not stored again; values in `hidden` were forgotten, and are not stored.
    """

    def __init__(self, known: KnownRefs | None = None, hidden: Mapping[Slot, Any] | None = None) -> None:
        self._known: KnownRefs = {} if known is None else known
        self._hidden: Mapping[Slot, Any] = {} if hidden is None else hidden
        self._new: list[tuple[Slot, Any, Leaf]] = []
        self._files: dict[tuple[Frame, int], Json] = {}
        """Nodes of files, each held once: of many files most have the same mode."""
        self.withholds: Callable[[Leaf], bool] | None = None
        """Which contents are not stored, whatever else is so: their digest may be kept all the same."""
        self.is_line_withheld: Callable[[bytes], bool] | None = None
        self.is_apart: Callable[[bytes], bool] | None = None
        """Which lines of a text are stored apart from those around them, so that they can be forgotten alone."""

    def slot(self, slot: Slot, content: Any) -> Content | None:
        """Return the content of one slot; None where there is nothing."""
        if content is ABSENT:
            return None
        stored = None if slot in self._hidden else find_stored_content(content)
        known = None if stored is None else stored.contents.find_file(stored.at, slot, content.frame)
        if known is not None:
            return known
        parts: list[Content] = []
        node = self._node(SURFACES[slot[0]], slot, content, parts)
        return parts[0] if node == 0 else Tree(node, tuple(parts), format_slot_key(slot))

    def pack_written(self, slot: Slot, content: Any) -> Content | None:
        """Return the content that a change puts into a slot; stored even where it equals what was forgotten there."""
        hidden, self._hidden = self._hidden, {}
        try:
            return self.slot(slot, content)
        finally:
            self._hidden = hidden

    def state(self, state: State) -> Tree:
        """Return a whole state as a content."""
        parts: list[Content] = []
        nodes: dict[str, Json] = {}
        for name, surface in SURFACES.items():
            part = state.part(name)
            if part is not surface.empty and surface.is_worth_storing(part):
                nodes[name] = self._surface(surface, part, parts)
        return Tree(nodes, parts, "state")

    def remember_stored(self) -> None:
        """Remember what was new, after it was stored."""
        for slot, value, new in self._new:
            if new.ref is not None:
                self._known[slot] = (value, new.ref)
        self._new.clear()
        self._files.clear()

    def _surface(self, surface: Slotted, part: Any, parts: list[Content]) -> Json:
        name = surface.name
        if isinstance(part, Chain):
            return self._node(surface, (name,), part, parts)
        if isinstance(surface, KeyedSurface | TreeSurface | ListenersSurface):
            return ["d", {key: self._node(surface, (name, key), item, parts) for key, item in part.items()}]
        return self._value((name,), part, lambda: make_leaf(surface.dump(part), format_slot_key((name,))), parts)

    def _node(self, surface: Slotted, slot: Slot, content: Any, parts: list[Content]) -> Json:
        if isinstance(content, Forgotten):
            at = self._part(FORGOTTEN, parts)
            inner: Json = at if content.form is None else _encode_empty_form(content.form, at)
            node: Json = inner if content.frame is None else ["f", thaw(content.frame), inner]
            return node if content.claim is None else ["x", content.claim, node]
        kind = type(content)
        if surface.has_child_slots(content, slot[1:]):
            inside = {name: self._node(surface, (*slot, name), item, parts) for name, item in content.items()}
            return ["d", inside]
        if isinstance(content, File):
            text = content.parts() if content.edited else None
            if text is not None:
                return ["f", thaw(content.frame), self._pack_edited(slot, text, parts)]
            at = self._value(slot, content, lambda: _make_file_leaf(slot, content), parts)
            return self._files.setdefault((content.frame, at), ["f", thaw(content.frame), at])
        if isinstance(content, Parts):
            return self._pack_edited(slot, content, parts)
        if kind is Link and slot[-1] == make_part_name(PATH) and not isinstance(content.record, Forgotten):
            return ["m", content.record]
        if kind is Link:
            place = [list(step) for step in content.place]
            if isinstance(content.record, Forgotten):
                return ["l", place, self._part(FORGOTTEN, parts)]
            if is_part(slot[-1]):
                return ["l", place, self._part(self._inside(slot[:-1], thaw(content.record), slot), parts)]
            at = self._value(
                slot, content.record, lambda: make_leaf(thaw(content.record), format_slot_key(slot)), parts
            )
            return ["l", place, at]
        if kind is Chain:
            links = {link.id: self._node(surface, (*slot, link.id), link, parts) for link in content}
            return ["c", list(content.reach) if content.reach else None, links]
        at = self._value(
            slot, content, lambda: make_leaf(surface.slot_to_json(content), format_slot_key(slot)), parts
        )
        claim = surface.claim(content) if surface.exclusive else None
        return at if claim is None else ["x", claim, at]

    def _pack_edited(self, slot: Slot, content: Parts, parts: list[Content]) -> Json:
        """Pack a text or list that was edited inside: runs nobody touched, and each part that was written."""
        plain = content.to_json()
        segments: list[Json] = []
        for first, second, value in self._cut(slot, plain["segments"]):
            place = slot if isinstance(first, int) else (*slot, make_part_name(first))
            segments.append([first, second, self._part(self._inside(slot, value, place), parts)])
        return ["p", {**plain, "segments": segments}]

    def _cut(self, slot: Slot, segments: Sequence[Any]) -> Iterator[tuple[Any, Any, Any]]:
        """Yield segments, cut where a line is hidden or is to be stored apart."""
        hidden, is_apart = self._hidden.get(slot), self.is_apart or self.is_line_withheld
        for first, second, value in segments:
            lines = value.splitlines(keepends=True) if isinstance(value, str) and isinstance(first, int) else ()
            if len(lines) != second or (is_apart is None and not isinstance(hidden, HiddenLines)):
                yield first, second, value
                continue
            alone = [
                (is_apart is not None and is_apart(line.encode(errors="surrogatepass")))
                or (isinstance(hidden, HiddenLines) and hidden.has_part_of(line))
                for line in lines
            ]
            start = 0
            for at in range(1, len(lines) + 1):
                if at == len(lines) or alone[at] or alone[at - 1]:
                    yield first + start, at - start, "".join(lines[start:at])
                    start = at

    def _inside(self, slot: Slot, value: Json, place: Slot) -> Content:
        hidden = self._hidden.get(slot)
        if hidden is not None and _is_part_of_hidden(hidden, value):
            return FORGOTTEN
        return make_leaf(value, format_slot_key(place))

    def _value(self, slot: Slot, value: Any, make: Callable[[], Leaf], parts: list[Content]) -> int:
        if slot in self._hidden and _is_equal(self._hidden[slot], value):
            leaf = make()
            return self._part(leaf if self.withholds is not None and self.withholds(leaf) else FORGOTTEN, parts)
        known = self._known.get(slot)
        if known is not None and known[0] is value:
            return self._part(known[1], parts)
        stored = find_stored_content(value)
        if stored is not None:
            self._known[slot] = (value, stored.ref)
            return self._part(stored.ref, parts)
        new = make()
        self._new.append((slot, value, new))
        return self._part(new, parts)

    @staticmethod
    def _part(content: Content, parts: list[Content]) -> int:
        parts.append(content)
        return len(parts) - 1


def _make_file_leaf(slot: Slot, file: File) -> Leaf:
    source = file.source
    return Leaf(source.read if isinstance(source, LateContent) else source, format_slot_key(slot))


def _encode_empty_form(form: Parts, at: int) -> Json:
    """Encode a text or list of which only the form is known, with every part at one position."""
    plain = form.to_json()
    return ["p", {**plain, "segments": [[first, second, at] for first, second, _ in plain["segments"]]}]


def collect_inside_refs(nodes: Mapping[str, Any], parts: list[Ref]) -> dict[Slot, list[tuple[int, Ref]]]:
    """Return the ids of contents inside edited texts and lists of a stored state, by slot, with their sizes."""
    inside: dict[Slot, list[tuple[int, Ref]]] = {}

    def walk(slot: Slot, node: Any) -> None:
        tag = "" if isinstance(node, int) else node[0]
        if tag == "p":
            segments = node[1]["segments"]
            inside[slot] = [(size if isinstance(first, int) else 1, parts[at]) for first, size, at in segments]
        elif tag == "d":
            for name, item in node[1].items():
                walk((*slot, name), item)
        elif tag in {"f", "x"}:
            walk(slot, node[2])

    for name, node in nodes.items():
        walk((name,), node)
    return inside


def _is_equal(old: Any, new: Any) -> bool:
    if isinstance(old, HiddenLines):
        return old.has_part_of(new.content.decode(errors="replace") if isinstance(new, File) else new)
    return bool(old == new) if isinstance(old, File) else is_same_value(old, new)


def _is_part_of_hidden(hidden: Any, value: Any) -> bool:
    if isinstance(hidden, HiddenLines):
        return hidden.has_part_of(value)
    whole = hidden.content.decode(errors="replace") if isinstance(hidden, File) else thaw(hidden)
    if isinstance(whole, str) and isinstance(value, str):
        return value.strip() in whole
    return isinstance(whole, list) and (
        value in whole or (isinstance(value, list) and all(v in whole for v in value))
    )


SCALARS: Final = (str, int, float, bool, type(None))
"""JSON that stands for itself."""

FindStored = Callable[[int], tuple[Ref, Stored | None]]
"""The part at a position: its id, and its bytes unless it was forgotten."""


def list_file_positions(nodes: Mapping[str, Any]) -> list[int]:
    """Return the positions of the contents of files that were never edited inside, in a stored state."""
    positions: list[int] = []
    with guard_against_corruption("a stored state"):
        waiting = [nodes[name] for name in nodes if name in SURFACES and isinstance(SURFACES[name], TreeSurface)]
        while waiting:
            node = waiting.pop()
            if isinstance(node, list) and node[0] == "d":
                waiting.extend(reversed(node[1].values()))
            elif isinstance(node, list) and node[0] == "f" and isinstance(node[2], int):
                positions.append(node[2])
    return positions


class Unpacker:
    """Turns contents of the journal back into contents of slots, and notes which value has which id."""

    def __init__(self, known: KnownRefs | None = None, keyless: Mapping[Ref, str] | None = None) -> None:
        self._known = known
        self._keyless: Mapping[Ref, str] = {} if keyless is None else keyless
        """What is known of contents that are stored, and sealed with keys that are not here."""
        self.late: Mapping[int, StoredContent] = {}
        """The contents of files that are read when they are needed, by position."""
        self.holes: dict[Slot, Any] = {}
        """Where something was forgotten: what stands there instead."""

    def leaf(self, slot: Slot, ref: Ref, stored: Stored | None, claim: str | None = None) -> Any:
        """Return a slot's content that is one value."""
        return self._node(SURFACES[slot[0]], slot, 0, lambda _: (ref, stored), claim)

    def tree(self, slot: Slot, node: Any, find_stored: FindStored) -> Any:
        """Return a slot's content that has an inside."""
        with guard_against_corruption(f"what is stored for {'/'.join(slot)}"):
            return self._node(SURFACES[slot[0]], slot, node, find_stored)

    def state(self, nodes: Mapping[str, Any], find_stored: FindStored) -> tuple[State, set[str]]:
        """Return a whole state, `Forgotten` where values were forgotten, and the names of missing surfaces."""
        with guard_against_corruption("a stored state"):
            parts = {
                name: self._surface(SURFACES[name], node, find_stored)
                for name, node in nodes.items()
                if name in SURFACES
            }
            return State(parts), nodes.keys() - SURFACES.keys()

    def _surface(self, surface: Slotted, node: Any, find_stored: FindStored) -> Any:
        name = surface.name
        if isinstance(node, int):
            ref, stored = find_stored(node)
            if stored is None:
                self.holes[name,] = self._make_forgotten(ref)
                return surface.empty
            part = surface.load(stored.json())
            return self._note_ref((name,), part, ref)
        if node[0] == "d":
            items = {key: self._node(surface, (name, key), item, find_stored) for key, item in node[1].items()}
            return PMap(items)
        return self._node(surface, (name,), node, find_stored)

    def _node(
        self, surface: Slotted, slot: Slot, node: Any, find_stored: FindStored, claim: str | None = None
    ) -> Any:
        if isinstance(node, int):
            ref, stored = find_stored(node)
            if stored is None:
                return self._note_missing_value(slot, self._make_forgotten(ref, claim))
            raw = stored.json()
            plain = surface.nested and type(raw) in SCALARS
            return self._note_ref(slot, raw if plain else surface.slot_from_json(raw, slot[1:]), ref)
        tag = node[0]
        if tag == "d":
            return PMap(
                {name: self._node(surface, (*slot, name), item, find_stored) for name, item in node[1].items()}
            )
        if tag == "p":
            edited, lacking = self._unpack_edited(node[1], find_stored)
            return (
                edited if lacking is None else self._note_missing_value(slot, Forgotten(form=edited, sealed=lacking))
            )
        if tag == "f":
            return self._file(slot, node, find_stored)
        if tag == "l":
            return self._link(slot, node, find_stored)
        if tag == "c":
            links = [self._link((*slot, name), item, find_stored) for name, item in node[2].items()]
            chain = Chain(tuple(sorted(links, key=lambda link: link.place)))
            return chain if node[1] is None else chain.with_reach(tuple(node[1]))
        if tag == "m":
            return make_frame_link(PATH, node[1])
        if tag == "x":
            return self._node(surface, slot, node[2], find_stored, node[1])
        raise ValueError(f"no such node: {tag!r}")

    def _file(self, slot: Slot, node: Any, find_stored: FindStored) -> Any:
        _, frame, inner = node
        frame = tuple(frame) if isinstance(frame, list) else frame
        if not isinstance(inner, int):
            edited, lacking = self._unpack_edited(inner[1], find_stored)
            if lacking is None and isinstance(edited, Text):
                return File(edited).with_frame(frame)
            return self._note_missing_value(slot, Forgotten(frame=frame, form=edited, sealed=lacking or ""))
        late = self.late.get(inner)
        if late is not None:
            return self._note_ref(slot, File(late).with_frame(frame), late.ref)
        ref, stored = find_stored(inner)
        if stored is None:
            return self._note_missing_value(slot, self._make_forgotten(ref, frame=frame))
        return self._note_ref(slot, File(stored.data).with_frame(frame), ref)

    def _unpack_edited(self, raw: Any, find_stored: FindStored) -> tuple[Parts, str | None]:
        """Return a text or list, and whether none of its parts was forgotten; blanks stand for those that were."""
        form = Text if "end" in raw else Items
        segments: list[Any] = []
        lacking: str | None = None
        for first, second, at in raw["segments"]:
            ref, stored = find_stored(at)
            if stored is None:
                lacking = lacking or self._keyless.get(ref, "")
            size = second if isinstance(first, int) else None
            segments.append([first, second, make_blank(form, size) if stored is None else stored.json()])
        return form.from_json({**raw, "segments": segments}, "an edited value"), lacking

    def _link(self, slot: Slot, node: Any, find_stored: FindStored) -> Link:
        _, place, at = node
        name = slot[-1][1:] if is_part(slot[-1]) else slot[-1]
        ref, stored = find_stored(at)
        if stored is None:
            gone = link_from_json({"place": place, "record": None}, name, "a chain")
            self.holes[slot] = gone = gone._replace(record=self._make_forgotten(ref))
            return gone
        link = link_from_json({"place": place, "record": stored.json()}, name, "a chain")
        self._note_ref(slot, link.record, ref)
        return link

    def _make_forgotten(self, ref: Ref, claim: str | None = None, frame: Any = None) -> Forgotten:
        return Forgotten(claim, frame, None, self._keyless.get(ref, ""), ref if is_redacted(ref) else "")

    def _note_missing_value(self, slot: Slot, gone: Any) -> Any:
        self.holes[slot] = gone
        return gone

    def _note_ref(self, slot: Slot, value: Any, ref: Ref) -> Any:
        if self._known is not None:
            self._known[slot] = (value, ref)
        return value
