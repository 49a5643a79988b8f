"""What of a harness a model is shown for a request: its things with secrets masked, within a bound.

Where everything fits, everything is shown. Otherwise what shares words with the request comes first, long texts are
cut to the lines that do, and the rest is named, as far as there is room. Same state and request, same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from takeback.canonical import compact
from takeback.present.secrets import masked, masked_text
from takeback.state import SURFACES, State

LIMIT: Final = 16_000
"""Characters of a harness that a model is shown, unless someone says otherwise."""
SMALLEST: Final = 400
SHARE: Final = 3
"""A text longer than the bound divided by this is cut to the lines that concern the request."""
AROUND: Final = 3
"""Lines shown before and after one that concerns the request."""
OTHERS: Final = 4
"""The bound divided by this is for what shares no word with the request."""
NAMES: Final = 8
"""The bound divided by this is kept for the names of what is left out."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_ENDINGS: Final = ("ing", "ed", "es", "s")
_SHORTEST: Final = 3
_STOP: Final = frozenset(
    re.findall(
        r"\w+",
        "the and for not with that this from into its are was all any can may let make makes before after when then "
        "than but have has must should would will you your our use using only also more each every new add set",
    )
)
_STEPS: Final = {"config": r"(?<!\\)\.", "files": "/"}
"""What stands between the names of things inside each other; only the innermost are shown."""
_MEANT: Final = {
    "config": "config setting permission allow deny sandbox environment variable",
    "prompts": "prompt instruction rule command skill agent subagent memory text line",
    "routing": "routing route model",
    "tools": "tool server mcp",
    "middleware": "middleware chain handler",
    "listeners": "listener hook event callback guard",
    "files": "file script",
    "resources": "resource socket port",
}
"""Words by which people name a surface, or what stands in it."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing of a harness, without its secrets."""

    surface: str
    name: str
    body: str
    """The text of what is one, the JSON of everything else."""
    is_text: bool
    more: str = ""
    """What else there is to say of a text."""

    @property
    def address(self) -> str:
        """Where it is."""
        return f'{self.surface}["{self.name}"]'


def concerning(state: State, request: str, limit: int = LIMIT) -> str:
    """What a model is shown of a harness for a request, at most `limit` characters (and no fewer than 400)."""
    limit = max(limit, SMALLEST)
    things = list(_things(state))
    whole = "\n".join(_shown(thing, thing.body) for thing in things)
    if len(whole) <= limit:
        return whole or "(nothing is there yet)"
    wanted = words_of(request)
    scores = [_score(thing, wanted) for thing in things]
    ranked = sorted(range(len(things)), key=lambda at: (-scores[at], len(things[at].body), at))
    taken: dict[int, str] = {}
    others = limit // OTHERS if any(scores) else limit - limit // NAMES
    left = {True: limit - limit // NAMES - others, False: others}
    for at in ranked:
        concerns = scores[at] > 0
        text = _within(things[at], wanted, min(left[concerns] - 1, limit // SHARE))
        if text is not None:
            taken[at] = text
            left[concerns] -= len(text) + 1
    named = _names([thing.address for at, thing in enumerate(things) if at not in taken], limit // NAMES)
    return "\n".join([*(taken[at] for at in sorted(taken)), *named])


def words_of(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, each in one form."""
    found = (word.casefold() for word in _WORD.findall(text))
    return frozenset(_stem(word) for word in found if len(word) >= _SHORTEST and word not in _STOP)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > _SHORTEST else word


def _things(state: State) -> Iterator[Thing]:
    for name, surface in SURFACES.items():
        keys = dict.fromkeys(address.key for address, _ in surface.entries(state.part(name)))
        inner = {key[: step.start()] for key in keys for step in re.finditer(_STEPS.get(name, "(?!)"), key)}
        for key in keys:
            if key in inner:
                continue
            yield _thing(name, key, masked(state[name, key], key if name == "config" else ""))


def _thing(surface: str, key: str, value: Any) -> Thing:
    name = masked_text(key)
    if isinstance(value, str) and "\n" in value:
        return Thing(surface, name, value, is_text=True, more=_endings(value))
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        rest = {field: item for field, item in value.items() if field != "content"}
        more = f" {compact(rest)}{_endings(value['content'])}" if rest else _endings(value["content"])
        return Thing(surface, name, value["content"], is_text=True, more=more)
    return Thing(surface, name, compact(value), is_text=False)


def _endings(text: str) -> str:
    return " (its lines end in \\r\\n)" if "\r\n" in text else ""


def _score(thing: Thing, wanted: frozenset[str]) -> int:
    of_name, of_body = words_of(thing.name), words_of(thing.body)
    of_surface = words_of(_MEANT.get(thing.surface, thing.surface))
    return 4 * len(wanted & of_name) + 2 * len(wanted & of_body) + len(wanted & of_surface)


def _shown(thing: Thing, body: str) -> str:
    if not thing.is_text:
        return f"{thing.address} = {body}"
    ended = "" if body.endswith("\n") or not body else "\n"
    return f"{thing.address}{thing.more}\n<<<\n{body}{ended}>>>"


def _within(thing: Thing, wanted: frozenset[str], room: int) -> str | None:
    """A thing as it is shown in so much room; None if it cannot be shown there at all."""
    text = _shown(thing, thing.body)
    if len(text) <= room:
        return text
    if not thing.is_text:
        return None
    lines = thing.body.splitlines(keepends=True)
    ranked = sorted(range(len(lines)), key=lambda at: (-len(wanted & words_of(lines[at])), at))
    kept: set[int] = set()
    cut: str | None = None
    for at in ranked:
        more = kept | set(range(max(0, at - AROUND), min(len(lines), at + AROUND + 1)))
        tried = _shown(thing, _excerpt(lines, more))
        if len(tried) > room:
            break
        kept, cut = more, tried
    return cut


def _excerpt(lines: Sequence[str], kept: set[int]) -> str:
    """Lines of a text, with a word where some are left out."""
    told: list[str] = []
    missing = 0
    for at, line in enumerate(lines):
        if at in kept:
            told += [_gap(missing)] if missing else []
            told.append(line)
            missing = 0
        else:
            missing += 1
    return "".join([*told, *([_gap(missing)] if missing else [])])


def _gap(count: int) -> str:
    return f"[… {count} line{'' if count == 1 else 's'} left out …]\n"


def _names(addresses: Sequence[str], room: int) -> list[str]:
    """One line that names what is left out, within so many characters."""
    if not addresses:
        return []
    told, named = "Also there, not shown:", 0
    for address in addresses:
        if len(told) + len(address) + 24 > room:
            break
        told += f" {address}"
        named += 1
    rest = len(addresses) - named
    return [told + (f" and {rest} more" if rest else "")]
