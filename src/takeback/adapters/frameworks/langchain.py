"""LangChain 1.x: one middleware that never changes reads the harness at every call, so that the graph never changes.

A LangChain agent is a graph whose nodes are the hooks of its middleware, and a thread that was stopped in a node that
is gone loses its turn without a word. Here the graph has the nodes of `LiveMiddleware` and no others: prompt, model,
tools and the chain inside are read from the state when a node runs, so that any thread goes on after any change and
its undo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from takeback.adapters.frameworks.adapter import AgentHarness
from takeback.adapters.frameworks.catalogue import Assembly, Catalogue, Unfit
from takeback.adapters.frameworks.langchain_live import LiveMiddleware
from takeback.errors import InputError


class LangChainAssembly(Assembly):
    """Makes LangChain's tools and middleware."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue)
        self.schemas = _schemas(catalogue.middleware.values())

    def model(self, registered: Any) -> Any:
        """A chat model."""
        if not isinstance(registered, BaseChatModel):
            raise Unfit(f"a {type(registered).__name__} is registered, not a LangChain chat model")
        return registered

    def tool(self, name: str, registered: Any, record: Mapping[str, Any]) -> Any:
        """A copy of the tool with the name and description that the model is to see."""
        if not isinstance(registered, BaseTool):
            raise Unfit(f"a {type(registered).__name__} is registered, not a LangChain tool")
        if registered.return_direct:
            raise Unfit("return_direct is read when the graph is built, and cannot come and go")
        said = record.get("parameters")
        if said and said != convert_to_openai_tool(registered)["function"]["parameters"]:
            raise Unfit("its parameters are not those of the registered tool")
        return registered.model_copy(
            update={"name": name, "description": record.get("description") or registered.description}
        )

    def element(self, made: Any) -> Any:
        """A middleware whose state the graph has room for."""
        if not isinstance(made, AgentMiddleware):
            raise Unfit(f"a {type(made).__name__} is not an AgentMiddleware")
        if made.state_schema not in self.schemas:
            raise Unfit("its state was not known when the graph was built; register its class, not a function")
        if made.transformers:
            raise Unfit("its stream transformers are read when the graph is built, and cannot come and go")
        return made


class Room(AgentMiddleware):
    """Has no hook: makes room in the graph for the state of a registered middleware, in the chain or not."""

    def __init__(self, schema: type, number: int) -> None:
        super().__init__()
        self.state_schema = schema
        self._name = f"takeback.room.{number}"

    @property
    def name(self) -> str:
        """A name that no other has."""
        return self._name


def build_agent(
    harness: AgentHarness,
    *,
    checkpointer: Any,
    store: Any,
    context_schema: type | None,
    response_format: Any,
    name: str | None,
) -> Any:
    """The agent: a graph that stays as it is, whatever the harness becomes."""
    assembly = harness.assembly
    schemas = assembly.schemas if isinstance(assembly, LangChainAssembly) else ()
    live = LiveMiddleware(harness.parts)
    agent = create_agent(
        _any_model(assembly.catalogue),
        [],
        middleware=[live, *(Room(schema, number) for number, schema in enumerate(schemas))],
        checkpointer=checkpointer,
        store=store,
        context_schema=context_schema,
        response_format=response_format,
        name=name,
    )
    live.channels = agent.channels
    return agent


def _any_model(catalogue: Catalogue) -> Any:
    """A model to build the graph with; each call is made with the one that the harness says."""
    for model in catalogue.models.values():
        if isinstance(model, BaseChatModel):
            return model
    raise InputError("models", found="no chat model", expected="at least one")


def _schemas(registered: Iterable[Any]) -> tuple[type, ...]:
    own = [one.state_schema for one in registered if hasattr(one, "state_schema")]
    plain: AgentMiddleware[Any, Any, Any] = AgentMiddleware()
    return tuple(dict.fromkeys([plain.state_schema, AgentState, *own]))
