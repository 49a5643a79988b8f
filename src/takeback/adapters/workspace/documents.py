"""The surfaces that live in one TOML file each: config, routing, middleware, listeners.

Reading gives the surface's value; writing edits the text so that comments and formatting of everything that
did not change stay. In `routing.toml` a model that is explicitly disabled (null) is `false`. In
`middleware.toml` and `listeners.toml` the order of the tables is the order of the chain.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from typing import Any

import tomlkit

from takeback.adapters.formats.tomltext import drop_path, edit_tables, edit_text, from_toml, set_path
from takeback.adapters.workspace.manifest import parse_toml
from takeback.errors import InputError
from takeback.state import ABSENT, SURFACES, PMap
from takeback.state.chain import Chain
from takeback.state.values import thaw

DEFAULTS = {"priority": 100, "options": {}}


class Document(ABC):
    """How one surface is kept in a TOML file."""

    surface: str
    heading: str
    """What a fresh file says about itself."""

    def read(self, text: str, where: str, known: Any) -> Any:
        """The surface's value; elements that `known` has keep their places."""
        raw = {key: from_toml(item, f"{where}: {key}") for key, item in parse_toml(text, where).items()}
        surface = SURFACES[self.surface]
        return surface.placed(surface.read(self.decode(raw, where), where), known)

    def write(self, text: str, before: Any, after: Any, where: str) -> str:
        """The text edited from one value to another."""

        def right(edited: str) -> bool:
            found = self.read(edited, where, after)
            return next(SURFACES[self.surface].differing(found, after), None) is None

        return edit_text(text, lambda old: self.edit(old, before, after), self.encode(after), right, where)

    def decode(self, raw: dict[str, Any], where: str) -> Any:
        """The surface's JSON from what the file holds."""
        del where
        return raw

    @abstractmethod
    def encode(self, value: Any) -> dict[str, Any]:
        """What the file should hold."""

    @abstractmethod
    def edit(self, text: str, before: Any, after: Any) -> str:
        """The text with only what differs changed."""


class ConfigDocument(Document):
    """Nested tables."""

    surface = "config"
    heading = "# Settings of the agent.\n"

    def encode(self, value: PMap) -> dict[str, Any]:
        """The mappings as they are."""
        plain: dict[str, Any] = thaw(value)
        return plain

    def edit(self, text: str, before: PMap, after: PMap) -> str:
        """Set and remove only what differs."""
        document = tomlkit.parse(text)
        surface = SURFACES["config"]
        for path in sorted(surface.differing(before, after)):
            content = surface.get_slot(after, path)
            if content is ABSENT:
                drop_path(document, path)
            else:
                set_path(document, path, thaw(content))
        return tomlkit.dumps(document)


class RoutingDocument(Document):
    """Key = model, or `false` for one that is explicitly disabled."""

    surface = "routing"
    heading = "# Which model serves what. A key set to false is explicitly disabled.\n"

    def decode(self, raw: dict[str, Any], where: str) -> Any:
        """False is null."""
        for key, value in raw.items():
            if value is True:
                raise InputError(f"{where}: {key}", found=True, expected="a model's name, or false to disable it")
        return {key: None if value is False else value for key, value in raw.items()}

    def encode(self, value: PMap) -> dict[str, Any]:
        """Null is false."""
        return {key: False if model is None else model for key, model in value.items()}

    def edit(self, text: str, before: PMap, after: PMap) -> str:
        """Set and remove only what differs."""
        document = tomlkit.parse(text)
        for (key,) in SURFACES["routing"].differing(before, after):
            if key in after:
                set_path(document, (key,), False if after[key] is None else after[key])
            else:
                drop_path(document, (key,))
        return tomlkit.dumps(document)


class MiddlewareDocument(Document):
    """`[[middleware]]` tables in the order of the chain."""

    surface = "middleware"
    heading = "# The middleware chain: the first [[middleware]] runs first.\n"

    def decode(self, raw: dict[str, Any], where: str) -> Any:
        """The tables, in order."""
        _only(raw, "middleware", where)
        return raw.get("middleware", [])

    def encode(self, value: Chain) -> dict[str, Any]:
        """Records without what is the default anyway."""
        return {"middleware": [_brief(link.record) for link in value]} if len(value) else {}

    def edit(self, text: str, before: Chain, after: Chain) -> str:
        """Put the tables in order, with their comments; update those that changed."""
        del before
        spelled = {table["id"]: table for table in tomllib.loads(text).get("middleware", [])}
        records = [_brief(link.record, spelled.get(link.id)) for link in after]
        return edit_tables(text, "middleware", records, lambda table: table["id"])


class ListenersDocument(Document):
    """`[[listener]]` tables; those of one event are in the order of its callbacks."""

    surface = "listeners"
    heading = "# Callbacks by event: the [[listener]] tables of one event run in the order they stand in.\n"

    def decode(self, raw: dict[str, Any], where: str) -> Any:
        """Callbacks by event."""
        _only(raw, "listener", where)
        events: dict[str, list[Any]] = {}
        for at, table in enumerate(raw.get("listener", [])):
            if not isinstance(table, dict) or not isinstance(table.get("event"), str):
                raise InputError(f"{where}: listener[{at}]", found=table, expected="a table with an event")
            record = {key: value for key, value in table.items() if key != "event"}
            events.setdefault(table["event"], []).append(record)
        return events

    def encode(self, value: PMap) -> dict[str, Any]:
        """Events in order of name, callbacks in their order."""
        tables = [{"event": event, **_brief(link.record)} for event in sorted(value) for link in value[event]]
        return {"listener": tables} if tables else {}

    def edit(self, text: str, before: PMap, after: PMap) -> str:
        """Put the tables of each event in order; events stay in the order they first appear in."""
        del before
        spelled = {_pair(table): table for table in tomllib.loads(text).get("listener", [])}
        events = dict.fromkeys((*(event for event, _ in spelled), *sorted(after)))
        records = [
            {"event": event, **_brief(link.record, spelled.get((event, link.id)))}
            for event in events
            if event in after
            for link in after[event]
        ]
        return edit_tables(text, "listener", records, _pair)


def _pair(table: dict[str, Any]) -> tuple[str, str]:
    return table["event"], table["id"]


DOCUMENTS: tuple[Document, ...] = (ConfigDocument(), RoutingDocument(), MiddlewareDocument(), ListenersDocument())


def _brief(record: PMap, table: Any = None) -> dict[str, Any]:
    """A record without defaults, except those that the table it stands in spells out."""
    plain: dict[str, Any] = thaw(record)
    spelled = table or ()
    return {
        key: value for key, value in plain.items() if key in spelled or key not in DEFAULTS or value != DEFAULTS[key]
    }


def _only(raw: dict[str, Any], name: str, where: str) -> None:
    other = next((key for key in raw if key != name), None)
    if other is not None:
        raise InputError(f"{where}: {other}", found=f"the key {other!r}", expected=f"only [[{name}]] tables")
    if not isinstance(raw.get(name, []), list):
        raise InputError(f"{where}: {name}", found=raw[name], expected=f"[[{name}]] tables")
