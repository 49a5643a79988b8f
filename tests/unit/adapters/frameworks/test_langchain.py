"""A LangChain agent as a harness: what changes is seen by the next call, and every thread goes on."""

from __future__ import annotations

import asyncio
import operator
from functools import partial
from typing import Annotated, NotRequired

import pytest
from tests.support.changes import candidate, config, prompt, routing

from takeback import Applied, Refused, Undone, Why, open_langchain
from takeback.errors import HarnessError, InputError
from takeback.state import PMap

pytest.importorskip("langchain", reason="langchain is not installed: pip install 'takeback[langchain]'")

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    TodoListMiddleware,
    before_model,
    hook_config,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool as as_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt
from tests.support.scripted_chat import ScriptedChat, call

from takeback.adapters.frameworks.langchain_answers import UNUSED

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


@pytest.fixture(params=["sync", "async"])
def run(request):
    """Runs an agent in both ways: `run(agent, input)`."""

    def invoke(agent, given, config=THREAD):
        if request.param == "sync":
            return agent.invoke(given, config)
        return asyncio.run(agent.ainvoke(given, config))

    return invoke


def once(name, **arguments):
    """A script that calls a tool first and then answers."""

    def play(messages):
        return call(name, len(messages), **arguments) if isinstance(messages[-1], HumanMessage) else None

    return play


def test_prompt_model_tools_and_settings_are_read_at_every_call_and_taken_back(run):
    world = World()
    run(world.agent, ask("hi"))
    entry = world.apply(
        prompt("system", "P1"),
        routing("default_model", "large"),
        tool("times", implementation="mul", description="Multiply well."),
        config("model_settings.temperature", 0.5),
    )
    run(world.agent, ask("hi"))
    world.undo(entry)
    out = run(world.agent, ask("hi"))
    assert world.seen[0] == world.seen[2] == ("small", "P0", ["add"], {"tool_choice": None})
    assert world.seen[1] == ("large", "P1", ["add", "times"], {"tool_choice": None, "temperature": 0.5})
    assert len(out["messages"]) == 6


def test_edits_inside_prompts_and_settings_are_read_as_what_they_mean(run):
    world = World({**START, "prompts": {"system": "one\ntwo\n"}})
    edit = {"op_type": "edit_prompt", "target": "system", "value": {"old": "two", "new": "three"}}
    first = world.apply(edit, config("model_settings", {"stop": ["a"], "top_p": 1}))
    world.apply({"op_type": "edit_prompt", "target": "system", "value": {"old": "one", "new": "zero"}})
    run(world.agent, ask("hi"))
    world.undo(first)
    run(world.agent, ask("hi"))
    assert [one[1] for one in world.seen] == ["zero\nthree\n", "zero\ntwo\n"]
    assert world.seen[0][3] == {"tool_choice": None, "stop": ["a"], "top_p": 1}


def test_a_tool_is_run_under_its_name_and_shown_with_the_description_of_its_record(run):
    world = World()
    world.apply(tool("times", implementation="mul", description="Multiply well."))
    world.play(once("times", a=6, b=7))
    out = run(world.agent, ask("go"))
    assert out["messages"][-2].content == "42"
    assert world.harness.parts().tools["times"].description == "Multiply well."
    assert mul.description == "Multiply two numbers."


def test_an_agent_changes_its_own_harness_in_the_middle_of_a_run_and_takes_it_back(run):
    entries = []

    @as_tool
    def change() -> str:
        """Change the harness."""
        entries.append(world.apply(prompt("system", "P1"), tool("mul")))
        return "changed"

    @as_tool
    def undo() -> str:
        """Take it back."""
        world.undo(entries[0])
        return "undone"

    steps = [("change", {}), ("mul", {"a": 6, "b": 7}), ("undo", {}), ("mul", {"a": 6, "b": 7})]

    def play(messages):
        done = sum(isinstance(message, ToolMessage) for message in messages)
        return call(steps[done][0], done, **steps[done][1]) if done < len(steps) else None

    tools = {"change": change, "undo": undo}
    world = World({**START, "tools": {name: {} for name in tools}}, tools=tools)
    world.play(play)
    out = run(world.agent, ask("go"))
    answers = [(message.content, message.status) for message in out["messages"] if isinstance(message, ToolMessage)]
    assert answers == [
        ("changed", "success"),
        ("42", "success"),
        ("undone", "success"),
        ("mul is not a tool now", "error"),
    ]
    assert [system for _, system, _, _ in world.seen] == ["P0", "P1", "P1", "P0", "P0"]


@pytest.mark.parametrize("hook", ["before_model", "after_model", "wrap_model_call", "wrap_tool_call"])
def test_a_thread_stopped_in_a_middleware_that_is_taken_back_goes_on(run, hook):
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
def test_without_an_answer_it_goes_on_at_once(run, hook):
    world = World()
    world.play(once("add", a=1, b=2))
    entry = world.apply(middleware("gate", "ask", {"hook": hook}))
    run(world.agent, ask("go"))
    world.undo(entry)
    assert run(world.agent, None)["messages"][-1].content == "small says P0"


def test_without_the_constant_graph_such_a_turn_would_be_lost_without_a_word():
    """The trap itself: why the graph never changes."""
    from langchain.agents import create_agent

    saver, model = InMemorySaver(), ScriptedChat(label="m", seen=[])
    create_agent(model, [], middleware=[Ask()], checkpointer=saver).invoke(ask("go"), THREAD)
    rebuilt = create_agent(model, [], checkpointer=saver)
    out = rebuilt.invoke(Command(resume="yes"), THREAD)
    assert [message.type for message in out["messages"]] == ["human"]
    assert not rebuilt.get_state(THREAD).interrupts


@pytest.mark.parametrize("hook", ["before_model", "after_model", "wrap_model_call", "wrap_tool_call"])
def test_an_answer_to_a_middleware_that_was_taken_back_is_no_answer_to_another(run, hook):
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


def test_an_answer_given_before_a_change_is_asked_for_again_by_those_who_remain(run):
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


def test_a_change_that_is_taken_back_before_the_answer_leaves_the_question_as_it_was(run):
    world = World()
    world.apply(middleware("gate", "asked"))
    run(world.agent, ask("go"))
    world.undo(world.apply(tool("mul")))
    run(world.agent, Command(resume="yes"))
    assert world.log == [("sure?", "yes")]


def test_a_stopped_thread_goes_on_in_another_process_after_the_undo(tmp_path):
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


def test_a_thread_on_disk_goes_on_asynchronously_after_the_undo(tmp_path):
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


def test_approval_by_a_person_comes_and_goes_while_a_call_is_pending(run):
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


def test_a_tool_taken_back_while_its_call_is_pending_is_answered_with_that(run):
    world = World()
    entry = world.apply(tool("mul"))
    world.apply(middleware("gate", "ask", {"hook": "wrap_tool_call"}))
    world.play(once("mul", a=6, b=7))
    run(world.agent, ask("go"))
    world.undo(entry)
    out = run(world.agent, Command(resume="yes"))
    assert out["messages"][-2].content == "mul is not a tool now"
    assert out["messages"][-1].content == "small says P0"


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


def test_middleware_with_a_state_of_their_own_come_and_go_and_their_updates_add_up(run):
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


def test_what_came_with_an_answer_that_was_asked_for_again_is_not_written(run):
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


def test_hooks_run_in_the_order_of_the_chain_and_see_what_those_before_them_wrote(run):
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


def test_a_middleware_that_jumps_keeps_those_after_it_from_running(run):
    log = []
    world = World(middleware={"stop": Stop, "note": lambda: Note(log, "n")})
    entry = world.apply(middleware("stop", "stop"), middleware("note", "note"))
    out = run(world.agent, ask("hi"))
    assert [message.content for message in out["messages"]] == ["hi", "closed"]
    assert "n before 1" not in log
    world.undo(entry)
    assert run(world.agent, ask("hi"))["messages"][-1].content == "small says P0"


def test_a_limit_keeps_counting_while_others_come_and_go(run):
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


def test_a_thread_started_before_a_change_can_be_streamed_after_it():
    world = World()
    world.agent.invoke(ask("hi"), THREAD)
    world.apply(prompt("system", "P1"))
    chunks = list(world.agent.stream(ask("hi"), THREAD, stream_mode="values"))
    assert chunks[-1]["messages"][-1].content == "small says P1"


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (routing("default_model", "huge"), "'huge' is not registered; registered models: large, small"),
        (routing("default_model", None), "an agent needs a model"),
        (tool("web"), "'web' is not registered; registered tools: "),
        (tool("web", implementation="div"), "'div' is not registered"),
        (tool("two words", implementation="add"), "letters, digits"),
        (tool("add", parameters={"type": "object"}), "parameters are not those"),
        (tool("direct"), "return_direct"),
        (tool("wrong"), "a int is registered, not a LangChain tool"),
        (middleware("x", "nobody"), "'nobody' is not registered"),
        (middleware("x", "ask", {"colour": 1}), "cannot be made with"),
        (middleware("x", "ready", {"colour": 1}), "takes no options"),
        (middleware("x", "hidden"), "its state was not known"),
        (middleware("x", "int"), "is not an AgentMiddleware"),
        (config("model_settings", 3), "are a mapping"),
    ],
)
def test_what_is_not_registered_or_does_not_fit_is_refused_before_anything_happens(op, said):
    direct = add.model_copy(update={"return_direct": True})

    def hidden():
        return Count()

    others = {"ready": Ask(), "hidden": hidden, "int": int}
    world = World(tools={"direct": direct, "wrong": 3}, middleware=others)
    before, head = world.harness.state, world.harness.ledger.head
    refused = world.harness.apply(candidate(op))
    assert isinstance(refused, Refused)
    assert refused.why is Why.REAL
    assert said in refused.message
    assert (world.harness.state, world.harness.ledger.head) == (before, head)
    assert world.harness.status().clean


def test_a_tool_written_for_a_client_is_no_function_here():
    world = World()
    before = world.harness.state
    after = before.replace("tools", before.part("tools").put("web", PMap({"command": "npx"})))
    told = world.harness.adapter.prepare(before, after)
    assert told == "tools.web: its record is one of a client or a provider, and names no function of this process"


def test_every_change_takes_effect_at_once():
    adapter = World().harness.adapter
    assert {adapter.effect((surface, "x")) for surface in adapter.surfaces} == {"live"}


def test_surfaces_an_agent_does_not_have_are_refused():
    world = World()
    refused = world.harness.apply(candidate({"op_type": "write_file", "target": "x", "value": {"content": "y"}}))
    assert (refused.why, "files" in refused.message) == (Why.UNSTORED, True)


def test_a_journal_begins_only_with_what_is_registered(tmp_path):
    with pytest.raises(InputError, match="'mail' is not registered"):
        World({**START, "tools": {"mail": {}}}, journal=tmp_path / "journal.db")
    World(journal=tmp_path / "journal.db").harness.close()


def test_a_process_that_lacks_something_says_so_does_not_run_and_can_undo(tmp_path):
    place = tmp_path / "journal.db"
    world = World(journal=place, tools={"extra": mul, "other": add})
    entries = [world.apply(tool("extra")), world.apply(tool("other"))]
    world.harness.close()
    poorer = World(journal=place)
    assert poorer.harness.status().problems == (
        "tools.extra: 'extra' is not registered; registered tools: add, mul",
        "tools.other: 'other' is not registered; registered tools: add, mul",
    )
    with pytest.raises(HarnessError, match=r"the agent cannot run: tools\.extra"):
        poorer.agent.invoke(ask("hi"), THREAD)
    for entry in entries:
        poorer.undo(entry)
    assert poorer.harness.status().clean
    assert poorer.agent.invoke(ask("hi"), THREAD)["messages"][-1].content == "small says P0"


def test_a_change_by_another_process_is_seen_by_the_next_call(tmp_path):
    one, two = World(journal=tmp_path / "journal.db"), World(journal=tmp_path / "journal.db")
    entry = one.apply(prompt("system", "P1"))
    assert two.agent.invoke(ask("hi"), THREAD)["messages"][-1].content == "small says P1"
    one.undo(entry)
    assert two.agent.invoke(ask("hi"), THREAD)["messages"][-1].content == "small says P0"


def test_a_sync_run_says_that_a_middleware_is_async_only():
    class Later(AgentMiddleware):
        async def abefore_model(self, state, runtime):
            return None

    world = World(middleware={"later": Later})
    world.apply(middleware("later", "later"))
    with pytest.raises(NotImplementedError, match="has only an async before_model"):
        world.agent.invoke(ask("hi"), THREAD)
    assert asyncio.run(world.agent.ainvoke(ask("hi"), THREAD))["messages"][-1].content == "small says P0"
