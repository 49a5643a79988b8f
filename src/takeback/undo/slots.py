"""Slots: the smallest things an operation writes and an undo takes back, surface by surface.

A slot is a path: the surface, then a key, a config or file path, a middleware id, or an event and a callback.
Four shapes of surface say how a slot's content is read, written, compared and turned into JSON; a surface of
no known shape is one slot as a whole. Contents carry their place in a chain with them.
"""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from typing import Any

from takeback.journal.encoding import encode
from takeback.state import ABSENT, SURFACES, Level, Operation, PMap, State, Surface, tree
from takeback.state.chain import NO_LINKS, Chain, Link
from takeback.state.keyed import KeyedSurface
from takeback.state.surfaces.files import File, Files
from takeback.state.surfaces.listeners import Listeners
from takeback.state.surfaces.middleware import Middleware
from takeback.state.surfaces.resources import Resources
from takeback.state.treed import TreeSurface
from takeback.state.values import freeze, same, thaw

Path = tuple[str, ...]
Slot = tuple[str, ...]


def slot_key(slot: Slot) -> str:
    """The slot as the journal's index knows it."""
    return encode(list(slot))


def slot_of_key(key: str) -> Slot:
    """The slot an index key stands for."""
    return tuple(json.loads(key))


class Shape(ABC):
    """How slots of one surface behave. `nested` slots can lie below one another."""

    nested = False
    strict = False
    """Whether a forward operation refuses to write where a container stands."""
    claims = False
    """Whether contents may claim something that no other slot may hold."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface

    @abstractmethod
    def own(self, op: Operation) -> Path | None:
        """The one slot `op` writes, or None where only a comparison can tell."""

    @abstractmethod
    def get(self, part: Any, path: Path) -> Any:
        """Content of a slot, ABSENT if there is none."""

    @abstractmethod
    def put(self, part: Any, path: Path, content: Any) -> Any:
        """The part with other content (or ABSENT) in one slot."""

    @abstractmethod
    def differing(self, before: Any, after: Any) -> Iterator[Path]:
        """Slots whose content, or place, differs."""

    @abstractmethod
    def to_json(self, content: Any) -> Any:
        """Content as JSON, with its place."""

    @abstractmethod
    def from_json(self, raw: Any, path: Path) -> Any:
        """The inverse of `to_json`."""

    @abstractmethod
    def dump(self, part: Any) -> Any:
        """The whole part as JSON, with places."""

    @abstractmethod
    def load(self, raw: Any) -> Any:
        """The inverse of `dump`."""

    def claim(self, content: Any) -> str | None:
        """What no other slot may hold at the same time, if anything."""
        del content
        return None


class KeyedShape(Shape):
    """A name bound to a content."""

    surface: KeyedSurface

    def own(self, op: Operation) -> Path | None:
        """The key."""
        return (op.path,)

    def get(self, part: PMap, path: Path) -> Any:
        """What the key is bound to."""
        return part.get(path[0], ABSENT)

    def put(self, part: PMap, path: Path, content: Any) -> PMap:
        """Bind or unbind the key."""
        return part.drop(path[0]) if content is ABSENT else part.put(path[0], content)

    def differing(self, before: PMap, after: PMap) -> Iterator[Path]:
        """Keys bound to different contents."""
        return ((key,) for key, one, two in before.candidates(after) if not same(one, two))

    def to_json(self, content: Any) -> Any:
        """The content as it stands in a state file."""
        return self.surface.describe(content)

    def from_json(self, raw: Any, path: Path) -> Any:
        """Read the content as the surface does."""
        return self.surface.content(path[0], raw, slot_key((self.surface.name, *path)))

    def dump(self, part: PMap) -> Any:
        """Contents by key."""
        return {key: self.to_json(content) for key, content in part.items()}

    def load(self, raw: Any) -> PMap:
        """Contents by key."""
        return PMap({key: self.from_json(item, (key,)) for key, item in raw.items()})


class ClaimingShape(KeyedShape):
    """Resources: no two keys hold one address."""

    claims = True

    def claim(self, content: Any) -> str | None:
        """The address, unless it is chosen by the system."""
        if content is ABSENT or content["address"].endswith(":0"):
            return None
        return str(content["address"])


class TreeShape(Shape):
    """Config: paths through nested mappings."""

    nested = True

    def own(self, op: Operation) -> Path | None:
        """The path."""
        return tuple(op.path)

    def get(self, part: PMap, path: Path) -> Any:
        """What stands at the path."""
        return tree.get(part, path)

    def put(self, part: PMap, path: Path, content: Any) -> PMap:
        """Put content at the path, containers made on the way; or remove the node."""
        return tree.drop(part, path) if content is ABSENT else tree.put(part, path, content)

    def differing(self, before: PMap, after: PMap) -> Iterator[Path]:
        """The highest paths that differ in more than what they contain."""
        for name, one, two in before.candidates(after):
            if type(one) is PMap and type(two) is PMap:
                yield from ((name, *rest) for rest in self.differing(one, two))
            elif not self.alike(one, two):
                yield (name,)

    def alike(self, one: Any, two: Any) -> bool:
        """Whether two leaves are the same."""
        return same(one, two)

    def to_json(self, content: Any) -> Any:
        """Plain JSON."""
        return thaw(content)

    def from_json(self, raw: Any, path: Path) -> Any:
        """Frozen JSON."""
        return freeze(raw, slot_key((self.surface.name, *path)))

    def dump(self, part: PMap) -> Any:
        """The tree as one content."""
        return self.to_json(part)

    def load(self, raw: Any) -> Any:
        """The tree from one content."""
        return self.from_json(raw, ())


class FileShape(TreeShape):
    """Files: paths through directories."""

    strict = True

    def alike(self, one: Any, two: Any) -> bool:
        """Whether two files have the same content and mode."""
        return bool(one == two)

    def to_json(self, content: Any) -> Any:
        """A file's text or bytes and mode; a directory's names."""
        if isinstance(content, PMap):
            return {"directory": {name: self.to_json(node) for name, node in content.items()}}
        mode = f"{content.mode:04o}"
        try:
            return {"content": content.content.decode(), "mode": mode}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(content.content).decode(), "mode": mode}

    def from_json(self, raw: Any, path: Path) -> Any:
        """A file, or a directory with what is in it."""
        if "directory" in raw:
            return PMap({name: self.from_json(node, (*path, name)) for name, node in raw["directory"].items()})
        content = raw["content"].encode() if "content" in raw else base64.b64decode(raw["base64"])
        return File(content, int(raw["mode"], 8))


class ChainShape(Shape):
    """Middleware: elements of one chain, each with its place."""

    def own(self, op: Operation) -> Path | None:
        """The id, unless the whole chain is meant."""
        return None if op.target == "*" else (op.target,)

    def get(self, part: Any, path: Path) -> Any:
        """The element and its place."""
        return part.find(path[0]) or ABSENT

    def put(self, part: Any, path: Path, content: Any) -> Any:
        """Put the element at its own place, or take it out."""
        return part.drop(path[0]) if content is ABSENT else part.put(content)

    def differing(self, before: Any, after: Any) -> Iterator[Path]:
        """Elements that came, went, changed or stand elsewhere."""
        old, new = ({link.id: link for link in chain} for chain in (before, after))
        for name in old | new:
            one, two = old.get(name), new.get(name)
            if one is not two and (
                one is None or two is None or one.place != two.place or not same(one.record, two.record)
            ):
                yield (name,)

    def to_json(self, content: Link) -> Any:
        """Place and record."""
        return {"place": [list(step) for step in content.place], "record": thaw(content.record)}

    def from_json(self, raw: Any, path: Path) -> Link:
        """The element; its id ends the path."""
        place = tuple((number, name) for number, name in raw["place"])
        return Link(place, path[-1], freeze(raw["record"], slot_key((self.surface.name, *path))))

    def dump(self, part: Any) -> Any:
        """Elements by id, each with its place."""
        return {link.id: self.to_json(link) for link in part}

    def load(self, raw: Any) -> Any:
        """Elements in the order of their places."""
        links = (self.from_json(item, (name,)) for name, item in raw.items())
        return Chain(tuple(sorted(links, key=lambda link: link.place)))


class ChainsShape(ChainShape):
    """Listeners: a chain of callbacks for each event."""

    def own(self, op: Operation) -> Path | None:
        """Event and callback, unless the whole event is meant."""
        return (op.path, op.value["id"]) if isinstance(op.value, PMap) else None

    def get(self, part: Any, path: Path) -> Any:
        """The callback and its place."""
        return part.get(path[0], NO_LINKS).find(path[1]) or ABSENT

    def put(self, part: Any, path: Path, content: Any) -> Any:
        """Bind or unbind the callback; an event with no callbacks is no event."""
        chain = super().put(part.get(path[0], NO_LINKS), path[1:], content)
        return part.put(path[0], chain) if len(chain) else part.drop(path[0])

    def differing(self, before: Any, after: Any) -> Iterator[Path]:
        """Callbacks of events whose chains differ."""
        for event, one, two in before.candidates(after):
            old, new = (NO_LINKS if chain is ABSENT else chain for chain in (one, two))
            yield from ((event, *path) for path in super().differing(old, new))

    def dump(self, part: Any) -> Any:
        """Callbacks by event and id."""
        return {event: super(ChainsShape, self).dump(chain) for event, chain in part.items()}

    def load(self, raw: Any) -> Any:
        """Chains by event."""
        return PMap({event: super(ChainsShape, self).load(chain) for event, chain in raw.items()})


class WholeShape(Shape):
    """A surface of no known shape: one slot."""

    def own(self, op: Operation) -> Path | None:
        """The surface."""
        del op
        return ()

    def get(self, part: Any, path: Path) -> Any:
        """All of it."""
        del path
        return part

    def put(self, part: Any, path: Path, content: Any) -> Any:
        """Replace all of it."""
        del part, path
        return self.surface.empty if content is ABSENT else content

    def differing(self, before: Any, after: Any) -> Iterator[Path]:
        """The surface, if anything differs."""
        if next(self.surface.diff(before, after), None) is not None:
            yield ()

    def to_json(self, content: Any) -> Any:
        """As in a state file."""
        return self.surface.write(content)

    def from_json(self, raw: Any, path: Path) -> Any:
        """As from a state file."""
        del path
        return self.surface.read(raw, self.surface.name)

    def dump(self, part: Any) -> Any:
        """As in a state file."""
        return self.surface.write(part)

    def load(self, raw: Any) -> Any:
        """As from a state file."""
        return self.surface.read(raw, self.surface.name)


_SHAPES: tuple[tuple[type[Surface], type[Shape]], ...] = (
    (Files, FileShape),
    (Resources, ClaimingShape),
    (Middleware, ChainShape),
    (Listeners, ChainsShape),
    (TreeSurface, TreeShape),
    (KeyedSurface, KeyedShape),
    (Surface, WholeShape),
)


@cache
def _shape(surface: Surface) -> Shape:
    return next(shape(surface) for kind, shape in _SHAPES if isinstance(surface, kind))


def shape_of(name: str) -> Shape:
    """The shape of the surface called `name`."""
    return _shape(SURFACES[name])


def dump_state(state: State) -> dict[str, Any]:
    """The state as JSON that brings back every place; surfaces that are empty are left out."""
    return {name: shape_of(name).dump(state.part(name)) for name, surface in SURFACES.items()
            if surface.size(state.part(name))}  # fmt: skip


def load_state(raw: Any) -> State:
    """The inverse of `dump_state`."""
    return State({name: shape_of(name).load(part) for name, part in raw.items()})


def get_slot(state: State, slot: Slot) -> Any:
    """Content of a slot in a state."""
    return shape_of(slot[0]).get(state.part(slot[0]), slot[1:])


def put_slots(state: State, contents: list[tuple[Slot, Any]]) -> State:
    """The state with other contents in some slots, set in the order given."""
    parts = state.parts.copy()
    for slot, content in contents:
        name = slot[0]
        parts[name] = shape_of(name).put(state.part(name) if name not in parts else parts[name], slot[1:], content)
    return State.of(parts)


def differing_slots(before: State, after: State) -> Iterator[Slot]:
    """Slots in which two states differ; cost follows what changed."""
    for name in SURFACES:
        one, two = before.part(name), after.part(name)
        if one is not two:
            yield from ((name, *path) for path in shape_of(name).differing(one, two))


def same_content(slot: Slot, one: Any, two: Any) -> bool:
    """Whether a slot holds the same in both, place included."""
    if one is two or one is ABSENT or two is ABSENT:
        return one is two
    shape = shape_of(slot[0])
    return encode(shape.to_json(one)) == encode(shape.to_json(two))


def slots_written(op: Operation, before: Any, after: Any) -> Iterator[Path]:
    """Slots that `op` wrote: its own (also where the value was the same), or whatever differs."""
    shape = shape_of(op.kind.surface)
    own = shape.own(op) if Level.L1.includes(op.kind.level) else None
    if own is not None:
        yield own
    else:
        yield from shape.differing(before, after)
