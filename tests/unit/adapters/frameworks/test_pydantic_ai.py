"""A pydantic-ai agent as a harness: what changes is seen by the next request, and conversations go on."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.support.changes import candidate, config, prompt, routing

from takeback import Applied, RefusalReason, Refused, Undone, open_pydantic_ai

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: pip install 'takeback[pydantic-ai]'")

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter, Tool
from pydantic_ai.capabilities import AbstractCapability, Hooks, Thinking
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from takeback.integrations.pydantic_ai import FROZEN, HOOKS, LiveCapability

START = {
    "prompts": {"system": "P0"},
    "routing": {"default_model": "small"},
    "tools": {"add": {"implementation": "add"}},
}
ANSWERS = {"tool-return", "retry-prompt"}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def mul(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


def tool(name, **record):
    return {"op_type": "register_tool", "target": name, "value": {"id": name, **record}}


def middleware(name, handler, options=None, **spot):
    value = {"handler": handler, "options": options or {}}
    return {"op_type": "add_middleware", "target": name, "value": value, **spot}


class Note(AbstractCapability):
    def __init__(self, log, name):
        self.log, self.name = log, name

    async def before_model_request(self, ctx, request_context):
        self.log.append(f"{self.name} before")
        return request_context

    async def wrap_model_request(self, ctx, *, request_context, handler):
        self.log.append(f"{self.name} (")
        return await handler(request_context)

    async def wrap_tool_execute(self, ctx, *, call, tool_def, args, handler):
        self.log.append(f"{self.name} {call.tool_name}")
        return f"{self.name}:{await handler(args)}"


def answered(messages):
    """What tools have answered so far in the last run."""
    return [str(part.content) for message in messages for part in message.parts if part.part_kind in ANSWERS]


class World:
    """One agent; `steps` are the calls its models make one after the other."""

    def __init__(self, steps=(), state=START, tools=None, **more):
        self.seen, self.log, self.steps = [], [], list(steps)
        self.harness = open_pydantic_ai(
            state,
            models={name: self._model(name) for name in ("small", "large")},
            tools={"add": add, "mul": Tool(mul), **(tools or {})},
            middleware={"note": lambda name: Note(self.log, name), **more.pop("middleware", {})},
            **more,
        )
        self.agent = self.harness.agent

    def _model(self, label):
        def next_step(info):
            self.seen.append(
                (label, info.instructions, [tool.name for tool in info.function_tools], info.model_settings)
            )
            return self.steps.pop(0) if self.steps else None

        def answer(messages, info):
            step = next_step(info)
            return ModelResponse([TextPart(f"end on {label}") if step is None else ToolCallPart(*step)])

        async def stream(messages, info):
            step = next_step(info)
            yield f"end on {label}" if step is None else {0: DeltaToolCall(step[0], json.dumps(step[1]))}

        return FunctionModel(answer, stream_function=stream)

    def apply(self, *ops):
        done = self.harness.apply(candidate(*ops))
        assert isinstance(done, Applied), done
        return done.entry.id

    def undo(self, entry):
        assert isinstance(self.harness.undo(entry), Undone)


async def streamed(agent, text, history):
    async with agent.run_stream(text, message_history=history) as result:
        await result.get_output()
        return result


@pytest.fixture(params=["sync", "async", "streamed"])
def run(request):
    """Runs an agent in each way there is."""

    def runs(agent, text, history=None):
        if request.param == "sync":
            return agent.run_sync(text, message_history=history)
        if request.param == "async":
            return asyncio.run(agent.run(text, message_history=history))
        return asyncio.run(streamed(agent, text, history))

    return runs


def test_prompt_model_tools_and_settings_are_read_at_every_request_and_taken_back(run):
    world = World()
    history = run(world.agent, "hi").all_messages()
    entry = world.apply(
        prompt("system", "P1"),
        routing("default_model", "large"),
        tool("times", implementation="mul", description="Multiply well."),
        config("model_settings.temperature", 0.5),
    )
    saved = ModelMessagesTypeAdapter.dump_json(run(world.agent, "hi", history).all_messages())
    world.undo(entry)
    result = run(world.agent, "hi", ModelMessagesTypeAdapter.validate_json(saved))
    assert len(result.all_messages()) == 6
    assert [one[:3] for one in world.seen] == [
        ("small", "P0", ["add"]),
        ("large", "P1", ["add", "times"]),
        ("small", "P0", ["add"]),
    ]
    assert [(one[3] or {}).get("temperature") for one in world.seen] == [None, 0.5, None]


def test_pydantic_ai_silently_ignores_assigned_instructions():
    """The trap itself: why everything is given to pydantic-ai as a function."""
    model = FunctionModel(lambda messages, info: ModelResponse([TextPart(str(info.instructions))]))
    agent = Agent(model, instructions="Q0")
    agent.instructions = "Q1"
    assert agent.run_sync("hi").output == "Q0"


def test_an_agent_changes_its_own_harness_in_the_middle_of_a_run_and_takes_it_back(run):
    entries = []

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

    def undo() -> str:
        """Take it back."""
        world.undo(entries[0])
        return "undone"

    tools = {"change": change, "undo": undo}
    steps = [("change", {}), ("mul", {"a": 6, "b": 7}), ("undo", {}), ("mul", {"a": 6, "b": 7})]
    world = World(steps, {**START, "tools": {name: {} for name in tools}}, tools)
    result = run(world.agent, "go")
    answers = answered(result.all_messages())
    assert answers[:3] == ["changed", "n:42", "n:undone"]
    assert "Unknown tool name: 'mul'" in answers[3]
    assert [one[:2] for one in world.seen] == [
        ("small", "P0"),
        ("large", "P1"),
        ("large", "P1"),
        ("small", "P0"),
        ("small", "P0"),
    ]
    assert world.log == ["n (", "n before", "n mul", "n (", "n before", "n undo"]


def test_the_chain_runs_in_its_order_and_its_elements_are_kept(run):
    world = World([("add", {"a": 1, "b": 2})])
    world.apply(middleware("a", "note", {"name": "a"}))
    kept = world.harness.parts().chain[0]
    entry = world.apply(middleware("b", "note", {"name": "b"}, index=0))
    result = run(world.agent, "go")
    assert answered(result.all_messages()) == ["b:a:3"]
    assert world.log[:2] == ["b (", "a ("]
    world.undo(entry)
    assert world.harness.parts().chain == (kept,)


def test_hooks_given_as_functions_can_be_added_and_undone(run):
    log = []

    async def before(ctx, request_context):
        log.append(len(request_context.messages))
        return request_context

    world = World(middleware={"hooks": lambda: Hooks(before_model_request=before)})
    entry = world.apply(middleware("h", "hooks"))
    run(world.agent, "hi")
    world.undo(entry)
    run(world.agent, "hi")
    assert log == [1]


def test_a_tool_undone_before_its_call_is_not_run():
    def undo() -> str:
        """Take it back."""
        world.undo(entry)
        return "undone"

    world = World(state={**START, "tools": {"undo": {}}}, tools={"undo": Tool(undo, sequential=True)})
    entry = world.apply(tool("mul"))
    both = [ToolCallPart("undo", {}), ToolCallPart("mul", {"a": 6, "b": 7})]
    replies = [ModelResponse(both), ModelResponse([TextPart("end")])]
    with world.agent.override(model=FunctionModel(lambda messages, info: replies.pop(0))):
        result = world.agent.run_sync("go")
    assert "mul is not a tool now" in " ".join(answered(result.all_messages()))


def test_a_run_waiting_for_approval_resumes_after_a_change_and_its_undo():
    def risky() -> str:
        """Do something risky."""
        return "did it"

    world = World(
        [("risky", {})],
        {**START, "tools": {"risky": {}}},
        {"risky": Tool(risky, requires_approval=True)},
        output_type=[str, DeferredToolRequests],
    )
    first = world.agent.run_sync("go")
    (waiting,) = first.output.approvals
    world.undo(world.apply(prompt("system", "P1")))
    world.apply(prompt("system", "P2"))
    answers = DeferredToolResults(approvals={waiting.tool_call_id: True})
    result = world.agent.run_sync(message_history=first.all_messages(), deferred_tool_results=answers)
    assert result.output == "end on small"
    assert answered(result.all_messages()) == ["did it"]
    assert [one[1] for one in world.seen] == ["P0", "P2"]


def test_a_run_that_waits_for_an_undone_tool_gets_an_unknown_tool_error():
    def risky() -> str:
        """Do something risky."""
        raise AssertionError("it is not a tool now")

    world = World(
        [("risky", {})],
        {**START, "tools": {}},
        {"risky": Tool(risky, requires_approval=True)},
        output_type=[str, DeferredToolRequests],
    )
    entry = world.apply(tool("risky"))
    first = world.agent.run_sync("go")
    (waiting,) = first.output.approvals
    world.undo(entry)
    answers = DeferredToolResults(approvals={waiting.tool_call_id: True})
    result = world.agent.run_sync(message_history=first.all_messages(), deferred_tool_results=answers)
    assert "Unknown tool name: 'risky'" in " ".join(answered(result.all_messages()))


class Ready(AbstractCapability):
    def get_instructions(self):
        return "be kind"


async def observe(ctx, event):
    return event


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (routing("default_model", "huge"), "'huge' is not registered; registered models: large, small"),
        (routing("default_model", None), "an agent needs a model"),
        (tool("web"), "'web' is not registered"),
        (tool("add", parameters={"type": "object"}), "parameters are not those"),
        (tool("wrong"), "a int is registered, not a function or a Tool"),
        (middleware("x", "nobody"), "'nobody' is not registered"),
        (middleware("x", "note", {"colour": 1}), "cannot be made with"),
        (middleware("x", "int"), "is not a capability"),
        (middleware("x", "ready"), "it has get_instructions, read when the agent is built"),
        (middleware("x", "thinking"), "it has get_model_settings, read when"),
        (middleware("x", "events"), "it has hooks for events"),
    ],
)
def test_unregistered_and_unfitting_parts_are_refused_before_any_change(op, said):
    others = {"int": int, "ready": Ready(), "thinking": Thinking, "events": lambda: Hooks(event=observe)}
    world = World(tools={"wrong": 3}, middleware=others)
    head = world.harness.ledger.head
    refused = world.harness.apply(candidate(op))
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.REAL
    assert said in refused.message
    assert world.harness.ledger.head == head


def test_every_method_of_a_capability_is_called_by_the_chain_or_refused_in_it():
    """A hook that a later pydantic-ai brings is noticed here, not lost without a word."""
    tree = {"apply", "combine", "visit_and_replace", "prefix_tools", "from_spec", "get_serialization_name"}
    events = {"on_event", "wrap_run_event_stream", "listens_to"}
    methods = {name for name, one in vars(AbstractCapability).items() if callable(getattr(one, "__func__", one))}
    public = {name for name in methods if not name.startswith("_")}
    assert public - set(HOOKS) - set(FROZEN) - tree - events == {"get_ordering", "wrap_tool_execute"}
    for hook in HOOKS:
        assert getattr(LiveCapability, hook) is not getattr(AbstractCapability, hook)


def test_capabilities_that_stay_are_given_when_the_agent_is_opened(run):
    world = World(capabilities=[Ready()])
    world.apply(prompt("system", "P1"))
    run(world.agent, "hi")
    assert world.seen[0][1] == "be kind\n\nP1"
