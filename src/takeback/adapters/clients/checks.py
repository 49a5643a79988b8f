"""What clients demand of their documents: a wrong type makes them drop a whole file, or not start at all.

A check says what is wrong in one sentence, or nothing. The tables hold what was seen to matter; a key that is not in
them is let through, as the clients do themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from takeback.adapters.clients.client import ValueCheck
from takeback.adapters.formats.document import MISSING, look_up
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
Types = Mapping[type | tuple[type, ...], str]
"""Dotted places between spaces, by the type that is demanded there, or by several."""


def spread_types(types: Types) -> dict[str, tuple[type, ...]]:
    """Return the types that are allowed at each place."""
    return {
        place: kinds if isinstance(kinds, tuple) else (kinds,)
        for kinds, places in types.items()
        for place in places.split()
    }


def check_types(types: Types) -> ValueCheck:
    """Return a check of the types at dotted places."""
    allowed_at = spread_types(types)

    def check(value: Any) -> str | None:
        if not isinstance(value, dict):
            return f"it must be a mapping, not {_name_type(value)}"
        for place, allowed in allowed_at.items():
            item = _look_up(value, place)
            if item is not MISSING and not _is_of_type(item, allowed):
                wanted = " or ".join(NAMES[name] for name in allowed)
                return f"{place} must be {wanted}, not {_name_type(item)}"
        return None

    return check


def check_choices(known: Mapping[str, frozenset[str]]) -> ValueCheck:
    """Return a check that texts at dotted paths have known values."""

    def check(value: Any) -> str | None:
        for place, allowed in known.items():
            item = _look_up(value, place)
            if item is not MISSING and not (isinstance(item, str) and item in allowed):
                return f"{place} is {item!r}; known are {', '.join(sorted(allowed))}"
        return None

    return check


def check_text_lists(places: Sequence[str]) -> ValueCheck:
    """Return a check that lists at dotted paths hold only texts."""

    def check(value: Any) -> str | None:
        for place in places:
            items = _look_up(value, place)
            wrong = [text for text in items if not isinstance(text, str)] if isinstance(items, list) else []
            if wrong:
                return f"{place} must hold texts, not {_name_type(wrong[0])}"
        return None

    return check


def check_needed_keys(places: Mapping[str, tuple[str, ...]]) -> ValueCheck:
    """Return a check that mappings, where present, have certain keys."""

    def check(value: Any) -> str | None:
        for place, keys in places.items():
            item = _look_up(value, place)
            lacking = [key for key in keys if key not in item] if isinstance(item, dict) else []
            if lacking:
                return f"{place} has no {lacking[0]!r}"
        return None

    return check


def combine_checks(*checks: ValueCheck) -> ValueCheck:
    """Return one check that runs several."""

    def check(value: Any) -> str | None:
        return next((wrong for inner in checks if (wrong := inner(value)) is not None), None)

    return check


def check_servers(place: str, *ways: str, texts: tuple[str, ...] = ()) -> ValueCheck:
    """Return a check that every server is a mapping with exactly one key that says how to reach it."""

    def check(value: Any) -> str | None:
        servers = value.get(place, {}) if isinstance(value, dict) else {}
        if not isinstance(servers, dict):
            return f"{place} must be a mapping, not {_name_type(servers)}"
        for name, server in servers.items():
            if not isinstance(server, dict):
                return f"{place}.{name} must be a mapping, not {_name_type(server)}"
            given = [way for way in ways if way in server]
            if len(given) != 1:
                wanted = " or ".join(ways)
                return f"{place}.{name} must have {wanted}, and only one of them"
            for key in texts:
                if key in server and not isinstance(server[key], str):
                    return f"{place}.{name}.{key} must be a text, not {_name_type(server[key])}"
        return None

    return check


def check_hooks(kinds: frozenset[str] | None = None) -> ValueCheck:
    """Return a check that hooks are lists of groups of hooks."""

    def check(value: Any) -> str | None:
        events = value.get("hooks", {}) if isinstance(value, dict) else {}
        if not isinstance(events, dict):
            return f"hooks must be a mapping of events, not {_name_type(events)}"
        for event, groups in events.items():
            if event == "state":
                continue
            if not isinstance(groups, list):
                return f"hooks.{event} must be a list of groups, not {_name_type(groups)}"
            wrong = next(
                (problem for group in groups if (problem := _check_group(event, group, kinds)) is not None), None
            )
            if wrong is not None:
                return wrong
        return None

    return check


def _check_group(event: str, group: Any, kinds: frozenset[str] | None) -> str | None:
    inside = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(inside, list) or not all(isinstance(hook, dict) for hook in inside):
        return f"each group of hooks.{event} needs a list 'hooks'"
    if "matcher" in group and not isinstance(group["matcher"], str):
        return f"the matcher of a group of hooks.{event} must be a text, not {_name_type(group['matcher'])}"
    for hook in inside:
        if kinds is not None and hook.get("type") not in kinds:
            return f"a hook of {event} has the type {hook.get('type')!r}; known are {', '.join(sorted(kinds))}"
        if hook.get("type") == "command" and not isinstance(hook.get("command"), str):
            return f"a hook of {event} has no command"
    return None


RUNNING: tuple[str, ...] = ("command", "bash", "powershell", "url", "prompt")
"""Keys by which a hook without a group says what it does."""


def check_flat_hooks(*, version: int | None = None) -> ValueCheck:
    """Return a check that hooks are lists of hooks, each by itself or in a group; with `version`, of that version."""

    def check(value: Any) -> str | None:
        events = value.get("hooks", {}) if isinstance(value, dict) else {}
        if version is not None and isinstance(value, dict) and value.get("version", version) != version:
            return f"version must be {version}, not {value['version']!r}"
        if not isinstance(events, dict):
            return f"hooks must be a mapping of events, not {_name_type(events)}"
        for event, hooks in events.items():
            if not isinstance(hooks, list) or not all(isinstance(flat, dict) for flat in hooks):
                return f"hooks.{event} must be a list of hooks"
            for hook in hooks:
                wrong = _check_group(event, hook, None) if "hooks" in hook else _check_flat_hook(event, hook)
                if wrong is not None:
                    return wrong
        return None

    return check


def _check_flat_hook(event: str, hook: dict[str, Any]) -> str | None:
    given = [key for key in RUNNING if key in hook]
    if not given:
        return f"a hook of {event} has none of {', '.join(RUNNING)}"
    wrong = next((key for key in given if not isinstance(hook[key], str)), None)
    return None if wrong is None else f"{wrong} of a hook of {event} must be a text, not {_name_type(hook[wrong])}"


def check_front_matter(*fields: str) -> ValueCheck:
    """Return a check that a Markdown text begins with front matter that has some fields."""

    def check(text: Any) -> str | None:
        from takeback.adapters.formats.front_matter import parse_front_matter  # noqa: PLC0415 - reads YAML

        try:
            parsed = parse_front_matter(text, "front matter")
        except InputError as fault:
            return f"its front matter cannot be read: {fault.message}"
        lacking = parsed.missing(*fields)
        return f"its front matter has no {lacking[0]!r}" if lacking else None

    return check


_IMPORT = re.compile(r"(?<![\w`@/.])@(\.?\.?/?[\w][\w./+-]*)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def find_at_imports(text: str) -> tuple[str, ...]:
    """Return the paths that a text imports with `@path`, outside of code."""
    plain = _CODE.sub(" ", text)
    return tuple(dict.fromkeys(path.rstrip(".") for path in _IMPORT.findall(plain)))


def list_members(value: Any, place: str) -> Iterable[tuple[Any, Any]]:
    """Return the members of a mapping, or the numbered items of a list, at a dotted place; none of anything else."""
    item = _look_up(value, place)
    return item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()


def list_texts(value: Any, place: str) -> tuple[str, ...]:
    """Return the texts of the list at a dotted place, or the one text that stands there."""
    item = _look_up(value, place)
    items = [item] if isinstance(item, str) else item if isinstance(item, list) else []
    return tuple(text for text in items if isinstance(text, str))


def _look_up(value: Any, place: str) -> Any:
    return look_up(value, tuple(place.split(".")))


def _is_of_type(value: Any, allowed: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in allowed
    if isinstance(value, int) and float in allowed:
        return True
    return isinstance(value, allowed)


def _name_type(value: Any) -> str:
    return NAMES.get(type(value), type(value).__name__)
