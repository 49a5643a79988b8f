"""A document's value as parts of surfaces, and back; and the names of things: `[client:][scope:]key`.

`divide_value` returns what each surface has of a document; `join_document` makes the document's value of it again.
Both go by the document's rules; what no rule takes, or what a surface cannot hold, is config. The first
client of a directory has bare names, further ones a prefix. A scope tells documents of one client apart:
`local:permissions.allow`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from takeback.adapters.clients.client import ANY, DocumentRule, Documents, Effect, Steps
from takeback.adapters.formats.document import MISSING, look_up
from takeback.errors import InputError
from takeback.state import SURFACES
from takeback.state.values import MAX_NAME, thaw


def build_prefix(*parts: str) -> str:
    """Return the prefix made of these parts."""
    return "".join(f"{part}:" for part in parts if part)


def find_longest_prefix(key: str, prefixes: Iterable[str]) -> str | None:
    """Return the longest of these prefixes that a name has; None if it has none."""
    return max((prefix for prefix in prefixes if key.startswith(prefix)), key=len, default=None)


def is_usable_name(name: Any) -> bool:
    """Return whether a text can be a name."""
    return (
        isinstance(name, str)
        and 0 < len(name) <= MAX_NAME
        and not any(ord(char) < 32 or ord(char) == 127 for char in name)  # noqa: PLR2004  (ASCII)
    )


def fill_template(template: str, name: str) -> str:
    """Return a template filled with the name of a document."""
    return template.replace("{}", name)


COMMENTS: Final = (b"#", b"//", b"/*")
"""What begins a comment in some format of documents."""


@dataclass(slots=True)
class Contents:
    """What a document holds, by surface: plain values under their names."""

    config: dict[str, Any] = field(default_factory=dict)
    routing: dict[str, str] = field(default_factory=dict)
    tools: dict[str, Any] = field(default_factory=dict)
    listeners: dict[str, list[Any]] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)


class BoundDocument:
    """One document of a client in a directory. `name` is what stands for `*` in its path."""

    def __init__(self, documents: Documents, path: str, *, client: str = "", name: str = "") -> None:
        self.documents = documents
        self.path = path
        self._client = client
        self._name = name
        self._scope = fill_template(documents.scope, name)

    def prefix(self, surface: str) -> str:
        """Return the prefix of the names that a surface has in this document."""
        if surface == "prompts":
            return build_prefix(self._client)
        scope = next((rule.scope for rule in self._rules(surface) if rule.scope is not None), self._scope)
        return build_prefix(self._client, fill_template(scope, self._name))

    @property
    def keeps_books(self) -> bool:
        """Whether the client keeps something of its own in this document."""
        return any(rule.what == "bookkeeping" for rule in self.documents.rules)

    def stores(self, surface: str) -> bool:
        """Return whether this document can hold values of a surface."""
        return surface == "config" or any(True for _ in self._rules(surface))

    def holds(self, surface: str, key: str) -> bool:
        """Return whether this document would hold the value under a name with its prefix."""
        rest = key.removeprefix(self.prefix(surface))
        rules = list(self._rules(surface))
        if surface == "routing":
            return any(_is_match(rule.at, tuple(rest.split("."))) for rule in rules)
        if surface == "tools":
            return any(rest.startswith(rule.name) for rule in rules)
        if surface == "prompts":
            return any(self._text_place(rule, rest) is not None for rule in rules)
        return surface == "config" or bool(rules)

    def effect(self, surface: str, path: Sequence[str]) -> Effect:
        """Return when the client notices a change of a value in this document."""
        if surface in {"tools", "listeners"}:
            first = next((rule.at[0] for rule in self._rules(surface)), "")
        else:
            first = path[0].removeprefix(self.prefix(surface)).split(".")[0]
        return self.documents.effects.get(first, self.documents.effect)

    def _rules(self, surface: str) -> Iterator[DocumentRule]:
        return (rule for rule in self.documents.rules if _SURFACE.get(rule.what) == surface)

    def divide_value(self, value: dict[str, Any], where: str, known: Any = None) -> Contents:
        """Return what each surface has of a document's value; `known` is the config as it is known.

        A mapping that is empty apart from what is not config counts as config only if it is known as config.
        """
        contents = Contents()
        rest = _copy_value(value)
        for rule in self.documents.rules:
            for at in list(_find_paths(rest, rule.at)):
                self._take(rule, at, rest, contents)
        start = self.prefix("config")
        for rule in self.documents.rules:
            for at in list(_find_paths(value, rule.at)):
                for above in (at[:size] for size in range(len(at) - 1, 0, -1)):
                    left = look_up(known or {}, (start + above[0], *above[1:]))
                    if left == {} and look_up(rest, above) is MISSING:
                        _put_value(rest, above, {})
        for key, item in rest.items():
            if not is_usable_name(start + key):
                raise InputError(where, found=f"the key {key[:40]!r}", expected="keys without control characters")
            contents.config[start + key] = item
        return contents

    def _take(self, rule: DocumentRule, at: Steps, rest: dict[str, Any], contents: Contents) -> None:
        present = look_up(rest, at)
        match rule.what:
            case "bookkeeping":
                _remove_value(rest, at)
            case "model" if is_usable_name(present) and not any("." in step for step in at):
                contents.routing[self.prefix("routing") + ".".join(at)] = present
                _remove_value(rest, at)
            case "text" if isinstance(present, str) and self._text_place(rule, self._text_name(rule, at)) == at:
                contents.prompts[self.prefix("prompts") + self._text_name(rule, at)] = present
                _remove_value(rest, at)
            case "ordered" if isinstance(present, dict):
                _put_value(rest, at, [[key, item] for key, item in present.items()])
            case "servers" if isinstance(present, dict):
                start = self.prefix("tools") + rule.name
                for name in [name for name in present if _is_tool(start + name, present[name])]:
                    contents.tools[start + name] = present.pop(name)
                if not present:
                    _remove_value(rest, at)
            case "hooks" if isinstance(present, dict):
                start = self.prefix("listeners")
                for event in [event for event in present if _is_event(start + event, present[event])]:
                    groups = present.pop(event)
                    contents.listeners |= {start + event: groups} if groups else {}
                if not present:
                    _remove_value(rest, at)

    def _text_name(self, rule: DocumentRule, at: Steps) -> str:
        """Return the name of the text at a place; a step that was any takes the star's place in it."""
        name = fill_template(rule.name, self._name)
        for step, known in zip(at, rule.at, strict=True):
            name = name.replace(ANY, step, 1) if known == ANY else name
        return name

    def _text_place(self, rule: DocumentRule, name: str) -> Steps | None:
        """Return the place of the text with a name; None if it is none of the rule's."""
        parts = [re.escape(part) for part in fill_template(rule.name, self._name).split(ANY)]
        match = re.fullmatch("(.+?)".join(parts), name)
        if match is None or not is_usable_name(name):
            return None
        steps = iter(match.groups())
        return tuple(next(steps) if step == ANY else step for step in rule.at)

    def is_bare(self, content: bytes, where: str) -> bool:
        """Return whether a document is empty, without even a comment."""
        if any(mark in content for mark in COMMENTS):
            return False
        try:
            value = self.documents.open(content, where).value
        except InputError:
            return False
        return is_hollow(normalize_value(value, self.documents.rules))

    def join_document(self, contents: Contents, kept: dict[str, Any]) -> dict[str, Any]:
        """Return the document's value; bookkeeping and empty containers of `kept`, the present value, stay."""
        start = self.prefix("config")
        value: dict[str, Any] = {key.removeprefix(start): _copy_value(item) for key, item in contents.config.items()}
        for rule in self.documents.rules:
            self._put_in(rule, value, contents, kept)
        return value

    def find_hidden_key(self, contents: Contents, joined: dict[str, Any]) -> str:
        """Return the first config key that would not be read as config again; empty if there is none."""
        start = self.prefix("config")
        config = self.divide_value(joined, "", contents.config).config
        wanted = (key for key, item in contents.config.items() if config.get(key, MISSING) != item and item != {})
        return next((key.removeprefix(start) for key in wanted), "")

    def suggest_surface(self, key: str, joined: dict[str, Any]) -> str:
        """Return the one-line change for a key of the document that is not config."""
        contents = self.divide_value({key: joined[key]} if key in joined else {}, "")
        values = {
            "routing": contents.routing,
            "tool": contents.tools,
            "listener": contents.listeners,
            "prompt": contents.prompts,
        }
        lines = (f"'takeback set {thing} {name} VALUE'" for thing, named in values.items() for name in named)
        line = next(lines, "")
        return f"{line} sets it" if line else "'takeback help things' shows how to name a thing"

    def list_routing_names(self) -> tuple[str, ...]:
        """Return the names of the routes that this document can hold; `*` stands for any step."""
        start = self.prefix("routing")
        return tuple(start + ".".join(rule.at) for rule in self._rules("routing"))

    def _put_in(self, rule: DocumentRule, value: dict[str, Any], contents: Contents, kept: dict[str, Any]) -> None:
        match rule.what:
            case "bookkeeping":
                for at in _find_paths(kept, rule.at):
                    _put_value(value, at, look_up(kept, at))
            case "model":
                start = self.prefix("routing")
                for key, model in contents.routing.items():
                    at = tuple(key.removeprefix(start).split("."))
                    if _is_match(rule.at, at):
                        _put_value(value, at, model)
            case "text":
                self._put_texts(rule, value, contents.prompts)
            case "ordered":
                for at in list(_find_paths(value, rule.at)):
                    pairs = look_up(value, at)
                    if _are_pairs(pairs):
                        _put_value(value, at, {pair[0]: pair[1] for pair in pairs})
            case "servers" | "hooks":
                self._put_members(rule, value, contents, kept)

    def _put_texts(self, rule: DocumentRule, value: dict[str, Any], prompts: dict[str, str]) -> None:
        start = self.prefix("prompts")
        for key, text in prompts.items():
            place = self._text_place(rule, key.removeprefix(start))
            if place is not None:
                _put_value(value, place, text)

    def _put_members(
        self, rule: DocumentRule, value: dict[str, Any], contents: Contents, kept: dict[str, Any]
    ) -> None:
        """Put in servers, or events that have any hooks."""
        if rule.what == "servers":
            start = self.prefix("tools") + rule.name
            members = {key.removeprefix(start): tool for key, tool in contents.tools.items()}
        else:
            start = self.prefix("listeners")
            members = {key.removeprefix(start): groups for key, groups in contents.listeners.items() if groups}
        there = look_up(value, rule.at)
        empty = look_up(kept, rule.at)
        if members or isinstance(empty, dict):
            _put_value(value, rule.at, {**(there if isinstance(there, dict) else {}), **members})


_SURFACE = {"model": "routing", "servers": "tools", "hooks": "listeners", "text": "prompts"}


def normalize_value(value: Any, rules: tuple[DocumentRule, ...]) -> Any:
    """Return a value by its meaning: no bookkeeping, no empty containers, ordered mappings as pairs."""
    rest = _copy_value(value)
    for rule in rules:
        for at in list(_find_paths(rest, rule.at)):
            present = look_up(rest, at)
            if rule.what == "bookkeeping":
                _remove_value(rest, at)
            elif rule.what == "ordered" and isinstance(present, dict):
                _put_value(rest, at, [[key, item] for key, item in present.items()])
            elif rule.what == "hooks" and isinstance(present, dict):
                for event in [event for event, groups in present.items() if groups == []]:
                    del present[event]
            if rule.what in {"servers", "hooks"} and present == {}:
                _remove_value(rest, at)
    return rest


def require_mapping(value: Any, where: str) -> dict[str, Any]:
    """Return a document's value if it is a mapping; raise `InputError` where it is not."""
    if not isinstance(value, dict):
        raise InputError(where, found=value, expected="settings: a mapping")
    return value


def is_hollow(value: Any) -> bool:
    """Return whether a value is a mapping that holds only mappings of the same kind."""
    return isinstance(value, dict) and all(map(is_hollow, value.values()))


def find_ordered_mappings(value: Any, rules: tuple[DocumentRule, ...]) -> Iterator[Steps]:
    """Yield the paths of mappings whose order counts."""
    for rule in rules:
        if rule.what == "ordered":
            yield from (at for at in _find_paths(value, rule.at) if isinstance(look_up(value, at), dict))


def _is_tool(key: str, raw: Any) -> bool:
    if not isinstance(raw, dict) or not is_usable_name(key):
        return False
    try:
        tools = SURFACES["tools"].read({key: raw}, "server")
    except InputError:
        return False
    return bool(thaw(tools[key]) == raw)


def _is_event(key: str, raw: Any) -> bool:
    return is_usable_name(key) and isinstance(raw, list) and all(isinstance(group, dict) for group in raw)


def _are_pairs(raw: Any) -> bool:
    pair = 2
    if not isinstance(raw, list) or not all(isinstance(item, list) and len(item) == pair for item in raw):
        return False
    keys = [pair[0] for pair in raw]
    return all(isinstance(key, str) for key in keys) and len(set(keys)) == len(keys)


def _is_match(pattern: Steps, at: Steps) -> bool:
    return len(pattern) == len(at) and all(wanted in {ANY, key} for wanted, key in zip(pattern, at, strict=True))


def _find_paths(value: Any, pattern: Steps, above: Steps = ()) -> Iterator[Steps]:
    if not pattern:
        yield above
    elif isinstance(value, dict):
        for key in list(value) if pattern[0] == ANY else [pattern[0]]:
            if key in value:
                yield from _find_paths(value[key], pattern[1:], (*above, key))


def _copy_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy_value(item) for key, item in value.items()}
    return [_copy_value(item) for item in value] if isinstance(value, list) else value


def _put_value(value: dict[str, Any], at: Steps, new: Any) -> None:
    for step in at[:-1]:
        below = value.get(step)
        if not isinstance(below, dict):
            below = value[step] = {}
        value = below
    value[at[-1]] = new


def _remove_value(value: dict[str, Any], at: Steps) -> None:
    """Remove the value at a path, and the mappings above it that become empty."""
    above = look_up(value, at[:-1])
    del above[at[-1]]
    if not above and at[:-1]:
        _remove_value(value, at[:-1])


__all__ = ["MISSING", "BoundDocument", "Contents", "normalize_value"]
