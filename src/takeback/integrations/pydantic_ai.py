"""pydantic-ai: one capability that never changes reads the harness at every step.

What a capability gives as a value (instructions, model, tools) is read once, when the agent is built, and assigning
`agent.instructions` afterwards does nothing, without a word; so everything here is given as a function. The chain is
made of capabilities too: each of their hooks is called as the chain is at that moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai import Agent, FunctionToolset, ModelRetry, Tool
from pydantic_ai.capabilities import AbstractCapability, CombinedCapability
from pydantic_ai.models import Model
from pydantic_ai.toolsets import DynamicToolset

from takeback.canonical import digest
from takeback.integrations.framework_agent import AgentHarness, AgentParts, Assembly, Unfit, require_kind

STAGES: Final = (
    *("run", "node_run", "model_request", "tool_validate", "tool_execute"),
    *("output_validate", "output_process"),
)
HOOKS: Final = {
    *("prepare_tools", "prepare_output_tools", "handle_deferred_tool_calls"),
    *(form.format(stage) for stage in STAGES for form in ("before_{}", "after_{}", "wrap_{}", "on_{}_error")),
} - {"wrap_tool_execute"}
"""What a capability of the chain may do; around the call of a tool `LiveCapability` has a hook of its own."""
FROZEN: Final = (
    "for_agent",
    "for_run",
    "get_default_conversation_id",
    "get_default_run_id",
    "get_description",
    "get_instructions",
    "get_model",
    "get_model_settings",
    "get_native_tools",
    "get_run_clock",
    "get_run_start_time",
    "get_toolset",
    "get_workspace",
    "get_wrapper_model",
    "get_wrapper_toolset",
    "resolve_model_id",
)
"""What is asked of a capability when the agent is built or a run begins, and so cannot come and go."""
MARK: Final = "takeback"
"""Marks, in a tool's metadata, the record that the tool was made for."""


class PydanticAssembly(Assembly):
    """Makes pydantic-ai's tools and capabilities."""

    def model(self, registered: Any) -> Any:
        """Return a model, or the name of one that pydantic-ai knows."""
        return require_kind(registered, Model | str, "a Model")

    def tool(self, registered: Any) -> Any:
        """Return a copy of a tool, or one made of a function."""
        if isinstance(registered, Tool):
            return copy(registered)
        return Tool(require_kind(registered, Callable, "a function or a Tool"))

    def schema(self, tool: Any) -> Any:
        """Return the JSON Schema of a tool's parameters."""
        return tool.function_schema.json_schema

    def _tool(self, name: str, record: Mapping[str, Any]) -> Any:
        tool = super()._tool(name, record)
        tool.metadata = {**(tool.metadata or {}), MARK: digest(dict(record))}
        return tool

    def element(self, made: Any) -> Any:
        """Return a capability that has only hooks."""
        if not isinstance(made, AbstractCapability):
            raise Unfit(f"a {type(made).__name__} is not a capability")
        frozen = [name for name in FROZEN if getattr(type(made), name) is not getattr(AbstractCapability, name)]
        if made.has_on_event or made.has_wrap_run_event_stream:
            frozen.append("hooks for events")
        if made.get_ordering() is not None:
            frozen.append("an ordering")
        if made.defer_loading:
            frozen.append("defer_loading")
        if frozen:
            raise Unfit(
                f"it has {', '.join(frozen)}, read when the agent is built or a run begins: "
                "give it as one of the capabilities that stay"
            )
        return made


ASSEMBLY: Final = PydanticAssembly


@dataclass
class LiveCapability(AbstractCapability[Any]):
    """Gives pydantic-ai functions that read the harness, and calls the chain's hooks."""

    read: Callable[[], AgentParts]

    def get_instructions(self) -> Any:
        """Return a function that pydantic-ai asks before every request."""
        return lambda _context: self.read().instructions

    def get_model(self) -> Any:
        """Return a function that pydantic-ai asks before every request."""
        return lambda _context: self.read().model

    def get_model_settings(self) -> Any:
        """Return a function that pydantic-ai asks before every request."""
        return lambda _context: dict(self.read().settings)

    def get_toolset(self) -> Any:
        """Return a function that pydantic-ai asks at every step."""
        return DynamicToolset(lambda _context: FunctionToolset(list(self.read().tools.values())))

    def chain(self) -> Any:
        """Return the present chain."""
        return CombinedCapability(list(self.read().chain))

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Run a tool through the chain, and only if it still is the harness's when its turn comes."""
        record = (tool_def.metadata or {}).get(MARK)
        now = self.read().tools.get(call.tool_name)
        if record is not None and (now is None or now.metadata[MARK] != record):
            raise ModelRetry(f"{call.tool_name} is not a tool now")
        return await self.chain().wrap_tool_execute(ctx, call=call, tool_def=tool_def, args=args, handler=handler)


def _make_hook(name: str) -> Callable[..., Awaitable[Any]]:
    async def call(self: LiveCapability, ctx: Any, *given: Any, **named: Any) -> Any:
        return await getattr(self.chain(), name)(ctx, *given, **named)

    return call


for _name in HOOKS:
    setattr(LiveCapability, _name, _make_hook(_name))


def build_agent(
    harness: AgentHarness, *, name: str | None, output_type: Any, deps_type: Any, capabilities: Sequence[Any]
) -> Any:
    """Build the agent, which stays the same whatever the harness becomes."""
    return Agent(
        name=name,
        output_type=output_type,
        deps_type=type(None) if deps_type is None else deps_type,
        capabilities=[LiveCapability(harness.parts), *capabilities],
    )
