"""The one middleware that LangChain sees: its hooks run the chain that the harness says at that moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import reduce
from typing import Any, Final, Literal

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelResponse, hook_config
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.runnables.config import run_in_executor
from langgraph.types import Command

from takeback.adapters.frameworks.catalogue import AgentParts
from takeback.adapters.frameworks.langchain_answers import under
from takeback.adapters.frameworks.langchain_updates import Updates

Answered = tuple[Any, list[Any]]
"""A model's answer, and updates of the thread that came with it."""
Asking = Callable[[Any], Answered]
AskingLater = Callable[[Any], Coroutine[Any, Any, Answered]]
EVERYWHERE: Final[list[Literal["tools", "model", "end"]]] = ["tools", "model", "end"]


class LiveMiddleware(AgentMiddleware):
    """The only middleware with hooks that LangChain sees."""

    def __init__(self, read: Callable[[], AgentParts]) -> None:
        super().__init__()
        self._read = read
        self.channels: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """Names the nodes in the graph."""
        return "takeback"

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model that the harness says, with its prompt, tools and settings, through the chain."""
        parts = self._read()

        def innermost(asked: Any) -> Answered:
            return handler(asked), []

        def around(inner: Asking, middleware: Any) -> Asking:
            def call(asked: Any) -> Answered:
                below: list[Any] = []

                def go_on(request: Any) -> Any:
                    answer, below[:] = inner(request)
                    return answer

                return _answered(middleware.wrap_model_call(asked, go_on), below)

            return call

        through: Asking = innermost
        for middleware in reversed(_overriding(parts.chain, "wrap_model_call", "awrap_model_call")):
            through = around(through, middleware)
        with under(parts.rules):
            return self._extended(request.state, *through(_asked(request, parts)))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same, awaited."""
        parts = self._read()

        async def innermost(asked: Any) -> Answered:
            return await handler(asked), []

        def around(inner: AskingLater, middleware: Any) -> AskingLater:
            async def call(asked: Any) -> Answered:
                below: list[Any] = []

                async def go_on(request: Any) -> Any:
                    answer, below[:] = await inner(request)
                    return answer

                return _answered(await middleware.awrap_model_call(asked, go_on), below)

            return call

        through: AskingLater = innermost
        for middleware in reversed(_overriding(parts.chain, "wrap_model_call", "awrap_model_call")):
            through = around(through, middleware)
        with under(parts.rules):
            return self._extended(request.state, *await through(_asked(request, parts)))

    def _extended(self, state: Any, answer: Any, written: list[Any]) -> Any:
        """An answer with what the chain wants written to the thread."""
        updates = Updates(self.channels, state)
        for update in written:
            updates.add(update)
        if not updates.out:
            return answer
        return ExtendedModelResponse(model_response=answer, command=Command(update=updates.out))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the tool that the harness says, through the chain; say so if it is none now."""
        parts = self._read()
        tool = _tools(parts).get(request.tool_call["name"])
        if tool is None:
            return _gone(request.tool_call)

        def around(inner: Callable[[Any], Any], middleware: Any) -> Callable[[Any], Any]:
            return lambda asked: middleware.wrap_tool_call(asked, inner)

        own = _overriding(parts.chain, "wrap_tool_call", "awrap_tool_call")
        with under(parts.rules):
            return reduce(around, reversed(own), handler)(request.override(tool=tool))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same, awaited."""
        parts = self._read()
        tool = _tools(parts).get(request.tool_call["name"])
        if tool is None:
            return _gone(request.tool_call)

        def around(inner: Callable[[Any], Awaitable[Any]], middleware: Any) -> Callable[[Any], Awaitable[Any]]:
            return lambda asked: middleware.awrap_tool_call(asked, inner)

        own = _overriding(parts.chain, "wrap_tool_call", "awrap_tool_call")
        with under(parts.rules):
            return await reduce(around, reversed(own), handler)(request.override(tool=tool))

    @hook_config(can_jump_to=EVERYWHERE)
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The chain's hooks of that name, in order."""
        return self._run("before_agent", state, runtime)

    @hook_config(can_jump_to=EVERYWHERE)
    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The chain's hooks of that name, in order."""
        return await self._arun("before_agent", state, runtime)

    @hook_config(can_jump_to=EVERYWHERE)
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The chain's hooks of that name, in order."""
        return self._run("before_model", state, runtime)

    @hook_config(can_jump_to=EVERYWHERE)
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The chain's hooks of that name, in order."""
        return await self._arun("before_model", state, runtime)

    @hook_config(can_jump_to=EVERYWHERE)
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The chain's hooks of that name, last first."""
        return self._run("after_model", state, runtime)

    @hook_config(can_jump_to=EVERYWHERE)
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The chain's hooks of that name, last first."""
        return await self._arun("after_model", state, runtime)

    @hook_config(can_jump_to=EVERYWHERE)
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The chain's hooks of that name, last first."""
        return self._run("after_agent", state, runtime)

    @hook_config(can_jump_to=EVERYWHERE)
    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The chain's hooks of that name, last first."""
        return await self._arun("after_agent", state, runtime)

    def _run(self, hook: str, state: Any, runtime: Any) -> dict[str, Any] | None:
        parts = self._read()
        updates = Updates(self.channels, state)
        with under(parts.rules):
            for middleware in _in_order(parts, hook):
                if not _overrides(middleware, hook):
                    reason = f"{middleware.name} has only an async {hook}: run the agent with ainvoke"
                    raise NotImplementedError(reason)  # as LangChain itself says it of such a middleware
                if updates.add(getattr(middleware, hook)(updates.seen, runtime)):
                    break
        return updates.out or None

    async def _arun(self, hook: str, state: Any, runtime: Any) -> dict[str, Any] | None:
        parts = self._read()
        updates = Updates(self.channels, state)
        with under(parts.rules):
            for middleware in _in_order(parts, hook):
                if _overrides(middleware, f"a{hook}"):
                    told = await getattr(middleware, f"a{hook}")(updates.seen, runtime)
                else:
                    told = await run_in_executor(None, getattr(middleware, hook), updates.seen, runtime)
                if updates.add(told):
                    break
        return updates.out or None


def _asked(request: Any, parts: AgentParts) -> Any:
    system = None if parts.instructions is None else SystemMessage(parts.instructions)
    settings = {**request.model_settings, **parts.settings}
    tools = list(_tools(parts).values())
    return request.override(model=parts.model, system_message=system, tools=tools, model_settings=settings)


def _tools(parts: AgentParts) -> dict[str, Any]:
    """The tools of the state, and those that middleware of the chain brings along."""
    brought = {tool.name: tool for middleware in parts.chain for tool in getattr(middleware, "tools", ())}
    return {**brought, **parts.tools}


def _gone(call: Mapping[str, Any]) -> Any:
    name = call["name"]
    return ToolMessage(f"{name} is not a tool now", name=name, tool_call_id=call["id"], status="error")


def _overrides(middleware: Any, hook: str) -> bool:
    return getattr(type(middleware), hook) is not getattr(AgentMiddleware, hook)


def _overriding(chain: Iterable[Any], *hooks: str) -> list[Any]:
    return [middleware for middleware in chain if any(_overrides(middleware, hook) for hook in hooks)]


def _in_order(parts: AgentParts, hook: str) -> list[Any]:
    own = _overriding(parts.chain, hook, f"a{hook}")
    return own[::-1] if hook.startswith("after") else own


def _answered(answer: Any, below: list[Any]) -> Answered:
    """An answer as the next middleware outwards sees it, and what is to be written to the thread besides."""
    if isinstance(answer, ExtendedModelResponse):
        own = [] if answer.command is None else [answer.command.update]
        return answer.model_response, [*below, *own]
    return ModelResponse(result=[answer]) if isinstance(answer, AIMessage) else answer, below
