"""Surfaces: what a surface is, the register of surfaces, and the ways a counterfactual state perturbs one.

A surface owns everything about one part of the harness, asked in three ways: `Surface` (values, operations, diff),
`Slotted` (slots: what a journal records and an undo takes back) and `Provable` (components for proof, perturbation
for counterfactuals). `KeyedSurface`, `TreeSurface` and `ChainSurface` answer most of it. A new surface is one object
passed to `register`; nothing else in the package names surfaces one by one. Other packages bring
surfaces through the entry point group `takeback.surfaces`: a `Surface` object, or a class or function without
parameters that makes one. They are registered once per process, before the first harness is opened or at the
first unknown name. The ten strategies are the paper's taxonomy.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from takeback.errors import InputError, UnknownSurfaceError
from takeback.plugins import find_entry_points
from takeback.state.address import Address, describe_part, is_part
from takeback.state.operation import Kind, Operation, Stage
from takeback.state.pmap import ABSENT, PMap

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Strategy(StrEnum):
    """Five for states like those seen (iid), five for structural shifts (ood)."""

    BOUNDARY = "boundary"
    PRIOR_EXISTENCE = "prior_existence"
    COMBINATORIAL = "combinatorial"
    DEPENDENCY = "dependency"
    NOISE = "noise"
    NESTED_KEYS = "nested_keys"
    SOCKET_CONFLICT = "socket_conflict"
    PRIORITY_MIDDLEWARE = "priority_middleware"
    DEEP_DIRECTORIES = "deep_directories"
    INVERTED_ROUTING = "inverted_routing"


IID = (Strategy.BOUNDARY, Strategy.PRIOR_EXISTENCE, Strategy.COMBINATORIAL, Strategy.DEPENDENCY, Strategy.NOISE)
OOD = (
    Strategy.NESTED_KEYS,
    Strategy.SOCKET_CONFLICT,
    Strategy.PRIORITY_MIDDLEWARE,
    Strategy.DEEP_DIRECTORIES,
    Strategy.INVERTED_ROUTING,
)
EXISTENCE = frozenset({Strategy.BOUNDARY, Strategy.PRIOR_EXISTENCE, Strategy.COMBINATORIAL})
"""Strategies that change whether, and as what, the touched addresses exist."""


TreePath = tuple[str, ...]
"""Where a slot lies within its surface."""

Inverse = tuple[dict[str, Any], dict[str, Any]]
"""A capture and the restore that uses it, as JSON without their witness key."""

ValueEdit = Callable[[Any], Any]
"""A change to one surface's value: value in, value out."""


class Change(NamedTuple):
    """One difference between two states: `before` and `after` are contents, ABSENT where nothing was."""

    address: Address
    before: Any
    after: Any

    def __repr__(self) -> str:
        return f"Change({self.address})"


@dataclass(frozen=True, slots=True)
class Component:
    """A part of the state whose behaviour depends on nothing outside it; proof tries each alternative.

    The first alternative is the baseline, used while other components are varied; the others can be applied to
    a value that has the baseline and give what they give on one that has nothing. `path` is set where a
    component lies in a tree: one that is turned into a leaf hides those below it.
    """

    name: str
    alternatives: tuple[ValueEdit, ...]
    path: tuple[str, ...] = ()
    shows: int = 0
    """How many of the alternatives, from the first, leave what lies below in the tree as it is."""
    concerns: Callable[[Operation], bool] | None = None
    """Which operations can see or change it, where that is fewer than all of its surface and it lies in no tree."""


class Slotted(ABC):
    """What journals and undo ask of a surface: its value as slots, with places, and as JSON.

    One that says nothing of slots is one slot. `empty` is the value in an empty state.
    """

    name: str
    empty: Any
    nested = False
    """Whether slots can lie below one another."""
    strict = False
    """Whether a forward operation refuses to write where a container stands."""
    rooted = False
    """Whether a write inside something needs that to be there, and does not make it."""
    exclusive = False
    """Whether contents may claim something that no other slot may hold."""
    movable = False
    """Whether contents say themselves where they stand: two must not stand in one place, nor one in another."""
    listed = False
    """Whether contents can be lists: one that comes with its first item belongs to nobody."""
    ordered = False
    """Whether contents stand in an order: one is changed in place, or moved, which needs it to be there."""
    outside = False
    """Whether contents are kept by other systems: no adapter stores them, and no prompt tells of them."""
    settles = False
    """Whether contents that differ can mean the same, such as a call that was compensated and none."""
    part_word = "line"
    """What a part of a content is called, where contents have parts."""

    @abstractmethod
    def read(self, raw: Any, where: str) -> Any:
        """Return the surface's value from its JSON form, or raise naming the place."""

    @abstractmethod
    def write(self, value: Any) -> Any:
        """Return the JSON form, the inverse of `read`."""

    @abstractmethod
    def diff(self, before: Any, after: Any) -> Iterator[Change]:
        """Yield what differs, at the deepest addresses; cost follows what changed."""

    def address(self, path: Any) -> Address:
        """Return the address of a target in the surface's own form."""
        return Address(self.name, path)

    def find_written_slots(self, op: Operation) -> tuple[TreePath, ...] | None:
        """Return the slots `op` writes, or None where only a comparison shows them."""
        return ((),)

    def get_slot(self, part: Any, path: TreePath) -> Any:
        """Return the content of a slot, ABSENT if there is none. Contents of chains carry their place."""
        return part

    def put_slot(self, part: Any, path: TreePath, content: Any) -> Any:
        """Return the surface's value with other content (or ABSENT) in one slot."""
        return self.empty if content is ABSENT else content

    def differing(self, before: Any, after: Any) -> Iterator[TreePath]:
        """Yield the slots whose content, or place, differs; cost follows what changed."""
        if next(self.diff(before, after), None) is not None:
            yield ()

    def is_identical(self, old: Any, new: Any) -> bool:
        """Tell whether two contents of a slot are the same by type and value, place included."""
        return next(self.diff(old, new), None) is None

    def has_child_slots(self, content: Any, path: TreePath) -> bool:
        """Tell whether a content at a path can have child slots."""
        return self.nested and type(content) is PMap

    def can_merge_in_place(self, content: Any) -> bool:
        """Tell whether a slot's content is merged in place, so that the entries that wrote it can be told apart."""
        return False

    def merge_write(self, current: Any, before: Any, after: Any) -> Any:
        """Return a slot's content merged with what one write changed in it."""
        return after

    def slot_to_json(self, content: Any) -> Any:
        """Return a slot's content as JSON, with its place."""
        return self.write(content)

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        """Return the content that `slot_to_json` wrote down."""
        return self.read(raw, self.name)

    def check_slot(self, part: Any, path: TreePath, names: Sequence[str] = ()) -> None:
        """Raise `InputError` where what stands in a slot could not be read again as it is written.

        `names` are those of the parts that were written, where the whole was not.
        """
        content = self.get_slot(part, path)
        if content is not ABSENT:
            self.read(self.write(self.put_slot(self.empty, path, content)), self.name)

    def dump(self, part: Any) -> Any:
        """Return the whole value as JSON that brings back every place."""
        return self.write(part)

    def load(self, raw: Any) -> Any:
        """Return the value that `dump` wrote down."""
        return self.read(raw, self.name)

    def is_worth_storing(self, part: Any) -> bool:
        """Tell whether a value holds anything worth storing: entries, or places that were used."""
        return next(self.diff(self.empty, part), None) is not None

    def claim(self, content: Any) -> str | None:
        """Return what no other slot may hold at the same time, if anything."""
        return None

    def list_claims(self, content: Any) -> Iterator[str]:
        """Yield what a content, or a part, claims that others may hold: one thing, or where it stands."""
        claim = self.claim(content)
        if claim is not None:
            yield claim

    def transfer_places(self, fresh: Any, known: Any) -> Any:
        """Return a freshly read value with the places that `known` has, where the surface has places."""
        return fresh

    def slot_title(self, path: TreePath) -> str:
        """Return a slot as people write it."""
        if not path:
            return self.name
        if is_part(path[-1]):
            return f"{self.slot_title(path[:-1])} {describe_part(path[-1], self.part_word)}"
        rest = "".join(f" {name}" for name in path[1:])
        return f"{self.address(path[0])}{rest}"


class Provable(ABC):
    """What proof and sampling ask of a surface: states that programs can tell apart."""

    @abstractmethod
    def perturb(self, strategy: str, value: Any, aims: Sequence[Operation], rng: random.Random) -> Any:
        """Return the value perturbed by a counterfactual strategy, aimed at what `aims` touch."""

    @abstractmethod
    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        """Return the components that programs with `ops` can tell apart on this surface.

        Contents carry `salt`, a text that occurs in no program, so that they equal none of its literals.
        """

    @abstractmethod
    def bystander(self, value: Any, salt: str) -> Any:
        """Return the value with an entry added that no program names."""

    @abstractmethod
    def entries(self, value: Any) -> Iterator[tuple[Address, ValueEdit]]:
        """Yield each entry with the edit that removes it, for making counterexamples small."""


class Surface(Slotted, Provable):
    """One surface: its values, how they differ, and `kinds`, its operations."""

    kinds: tuple[Kind, ...]

    @property
    def word(self) -> str:
        """What one thing of this surface is called in a one-line change."""
        return self.name.removesuffix("s")

    @abstractmethod
    def canonical(self, value: Any) -> Any:
        """Return the JSON form with volatile parts replaced and file contents hashed."""

    @abstractmethod
    def equivalent(self, before: Any, after: Any) -> bool:
        """Tell whether the contents of one address mean the same (either may be ABSENT)."""

    @abstractmethod
    def describe(self, content: Any) -> Any:
        """Return a plain JSON picture of one address's content, for people."""

    @abstractmethod
    def size(self, value: Any) -> int:
        """Return the number of entries."""

    def find(self, value: Any, path: Any) -> Any:
        """Return what stands at a target in the surface's own form, ABSENT if nothing does."""
        return self.get_slot(value, path if isinstance(path, tuple) else (path,))

    def parts_shown(self, path: TreePath, content: Any) -> Iterator[tuple[TreePath, Any]]:
        """Yield the slots and contents that a content is shown by: itself, or for a directory its files."""
        yield path, content

    def text(self, content: Any) -> tuple[bytes, str] | None:
        """Return the bytes that a content is, and a file's mode; None for a value, which is shown as JSON."""
        return None

    def kind(self, stage: Stage) -> tuple[Kind, ...]:
        """Return this surface's operations of one stage."""
        return tuple(kind for kind in self.kinds if kind.stage is stage)

    @abstractmethod
    def target(self, raw: str, where: str, kind: Kind | None) -> Any:
        """Return a target in this surface's own form, or raise. `kind` is None for a contract's address."""

    @abstractmethod
    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        """Return an operation's value checked and frozen, or raise."""

    def list_fields_read(self, kind: Kind) -> frozenset[str]:
        """Return the fields of an operation in which this surface decides what text may stand."""
        del kind
        return frozenset()

    def list_targets(self, op: Operation) -> tuple[Any, ...]:
        """Return everything that `op` writes, in the surface's own form of targets."""
        return (op.path,)

    def addresses(self, op: Operation) -> tuple[Address, ...]:
        """Return everything that `op` writes, as a contract must cover it."""
        return tuple(self.address(path) for path in self.list_targets(op))

    def covers(self, outer: str, inner: str) -> bool:
        """Tell whether the address key `outer` contains `inner`."""
        return outer == inner

    def overlaps(self, first: Operation, second: Operation) -> bool:
        """Tell whether two operations on this surface can see each other's effect."""
        return "*" in (first.target, second.target) or first.path == second.path

    def invert(self, op: Operation) -> tuple[Inverse, ...]:
        """Return what takes `op` (a forward operation) back: a capture and its restore for each thing it writes."""
        capture, restore = self.kind(Stage.CAPTURE)[0], self.kind(Stage.RECOVERY)[0]
        return tuple(
            ({"op_type": capture.name, "target": address.key}, {"op_type": restore.name, "target": address.key})
            for address in self.addresses(op)
        )

    def why_moved(self, value: Any, op: Operation) -> str | None:
        """Return why an operation cannot be run on a value in which contents were moved; None if it can."""
        return None

    def clear(self, ops: Sequence[Operation]) -> list[dict[str, Any]]:
        """Return recovery operations to run before the restores of `ops`, where those could collide."""
        return []


class _Surfaces(dict[str, Surface]):
    """Surfaces by name; one that is not installed is named where it is looked for."""

    def __missing__(self, name: str) -> Surface:
        expected = f"one that is installed: {', '.join(self)}"
        raise UnknownSurfaceError("surface", found=name, expected=expected)


SURFACES: dict[str, Surface] = _Surfaces()
KINDS: dict[str, Kind] = {}


def surface_by_word(word: str) -> Surface | None:
    """Return the surface that a word means: its name, or what one thing of it is called; None if there is none."""
    return next((surface for name, surface in SURFACES.items() if word in {surface.word, name}), None)


def register(surface: Surface) -> None:
    """Add a surface and its operations; a name that is taken is an error."""
    if surface.name in SURFACES:
        raise InputError("surface", found=surface.name, expected="a name no surface has yet")
    taken = [kind.name for kind in surface.kinds if kind.name in KINDS]
    if taken:
        raise InputError(f"surface {surface.name}", found=", ".join(taken), expected="new operation names")
    strange = [f"{kind} of {kind.surface}" for kind in surface.kinds if kind.surface not in {"", surface.name}]
    if strange:
        raise InputError(f"surface {surface.name}", found=", ".join(strange), expected="operations of its own")
    surface.kinds = tuple(replace(kind, surface=surface.name) for kind in surface.kinds)
    SURFACES[surface.name] = surface
    KINDS.update((kind.name, kind) for kind in surface.kinds)


def unregister(name: str) -> None:
    """Take a surface out again."""
    surface = SURFACES.pop(name)
    for kind in surface.kinds:
        del KINDS[kind.name]


GROUP: Final = "takeback.surfaces"


def entry_points(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of a group."""
    return find_entry_points(group)


@cache
def install_surfaces() -> tuple[str, ...]:
    """Register every surface that is installed; returns the names of those that are new."""
    surfaces = [_load_surface(point) for point in entry_points(group=GROUP) if point.name not in SURFACES]
    new = [surface for surface in surfaces if type(SURFACES.get(surface.name)) is not type(surface)]
    for surface in new:
        register(surface)
    return tuple(surface.name for surface in new)


def _load_surface(point: EntryPoint) -> Surface:
    """Return the surface that an entry point names; report any failure as that package's own."""
    try:
        loaded: Any = point.load()
        surface = loaded if isinstance(loaded, Surface) or not callable(loaded) else loaded()
    except Exception as fault:
        raise InputError(
            f"the entry point {point.name} of {GROUP}",
            found=f"{type(fault).__name__}: {fault}",
            expected="a surface that can be loaded",
        ) from fault
    if not isinstance(surface, Surface):
        raise InputError(
            f"the entry point {point.name} of {GROUP}", found=type(surface).__name__, expected="a Surface"
        )
    return surface


def get_surface(name: str, where: str) -> Surface:
    """Return the surface called `name`, or raise."""
    if name not in SURFACES:
        install_surfaces()
    surface = SURFACES.get(name)
    if surface is None:
        raise UnknownSurfaceError(where, found=name, expected=f"one of {', '.join(SURFACES)}")
    return surface


def find_kind(name: object) -> Kind | None:
    """Return the kind of operation called `name`; None if there is none."""
    if type(name) is not str:
        return None
    if name not in KINDS:
        install_surfaces()
    return KINDS.get(name)
