"""A harness over a framework's agent: from the names in a state to what the host has registered.

What the host registers (`models`, `tools`, `middleware`) is code and has names; the state refers to those
names, and a change that names anything else is refused. The agent reads the state at every call, so `write`
has nothing to do. What was made for a record is kept while the states that follow say the same. An empty
journal begins with `state`. A framework is imported only when its harness is opened.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from os import PathLike
from threading import RLock
from types import ModuleType
from typing import Any, Final

from takeback.canonical import digest, encode
from takeback.errors import HarnessError, InputError, MissingExtraError
from takeback.harness.adapter import Reading
from takeback.harness.engine import LOCK_SECONDS
from takeback.harness.harness import Harness, Verifier
from takeback.journal import Store, open_journal
from takeback.state import State
from takeback.state.slots import Slot
from takeback.state.surface import install_surfaces
from takeback.verify import verify

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


def require_kind(registered: Any, kind: Any, expected: str) -> Any:
    """Return what is registered if it is of a kind; raise `Unfit` otherwise."""
    if not isinstance(registered, kind):
        raise Unfit(f"a {type(registered).__name__} is registered, not {expected}")
    return registered


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
        """Return an agent's parts, or the faults of the state; with `keep`, keep them as the present ones."""
        with self._mutex:
            assembled = next((entry for entry in self._seen if entry[0] is state), None)
            if assembled is None:
                made: MadeObjects = {}
                assembled = (state, *self._assemble_parts(state, made), made)
                self._seen = [*self._seen[1 - KEPT :], assembled]
            if keep:
                self._made = assembled[3]
            return assembled[1], assembled[2]

    @abstractmethod
    def model(self, registered: Any) -> Any:
        """Return a registered model; raise `Unfit` if it is not one of this framework's."""

    @abstractmethod
    def tool(self, registered: Any) -> Any:
        """Return a copy of a registered tool, which gets the name and description of its record."""

    @abstractmethod
    def schema(self, tool: Any) -> Any:
        """Return the JSON Schema of a tool's parameters."""

    @abstractmethod
    def element(self, made: Any) -> Any:
        """Return a registered middleware, or one made by what was registered; raise `Unfit` otherwise."""

    def settings(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of a model call."""
        return said

    def _assemble_parts(self, state: State, made: MadeObjects) -> tuple[AgentParts | None, AssemblyFaults]:
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
            faults.append(f"routing.{ROUTE}: an agent needs a model here; {self._list_registered('models')}")
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
        tool = self.tool(self._find("tools", record["implementation"] or name))
        said = record.get("parameters")
        if said and said != self.schema(tool):
            raise Unfit("its parameters are not those of the registered tool")
        tool.name, tool.description = name, record.get("description") or tool.description
        return tool

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
        value = getattr(self.catalogue, surface)
        if name not in value:
            raise Unfit(f"{name!r} is not registered; {self._list_registered(surface)}")
        return value[name]

    def _list_registered(self, surface: str) -> str:
        names: Iterator[str] = iter(sorted(getattr(self.catalogue, surface)))
        return f"registered {surface}: {', '.join(names) or 'none'}"


class FrameworkAdapter:
    """An agent in this process, of the framework `name`; `assembly` makes of the state what the agent works with."""

    surfaces = SURFACES

    def __init__(self, name: str, assembly: Assembly) -> None:
        self.name = name
        self._known = State()
        self.assembly = assembly

    def read(self, known: State) -> Reading:
        """Return the journal's state: nothing else could have changed it."""
        self._known = known
        return Reading(known)

    def write(self, before: State, after: State) -> None:
        """Do nothing: the next call reads the state anew."""
        del before, after

    def effect(self, slot: Slot) -> str:
        """Return when a change is seen: by the next call."""
        del slot
        return "live"

    def prepare(self, before: State, after: State) -> str | None:
        """Return why a change cannot be made: it names something not registered, or something that does not fit."""
        _, there = self.assembly.parts(before)
        _, faults = self.assembly.parts(after)
        new = [fault for fault in faults if fault not in there]
        return "; ".join(new) or None

    def hold(self, state: State) -> None:
        """Keep what was made for a state, and let go of what was made for others."""
        self._known = state
        self.assembly.parts(state, keep=True)

    def problems(self) -> tuple[str, ...]:
        """Return what the state names but this process has not registered."""
        return self.assembly.parts(self._known)[1]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class AgentHarness(Harness):
    """A harness whose things are the parts of one agent; `agent` is the framework's own object, to be run as ever."""

    agent: Any

    def __init__(self, adapter: FrameworkAdapter, journal: Store, *, start: State, verifier: Verifier) -> None:
        self.assembly = adapter.assembly
        if journal.head() is None:
            for fault in self.assembly.parts(start)[1]:
                raise InputError("state", found=fault, expected="only what is registered")
        about = {"identity": f"framework:{adapter.name}"}
        super().__init__(adapter, journal, verifier=verifier, start=start, about=about)

    def parts(self) -> AgentParts:
        """Return the agent's present parts, with other processes' changes; raise `HarnessError` if one is missing."""
        with self.journal.lock(LOCK_SECONDS):
            self.ledger.refresh()
            state = self.state
        parts, faults = self.assembly.parts(state, keep=True)
        if parts is None:
            raise HarnessError(
                f"the agent cannot run: {'; '.join(faults)}",
                hint="register what is missing, or undo the change that names it",
            )
        return parts


Registered = Mapping[str, Any]
NOTHING: Registered = {}


def open_langchain(
    state: State | Mapping[str, Any],
    *,
    models: Registered,
    tools: Registered = NOTHING,
    middleware: Registered = NOTHING,
    journal: str | PathLike[str] = ":memory:",
    checkpointer: Any = None,
    store: Any = None,
    context_schema: type | None = None,
    response_format: Any = None,
    name: str | None = None,
    verifier: Verifier = verify,
) -> AgentHarness:
    """Open a harness over a LangChain 1.x agent; `agent` is the compiled graph.

    Tools and chat models are LangChain's own. A middleware is registered as an `AgentMiddleware`, or as a class
    or function that makes one from its options.
    """
    options = {
        "checkpointer": checkpointer,
        "store": store,
        "context_schema": context_schema,
        "response_format": response_format,
        "name": name,
    }
    return _open_agent("langchain", Catalogue(models, tools, middleware), options, state, journal, verifier)


def open_openai_agents(
    state: State | Mapping[str, Any],
    *,
    models: Registered,
    tools: Registered = NOTHING,
    middleware: Registered = NOTHING,
    journal: str | PathLike[str] = ":memory:",
    name: str = "agent",
    handoffs: Sequence[Any] = (),
    output_type: Any = None,
    verifier: Verifier = verify,
) -> AgentHarness:
    """Open a harness over an agent of the OpenAI Agents SDK; `agent` is an `Agent`, run with `Runner`.

    Tools are `FunctionTool`s, models are `Model`s. A middleware is a `Middleware` of
    `takeback.integrations.openai_agents`, or a class or function that makes one from its options.
    """
    options = {"name": name, "handoffs": handoffs, "output_type": output_type}
    return _open_agent("openai-agents", Catalogue(models, tools, middleware), options, state, journal, verifier)


def open_pydantic_ai(
    state: State | Mapping[str, Any],
    *,
    models: Registered,
    tools: Registered = NOTHING,
    middleware: Registered = NOTHING,
    journal: str | PathLike[str] = ":memory:",
    name: str | None = None,
    output_type: Any = str,
    deps_type: Any = None,
    capabilities: Sequence[Any] = (),
    verifier: Verifier = verify,
) -> AgentHarness:
    """Open a harness over a pydantic-ai agent; `agent` is an `Agent`. Tools are functions or `Tool`s.

    A middleware is a capability with hooks, or a class or function that makes one from its options;
    `capabilities` are those that stay as they are.
    """
    options = {"name": name, "output_type": output_type, "deps_type": deps_type, "capabilities": capabilities}
    return _open_agent("pydantic-ai", Catalogue(models, tools, middleware), options, state, journal, verifier)


def _import_framework(extra: str) -> ModuleType:
    try:
        return import_module(f"takeback.integrations.{extra.replace('-', '_')}")
    except ModuleNotFoundError as fault:
        if (fault.name or "").startswith("takeback"):
            raise
        raise MissingExtraError(
            f"{fault.name} is not installed", hint=f"install it with: pip install 'takeback[{extra}]'"
        ) from fault


def _open_agent(
    name: str,
    catalogue: Catalogue,
    options: Mapping[str, Any],
    state: State | Mapping[str, Any],
    journal: str | PathLike[str],
    verifier: Verifier,
) -> AgentHarness:
    """Open a harness over an agent that the framework's module builds with these options."""
    framework = _import_framework(name)
    assembly = framework.ASSEMBLY(catalogue)
    install_surfaces()
    start = state if isinstance(state, State) else State.read(dict(state))
    store = open_journal(journal)
    try:
        harness = AgentHarness(FrameworkAdapter(name, assembly), store, start=start, verifier=verifier)
        harness.agent = framework.build_agent(harness, **options)
    except BaseException:
        store.close()
        raise
    return harness
