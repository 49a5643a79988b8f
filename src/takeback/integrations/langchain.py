"""LangChain 1.x: one constant middleware reads the harness at every call, so that the graph stays the same.

A LangChain agent is a graph whose nodes are the hooks of its middleware, and a thread that was stopped in a
node that is gone loses its turn without a word. Here the graph has only the nodes of `LiveMiddleware`:
prompt, model, tools and the chain inside are read from the state when a node runs. LangGraph hands out
answers of one step by position, so the first position in a step's list is kept for the rules it runs under:
where these changed, answers are dropped, and whoever still needs one asks again. Updates of several
middleware are merged by the rules of LangGraph's channels.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any, Final, Literal

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelResponse, hook_config
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.channels import BinaryOperatorAggregate
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Overwrite, interrupt

from takeback.errors import InputError
from takeback.integrations.framework_agent import AgentHarness, AgentParts, Assembly, Catalogue, Unfit, require_kind

PAD: Final = "__pregel_scratchpad"
SEND: Final = "__pregel_send"
RESUME: Final = "__resume__"
"""Names that `langgraph.types.interrupt` works with."""
TOLD: Final = "told:"
UNUSED: Final = (
    "the answer was not used: tools or middleware have changed since the question was asked; "
    "resume with anything to go on as things are now"
)


@contextmanager
def guard_answers(rules: str) -> Iterator[None]:
    """Run what may ask; answers count only if the rules are those the questions were asked under."""
    within: dict[str, Any] = get_config()["configurable"]
    pad = within[PAD]
    pad.interrupt_counter()
    if not pad.resume:
        pad.resume.append(rules)
    elif pad.resume[0] not in (rules, TOLD + rules):
        answers = [*pad.resume[1:], pad.get_null_resume(True)]
        pad.resume[:] = [rules if answers == [None] else TOLD + rules]
    try:
        if pad.resume[0] == TOLD + rules:
            interrupt(UNUSED)
        yield
    except GraphInterrupt:
        within[SEND]([(RESUME, list(pad.resume))])
        raise


JUMP = "jump_to"


class Updates:
    """The updates of one node, folded: `seen` is the thread's state with them, `out` what the node returns."""

    def __init__(self, channels: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self._channels = channels
        self.seen = dict(state)
        self.out: dict[str, Any] = {}

    def add(self, update: Mapping[str, Any] | None) -> bool:
        """Take in what one middleware returned; whether it jumps, so that those after it do not run."""
        for key, value in (update or {}).items():
            again = key in self.out
            merges = isinstance(self._channels.get(key), BinaryOperatorAggregate)
            self.seen[key] = self._merge_value(key, value) if merges else value
            self.out[key] = Overwrite(self.seen[key]) if merges and again else value
        return bool(self.out.get(JUMP))

    def _merge_value(self, key: str, value: Any) -> Any:
        empty = self._channels[key]
        channel = empty.from_checkpoint(self.seen[key]) if key in self.seen else empty.copy()
        channel.update([value])
        return channel.get()


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

                return _build_answer(middleware.wrap_model_call(asked, go_on), below)

            return call

        through: Asking = innermost
        for middleware in reversed(_select_overriding(parts.chain, "wrap_model_call", "awrap_model_call")):
            through = around(through, middleware)
        with guard_answers(parts.rules):
            return self._extend_answer(request.state, *through(_build_request(request, parts)))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the same, awaited."""
        parts = self._read()

        async def innermost(asked: Any) -> Answered:
            return await handler(asked), []

        def around(inner: AskingLater, middleware: Any) -> AskingLater:
            async def call(asked: Any) -> Answered:
                below: list[Any] = []

                async def go_on(request: Any) -> Any:
                    answer, below[:] = await inner(request)
                    return answer

                return _build_answer(await middleware.awrap_model_call(asked, go_on), below)

            return call

        through: AskingLater = innermost
        for middleware in reversed(_select_overriding(parts.chain, "wrap_model_call", "awrap_model_call")):
            through = around(through, middleware)
        with guard_answers(parts.rules):
            return self._extend_answer(request.state, *await through(_build_request(request, parts)))

    def _extend_answer(self, state: Any, answer: Any, written: list[Any]) -> Any:
        updates = Updates(self.channels, state)
        for update in written:
            updates.add(update)
        if not updates.out:
            return answer
        return ExtendedModelResponse(model_response=answer, command=Command(update=updates.out))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the tool that the harness says, through the chain; say so if it is none now."""
        parts = self._read()
        tool = _collect_tools(parts).get(request.tool_call["name"])
        if tool is None:
            return _report_missing_tool(request.tool_call)

        def around(inner: Callable[[Any], Any], middleware: Any) -> Callable[[Any], Any]:
            return lambda asked: middleware.wrap_tool_call(asked, inner)

        own = _select_overriding(parts.chain, "wrap_tool_call", "awrap_tool_call")
        with guard_answers(parts.rules):
            return reduce(around, reversed(own), handler)(request.override(tool=tool))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the same, awaited."""
        parts = self._read()
        tool = _collect_tools(parts).get(request.tool_call["name"])
        if tool is None:
            return _report_missing_tool(request.tool_call)

        def around(inner: Callable[[Any], Awaitable[Any]], middleware: Any) -> Callable[[Any], Awaitable[Any]]:
            return lambda asked: middleware.awrap_tool_call(asked, inner)

        own = _select_overriding(parts.chain, "wrap_tool_call", "awrap_tool_call")
        with guard_answers(parts.rules):
            return await reduce(around, reversed(own), handler)(request.override(tool=tool))

    def _run(self, hook: str, state: Any, runtime: Any) -> dict[str, Any] | None:
        parts = self._read()
        updates = Updates(self.channels, state)
        with guard_answers(parts.rules):
            for middleware in _order_chain(parts, hook):
                if not _has_override(middleware, hook):
                    reason = f"{middleware.name} has only an async {hook}: run the agent with ainvoke"
                    raise NotImplementedError(reason)  # as LangChain itself says it of such a middleware
                if updates.add(getattr(middleware, hook)(updates.seen, runtime)):
                    break
        return updates.out or None

    async def _arun(self, hook: str, state: Any, runtime: Any) -> dict[str, Any] | None:
        parts = self._read()
        updates = Updates(self.channels, state)
        with guard_answers(parts.rules):
            for middleware in _order_chain(parts, hook):
                if _has_override(middleware, f"a{hook}"):
                    update = await getattr(middleware, f"a{hook}")(updates.seen, runtime)
                else:
                    update = await run_in_executor(None, getattr(middleware, hook), updates.seen, runtime)
                if updates.add(update):
                    break
        return updates.out or None


def _make_hooks(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the hook of a name and the awaited one, which run the chain's hooks of that name."""

    def run(self: LiveMiddleware, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._run(name, state, runtime)

    async def run_later(self: LiveMiddleware, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await self._arun(name, state, runtime)

    return hook_config(can_jump_to=EVERYWHERE)(run), hook_config(can_jump_to=EVERYWHERE)(run_later)


for _name in ("before_agent", "before_model", "after_model", "after_agent"):
    for _prefix, _hook in zip(("", "a"), _make_hooks(_name), strict=True):
        setattr(LiveMiddleware, _prefix + _name, _hook)


def _build_request(request: Any, parts: AgentParts) -> Any:
    system = None if parts.instructions is None else SystemMessage(parts.instructions)
    settings = {**request.model_settings, **parts.settings}
    tools = list(_collect_tools(parts).values())
    return request.override(model=parts.model, system_message=system, tools=tools, model_settings=settings)


def _collect_tools(parts: AgentParts) -> dict[str, Any]:
    brought = {tool.name: tool for middleware in parts.chain for tool in getattr(middleware, "tools", ())}
    return {**brought, **parts.tools}


def _report_missing_tool(call: Mapping[str, Any]) -> Any:
    name = call["name"]
    return ToolMessage(f"{name} is not a tool now", name=name, tool_call_id=call["id"], status="error")


def _has_override(middleware: Any, hook: str) -> bool:
    return getattr(type(middleware), hook) is not getattr(AgentMiddleware, hook)


def _select_overriding(chain: Iterable[Any], *hooks: str) -> list[Any]:
    return [middleware for middleware in chain if any(_has_override(middleware, hook) for hook in hooks)]


def _order_chain(parts: AgentParts, hook: str) -> list[Any]:
    own = _select_overriding(parts.chain, hook, f"a{hook}")
    return own[::-1] if hook.startswith("after") else own


def _build_answer(answer: Any, below: list[Any]) -> Answered:
    """Return an answer as the next outer middleware sees it, and the updates for the thread."""
    if isinstance(answer, ExtendedModelResponse):
        own = [] if answer.command is None else [answer.command.update]
        return answer.model_response, [*below, *own]
    return ModelResponse(result=[answer]) if isinstance(answer, AIMessage) else answer, below


class LangChainAssembly(Assembly):
    """Makes LangChain's tools and middleware."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue)
        self.schemas = _list_schemas(catalogue.middleware.values())

    def model(self, registered: Any) -> Any:
        """Return a chat model."""
        return require_kind(registered, BaseChatModel, "a LangChain chat model")

    def tool(self, registered: Any) -> Any:
        """Return a copy of a tool."""
        if require_kind(registered, BaseTool, "a LangChain tool").return_direct:
            raise Unfit("return_direct is read when the graph is built, and cannot come and go")
        return registered.model_copy()

    def schema(self, tool: Any) -> Any:
        """Return the JSON Schema of a tool's parameters."""
        return convert_to_openai_tool(tool)["function"]["parameters"]

    def element(self, made: Any) -> Any:
        """Return a middleware whose state fits into the graph."""
        if not isinstance(made, AgentMiddleware):
            raise Unfit(f"a {type(made).__name__} is not an AgentMiddleware")
        if made.state_schema not in self.schemas:
            raise Unfit("its state was not known when the graph was built; register its class, not a function")
        if made.transformers:
            raise Unfit("its stream transformers are read when the graph is built, and cannot come and go")
        return made


ASSEMBLY: Final = LangChainAssembly


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
    """Build the agent: a graph that stays the same whatever the harness becomes."""
    assembly = harness.assembly
    schemas = assembly.schemas if isinstance(assembly, LangChainAssembly) else ()
    live = LiveMiddleware(harness.parts)
    agent = create_agent(
        _pick_model(assembly.catalogue),
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


def _pick_model(catalogue: Catalogue) -> Any:
    """Return any model to build the graph with; each call uses the harness's model."""
    for model in catalogue.models.values():
        if isinstance(model, BaseChatModel):
            return model
    raise InputError("models", found="no chat model", expected="at least one")


def _list_schemas(registered: Iterable[Any]) -> tuple[type, ...]:
    own = [middleware.state_schema for middleware in registered if hasattr(middleware, "state_schema")]
    plain: AgentMiddleware[Any, Any, Any] = AgentMiddleware()
    return tuple(dict.fromkeys([plain.state_schema, AgentState, *own]))
