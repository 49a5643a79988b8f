"""From names to things: a state names tools, middleware and models, and the host has registered what they are.

`Assembly.parts` makes of a state what an agent works with, or says what is wrong with it. What was made for a record
is kept as long as the states that follow one another say the same, so that a middleware that counts goes on counting.
A framework's module says how its own tools and middleware are made.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import Any, Final

from takeback.canonical import digest, encode
from takeback.state import State

SURFACES: Final = frozenset({"prompts", "tools", "middleware", "routing", "config"})
PROMPT: Final = "system"
ROUTE: Final = "default_model"
SETTINGS: Final = "model_settings"
TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEPT: Final = 8
"""How many states are remembered with what was made of them."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the host has registered, by name."""

    models: Mapping[str, Any]
    tools: Mapping[str, Any] = field(default_factory=dict)
    middleware: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What an agent works with, as one state says."""

    instructions: str | None
    model: Any
    settings: Mapping[str, Any]
    tools: Mapping[str, Any]
    chain: tuple[Any, ...]
    """The middleware in order."""
    rules: str
    """A digest of tools and middleware: who may ask, and what would be run."""


class Unfit(Exception):  # noqa: N818 - says what something is
    """What a state says is unavailable here; the message says why."""


AssemblyFaults = tuple[str, ...]
MadeObjects = dict[tuple[str, str, str], Any]
"""What was made, by surface, name and record."""


class Assembly(ABC):
    """Makes the parts of an agent from a state."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._made: MadeObjects = {}
        self._seen: list[tuple[State, AgentParts | None, AssemblyFaults, MadeObjects]] = []
        self._mutex = RLock()

    def parts(self, state: State, *, keep: bool = False) -> tuple[AgentParts | None, AssemblyFaults]:
        """What an agent works with, or what is wrong with the state; with `keep` it is the state from now on."""
        with self._mutex:
            found = next((entry for entry in self._seen if entry[0] is state), None)
            if found is None:
                made: MadeObjects = {}
                found = (state, *self._assembled(state, made), made)
                self._seen = [*self._seen[1 - KEPT :], found]
            if keep:
                self._made = found[3]
            return found[1], found[2]

    @abstractmethod
    def model(self, registered: Any) -> Any:
        """A registered model; `Unfit` if it is none of this framework's."""

    @abstractmethod
    def tool(self, name: str, registered: Any, record: Mapping[str, Any]) -> Any:
        """A registered tool under the name and with the description of its record."""

    @abstractmethod
    def element(self, made: Any) -> Any:
        """A middleware that was registered, or made by what was registered; `Unfit` if it cannot be one here."""

    def settings(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings of a model call."""
        return said

    def _assembled(self, state: State, made: MadeObjects) -> tuple[AgentParts | None, AssemblyFaults]:
        faults: list[str] = []

        def attempt(surface: str, name: str, said: Any, make: Callable[[], Any]) -> Any:
            key = surface, name, encode(said)
            try:
                made[key] = self._made[key] if key in self._made else make()
            except Unfit as reason:
                faults.append(f"{surface}.{name}: {reason}")
                return None
            return made[key]

        routing = state["routing"]
        models = {name: attempt("routing", name, said, partial(self._model, said)) for name, said in routing.items()}
        tools = {
            name: attempt("tools", name, record, partial(self._tool, name, record))
            for name, record in state["tools"].items()
        }
        chain = tuple(
            attempt("middleware", record["id"], record, partial(self._link, record)) for record in state["middleware"]
        )
        if routing.get(ROUTE) is None:
            faults.append(f"routing.{ROUTE}: an agent needs a model here; {self._registered('models')}")
        said = state["config"].get(SETTINGS, {})
        settings = attempt("config", SETTINGS, said, partial(self._settings, said))
        if faults:
            return None, tuple(faults)
        rules = digest({"tools": state["tools"], "middleware": state["middleware"]})
        return AgentParts(state["prompts"].get(PROMPT), models[ROUTE], settings, tools, chain, rules), ()

    def _tool(self, name: str, record: Mapping[str, Any]) -> Any:
        if not TOOL_NAME.fullmatch(name):
            raise Unfit("a model calls a tool by letters, digits, '_' and '-', at most 64")
        if "implementation" not in record:
            raise Unfit("its record is one of a client or a provider, and names no function of this process")
        registered = self._find("tools", record["implementation"] or name)
        return self.tool(name, registered, record)

    def _link(self, record: Mapping[str, Any]) -> Any:
        registered = self._find("middleware", record["handler"])
        options = record.get("options") or {}
        if callable(registered):
            try:
                made = registered(**options)
            except Exception as fault:
                raise Unfit(f"{record['handler']!r} cannot be made with {encode(options)}: {fault}") from fault
        elif options:
            raise Unfit(f"{record['handler']!r} is registered ready-made and takes no options")
        else:
            made = registered
        return self.element(made)

    def _model(self, name: str | None) -> Any:
        return None if name is None else self.model(self._find("models", name))

    def _settings(self, said: Any) -> Mapping[str, Any]:
        if not isinstance(said, dict):
            raise Unfit("settings of a model call are a mapping")
        return self.settings(said)

    def _find(self, surface: str, name: str) -> Any:
        found = getattr(self.catalogue, surface)
        if name not in found:
            raise Unfit(f"{name!r} is not registered; {self._registered(surface)}")
        return found[name]

    def _registered(self, surface: str) -> str:
        names: Iterator[str] = iter(sorted(getattr(self.catalogue, surface)))
        return f"registered {surface}: {', '.join(names) or 'none'}"
