"""One-line changes, such as `set config permissions.allow+ 'Bash(npm test:*)'`: their fields, read from text.

A line is a verb, a kind of thing, its name, and what the verb needs. What it means on a state is said by
`takeback.language.oneline_program`; nothing is changed here.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from takeback.canonical import encode, parse, strict
from takeback.errors import InputError
from takeback.language.near import suggestion
from takeback.state import ABSENT
from takeback.state.operation import SPOTS


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

    def given(self) -> frozenset[str]:
        """The fields beside verb, thing and name that have something in them."""
        return frozenset(name for name in _REST if getattr(self, name) not in (None, ABSENT))

    @property
    def placed(self) -> bool:
        """Whether it says where something should go."""
        return not self.given().isdisjoint(SPOTS)


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
            raise InputError(f"--{name}", found="nothing behind it", expected="a value")
        field, item = _field(name, value)
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


def _field(name: str, value: str) -> tuple[str, Any]:
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
    expected = ", ".join(f"--{one}" for one in known)
    raise InputError("line", found=f"--{name}", expected=f"one of {expected}", hint=suggestion(name, known))


def guess(text: str, where: str) -> Any:
    """Return the value of a text: what it says as JSON, or the text. What looks like JSON and is not is an error."""
    plain = text.strip()
    try:
        value = strict(plain)
    except (ValueError, RecursionError):
        if plain[:1] not in {"{", "[", '"'}:
            return text
        expected = "JSON, or the text behind --text"
        try:
            parse(plain, where)
        except InputError as fault:
            raise InputError(fault.where, found=fault.found, expected=expected) from None
        raise
    if type(value) in {int, float} and encode(value) != plain:
        expected = f"--json {encode(value)} for the number, or --text {plain} for the text"
        raise InputError(where, found=plain, expected=expected)
    return value
