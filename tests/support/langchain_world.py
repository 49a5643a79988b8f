"""One LangChain agent with everything that can be registered, and short ways to change it."""

from __future__ import annotations

from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
)
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool as as_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from tests.support.changes import candidate
from tests.support.scripted_chat import ScriptedChat, call

from takeback import Applied, Undone, open_langchain

THREAD = {"configurable": {"thread_id": "1"}}
START = {
    "prompts": {"system": "P0"},
    "routing": {"default_model": "small"},
    "tools": {"add": {"implementation": "add"}},
}


@as_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@as_tool
def mul(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


def tool(name, **record):
    return {"op_type": "register_tool", "target": name, "value": {"id": name, **record}}


def middleware(name, handler, options=None, **spot):
    value = {"handler": handler, "options": options or {}}
    return {"op_type": "add_middleware", "target": name, "value": value, **spot}


def ask(text):
    return {"messages": [HumanMessage(text)]}


def questions(out):
    return [one.value for one in out["__interrupt__"]]


class Ask(AgentMiddleware):
    """Stops the thread with a question in whichever hook it is told to."""

    def __init__(self, question="sure?", hook="before_model", log=None):
        super().__init__()
        self.question, self.hook, self.log = question, hook, [] if log is None else log

    def _stop(self, hook):
        if hook == self.hook:
            self.log.append((self.question, interrupt(self.question)))

    def before_model(self, state, runtime):
        self._stop("before_model")

    def after_model(self, state, runtime):
        self._stop("after_model")

    def wrap_model_call(self, request, handler):
        self._stop("wrap_model_call")
        return handler(request)

    async def awrap_model_call(self, request, handler):
        self._stop("wrap_model_call")
        return await handler(request)

    def wrap_tool_call(self, request, handler):
        self._stop("wrap_tool_call")
        return handler(request)

    async def awrap_tool_call(self, request, handler):
        self._stop("wrap_tool_call")
        return await handler(request)


class World:
    """One agent with everything that can be registered."""

    def __init__(self, state=START, **more):
        self.seen, self.log = [], []
        models = {name: ScriptedChat(label=name, seen=self.seen) for name in ("small", "large")}
        self.models = models
        given = {"ask": Ask, "hitl": HumanInTheLoopMiddleware, "limit": ModelCallLimitMiddleware}
        middleware = {**given, "asked": lambda **options: Ask(**options, log=self.log), **more.pop("middleware", {})}
        tools = {"add": add, "mul": mul, **more.pop("tools", {})}
        more.setdefault("checkpointer", InMemorySaver())
        self.harness = open_langchain(state, models=models, tools=tools, middleware=middleware, **more)
        self.agent = self.harness.agent

    def play(self, script):
        for model in self.models.values():
            model.play = script

    def apply(self, *ops):
        done = self.harness.apply(candidate(*ops))
        assert isinstance(done, Applied), done
        return done.entry.id

    def undo(self, entry):
        assert isinstance(self.harness.undo(entry), Undone)


def once(name, **arguments):
    """A script that calls a tool first and then answers."""

    def play(messages):
        return call(name, len(messages), **arguments) if isinstance(messages[-1], HumanMessage) else None

    return play
