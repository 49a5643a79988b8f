"""A LangChain agent as a harness: what changes is seen by the next call; what does not fit is refused."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config, prompt, routing

from takeback import RefusalReason, Refused
from takeback.errors import HarnessError, InputError
from takeback.state import PMap

pytest.importorskip("langchain", reason="langchain is not installed: pip install 'takeback[langchain]'")

from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool as as_tool
from tests.support.langchain_world import START, THREAD, Ask, World, add, ask, middleware, mul, once, tool
from tests.support.scripted_chat import call


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


def test_edits_inside_prompts_and_settings_take_effect(run):
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
def test_unregistered_and_unfitting_parts_are_refused_before_any_change(op, said):
    direct = add.model_copy(update={"return_direct": True})

    def hidden():
        return TodoListMiddleware()

    others = {"ready": Ask(), "hidden": hidden, "int": int}
    world = World(tools={"direct": direct, "wrong": 3}, middleware=others)
    before, head = world.harness.state, world.harness.ledger.head
    refused = world.harness.apply(candidate(op))
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.REAL
    assert said in refused.message
    assert (world.harness.state, world.harness.ledger.head) == (before, head)
    assert world.harness.status().clean


def test_a_tool_written_for_a_client_is_refused():
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
    assert (refused.why, "files" in refused.message) == (RefusalReason.UNSTORED, True)


def test_a_new_journal_accepts_only_registered_parts(tmp_path):
    with pytest.raises(InputError, match="'mail' is not registered"):
        World({**START, "tools": {"mail": {}}}, journal=tmp_path / "journal.db")
    World(journal=tmp_path / "journal.db").harness.close()


def test_a_process_with_missing_parts_reports_them_and_can_still_undo(tmp_path):
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
