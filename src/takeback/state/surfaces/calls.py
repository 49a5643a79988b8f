"""Calls: effects that are no state, such as a mail that was sent. A key names one, and is what it is repeated by.

A call that was made and then compensated means the same as one never made: that is all this surface adds to a
keyed one. `make_call` fails on a key that is in use; `compensate_call` leaves alone what was there before. Which
calls there are, and which can be compensated, the manifest says. Registered where a manifest declares any.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from takeback.errors import InputError, OperationFailed
from takeback.state.keyed_surface import KeyedSurface, capture, make_bind_edit, make_drop_edit
from takeback.state.operation import Captured, Kind, Level, Operation
from takeback.state.pmap import ABSENT, PMap
from takeback.state.surface import SURFACES, Component, Inverse, register
from takeback.state.values import freeze, is_same_value, read_name, thaw

CALLS: Final = "calls"
MADE: Final = "made"
COMPENSATED: Final = "compensated"
_FIELDS: Final = frozenset({"call", "arguments"})
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"call": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["call"],
    "additionalProperties": False,
}


class EffectClass(StrEnum):
    """What becomes of a change's effects when it is taken back; the worst of its operations counts."""

    REVERSIBLE = "reversible"
    COMPENSABLE = "compensable"
    """A call is answered by another one; that it was made stays so."""
    IRREVERSIBLE = "irreversible"

    @property
    def rank(self) -> int:
        """How bad it is."""
        return list(EffectClass).index(self)


class CallFacts(NamedTuple):
    """What is known of a declared call, beside how it is made."""

    compensable: bool
    compensation: str = ""
    """What taking it back does, in words."""
    word: str = "made"
    """What it stays, such as `sent`."""


def make_call(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Make a call under a key that nobody used."""
    if op.path in value:
        raise OperationFailed(f"a call was made under the key {op.path!r} before")
    return value.put(op.path, op.value), None


def compensate_call(value: PMap, op: Operation, captured: Captured | None) -> PMap:
    """Compensate a call, unless there was one before the change: that is somebody else's."""
    if captured is not None and captured.target != op.target:
        raise OperationFailed(f"the capture is of the call {captured.target!r}, not of {op.target!r}")
    there = value.get(op.path, ABSENT)
    if there is ABSENT or (captured is not None and captured.existed):
        return value
    return value.put(op.path, there.put("state", COMPENSATED))


def is_made(content: Any) -> bool:
    """Tell whether a slot holds a call that was made and not compensated."""
    return isinstance(content, PMap) and content.get("state") != COMPENSATED


class CallsSurface(KeyedSurface):
    """Key → the call, its arguments, and whether it was compensated."""

    name = CALLS
    settles = True
    kinds = (
        Kind.capture("capture_call", Level.L1, capture),
        Kind.forward("make_call", Level.L1, make_call, schema=SCHEMA),
        Kind.recovery("compensate_call", Level.L1, compensate_call, removes=True),
    )

    def __init__(self) -> None:
        self.declared: dict[str, CallFacts] = {}

    def content(self, key: str, raw: Any, where: str) -> PMap:
        state = raw.get("state", MADE) if isinstance(raw, dict) else None
        if state not in {MADE, COMPENSATED}:
            raise InputError(where, found=raw, expected=f'a call whose "state" is {MADE} or {COMPENSATED}')
        rest = {name: item for name, item in raw.items() if name != "state"}
        return _read_call(rest, where).put("state", state)

    def value(self, kind: Kind, target: str, raw: Any, where: str) -> Any:
        return _read_call(raw, where).put("state", MADE)

    def equivalent(self, before: Any, after: Any) -> bool:
        """Compare contents; one that was compensated means the same as none."""
        if not is_made(before) and not is_made(after):
            return True
        return is_same_value(before, after)

    def sample(self, key: str, rng: random.Random) -> PMap:
        return _make_content(f"call_{rng.randrange(9)}", {"n": rng.randrange(99)}, rng.choice((MADE, COMPENSATED)))

    def extreme(self, key: str, rng: random.Random) -> PMap:
        return _make_content(key or "call", {}, MADE)

    def generic(self, key: str, salt: str) -> PMap:
        return _make_content(salt, {"key": key}, MADE)

    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        return tuple(
            Component(
                str(self.address(key)),
                (
                    make_bind_edit(key, self.generic(key, salt)),
                    make_bind_edit(key, self.generic(key, salt).put("state", COMPENSATED)),
                    make_drop_edit(key),
                ),
            )
            for key in dict.fromkeys(op.path for op in ops)
        )

    def canonical(self, value: PMap) -> Any:
        """Write the calls that count: those made and not compensated."""
        return {key: thaw(content) for key, content in value.items() if is_made(content)}

    def invert(self, op: Operation) -> tuple[Inverse, ...]:
        where = {"target": op.target}
        return (({"op_type": "capture_call", **where}, {"op_type": "compensate_call", **where}),)

    def slot_title(self, path: tuple[str, ...]) -> str:
        return str(self.address(path[0])) if path else self.name


def classify_calls(mutation: Sequence[Operation]) -> tuple[EffectClass, tuple[dict[str, str], ...]]:
    """Return the class of a mutation and, call by call, what stays when it is taken back.

    A call that no manifest declared counts as irreversible.
    """
    surface = SURFACES.get(CALLS)
    declared: Mapping[str, CallFacts] = surface.declared if isinstance(surface, CallsSurface) else {}
    return classify_named([op.value["call"] for op in mutation if op.kind.name == "make_call"], declared)


def list_unanswered(mutation: Sequence[Operation]) -> frozenset[str]:
    """Return the keys under which a mutation makes calls that nothing answers."""
    makes = [op for op in mutation if op.kind.name == "make_call"]
    return frozenset(op.target for op in makes if classify_calls([op])[0] is EffectClass.IRREVERSIBLE)


def classify_named(
    names: Sequence[str], declared: Mapping[str, CallFacts]
) -> tuple[EffectClass, tuple[dict[str, str], ...]]:
    """Return the class of some calls by what is declared of them, and what stays of each."""
    worst, stays = EffectClass.REVERSIBLE, []
    for name in names:
        facts = declared.get(name, CallFacts(compensable=False))
        kind = EffectClass.COMPENSABLE if facts.compensable else EffectClass.IRREVERSIBLE
        worst = max(worst, kind, key=lambda call_class: call_class.rank)
        answer = facts.compensation if facts.compensable else "none"
        stays.append({"call": name, "stays": facts.word, "compensation": answer})
    return worst, tuple(stays)


def describe_stays(kind: EffectClass | str, stays: Sequence[Mapping[str, str]]) -> str:
    """Return a class with what stays, in words; empty where nothing does."""
    if not stays:
        return ""
    counts: dict[str, int] = {}
    for item in stays:
        what = f"{item['call']} stays {item.get('stays', 'made')}"
        counts[what] = counts.get(what, 0) + 1
    counted = ", ".join(f"{count} {what}" for what, count in counts.items())
    return f"{kind!s}: {counted}"


def install_calls_surface(declared: Mapping[str, CallFacts]) -> None:
    """Register the surface, once, and note what a manifest declares; where two manifests differ, the worse counts."""
    if CALLS not in SURFACES:
        register(CallsSurface())
    surface = SURFACES[CALLS]
    if isinstance(surface, CallsSurface):
        for name, facts in declared.items():
            known = surface.declared.get(name, facts)
            surface.declared[name] = facts if known.compensable else known


def _read_call(raw: Any, where: str) -> PMap:
    if not isinstance(raw, dict) or "call" not in raw or not raw.keys() <= _FIELDS:
        raise InputError(where, found=raw, expected='{"call": NAME, "arguments": {...}}')
    name, arguments = read_name(raw["call"], f"{where}.call"), raw.get("arguments", {})
    if not isinstance(arguments, dict):
        raise InputError(f"{where}.arguments", found=arguments, expected="a mapping")
    return PMap({"call": name, "arguments": freeze(arguments, f"{where}.arguments")})


def _make_content(call: str, arguments: dict[str, Any], state: str) -> PMap:
    return PMap({"call": call, "arguments": freeze(arguments, "arguments"), "state": state})
