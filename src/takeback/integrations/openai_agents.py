"""The OpenAI Agents SDK: instructions, tools and model of one constant agent ask the harness at every turn.

The SDK has no middleware, so there is a small one here: it sees each call of the model before it is made, and goes
around each call of a tool. Guardrails of the SDK stand in the same chain; the agent has those that are in it when the
SDK asks. `Agent.tools` itself is never assigned: the SDK stops other runs under way if it is.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from agents import Agent, FunctionTool, InputGuardrail, Model, ModelSettings, OutputGuardrail
from agents.tool_context import ToolContext

from takeback.integrations.framework_agent import AgentHarness, AgentParts, Assembly, Unfit, require_kind

_OF_THE_CHAIN = "_takeback_of_the_chain"
SETTINGS = frozenset(field.name for field in dataclasses.fields(ModelSettings))


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What a model is about to be asked."""

    instructions: str | None
    input: Any
    """A text, or a list of items as the Responses API has them."""
    settings: ModelSettings
    tools: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that is about to be run."""

    name: str
    arguments: str
    """As JSON text."""
    context: ToolContext[Any]


Handler = Callable[[ToolCall], Awaitable[Any]]


class Middleware:
    """Sees what goes to the model and to tools; each method may be overridden. To refuse a call, raise."""

    async def before_model(self, call: ModelCall) -> ModelCall:
        """Return the call that is to be made."""
        return call

    async def around_tool(self, call: ToolCall, handler: Handler) -> Any:
        """Return the tool's answer; `handler` runs the tool."""
        return await handler(call)


class AgentsAssembly(Assembly):
    """Makes the SDK's tools, and middleware."""

    def model(self, registered: Any) -> Any:
        """Return a model of the SDK."""
        return require_kind(registered, Model, "a Model of the SDK")

    def tool(self, registered: Any) -> Any:
        """Return a copy of a tool."""
        return copy(require_kind(registered, FunctionTool, "a FunctionTool"))

    def schema(self, tool: Any) -> Any:
        """Return the JSON Schema of a tool's parameters."""
        return tool.params_json_schema

    def element(self, made: Any) -> Any:
        """Return a middleware of this module, or a guardrail of the SDK."""
        if not isinstance(made, Middleware | InputGuardrail | OutputGuardrail):
            raise Unfit(
                f"a {type(made).__name__} is neither a Middleware of takeback.integrations.openai_agents "
                "nor a guardrail of the SDK"
            )
        return made

    def settings(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings that the SDK knows."""
        unknown = sorted(said.keys() - SETTINGS)
        if unknown:
            raise Unfit(f"the SDK has no setting {', '.join(unknown)}; settings: {', '.join(sorted(SETTINGS))}")
        try:
            ModelSettings(**said)
        except Exception as fault:
            raise Unfit(f"the SDK does not take these settings: {fault}") from fault
        return said


ASSEMBLY: Final = AgentsAssembly


class LiveModel(Model):
    """Stands for whichever model the harness says, through the chain."""

    def __init__(self, read: Callable[[], AgentParts]) -> None:
        self._read = read

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the SDK's name
        model_settings: ModelSettings,
        tools: list[Any],
        *others: Any,
        **more: Any,
    ) -> Any:
        """Ask the model."""
        parts = self._read()
        call = await _run_chain(parts, ModelCall(system_instructions, input, model_settings, tuple(tools)))
        return await parts.model.get_response(*_build_arguments(call), *others, **more)

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the SDK's name
        model_settings: ModelSettings,
        tools: list[Any],
        *others: Any,
        **more: Any,
    ) -> AsyncIterator[Any]:
        """Ask the model, and hand on its events."""
        parts = self._read()
        call = await _run_chain(parts, ModelCall(system_instructions, input, model_settings, tuple(tools)))
        async for event in parts.model.stream_response(*_build_arguments(call), *others, **more):
            yield event

    def get_retry_advice(self, request: Any) -> Any:
        """Return the model's own retry advice."""
        return self._read().model.get_retry_advice(request)


@dataclass
class LiveAgent(Agent[Any]):
    """An agent whose tools are those that the harness says when a turn begins."""

    harness: AgentHarness | None = None

    async def get_all_tools(self, run_context: Any) -> list[Any]:
        """Return the tools of servers and the enabled tools of the harness."""
        others = await super().get_all_tools(run_context)
        if self.harness is None:
            return list(others)
        read = self.harness.parts
        own = [tool for tool in read().tools.values() if await _is_enabled(tool, run_context, self)]
        return [*others, *(_wrap_tool(tool, read) for tool in own)]


class Guardrails:
    """Guardrails of one kind: those that an agent was given, and those in the chain at the moment."""

    def __init__(self, kind: type, name: str) -> None:
        self._kind = kind
        self._given = f"_given_{name}"

    def __get__(self, agent: Any, owner: type | None = None) -> Any:
        """Return both kinds, for the SDK, which asks when a run begins or ends."""
        return self if agent is None else [*getattr(agent, self._given, ()), *self._live(agent)]

    def __set__(self, agent: Any, given: Sequence[Any]) -> None:
        """Set the guardrails an agent is made with; a copy gets those of the chain too, and drops them here."""
        setattr(
            agent, self._given, [guardrail for guardrail in given if not getattr(guardrail, _OF_THE_CHAIN, False)]
        )

    def _live(self, agent: Any) -> list[Any]:
        harness = getattr(agent, "harness", None)
        guardrails = (
            []
            if harness is None
            else [copy(guardrail) for guardrail in harness.parts().chain if isinstance(guardrail, self._kind)]
        )
        for guardrail in guardrails:
            setattr(guardrail, _OF_THE_CHAIN, True)
        return guardrails


LiveAgent.input_guardrails = Guardrails(InputGuardrail, "input")  # type: ignore[assignment, misc]
LiveAgent.output_guardrails = Guardrails(OutputGuardrail, "output")  # type: ignore[assignment, misc]


def build_agent(harness: AgentHarness, *, name: str, handoffs: Sequence[Any], output_type: Any) -> Any:
    """Build the agent, which stays the same whatever the harness becomes."""
    return LiveAgent(
        name=name,
        instructions=lambda _context, _agent: harness.parts().instructions or "",
        model=LiveModel(harness.parts),
        handoffs=list(handoffs),
        output_type=output_type,
        harness=harness,
    )


async def _run_chain(parts: AgentParts, call: ModelCall) -> ModelCall:
    settings = call.settings.resolve(ModelSettings(**parts.settings))
    call = dataclasses.replace(call, settings=settings)
    for middleware in _select_middleware(parts):
        call = await middleware.before_model(call)
    return call


def _select_middleware(parts: AgentParts) -> list[Middleware]:
    return [middleware for middleware in parts.chain if isinstance(middleware, Middleware)]


def _build_arguments(call: ModelCall) -> tuple[Any, ...]:
    return call.instructions, call.input, call.settings, list(call.tools)


async def _is_enabled(tool: Any, context: Any, agent: Any) -> bool:
    answer = tool.is_enabled if isinstance(tool.is_enabled, bool) else tool.is_enabled(context, agent)
    return bool(await answer if inspect.isawaitable(answer) else answer)


def _wrap_tool(tool: FunctionTool, read: Callable[[], AgentParts]) -> Any:
    """Return the tool, run through the chain, and only while it still belongs to the harness."""

    async def run(context: ToolContext[Any], arguments: str) -> Any:
        parts = read()
        if parts.tools.get(tool.name) is not tool:
            return f"{tool.name} is not a tool now"

        async def itself(call: ToolCall) -> Any:
            return await tool.on_invoke_tool(call.context, call.arguments)

        def around(inner: Handler, middleware: Any) -> Handler:
            return lambda call: middleware.around_tool(call, inner)

        innermost: Handler = itself
        return await reduce(around, reversed(_select_middleware(parts)), innermost)(
            ToolCall(tool.name, arguments, context)
        )

    watched = copy(tool)
    watched.on_invoke_tool = run
    return watched
