"""LangChain threads that were stopped go on after a change and its undo, and answers reach only those who asked."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.changes import prompt

pytest.importorskip("langchain", reason="langchain is not installed: pip install 'takeback[langchain]'")

from langchain.agents.middleware import (
    AgentMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt
from tests.support.langchain_world import THREAD, Ask, World, ask, middleware, once, questions, tool
from tests.support.scripted_chat import ScriptedChat

from takeback.integrations.langchain import UNUSED


@pytest.mark.parametrize("hook", ["before_model", "after_model", "wrap_model_call", "wrap_tool_call"])
def test_a_thread_stopped_in_an_undone_middleware_resumes_with_an_answer(run, hook):
    world = World()
    world.play(once("add", a=1, b=2))
    entry = world.apply(middleware("gate", "ask", {"hook": hook}))
    stopped = run(world.agent, ask("go"))
    assert questions(stopped) == ["sure?"]
    world.undo(entry)
    told = run(world.agent, Command(resume="yes"))
    assert questions(told) == [UNUSED]
    out = run(world.agent, Command(resume="go on"))
    assert out["messages"][-2].content == "3"
    assert out["messages"][-1].content == "small says P0"
    assert world.agent.get_state(THREAD).next == ()


@pytest.mark.parametrize("hook", ["before_model", "after_model", "wrap_model_call", "wrap_tool_call"])
def test_a_thread_stopped_in_an_undone_middleware_resumes_without_an_answer(run, hook):
    world = World()
    world.play(once("add", a=1, b=2))
    entry = world.apply(middleware("gate", "ask", {"hook": hook}))
    run(world.agent, ask("go"))
    world.undo(entry)
    assert run(world.agent, None)["messages"][-1].content == "small says P0"


def test_a_rebuilt_graph_silently_loses_the_stopped_turn():
    """The trap itself: why the graph never changes."""
    from langchain.agents import create_agent

    saver, model = InMemorySaver(), ScriptedChat(label="m", seen=[])
    create_agent(model, [], middleware=[Ask()], checkpointer=saver).invoke(ask("go"), THREAD)
    rebuilt = create_agent(model, [], checkpointer=saver)
    out = rebuilt.invoke(Command(resume="yes"), THREAD)
    assert [message.type for message in out["messages"]] == ["human"]
    assert not rebuilt.get_state(THREAD).interrupts


@pytest.mark.parametrize("hook", ["before_model", "after_model", "wrap_model_call", "wrap_tool_call"])
def test_an_answer_to_an_undone_middleware_reaches_no_other(run, hook):
    world = World()
    world.play(once("add", a=1, b=2))
    world.apply(middleware("second", "asked", {"question": "delete everything?", "hook": hook}))
    first = "after" if hook.startswith("after") else "before"
    entry = world.apply(middleware("first", "asked", {"question": "say hello?", "hook": hook}, **{first: "second"}))
    stopped = run(world.agent, ask("go"))
    assert questions(stopped) == ["say hello?"]
    world.undo(entry)
    assert questions(run(world.agent, Command(resume="yes"))) == [UNUSED]
    assert questions(run(world.agent, Command(resume="yes"))) == ["delete everything?"]
    assert world.log == []
    out = run(world.agent, Command(resume="no"))
    while "__interrupt__" in out:
        out = run(world.agent, Command(resume="no"))
    assert set(world.log) == {("delete everything?", "no")}


def test_remaining_middleware_ask_again_after_a_change(run):
    world = World()
    first = world.apply(middleware("first", "asked", {"question": "one?"}))
    world.apply(middleware("second", "asked", {"question": "two?"}))
    run(world.agent, ask("go"))
    stopped = run(world.agent, Command(resume="to one"))
    assert questions(stopped) == ["two?"]
    world.undo(first)
    assert questions(run(world.agent, Command(resume="to two, under other rules"))) == [UNUSED]
    assert questions(run(world.agent, Command(resume="go on"))) == ["two?"]
    run(world.agent, Command(resume="to two"))
    assert world.log[-1] == ("two?", "to two")
    assert ("two?", "to one") not in world.log


def test_answers_by_id_and_answers_of_two_middleware_in_one_step_arrive(run):
    world = World()
    world.apply(
        middleware("first", "asked", {"question": "one?"}), middleware("second", "asked", {"question": "two?"})
    )
    (question,) = run(world.agent, ask("go"))["__interrupt__"]
    (question,) = run(world.agent, Command(resume={question.id: "1"}))["__interrupt__"]
    run(world.agent, Command(resume={question.id: "2"}))
    assert world.log[-2:] == [("one?", "1"), ("two?", "2")]


def test_undoing_a_change_before_the_answer_keeps_the_question(run):
    world = World()
    world.apply(middleware("gate", "asked"))
    run(world.agent, ask("go"))
    world.undo(world.apply(tool("mul")))
    run(world.agent, Command(resume="yes"))
    assert world.log == [("sure?", "yes")]


def test_a_stopped_thread_resumes_in_another_process_after_the_undo(tmp_path):
    """Journal and thread on disk, everything opened anew: the rules a question was asked under are saved with it."""
    place = str(tmp_path / "threads.db")
    with SqliteSaver.from_conn_string(place) as saver:
        world = World(checkpointer=saver, journal=tmp_path / "journal.db")
        world.apply(middleware("second", "asked", {"question": "delete everything?"}))
        entry = world.apply(middleware("first", "asked", {"question": "say hello?"}, before="second"))
        world.agent.invoke(ask("go"), THREAD)
        world.harness.close()
    with SqliteSaver.from_conn_string(place) as saver:
        world = World(checkpointer=saver, journal=tmp_path / "journal.db")
        world.undo(entry)
        assert questions(world.agent.invoke(Command(resume="yes"), THREAD)) == [UNUSED]
        assert questions(world.agent.invoke(Command(resume="yes"), THREAD)) == ["delete everything?"]
        world.harness.close()
    with SqliteSaver.from_conn_string(place) as saver:
        world = World(checkpointer=saver, journal=tmp_path / "journal.db")
        out = world.agent.invoke(Command(resume="no"), THREAD)
        assert world.log == [("delete everything?", "no")]
        assert out["messages"][-1].content == "small says P0"


def test_a_stored_thread_resumes_asynchronously_after_the_undo(tmp_path):
    async def part(given, *undone):
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            world = World(checkpointer=saver, journal=tmp_path / "journal.db")
            for entry in undone:
                world.undo(entry)
            out = await world.agent.ainvoke(given, THREAD)
            world.harness.close()
            return out

    world = World(journal=tmp_path / "journal.db")
    entry = world.apply(middleware("gate", "asked"))
    world.harness.close()
    assert questions(asyncio.run(part(ask("go")))) == ["sure?"]
    assert questions(asyncio.run(part(Command(resume="yes"), entry))) == [UNUSED]
    assert asyncio.run(part(Command(resume="go on")))["messages"][-1].content == "small says P0"


def test_calls_at_the_same_time_each_get_their_own_answer(run):
    def play(messages):
        if isinstance(messages[-1], HumanMessage):
            both = [("add", {"a": 1, "b": 2}), ("mul", {"a": 6, "b": 7})]
            calls = [{"name": name, "args": given, "id": name} for name, given in both]
            return AIMessage("", tool_calls=calls)
        return None

    class Approve(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            name = request.tool_call["name"]
            yes = interrupt(name) == "yes"
            return handler(request) if yes else ToolMessage("no", tool_call_id=request.tool_call["id"])

        async def awrap_tool_call(self, request, handler):
            name = request.tool_call["name"]
            yes = interrupt(name) == "yes"
            return await handler(request) if yes else ToolMessage("no", tool_call_id=request.tool_call["id"])

    world = World(middleware={"approve": Approve})
    world.apply(tool("mul"), middleware("people", "approve"))
    world.play(play)
    asked = {one.value: one.id for one in run(world.agent, ask("go"))["__interrupt__"]}
    assert asked.keys() == {"add", "mul"}
    out = run(world.agent, Command(resume={asked["add"]: "no", asked["mul"]: "yes"}))
    assert [message.content for message in out["messages"] if isinstance(message, ToolMessage)] == ["no", "42"]


def test_approval_can_be_added_and_undone_while_a_call_is_pending(run):
    world = World()
    world.play(once("add", a=1, b=2))
    entry = world.apply(middleware("people", "hitl", {"interrupt_on": {"add": True}}))
    assert "__interrupt__" in run(world.agent, ask("go"))
    out = run(world.agent, Command(resume={"decisions": [{"type": "approve"}]}))
    assert out["messages"][-2].content == "3"
    run(world.agent, ask("again"))
    world.undo(entry)
    told = run(world.agent, Command(resume={"decisions": [{"type": "reject"}]}))
    assert questions(told) == [UNUSED]
    assert told["messages"][-1].tool_calls, "the call that was rejected has not been made"
    assert run(world.agent, Command(resume="go on"))["messages"][-2].content == "3"


def test_a_pending_call_of_an_undone_tool_is_answered_with_an_error(run):
    world = World()
    entry = world.apply(tool("mul"))
    world.apply(middleware("gate", "ask", {"hook": "wrap_tool_call"}))
    world.play(once("mul", a=6, b=7))
    run(world.agent, ask("go"))
    world.undo(entry)
    out = run(world.agent, Command(resume="yes"))
    assert out["messages"][-2].content == "mul is not a tool now"
    assert out["messages"][-1].content == "small says P0"


def test_a_thread_started_before_a_change_can_be_streamed_after_it():
    world = World()
    world.agent.invoke(ask("hi"), THREAD)
    world.apply(prompt("system", "P1"))
    chunks = list(world.agent.stream(ask("hi"), THREAD, stream_mode="values"))
    assert chunks[-1]["messages"][-1].content == "small says P1"
