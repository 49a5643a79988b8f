"""One-line changes, such as `set config permissions.allow+ 'Bash(npm test:*)'`: their fields and operations.

A line is a verb, a kind of thing, its name, and what the verb needs. `build_program` returns the operations
it means on a state, or raises with what blocks it. The verbs of a surface come from its operations
(`Kind.verb`), also those of a surface from another package. Errors name what was found, what was expected,
and names near the missing one.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from takeback.canonical import encode, parse, parse_strict
from takeback.errors import InputError, NameTakenError
from takeback.language.program import Program, read_operation
from takeback.language.suggestions import (
    describe_expected_names,
    describe_occurrences,
    find_lines,
    suggest_name,
    suggest_nearest_line,
)
from takeback.state import ABSENT, SURFACES, Kind, Operation, Requirement, Stage, State
from takeback.state.chain import Chain
from takeback.state.operation import SPOTS
from takeback.state.surface import Surface, surface_by_word


class Typed(NamedTuple):
    """A value as a person typed it: text where the operation takes text, else JSON if it is JSON, else text."""

    text: str


@dataclass(frozen=True, slots=True)
class OneLine:
    """A one-line change as fields. Values are JSON, or `Typed`; ABSENT where nothing was given."""

    verb: str
    thing: str
    key: str
    value: Any = ABSENT
    old: str | None = None
    new: str | None = None
    append: str | None = None
    index: int | None = None
    before: Any = ABSENT
    after: Any = ABSENT
    priority: int | None = None
    mode: str | None = None
    sign: str | None = None
    """`+` or `-` for an item of a list, empty for the whole; None where the name says it, as on the command line."""

    @property
    def where(self) -> str:
        """What an error is about."""
        return f"{self.verb} {self.thing} {self.key}"

    def as_set(self, key: str) -> str:
        """Return the command line that sets the same value at a name; from a file, where the value is long."""
        text = self.value.text if isinstance(self.value, Typed) else None
        text = encode(self.value) if text is None and self.value is not ABSENT else text
        short = text is not None and len(text) <= _SHORT and text.isprintable()
        given = (
            (["--", text] if text.startswith("-") else [text]) if short and text is not None else ["--from", "FILE"]
        )
        return shlex.join(["takeback", "set", self.thing, key, *given])

    def list_given_fields(self) -> frozenset[str]:
        """Return the fields beside verb, thing and name that have a value."""
        return frozenset(name for name in _REST if getattr(self, name) not in (None, ABSENT))

    @property
    def placed(self) -> bool:
        """Whether it says where something should go."""
        return not self.list_given_fields().isdisjoint(SPOTS)


_SHORT: Final = 80
"""So many characters of a value are repeated in a command line."""
_NUMBERS: Final = frozenset({"index", "priority"})
_TYPED: Final = frozenset({"before", "after"})
_TEXTS: Final = frozenset({"old", "new", "append", "mode"})
_REST: Final = frozenset({"value", *_TEXTS, *SPOTS})


def read_line(text: str) -> OneLine:
    """Return the one-line change in a text, quoted as in a shell; options come as on the command line."""
    try:
        words = shlex.split(text)
    except ValueError as fault:
        raise InputError("line", found=str(fault).lower(), expected="every quotation mark closed") from None
    return _read_words(words[1:] if words[:1] == ["takeback"] else words)


def _read_words(words: Sequence[str]) -> OneLine:
    plain: list[str] = []
    fields: dict[str, Any] = {}
    left = iter(words)
    for word in left:
        if word == "--":
            plain += left
            break
        if not word.startswith("--"):
            plain.append(word)
            continue
        name, given, inline = word[2:].partition("=")
        value = inline if given else next(left, None)
        if value is None:
            raise InputError(f"--{name}", found="nothing after it", expected="a value")
        field, item = _read_field(name, value)
        if field in fields:
            raise InputError(f"--{name}", found="a second time", expected="one")
        fields[field] = item
    if len(plain) not in {3, 4}:
        raise InputError("line", found=" ".join(plain) or "nothing", expected="VERB THING NAME, and a VALUE for some")
    if len(plain) == 4:  # noqa: PLR2004
        if "value" in fields:
            raise InputError("line", found=f"{plain[3]} and a value as option", expected="one of them")
        fields["value"] = Typed(plain[3])
    return OneLine(plain[0], plain[1], plain[2], **fields)


def _read_field(name: str, value: str) -> tuple[str, Any]:
    if name == "json":
        return "value", parse(value, "--json")
    if name == "text":
        return "value", value
    if name in _TEXTS:
        return name, value
    if name in _TYPED:
        return name, Typed(value)
    if name in _NUMBERS:
        if not value.lstrip("-").isdecimal():
            raise InputError(f"--{name}", found=value, expected="a whole number")
        return name, int(value)
    known = ["json", "text", *sorted(_TEXTS | _TYPED | _NUMBERS)]
    expected = ", ".join(f"--{field}" for field in known)
    raise InputError("line", found=f"--{name}", expected=f"one of {expected}", hint=suggest_name(name, known))


def guess_value(text: str, where: str) -> Any:
    """Return the value of a text: what it says as JSON, or the text. What looks like JSON and is not is an error."""
    plain = text.strip()
    try:
        value = parse_strict(plain)
    except (ValueError, RecursionError):
        if plain[:1] not in {"{", "[", '"'}:
            return text
        expected = "JSON, or text after --text"
        try:
            parse(plain, where)
        except InputError as fault:
            raise InputError(fault.where, found=fault.found, expected=expected) from None
        raise
    if type(value) in {int, float} and encode(value) != plain:
        expected = f"--json {encode(value)} for the number, or --text {plain} for the text"
        raise InputError(where, found=plain, expected=expected)
    return value


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


def build_program(line: OneLine, state: State, translate: Translate | None = None) -> Program:
    """Return the operations that a line means on a state, or raise with what stands in the way.

    `translate` makes a value as the surface has it of one that is a mapping, from a surface, a name and the value.
    """
    if line.verb not in FIELDS:
        hint = suggest_name(line.verb, FIELDS)
        raise InputError("verb", found=line.verb, expected=f"one of {', '.join(FIELDS)}", hint=hint)
    for name in sorted(line.list_given_fields() - FIELDS[line.verb]):
        expected = f"only {', '.join(sorted(FIELDS[line.verb]))} with {line.verb}"
        raise InputError(line.where, found=name, expected=expected)
    at = _LineTarget(line, _find_surface(line.thing, line.verb), state, translate)
    return (_BUILD[line.verb](at),)


def list_things(verb: str) -> tuple[str, ...]:
    """Return the kinds of things that a verb applies to."""
    needed = {"set": {"set", "add"}, "add": {"set", "add"}}.get(verb, {verb})
    return tuple(
        surface.word for surface in SURFACES.values() if needed & {kind.verb for kind in surface.kinds if kind.verb}
    )


def _find_surface(thing: str, verb: str) -> Surface:
    possible = list_things(verb)
    surface = surface_by_word(thing)
    if surface is not None and surface.word in possible:
        return surface
    hint = suggest_name(thing, [*possible, *(f"{word}s" for word in possible)])
    raise InputError(verb, found=thing, expected=f"one of {', '.join(possible)}", hint=hint)


class _LineTarget:
    """A line with what it is about: the surface, its operations by verb, and the state."""

    def __init__(self, line: OneLine, surface: Surface, state: State, translate: Translate | None) -> None:
        self._translate = translate
        self.line = replace(line, thing=surface.word)
        self.surface = surface
        self.part = state.part(surface.name)
        self.kinds: Mapping[str, Kind] = {kind.verb: kind for kind in surface.kinds if kind.verb}

    def content(self, key: str) -> Any:
        """Return what stands at a name; ABSENT if nothing does."""
        return self.surface.find(self.part, self.surface.target(key, self.line.where, None))

    def names(self) -> list[str]:
        """Return every name on the surface."""
        return list(dict.fromkeys(address.key for address, _ in self.surface.entries(self.part)))

    def operation(self, kind: Kind, key: str, value: Any = ABSENT) -> Operation:
        """Build one operation of the line."""
        plain: dict[str, Any] = {"op_type": kind.name, "target": key}
        if value is not ABSENT:
            plain["value"] = value
        for name in SPOTS:
            given = getattr(self.line, name)
            if given not in (None, ABSENT):
                item = given if not isinstance(given, Typed) else given.text
                plain[name] = (
                    guess_value(given.text, f"--{name}") if isinstance(given, Typed) and kind.inside else item
                )
        return read_operation(plain, Stage.FORWARD, self.line.where)

    def value(self, kind: Kind) -> Any:
        """Return the given value as an operation takes it, or raise."""
        given, where = self.line.value, self.line.where
        if given is ABSENT:
            if kind.value is Requirement.REQUIRED:
                raise InputError(where, found="no value", expected=_describe_wanted_value(kind))
            return ABSENT
        if kind.value is Requirement.FORBIDDEN:
            raw_value = given.text if isinstance(given, Typed) else given
            raise InputError(where, found=raw_value, expected="nothing after the name")
        if isinstance(given, Typed):
            given = given.text if _can_take_text(kind) else guess_value(given.text, where)
        if self._translate is not None and isinstance(given, dict):
            given = self._translate(self.surface.name, self.line.key, given)
        if self.line.mode is None:
            return given
        if not _can_take_mode(kind):
            raise InputError(where, found=f"the mode {self.line.mode}", expected="no mode: only files have one")
        return {**({"content": given} if isinstance(given, str) else given), "mode": self.line.mode}

    def there(self, op: Operation) -> bool:
        """Tell whether what an operation targets exists."""
        slots = self.surface.find_written_slots(op)
        if slots is None:
            return self.surface.find(self.part, op.path) is not ABSENT
        return self.surface.get_slot(self.part, slots[0]) is not ABSENT

    def missing(self, op: Operation) -> InputError:
        """Return the error for what does not exist, with names near it."""
        name, names, word = op.target, self.names(), self.surface.word
        inner = self.surface.find(self.part, op.path)
        if isinstance(inner, Chain) and isinstance(op.value, str):
            name, names, word = op.value, list(inner.ids()), f"callback of {op.target}"
        return InputError(
            self.line.where,
            found=f"no {word} {name}",
            expected=describe_expected_names(names, word),
            hint=suggest_name(name, names),
        )


def _build_set(at: _LineTarget) -> Operation:
    key, sign = _read_sign(at)
    if sign:
        return _build_item_operation(at, key, sign)
    kind = at.kinds.get("set")
    if kind is None:
        is_replaced = "replace" in at.kinds and at.content(key) is not ABSENT
        kind = at.kinds["replace" if is_replaced else "add"]
    return at.operation(kind, key, at.value(kind))


def _build_add(at: _LineTarget) -> Operation:
    key, sign = _read_sign(at)
    if sign:
        return _build_item_operation(at, key, sign)
    kind = at.kinds.get("add") or at.kinds["set"]
    op = at.operation(kind, key, at.value(kind))
    if at.there(op):
        listed = isinstance(at.surface.describe(at.content(key)), list) and "append" in at.kinds
        line = at.line.as_set(f"{key}+" if listed else key)
        hint = f"`{line}` {'adds an item to its list' if listed else 'replaces what is there'}"
        raise NameTakenError(at.line.where, hint=hint)
    return op


def _build_remove(at: _LineTarget) -> Operation:
    key, sign = _read_sign(at)
    if sign == "+":
        raise InputError(at.line.where, found=f"{key}+", expected=f"{key}, or {key}- with the item to remove")
    if "remove item" in at.kinds and (sign or at.line.value is not ABSENT):
        return _build_item_operation(at, key, "-")
    kind = at.kinds["remove"]
    op = at.operation(kind, key, at.value(kind))
    if not at.there(op):
        raise at.missing(op)
    return op


def _build_edit(at: _LineTarget) -> Operation:
    line, kind = at.line, at.kinds["edit"]
    content = at.content(line.key)
    if content is ABSENT:
        raise at.missing(at.operation(kind, line.key, {"old": "", "new": ""}))
    text = _read_text(at.surface, content)
    if text is None:
        raise InputError(line.where, found="bytes that are not UTF-8 text", expected="a text")
    if line.append is not None:
        if line.old is not None or line.new is not None:
            raise InputError(line.where, found="--append beside --old or --new", expected="one of them")
        return at.operation(kind, line.key, {"old": "", "new": _format_as_lines(line.append, text)})
    if not line.old or line.new is None or line.old == line.new:
        raise InputError(
            line.where, found=_describe_given_options(line), expected="--old TEXT and --new TEXT, or --append TEXT"
        )
    lines = find_lines(text, line.old)
    if not lines:
        hint = suggest_nearest_line(text, line.old)
        raise InputError(line.where, found="no such old text", expected="a text that occurs once", hint=hint)
    if len(lines) > 1:
        occurrences = f"the old text {describe_occurrences(lines, 'line')}"
        hint = "include more of the lines around it"
        raise InputError(line.where, found=occurrences, expected="a text that occurs once", hint=hint)
    return at.operation(kind, line.key, {"old": line.old, "new": line.new})


def _build_move(at: _LineTarget) -> Operation:
    kind = at.kinds["move"]
    if kind.spot is Requirement.REQUIRED and not at.line.placed:
        expected = " or ".join(f"--{name}" for name in kind.spots)
        raise InputError(at.line.where, found="no place", expected=expected)
    op = at.operation(kind, at.line.key, at.value(kind))
    if not at.there(op):
        raise at.missing(op)
    return op


_BUILD: Final[Mapping[str, Callable[[_LineTarget], Operation]]] = {
    "set": _build_set,
    "add": _build_add,
    "remove": _build_remove,
    "edit": _build_edit,
    "move": _build_move,
}


def _read_sign(at: _LineTarget) -> tuple[str, str]:
    r"""Return a name and the sign behind it, `+` or `-`, if it has one; `\+` and `\-` are part of the name."""
    key = at.line.key
    if at.line.sign is not None:
        return key, at.line.sign
    if "append" not in at.kinds or key[-1:] not in SIGNS or len(key) < 2:  # noqa: PLR2004
        return key, ""
    name = key[:-1]
    if (len(name) - len(name.rstrip("\\"))) % 2:
        return name[:-1] + key[-1], ""
    return name, key[-1]


def _build_item_operation(at: _LineTarget, key: str, sign: str) -> Operation:
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
            given = f"the item {describe_occurrences(places, 'item')}" if places else f"no item {encode(item)}"
            texts = [other for other in plain if isinstance(other, str)]
            hint = suggest_name(item, texts) if isinstance(item, str) and not places else ""
            raise InputError(where, found=given, expected="an item that occurs once", hint=hint)
    return at.operation(kind, key, item)


def _can_take_text(kind: Kind) -> bool:
    return any(form.get("type") == "string" for form in (kind.schema, *kind.schema.get("anyOf", ())))


def _can_take_mode(kind: Kind) -> bool:
    return any("mode" in form.get("properties", {}) for form in (kind.schema, *kind.schema.get("anyOf", ())))


def _describe_wanted_value(kind: Kind) -> str:
    return "a text" if _can_take_text(kind) else "a value" if not kind.schema else "a value as JSON"


def _read_text(surface: Surface, content: Any) -> str | None:
    plain = surface.describe(content)
    if isinstance(plain, str):
        return plain
    text = surface.text(content)
    try:
        return None if text is None else text[0].decode()
    except UnicodeDecodeError:
        return None


def _format_as_lines(added: str, text: str) -> str:
    """Return what to add so that it stands on lines of its own; a text without a final newline stays so."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        return newline + added
    return added if added.endswith("\n") else added + newline


def _describe_given_options(line: OneLine) -> str:
    if line.old is None and line.new is None:
        return "neither --old nor --append"
    if line.old is None or line.new is None:
        return f"--{'new' if line.old is None else 'old'} alone"
    return "an empty --old" if not line.old else "the same --old and --new"
