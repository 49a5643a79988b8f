"""Middleware of a LangChain agent come and go: order, updates, state of their own, tools they bring."""

from __future__ import annotations

import asyncio
import operator
from functools import partial
from typing import Annotated, NotRequired

import pytest

pytest.importorskip("langchain", reason="langchain is not installed: pip install 'takeback[langchain]'")

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    TodoListMiddleware,
    before_model,
    hook_config,
)
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command
from tests.support.langchain_world import THREAD, World, ask, middleware, once


class Counting(AgentState):
    count: NotRequired[Annotated[int, operator.add]]


class Count(AgentMiddleware):
    """Has a state of its own, merged by a rule of its own."""

    state_schema = Counting

    def __init__(self, by=1):
        super().__init__()
        self.by = by

    def before_model(self, state, runtime):
        return {"count": self.by}

    def wrap_model_call(self, request, handler):
        answer = handler(request)
        return ExtendedModelResponse(model_response=answer, command=Command(update={"count": 10 * self.by}))

    async def awrap_model_call(self, request, handler):
        answer = await handler(request)
        return ExtendedModelResponse(model_response=answer, command=Command(update={"count": 10 * self.by}))


def test_stateful_middleware_can_be_added_and_undone_and_updates_add_up(run):
    world = World(middleware={"count": Count})
    one = world.apply(middleware("one", "count"))
    world.apply(middleware("two", "count", {"by": 2}))
    run(world.agent, ask("hi"))
    assert world.agent.get_state(THREAD).values["count"] == 33
    world.undo(one)
    run(world.agent, ask("hi"))
    assert world.agent.get_state(THREAD).values["count"] == 33 + 22


class Twice(AgentMiddleware):
    """Asks the model a second time, as one that retries does."""

    def wrap_model_call(self, request, handler):
        handler(request)
        return handler(request)

    async def awrap_model_call(self, request, handler):
        await handler(request)
        return await handler(request)


def test_updates_of_a_repeated_model_call_are_dropped(run):
    world = World(middleware={"count": Count, "twice": Twice})
    world.apply(middleware("twice", "twice"), middleware("count", "count"))
    run(world.agent, ask("hi"))
    assert len(world.seen) == 2
    assert world.agent.get_state(THREAD).values["count"] == 11


class Note(AgentMiddleware):
    """Notes when each of its hooks runs; only the sync half of node hooks."""

    def __init__(self, log, name):
        super().__init__()
        self.log, self.label = log, name

    def before_agent(self, state, runtime):
        self.log.append(f"{self.label} agent")

    def before_model(self, state, runtime):
        self.log.append(f"{self.label} before {len(state['messages'])}")
        return {"messages": [HumanMessage(self.label)]}

    def after_model(self, state, runtime):
        self.log.append(f"{self.label} after")

    def wrap_model_call(self, request, handler):
        self.log.append(f"{self.label} (")
        return handler(request)

    async def awrap_model_call(self, request, handler):
        return self.wrap_model_call(request, lambda _: None) or await handler(request)

    def after_agent(self, state, runtime):
        self.log.append(f"{self.label} end")


@before_model
def greet(state, runtime):
    return {"messages": [HumanMessage("greetings")]}


def test_a_middleware_is_registered_ready_made_or_as_anything_that_makes_one(run):
    log = []
    world = World(middleware={"greet": greet, "note": partial(Note, log)})
    world.apply(middleware("g", "greet"), middleware("n", "note", {"name": "n"}))
    out = run(world.agent, ask("hi"))
    assert [message.content for message in out["messages"][:3]] == ["hi", "greetings", "n"]
    assert "n before 2" in log


def test_hooks_run_in_chain_order_and_see_earlier_updates(run):
    log = []
    world = World(middleware={"note": lambda name: Note(log, name)})
    world.apply(middleware("a", "note", {"name": "a"}), middleware("b", "note", {"name": "b"}))
    world.apply(middleware("c", "note", {"name": "c"}, index=0))
    out = run(world.agent, ask("hi"))
    assert log == [
        *("c agent", "a agent", "b agent"),
        *("c before 1", "a before 2", "b before 3"),
        *("c (", "a (", "b ("),
        *("b after", "a after", "c after"),
        *("b end", "a end", "c end"),
    ]
    assert [message.content for message in out["messages"][:4]] == ["hi", "c", "a", "b"]


class Stop(AgentMiddleware):
    @hook_config(can_jump_to=["end"])
    def before_model(self, state, runtime):
        return {"messages": [AIMessage("closed")], "jump_to": "end"}


def test_a_jumping_middleware_skips_the_rest_of_the_chain(run):
    log = []
    world = World(middleware={"stop": Stop, "note": lambda: Note(log, "n")})
    entry = world.apply(middleware("stop", "stop"), middleware("note", "note"))
    out = run(world.agent, ask("hi"))
    assert [message.content for message in out["messages"]] == ["hi", "closed"]
    assert "n before 1" not in log
    world.undo(entry)
    assert run(world.agent, ask("hi"))["messages"][-1].content == "small says P0"


def test_a_limit_keeps_counting_while_other_middleware_change(run):
    world = World()
    world.apply(middleware("limit", "limit", {"thread_limit": 2, "exit_behavior": "end"}))
    kept = world.harness.parts().chain[0]
    run(world.agent, ask("one"))
    entry = world.apply(middleware("gate", "asked", {"hook": "none"}))
    run(world.agent, ask("two"))
    world.undo(entry)
    assert world.harness.parts().chain == (kept,)
    out = run(world.agent, ask("three"))
    assert "limit" in out["messages"][-1].content


def test_a_middleware_brings_its_own_tools_while_it_is_in_the_chain(run):
    world = World(middleware={"todo": TodoListMiddleware})
    entry = world.apply(middleware("todo", "todo"))
    world.play(once("write_todos", todos=[{"content": "x", "status": "pending"}]))
    out = run(world.agent, ask("go"))
    assert out["todos"] == [{"content": "x", "status": "pending"}]
    assert world.seen[0][2] == ["write_todos", "add"]
    world.undo(entry)
    out = run(world.agent, ask("go"))
    assert out["messages"][-2].content == "write_todos is not a tool now"


def test_a_sync_run_says_that_a_middleware_is_async_only():
    class Later(AgentMiddleware):
        async def abefore_model(self, state, runtime):
            return None

    world = World(middleware={"later": Later})
    world.apply(middleware("later", "later"))
    with pytest.raises(NotImplementedError, match="has only an async before_model"):
        world.agent.invoke(ask("hi"), THREAD)
    assert asyncio.run(world.agent.ainvoke(ask("hi"), THREAD))["messages"][-1].content == "small says P0"
