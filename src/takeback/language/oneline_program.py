"""What a one-line change means on a state: the operations of a mutation, or what stands in the way.

Which verbs a surface has is said by its operations (`Kind.verb`), also those of a surface from elsewhere. Errors name
what was found, what was expected, and names near the one that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import InputError
from takeback.language.near import how_often, lines_of, listing, nearest_line, suggestion
from takeback.language.oneline import OneLine, Typed, guess
from takeback.language.program import Program, read_operation
from takeback.state import ABSENT, SURFACES, Kind, Operation, Stage, State, Takes
from takeback.state.chain import Chain
from takeback.state.operation import SPOTS
from takeback.state.surface import Surface, surface_by_word

FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "set": frozenset({"value", "mode", *SPOTS}),
    "add": frozenset({"value", "mode", *SPOTS}),
    "remove": frozenset({"value"}),
    "edit": frozenset({"old", "new", "append"}),
    "move": frozenset({"value", *SPOTS}),
}
"""The verbs, and which fields beside thing and name each takes."""
SIGNS: Final = "+-"
Translate = Callable[[str, str, Any], Any]


def program_of(line: OneLine, state: State, translate: Translate | None = None) -> Program:
    """Return the operations that a line means on a state, or raise with what stands in the way.

    `translate` makes a value as the surface has it of one that is a mapping, from a surface, a name and the value.
    """
    if line.verb not in FIELDS:
        hint = suggestion(line.verb, FIELDS)
        raise InputError("verb", found=line.verb, expected=f"one of {', '.join(FIELDS)}", hint=hint)
    for name in sorted(line.given() - FIELDS[line.verb]):
        expected = f"only {', '.join(sorted(FIELDS[line.verb]))} with {line.verb}"
        raise InputError(line.where, found=name, expected=expected)
    at = _Place(line, _surface_called(line.thing, line.verb), state, translate)
    return (_BUILD[line.verb](at),)


def things(verb: str) -> tuple[str, ...]:
    """What a verb can be said of."""
    needed = {"set": {"set", "add"}, "add": {"set", "add"}}.get(verb, {verb})
    return tuple(
        surface.word for surface in SURFACES.values() if needed & {kind.verb for kind in surface.kinds if kind.verb}
    )


def _surface_called(thing: str, verb: str) -> Surface:
    possible = things(verb)
    surface = surface_by_word(thing)
    if surface is not None and surface.word in possible:
        return surface
    hint = suggestion(thing, [*possible, *(f"{word}s" for word in possible)])
    raise InputError(verb, found=thing, expected=f"one of {', '.join(possible)}", hint=hint)


class _Place:
    """A line with what it is about: the surface, its operations by verb, and the state."""

    def __init__(self, line: OneLine, surface: Surface, state: State, translate: Translate | None) -> None:
        self._translate = translate
        self.line = replace(line, thing=surface.word)
        self.surface = surface
        self.part = state.part(surface.name)
        self.kinds: Mapping[str, Kind] = {kind.verb: kind for kind in surface.kinds if kind.verb}

    def content(self, key: str) -> Any:
        """What stands at a name; ABSENT if nothing does."""
        return self.surface.find(self.part, self.surface.target(key, self.line.where, None))

    def names(self) -> list[str]:
        """Every name on the surface."""
        return list(dict.fromkeys(address.key for address, _ in self.surface.entries(self.part)))

    def operation(self, kind: Kind, key: str, value: Any = ABSENT) -> Operation:
        """One operation of the line."""
        plain: dict[str, Any] = {"op_type": kind.name, "target": key}
        if value is not ABSENT:
            plain["value"] = value
        for name in SPOTS:
            given = getattr(self.line, name)
            if given not in (None, ABSENT):
                item = given if not isinstance(given, Typed) else given.text
                plain[name] = guess(given.text, f"--{name}") if isinstance(given, Typed) and kind.inside else item
        return read_operation(plain, Stage.FORWARD, self.line.where)

    def value(self, kind: Kind) -> Any:
        """The value that was given, as an operation takes it."""
        given, where = self.line.value, self.line.where
        if given is ABSENT:
            if kind.value is Takes.MUST:
                raise InputError(where, found="no value", expected=_wanted(kind))
            return ABSENT
        if kind.value is Takes.NO:
            found = given.text if isinstance(given, Typed) else given
            raise InputError(where, found=found, expected="nothing behind the name")
        if isinstance(given, Typed):
            given = given.text if _takes_text(kind) else guess(given.text, where)
        if self._translate is not None and isinstance(given, dict):
            given = self._translate(self.surface.name, self.line.key, given)
        if self.line.mode is None:
            return given
        if not _takes_mode(kind):
            raise InputError(where, found=f"the mode {self.line.mode}", expected="no mode: only files have one")
        return {**({"content": given} if isinstance(given, str) else given), "mode": self.line.mode}

    def there(self, op: Operation) -> bool:
        """Whether what an operation is about is there."""
        slots = self.surface.written(op)
        if slots is None:
            return self.surface.find(self.part, op.path) is not ABSENT
        return self.surface.get_slot(self.part, slots[0]) is not ABSENT

    def missing(self, op: Operation) -> InputError:
        """The error for what is not there, with names near it."""
        name, names, word = op.target, self.names(), self.surface.word
        inner = self.surface.find(self.part, op.path)
        if isinstance(inner, Chain) and isinstance(op.value, str):
            name, names, word = op.value, list(inner.ids()), f"callback of {op.target}"
        return InputError(
            self.line.where,
            found=f"no {word} {name}",
            expected=listing(names, word),
            hint=suggestion(name, names),
        )


def _set(at: _Place) -> Operation:
    key, sign = _signed(at)
    if sign:
        return _item(at, key, sign)
    kind = at.kinds.get("set")
    if kind is None:
        here = "replace" in at.kinds and at.content(key) is not ABSENT
        kind = at.kinds["replace" if here else "add"]
    return at.operation(kind, key, at.value(kind))


def _add(at: _Place) -> Operation:
    key, sign = _signed(at)
    if sign:
        return _item(at, key, sign)
    kind = at.kinds.get("add") or at.kinds["set"]
    op = at.operation(kind, key, at.value(kind))
    if at.there(op):
        listed = isinstance(at.surface.describe(at.content(key)), list) and "append" in at.kinds
        line = at.line.as_set(f"{key}+" if listed else key)
        hint = f"`{line}` {'adds an item to its list' if listed else 'replaces what is there'}"
        raise InputError(at.line.where, found="it is there already", expected="a name that is free", hint=hint)
    return op


def _remove(at: _Place) -> Operation:
    key, sign = _signed(at)
    if sign == "+":
        raise InputError(at.line.where, found=f"{key}+", expected=f"{key}, or {key}- with the item to remove")
    if "remove item" in at.kinds and (sign or at.line.value is not ABSENT):
        return _item(at, key, "-")
    kind = at.kinds["remove"]
    op = at.operation(kind, key, at.value(kind))
    if not at.there(op):
        raise at.missing(op)
    return op


def _edit(at: _Place) -> Operation:
    line, kind = at.line, at.kinds["edit"]
    content = at.content(line.key)
    if content is ABSENT:
        raise at.missing(at.operation(kind, line.key, {"old": "", "new": ""}))
    text = _text(at.surface, content)
    if text is None:
        raise InputError(line.where, found="bytes that are not UTF-8 text", expected="a text")
    if line.append is not None:
        if line.old is not None or line.new is not None:
            raise InputError(line.where, found="--append beside --old or --new", expected="one of them")
        return at.operation(kind, line.key, {"old": "", "new": _as_lines(line.append, text)})
    if not line.old or line.new is None or line.old == line.new:
        raise InputError(line.where, found=_given(line), expected="--old TEXT and --new TEXT, or --append TEXT")
    lines = lines_of(text, line.old)
    if not lines:
        hint = nearest_line(text, line.old)
        raise InputError(line.where, found="old is not there", expected="a text that is there once", hint=hint)
    if len(lines) > 1:
        found = f"old is there {how_often(lines, 'line')}"
        hint = "take more of the lines around it along"
        raise InputError(line.where, found=found, expected="a text that is there once", hint=hint)
    return at.operation(kind, line.key, {"old": line.old, "new": line.new})


def _move(at: _Place) -> Operation:
    kind = at.kinds["move"]
    if kind.spot is Takes.MUST and not at.line.placed:
        expected = " or ".join(f"--{name}" for name in kind.spots)
        raise InputError(at.line.where, found="no place", expected=expected)
    op = at.operation(kind, at.line.key, at.value(kind))
    if not at.there(op):
        raise at.missing(op)
    return op


_BUILD: Final[Mapping[str, Callable[[_Place], Operation]]] = {
    "set": _set,
    "add": _add,
    "remove": _remove,
    "edit": _edit,
    "move": _move,
}


def _signed(at: _Place) -> tuple[str, str]:
    r"""Return a name and the sign behind it, `+` or `-`, if it has one; `\+` and `\-` are part of the name."""
    key = at.line.key
    if "append" not in at.kinds or key[-1:] not in SIGNS or len(key) < 2:  # noqa: PLR2004
        return key, ""
    name = key[:-1]
    if (len(name) - len(name.rstrip("\\"))) % 2:
        return name[:-1] + key[-1], ""
    return name, key[-1]


def _item(at: _Place, key: str, sign: str) -> Operation:
    """Add an item to a list or remove one; a list that is not there begins with the item."""
    verb = "remove item" if sign == "-" else "insert" if at.line.placed else "append"
    kind, where = at.kinds[verb], at.line.where
    item = at.value(kind)
    content = at.content(key)
    plain = ABSENT if content is ABSENT else at.surface.describe(content)
    if plain is ABSENT and verb == "append":
        return at.operation(at.kinds["set"], key, [item])
    if plain is ABSENT:
        raise at.missing(at.operation(kind, key, item))
    if not isinstance(plain, list):
        hint = f"without {sign} the value is replaced"
        raise InputError(where, found=plain, expected=f"a list at {key}", hint=hint)
    if sign == "-":
        places = [number for number, other in enumerate(plain, 1) if encode(other) == encode(item)]
        if len(places) != 1:
            found = f"the item {how_often(places, 'item')}" if places else f"no item {encode(item)}"
            texts = [other for other in plain if isinstance(other, str)]
            hint = suggestion(item, texts) if isinstance(item, str) and not places else ""
            raise InputError(where, found=found, expected="an item that is there once", hint=hint)
    return at.operation(kind, key, item)


def _takes_text(kind: Kind) -> bool:
    return any(form.get("type") == "string" for form in (kind.schema, *kind.schema.get("anyOf", ())))


def _takes_mode(kind: Kind) -> bool:
    return any("mode" in form.get("properties", {}) for form in (kind.schema, *kind.schema.get("anyOf", ())))


def _wanted(kind: Kind) -> str:
    return "a text" if _takes_text(kind) else "a value" if not kind.schema else "a value as JSON"


def _text(surface: Surface, content: Any) -> str | None:
    plain = surface.describe(content)
    if isinstance(plain, str):
        return plain
    found = surface.text(content)
    try:
        return None if found is None else found[0].decode()
    except UnicodeDecodeError:
        return None


def _as_lines(added: str, text: str) -> str:
    """What to add so that it stands on lines of its own; a text without a newline at its end stays without one."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        return newline + added
    return added if added.endswith("\n") else added + newline


def _given(line: OneLine) -> str:
    if line.old is None and line.new is None:
        return "neither --old nor --append"
    if line.old is None or line.new is None:
        return f"--{'new' if line.old is None else 'old'} alone"
    return "an empty --old" if not line.old else "the same --old and --new"
