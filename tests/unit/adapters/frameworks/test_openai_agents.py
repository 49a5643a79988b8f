"""An agent of the OpenAI Agents SDK as a harness: what changes is seen by the next turn, and sessions go on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.support.changes import candidate, config, prompt, routing

from takeback import Applied, RefusalReason, Refused, Undone, open_openai_agents

pytest.importorskip("agents", reason="openai-agents is not installed: pip install 'takeback[openai-agents]'")

from agents import (
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    ModelBehaviorError,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    function_tool,
)
from agents.testing import ScriptedModel, assistant_message, function_call

from takeback.integrations.openai_agents import Middleware

QUIET = RunConfig(tracing_disabled=True)
START = {
    "prompts": {"system": "P0"},
    "routing": {"default_model": "small"},
    "tools": {"add": {"implementation": "add"}},
}


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@function_tool
def mul(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@function_tool(needs_approval=True)
def risky() -> str:
    """Do something risky."""
    return "did it"


def tool(name, **record):
    return {"op_type": "register_tool", "target": name, "value": {"id": name, **record}}


def middleware(name, handler, options=None, **spot):
    value = {"handler": handler, "options": options or {}}
    return {"op_type": "add_middleware", "target": name, "value": value, **spot}


class Note(Middleware):
    def __init__(self, log, name):
        self.log, self.name = log, name

    async def before_model(self, call):
        self.log.append(f"{self.name} model")
        return replace(call, instructions=f"{call.instructions}+{self.name}")

    async def around_tool(self, call, handler):
        self.log.append(f"{self.name} {call.name}")
        return f"{self.name}:{await handler(call)}"


class World:
    """One agent; `small` and `large` are scripts of answers."""

    def __init__(self, small=(), large=(), state=START, tools=None, **more):
        self.log = []
        self.models = {"small": ScriptedModel(small), "large": ScriptedModel(large)}
        self.harness = open_openai_agents(
            state,
            models=self.models,
            tools={"add": add, "mul": mul, "risky": risky, **(tools or {})},
            middleware={"note": lambda name: Note(self.log, name), **more.pop("middleware", {})},
            **more,
        )
        self.agent = self.harness.agent

    def apply(self, *ops):
        done = self.harness.apply(candidate(*ops))
        assert isinstance(done, Applied), done
        return done.entry.id

    def undo(self, entry):
        assert isinstance(self.harness.undo(entry), Undone)

    def seen(self, model):
        return [(call.system_instructions, [tool.name for tool in call.tools]) for call in self.models[model].calls]


async def streamed(agent, given, session):
    result = Runner.run_streamed(agent, given, run_config=QUIET, session=session)
    async for _ in result.stream_events():
        pass
    return result


@pytest.fixture(params=["sync", "async", "streamed"])
def run(request):
    """Runs an agent in each way the SDK has."""

    def runs(agent, given, session=None):
        if request.param == "sync":
            return Runner.run_sync(agent, given, run_config=QUIET, session=session)
        if request.param == "async":
            return asyncio.run(Runner.run(agent, given, run_config=QUIET, session=session))
        return asyncio.run(streamed(agent, given, session))

    return runs


def says(text):
    return [assistant_message(text)]


def test_prompt_model_tools_and_settings_are_read_at_every_turn_and_taken_back(run, tmp_path):
    session = SQLiteSession("thread", tmp_path / "session.db")
    world = World([says("one"), says("three")], [says("two")])
    run(world.agent, "hi", session)
    entry = world.apply(
        prompt("system", "P1"),
        routing("default_model", "large"),
        tool("times", implementation="mul", description="Multiply well."),
        config("model_settings.temperature", 0.5),
    )
    run(world.agent, "hi", session)
    world.undo(entry)
    assert run(world.agent, "hi", session).final_output == "three"
    assert world.seen("small") == [("P0", ["add"]), ("P0", ["add"])]
    assert world.seen("large") == [("P1", ["add", "times"])]
    assert world.models["large"].calls[0].model_settings.temperature == 0.5
    assert world.models["small"].calls[1].model_settings.temperature is None
    assert world.models["large"].calls[0].tools[1].description == "Multiply well."
    assert len(asyncio.run(session.get_items())) == 6
    session.close()


def test_an_agent_changes_its_own_harness_in_the_middle_of_a_run_and_takes_it_back(run):
    entries = []

    @function_tool
    def change() -> str:
        """Change the harness."""
        ops = (
            prompt("system", "P1"),
            routing("default_model", "large"),
            tool("mul"),
            middleware("n", "note", {"name": "n"}),
        )
        entries.append(world.apply(*ops))
        return "changed"

    @function_tool
    def undo() -> str:
        """Take it back."""
        world.undo(entries[0])
        return "undone"

    tools = {"change": change, "undo": undo}
    world = World(
        [[function_call("change", {}, call_id="1")], says("end on small")],
        [[function_call("mul", {"a": 6, "b": 7}, call_id="2")], [function_call("undo", {}, call_id="3")]],
        {**START, "tools": {name: {} for name in tools}},
        tools,
    )
    result = run(world.agent, "go")
    assert result.final_output == "end on small"
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs == ["changed", "n:42", "n:undone"]
    assert world.seen("small") == [("P0", ["change", "undo"]), ("P0", ["change", "undo"])]
    assert world.seen("large") == [("P1+n", ["change", "undo", "mul"])] * 2
    assert world.log == ["n model", "n mul", "n model", "n undo"]


def test_the_chain_runs_in_its_order(run):
    world = World([[function_call("add", {"a": 1, "b": 2}, call_id="1")], says("done")])
    world.apply(middleware("a", "note", {"name": "a"}))
    entry = world.apply(middleware("b", "note", {"name": "b"}, index=0))
    result = run(world.agent, "go")
    assert world.seen("small")[0][0] == "P0+b+a"
    assert result.new_items[1].output == "b:a:3"
    world.undo(entry)
    assert [element.name for element in world.harness.parts().chain] == ["a"]


def test_a_tool_undone_before_its_call_is_not_run():
    world = World()
    entry = world.apply(tool("mul"))
    _, of_this_turn = asyncio.run(world.agent.get_all_tools(None))
    world.undo(entry)
    assert asyncio.run(of_this_turn.on_invoke_tool(None, '{"a": 6, "b": 7}')) == "mul is not a tool now"


def test_a_run_waiting_for_approval_resumes_after_a_change_and_its_undo():
    world = World([[function_call("risky", {}, call_id="1")], says("done")], state={**START, "tools": {"risky": {}}})

    async def story():
        first = await Runner.run(world.agent, "go", run_config=QUIET)
        saved = first.to_state().to_string()
        world.undo(world.apply(prompt("system", "P1")))
        world.apply(prompt("system", "P2"))
        state = await RunState.from_string(world.agent, saved)
        for question in state.get_interruptions():
            state.approve(question)
        return await Runner.run(world.agent, state, run_config=QUIET)

    result = asyncio.run(story())
    assert result.final_output == "done"
    assert [item.output for item in result.new_items if item.type == "tool_call_output_item"] == ["did it"]
    assert [system for system, _ in world.seen("small")] == ["P0", "P2"]


def test_resuming_a_run_that_waits_for_an_undone_tool_names_the_tool():
    world = World([[function_call("risky", {}, call_id="1")], says("done")], state={**START, "tools": {}})
    entry = world.apply(tool("risky"))

    async def story():
        first = await Runner.run(world.agent, "go", run_config=QUIET)
        world.undo(entry)
        state = await RunState.from_string(world.agent, first.to_state().to_string())
        for question in state.get_interruptions():
            state.approve(question)
        return await Runner.run(world.agent, state, run_config=QUIET)

    with pytest.raises(ModelBehaviorError, match="risky"):
        asyncio.run(story())


def test_concurrent_runs_see_a_change_of_tools_and_continue():
    """Assigning `Agent.tools` would stop them: the SDK refuses that while several runs use one agent."""

    @function_tool
    async def change() -> str:
        """Change the tools."""
        if not world.log:
            world.log.append(world.apply(tool("mul")))
        await asyncio.sleep(0.05)
        return "changed"

    calls = [[function_call("change", {}, call_id=str(number))] for number in range(2)]
    world = World([*calls, says("a"), says("b")], state={**START, "tools": {"change": {}}}, tools={"change": change})

    async def story():
        return await asyncio.gather(*(Runner.run(world.agent, "go", run_config=QUIET) for _ in range(2)))

    assert sorted(result.final_output for result in asyncio.run(story())) == ["a", "b"]
    assert [tools for _, tools in world.seen("small")][2:] == [["change", "mul"]] * 2


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (routing("default_model", "huge"), "'huge' is not registered; registered models: large, small"),
        (tool("web"), "'web' is not registered"),
        (tool("add", parameters={"type": "object"}), "parameters are not those"),
        (tool("wrong"), "a int is registered, not a FunctionTool"),
        (middleware("x", "nobody"), "'nobody' is not registered"),
        (middleware("x", "note", {"colour": 1}), "cannot be made with"),
        (middleware("x", "int"), "is neither a Middleware of"),
        (config("model_settings.warmth", 1), "the SDK has no setting warmth"),
        (config("model_settings.retry", "often"), "does not take these settings"),
    ],
)
def test_unregistered_and_unfitting_parts_are_refused_before_any_change(op, said):
    world = World(tools={"wrong": 3}, middleware={"int": int})
    head = world.harness.ledger.head
    refused = world.harness.apply(candidate(op))
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.REAL
    assert said in refused.message
    assert world.harness.ledger.head == head


def test_a_tool_that_is_switched_off_for_a_run_is_not_shown(run):
    off = replace(mul, is_enabled=lambda _context, _agent: False)
    world = World([says("hi")], tools={"off": off})
    world.apply(tool("off"))
    run(world.agent, "hi")
    assert world.seen("small") == [("P0", ["add"])]


def test_a_copy_of_the_agent_reads_the_same_harness(run):
    world = World([says("hi")])
    world.apply(tool("mul"))
    run(world.agent.clone(name="other"), "hi")
    assert world.seen("small") == [("P0", ["add", "mul"])]


def rail(kind, word, **more):
    """A guardrail that trips over a word."""

    async def check(context, agent, text):
        return GuardrailFunctionOutput(output_info=word, tripwire_triggered=word in str(text))

    return kind(guardrail_function=check, name=f"no {word}", **more)


def tripped(world, text="hi"):
    try:
        Runner.run_sync(world.harness.agent, text, run_config=QUIET)
    except (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered) as fault:
        return fault.guardrail_result.guardrail.get_name()
    return None


@pytest.mark.parametrize("parallel", [True, False])
def test_guardrails_follow_the_chain(parallel):
    world = World(
        small=[[assistant_message("secret")]] * 6,
        middleware={
            "in": lambda word: rail(InputGuardrail, word, run_in_parallel=parallel),
            "out": rail(OutputGuardrail, "secret"),
        },
    )
    assert tripped(world, "hack") is None
    ingoing = world.harness.apply(candidate(middleware("in", "in", {"word": "hack"})))
    assert tripped(world, "hack") == "no hack"
    assert tripped(world, "hello") is None
    outgoing = world.harness.apply(candidate(middleware("out", "out")))
    assert tripped(world, "hello") == "no secret"
    assert isinstance(world.harness.undo(ingoing), Undone)
    assert tripped(world, "hack") == "no secret"
    assert isinstance(world.harness.undo(outgoing), Undone)
    assert tripped(world, "hack") is None


def test_an_agent_that_is_copied_has_each_guardrail_once():
    world = World(middleware={"out": rail(OutputGuardrail, "x")})
    entry = world.apply(middleware("out", "out"))
    own = rail(InputGuardrail, "y")
    copied = world.harness.agent.clone(input_guardrails=[own])
    assert [one.get_name() for one in copied.input_guardrails] == ["no y"]
    assert [one.get_name() for one in copied.output_guardrails] == ["no x"]
    assert [one.get_name() for one in copied.clone().output_guardrails] == ["no x"]
    world.undo(entry)
    assert copied.output_guardrails == []
