"""What clients demand of their documents: a wrong type makes them drop a whole file, or not start at all.

A check says what is wrong in one sentence, or nothing. The tables hold what was seen to matter; a key that is not in
them is let through, as the clients do themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from takeback.adapters.clients.client import ValueCheck
from takeback.errors import InputError

NAMES = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
    type(None): "null",
}
Types = Mapping[str, tuple[type, ...]]


def typed(types: Types) -> ValueCheck:
    """A check of the types at dotted places."""

    def check(value: Any) -> str | None:
        if not isinstance(value, dict):
            return f"it must be a mapping, not {_name(value)}"
        for place, allowed in types.items():
            found = _at(value, place.split("."))
            if found is not _NOTHING and not _is(found, allowed):
                wanted = " or ".join(NAMES[one] for one in allowed)
                return f"{place} must be {wanted}, not {_name(found)}"
        return None

    return check


def choices(known: Mapping[str, frozenset[str]]) -> ValueCheck:
    """A check that texts at dotted places are known ones."""

    def check(value: Any) -> str | None:
        for place, allowed in known.items():
            found = _at(value, place.split("."))
            if found is not _NOTHING and not (isinstance(found, str) and found in allowed):
                return f"{place} is {found!r}; known are {', '.join(sorted(allowed))}"
        return None

    return check


def texts_in(places: Sequence[str]) -> ValueCheck:
    """A check that lists at dotted places hold nothing but texts."""

    def check(value: Any) -> str | None:
        for place in places:
            found = _at(value, place.split("."))
            wrong = [one for one in found if not isinstance(one, str)] if isinstance(found, list) else []
            if wrong:
                return f"{place} must hold texts, not {_name(wrong[0])}"
        return None

    return check


def needed(places: Mapping[str, tuple[str, ...]]) -> ValueCheck:
    """A check that mappings, where they are there, have some keys."""

    def check(value: Any) -> str | None:
        for place, keys in places.items():
            found = _at(value, place.split("."))
            lacking = [key for key in keys if key not in found] if isinstance(found, dict) else []
            if lacking:
                return f"{place} has no {lacking[0]!r}"
        return None

    return check


def every(*checks: ValueCheck) -> ValueCheck:
    """All of some checks."""

    def check(value: Any) -> str | None:
        return next((wrong for one in checks if (wrong := one(value)) is not None), None)

    return check


def servers(place: str, *ways: str, texts: tuple[str, ...] = ()) -> ValueCheck:
    """A check that every server is a mapping with exactly one of some keys that say how it is reached."""

    def check(value: Any) -> str | None:
        found = value.get(place, {}) if isinstance(value, dict) else {}
        if not isinstance(found, dict):
            return f"{place} must be a mapping, not {_name(found)}"
        for name, server in found.items():
            if not isinstance(server, dict):
                return f"{place}.{name} must be a mapping, not {_name(server)}"
            given = [way for way in ways if way in server]
            if len(given) != 1:
                wanted = " or ".join(ways)
                return f"{place}.{name} must have {wanted}, and only one of them"
            for key in texts:
                if key in server and not isinstance(server[key], str):
                    return f"{place}.{name}.{key} must be a text, not {_name(server[key])}"
        return None

    return check


def hooks(kinds: frozenset[str] | None = None) -> ValueCheck:
    """A check that hooks are lists of groups of hooks."""

    def check(value: Any) -> str | None:
        events = value.get("hooks", {}) if isinstance(value, dict) else {}
        if not isinstance(events, dict):
            return f"hooks must be a mapping of events, not {_name(events)}"
        for event, groups in events.items():
            if event == "state":
                continue
            if not isinstance(groups, list):
                return f"hooks.{event} must be a list of groups, not {_name(groups)}"
            wrong = next((told for group in groups if (told := _group(event, group, kinds)) is not None), None)
            if wrong is not None:
                return wrong
        return None

    return check


def _group(event: str, group: Any, kinds: frozenset[str] | None) -> str | None:
    inside = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(inside, list) or not all(isinstance(one, dict) for one in inside):
        return f"each group of hooks.{event} needs a list 'hooks'"
    if "matcher" in group and not isinstance(group["matcher"], str):
        return f"the matcher of a group of hooks.{event} must be a text, not {_name(group['matcher'])}"
    for one in inside:
        if kinds is not None and one.get("type") not in kinds:
            return f"a hook of {event} has the type {one.get('type')!r}; known are {', '.join(sorted(kinds))}"
        if one.get("type") == "command" and not isinstance(one.get("command"), str):
            return f"a hook of {event} has no command"
    return None


def with_front_matter(*fields: str) -> ValueCheck:
    """A check that a Markdown text begins with front matter that has some fields."""

    def check(text: Any) -> str | None:
        from takeback.adapters.formats.front_matter import split_front_matter  # noqa: PLC0415 - reads YAML

        try:
            found = split_front_matter(text, "front matter")
        except InputError as fault:
            return f"its front matter cannot be read: {fault.message}"
        lacking = found.missing(*fields)
        return f"its front matter has no {lacking[0]!r}" if lacking else None

    return check


_IMPORT = re.compile(r"(?<![\w`@/.])@(\.?\.?/?[\w][\w./+-]*)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def at_imports(text: str) -> tuple[str, ...]:
    """Paths that a text brings in with `@path`, outside of code."""
    plain = _CODE.sub(" ", text)
    return tuple(dict.fromkeys(found.rstrip(".") for found in _IMPORT.findall(plain)))


class _Nothing:
    pass


_NOTHING = _Nothing()


def _at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            return _NOTHING
        value = value[step]
    return value


def _is(value: Any, allowed: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in allowed
    if isinstance(value, int) and float in allowed:
        return True
    return isinstance(value, allowed)


def _name(value: Any) -> str:
    return NAMES.get(type(value), type(value).__name__)
