"""Opens a harness over an agent of a framework; the framework is imported here and not before.

What the host registers (`models`, `tools`, `middleware`) is code and has names; the state refers to those names. An
empty journal begins with `state`; one that was begun before says itself how things are. Everything else about the
agent stays as it is given here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import Any

from takeback.adapters.frameworks.adapter import AgentHarness, FrameworkAdapter
from takeback.adapters.frameworks.catalogue import Assembly, Catalogue
from takeback.errors import MissingExtraError
from takeback.harness.harness import Verifier
from takeback.journal import open_journal
from takeback.state import State
from takeback.state.installed import install_surfaces
from takeback.verify import verify

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
    """A harness over a LangChain 1.x agent; `agent` is the compiled graph. Tools and chat models are LangChain's own.

    A middleware is registered as an `AgentMiddleware`, or as a class or function that makes one from its options.
    """
    made = _framework("langchain", "langchain")
    catalogue = Catalogue(models, tools, middleware)

    def build(harness: AgentHarness) -> Any:
        return made.build_agent(
            harness,
            checkpointer=checkpointer,
            store=store,
            context_schema=context_schema,
            response_format=response_format,
            name=name,
        )

    return _opened("langchain", made.LangChainAssembly(catalogue), build, state, journal, verifier)


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
    """A harness over an agent of the OpenAI Agents SDK; `agent` is an `Agent`, run with `Runner` as ever.

    Tools are `FunctionTool`s, models are `Model`s. A middleware is a `Middleware` of
    `takeback.adapters.frameworks.openai_agents`, or a class or function that makes one from its options.
    """
    made = _framework("openai_agents", "openai-agents")
    assembly = made.AgentsAssembly(Catalogue(models, tools, middleware))

    def build(harness: AgentHarness) -> Any:
        return made.build_agent(harness, name=name, handoffs=handoffs, output_type=output_type)

    return _opened("openai-agents", assembly, build, state, journal, verifier)


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
    """A harness over a pydantic-ai agent; `agent` is an `Agent`. Tools are functions or `Tool`s.

    A middleware is a capability with hooks, or a class or function that makes one from its options; `capabilities`
    are those that stay as they are.
    """
    made = _framework("pydantic_ai", "pydantic-ai")
    assembly = made.PydanticAssembly(Catalogue(models, tools, middleware))

    def build(harness: AgentHarness) -> Any:
        return made.build_agent(
            harness, name=name, output_type=output_type, deps_type=deps_type, capabilities=capabilities
        )

    return _opened("pydantic-ai", assembly, build, state, journal, verifier)


def _framework(module: str, extra: str) -> ModuleType:
    try:
        return import_module(f"takeback.adapters.frameworks.{module}")
    except ModuleNotFoundError as fault:
        if (fault.name or "").startswith("takeback"):
            raise
        raise MissingExtraError(
            f"{fault.name} is not installed", hint=f"install it with: pip install 'takeback[{extra}]'"
        ) from fault


def _opened(
    name: str,
    assembly: Assembly,
    build: Callable[[AgentHarness], Any],
    state: State | Mapping[str, Any],
    journal: str | PathLike[str],
    verifier: Verifier,
) -> AgentHarness:
    install_surfaces()
    start = state if isinstance(state, State) else State.read(dict(state))
    store = open_journal(journal)
    try:
        harness = AgentHarness(FrameworkAdapter(name, assembly), store, start=start, verifier=verifier)
        harness.agent = build(harness)
    except BaseException:
        store.close()
        raise
    return harness
