"""What an operation is: a declared kind, and one use of it.

A kind says its name, stage, level, which fields it takes and what it reads of values that are not its own.
Its `run` sees the value of its own surface only, so no operation can touch another surface. Parser, gate,
JSON Schema, interpreter, oracle and proof read this declaration and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple, final

from takeback.errors import InputError
from takeback.state.address import Address
from takeback.state.pmap import ABSENT, PMap

NEIGHBOURS: Final = ("index", "before", "after")
SPOTS: Final = (*NEIGHBOURS, "priority")
"""The fields that say where an element is to go."""


class Stage(StrEnum):
    """When an operation runs."""

    CAPTURE = "capture"
    FORWARD = "forward"
    RECOVERY = "recovery"


class Requirement(StrEnum):
    """Whether an operation takes a field."""

    FORBIDDEN = "forbidden"
    OPTIONAL = "optional"
    REQUIRED = "required"


class Level(StrEnum):
    """Recovery languages, each containing the one before it."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"

    def includes(self, other: Level) -> bool:
        """Tell whether this language contains the operations of `other`."""
        return self.value >= other.value


class Captured(NamedTuple):
    """What a capture found: the slot's content (ABSENT if none) and what surrounds it.

    `kind` is the surface it came from, `target` the key it was taken at, `missing` how many containers
    above it were not there, `part` the callback within an event where one was named.
    """

    kind: str
    target: str
    content: Any
    missing: int = 0
    part: str | None = None

    @property
    def existed(self) -> bool:
        """Tell whether something was there."""
        return self.content is not ABSENT


class Anchor(NamedTuple):
    """The item of a list that another is put next to: as it was written, and frozen."""

    raw: Any
    item: Any


@dataclass(frozen=True, slots=True)
class Position:
    """Where an operation is to put its element: exactly one of the fields is set.

    `before` and `after` are the id of another element, or an item of a list.
    """

    index: int | None = None
    before: str | Anchor | None = None
    after: str | Anchor | None = None
    priority: int | None = None

    @property
    def anchor(self) -> str | Anchor | None:
        """The element it is to stand next to."""
        return self.after if self.before is None else self.before


@dataclass(frozen=True)
class Kind:
    """The declaration of an operation.

    `Kind.capture`, `Kind.forward` and `Kind.recovery` make one.
    `surface` is filled in when that is registered. `run` is, by stage: capture `(surface_value, op) -> Captured`;
    forward `(surface_value, op) -> (surface_value, resolved)` where `resolved` is what the receipt keeps (a place, a
    handle, or None); recovery `(surface_value, op, captured | None) -> surface_value`.
    `reads` names what it looks at besides its own slot's presence; `whole` allows the target `*`;
    `removes` marks a recovery that removes unconditionally when it has no witness; `spot` tells whether it takes
    a place, `spots` which fields may name it; `inside` marks an operation that writes parts of a value; `recovers` a
    forward operation that may stand in a recovery too; `needs` one that fails where what it names is not there, so
    that it depends on whoever put that there; `clears` one that takes a container away with all that is in it, where
    others of its surface fail; `verb` is how a one-line change calls a forward operation.
    `schema` is the JSON Schema of `value`.
    """

    name: str
    stage: Stage
    level: Level
    run: Callable[..., Any]
    surface: str = ""
    value: Requirement = Requirement.FORBIDDEN
    witness: Requirement = Requirement.FORBIDDEN
    spot: Requirement = Requirement.FORBIDDEN
    spots: tuple[str, ...] = NEIGHBOURS
    whole: bool = False
    removes: bool = False
    inside: bool = False
    recovers: bool = False
    needs: bool = False
    clears: bool = False
    verb: str = ""
    reads: tuple[str, ...] = ()
    schema: dict[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def capture(
        cls,
        name: str,
        level: Level,
        run: Callable[..., Captured],
        *,
        value: Requirement = Requirement.FORBIDDEN,
        whole: bool = False,
        schema: dict[str, Any] | None = None,
    ) -> Kind:
        """Return an operation that takes down what stands at its target, under a witness key."""
        witness = Requirement.REQUIRED
        return cls(name, Stage.CAPTURE, level, run, value=value, witness=witness, whole=whole, schema=schema or {})

    @classmethod
    def forward(
        cls,
        name: str,
        level: Level,
        run: Callable[..., tuple[Any, Any]],
        *,
        verb: str = "",
        value: Requirement = Requirement.REQUIRED,
        spot: Requirement = Requirement.FORBIDDEN,
        spots: tuple[str, ...] = NEIGHBOURS,
        inside: bool = False,
        needs: bool = False,
        clears: bool = False,
        reads: tuple[str, ...] = (),
        schema: dict[str, Any] | None = None,
    ) -> Kind:
        """Return an operation of a mutation; one that writes parts (`inside`) may stand in a recovery too."""
        made = cls(name, Stage.FORWARD, level, run, value=value, spot=spot, spots=spots, schema=schema or {})
        return replace(made, verb=verb, inside=inside, recovers=inside, needs=needs, clears=clears, reads=reads)

    @classmethod
    def recovery(
        cls,
        name: str,
        level: Level,
        run: Callable[..., Any],
        *,
        value: Requirement = Requirement.FORBIDDEN,
        removes: bool = False,
        whole: bool = False,
        reads: tuple[str, ...] = (),
        schema: dict[str, Any] | None = None,
    ) -> Kind:
        """Return an operation that uses a witness; one that `removes` can do without."""
        witness = Requirement.OPTIONAL if removes else Requirement.REQUIRED
        made = cls(name, Stage.RECOVERY, level, run, value=value, witness=witness, schema=schema or {})
        return replace(made, removes=removes, whole=whole, reads=reads)

    def __repr__(self) -> str:
        return f"Kind({self.name})"


_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_TOO_DEEP: Final = 400
"""Levels beyond what any value may have; the limit of values is lower."""


def copy_plain_json(plain: Any, *, depth: int = 0) -> Any:
    """Return a copy of a JSON value in plain dicts and lists, so that nobody else can change it later.

    A mapping or list of another class is taken for what it holds at one moment, whatever its methods would say.
    """
    kind = type(plain)
    if kind in _SCALARS or plain is ABSENT:
        return plain
    if depth > _TOO_DEEP:
        raise InputError("a value", found="deeper nesting", expected=f"at most {_TOO_DEEP} levels")
    if isinstance(plain, dict):
        return {key: copy_plain_json(item, depth=depth + 1) for key, item in dict.copy(plain).items()}
    if isinstance(plain, list):
        return [copy_plain_json(item, depth=depth + 1) for item in list.copy(plain)]
    if isinstance(plain, tuple):
        return [copy_plain_json(item, depth=depth + 1) for item in tuple.__iter__(plain)]
    if isinstance(plain, Mapping):
        return {key: copy_plain_json(item, depth=depth + 1) for key, item in plain.items()}
    return plain


def freeze_plain_json(plain: Any) -> Any:
    """Return a JSON value in a form that cannot change: mappings as `PMap`, lists as tuples, plain scalars."""
    kind = type(plain)
    if kind in _SCALARS or plain is ABSENT:
        return plain
    if kind is dict or kind is PMap:
        return PMap({_check_key(key): freeze_plain_json(item) for key, item in plain.items()})
    if kind is list or kind is tuple:
        return tuple([freeze_plain_json(item) for item in plain])
    raise InputError("a value", found=f"a {kind.__name__}", expected="JSON of plain types")


def _check_key(key: object) -> str:
    if type(key) is not str:
        raise InputError("a key", found=f"a {type(key).__name__}", expected="plain text")
    return key


@final
@dataclass(frozen=True, slots=True)
class Operation:
    """One use of a kind, checked and ready to run.

    `path` is the target in the surface's own form, `value` the frozen value, `raw` the value as it was
    written (for printing it back), `address` what a contract must cover, and `also` what else it writes. `as_read`
    tells that all of it was read from the JSON that `to_json` gives; a changed copy no longer says so.
    """

    kind: Kind
    target: str
    path: Any
    address: Address
    value: Any = ABSENT
    raw: Any = ABSENT
    witness_key: str | None = None
    spot: Position | None = None
    also: tuple[Address, ...] = ()
    as_read: bool = field(init=False, default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if type(self.kind) is not Kind or type(self.target) is not str:
            raise InputError("operation", found="another class of kind or target", expected="a Kind and plain text")
        if type(self.raw) not in _SCALARS:
            object.__setattr__(self, "raw", freeze_plain_json(self.raw))

    def __init_subclass__(cls) -> None:
        raise TypeError("Operation is final: what was verified must be what runs")

    def __repr__(self) -> str:
        return f"Operation({self.kind.name} {self.target[:60]})"

    def to_json(self) -> dict[str, Any]:
        """Return the operation as it stands in a candidate."""
        plain: dict[str, Any] = {"op_type": self.kind.name, "target": self.target}
        if self.raw is not ABSENT:
            plain["value"] = copy_plain_json(self.raw)
        if self.witness_key is not None:
            plain["witness_key"] = self.witness_key
        if self.spot is not None:
            for name in SPOTS:
                given = getattr(self.spot, name)
                if given is not None:
                    plain[name] = copy_plain_json(given.raw) if isinstance(given, Anchor) else given
        return plain


def vouch(op: Operation) -> Operation:
    """Mark an operation as being what its JSON says; only the reader of operations calls this, on what it made."""
    object.__setattr__(op, "as_read", True)
    return op
