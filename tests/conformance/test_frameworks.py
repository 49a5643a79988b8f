"""Agents of frameworks keep the contract of every adapter, with a journal that outlives the process."""

from __future__ import annotations

import itertools

import pytest
from tests.support.changes import candidate, config, prompt, routing

from takeback import open_langchain, open_openai_agents, open_pydantic_ai
from takeback.adapters.conformance import OPTIONAL, REQUIRED, Subject, examine_adapter

START = {
    "config": {"keep": 1},
    "prompts": {"system": "old"},
    "routing": {"default_model": "small"},
    "tools": {"add": {"implementation": "add"}},
}


def tool(name):
    return {"op_type": "register_tool", "target": name, "value": {"id": name, "implementation": "add"}}


def middleware(name):
    return {"op_type": "add_middleware", "target": name, "value": {"handler": "guard"}}


CHANGES = (
    candidate(prompt("system", "new"), config("model_settings.temperature", 0.5)),
    candidate(tool("plus"), middleware("guard")),
    candidate(routing("default_model", "large"), config("mine.to.read", [1, {"x": None}])),
)


def langchain(place):
    pytest.importorskip("langchain", reason="langchain is not installed: pip install 'takeback[langchain]'")
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.tools import tool as as_tool
    from tests.support.scripted_chat import ScriptedChat

    models = {name: ScriptedChat(label=name, seen=[]) for name in ("small", "large")}
    guard = {"guard": AgentMiddleware}
    return open_langchain(START, models=models, tools={"add": as_tool(add)}, middleware=guard, journal=place)


def openai_agents(place):
    pytest.importorskip("agents", reason="openai-agents is not installed: pip install 'takeback[openai-agents]'")
    from agents import function_tool
    from agents.testing import ScriptedModel

    from takeback.integrations.openai_agents import Middleware

    models = {name: ScriptedModel([]) for name in ("small", "large")}
    guard = {"guard": Middleware}
    return open_openai_agents(
        START, models=models, tools={"add": function_tool(add)}, middleware=guard, journal=place
    )


def pydantic_ai(place):
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: pip install 'takeback[pydantic-ai]'")
    from pydantic_ai.capabilities import Hooks
    from pydantic_ai.models.test import TestModel

    models = {name: TestModel() for name in ("small", "large")}
    return open_pydantic_ai(START, models=models, tools={"add": add}, middleware={"guard": Hooks}, journal=place)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("opened", [langchain, openai_agents, pydantic_ai])
def test_an_agent_of_a_framework_conforms(opened, tmp_path):
    numbers = itertools.count()

    def fresh():
        place = tmp_path / f"{next(numbers)}.db"
        return Subject(lambda: opened(place), CHANGES)

    report = examine_adapter(fresh)
    assert report.conforms, [one for one in report.outcomes if one.outcome == "failed"]
    passed = [one.check for one in report.outcomes if one.outcome == "passed"]
    assert passed == [check.__name__ for check in REQUIRED]
    assert len(report.outcomes) == len(REQUIRED) + len(OPTIONAL)


@pytest.mark.parametrize("opened", [langchain, openai_agents, pydantic_ai])
def test_an_agent_works_on_a_journal_in_memory_too(opened):
    harness = opened(":memory:")
    entry = harness.apply(CHANGES[0]).entry
    assert harness.parts().instructions == "new"
    harness.undo(entry.id)
    assert harness.parts().instructions == "old"


def test_a_journal_of_one_framework_is_refused_by_another(tmp_path):
    from takeback.errors import HarnessError

    langchain(tmp_path / "journal.db").close()
    with pytest.raises(HarnessError, match="belongs to another"):
        pydantic_ai(tmp_path / "journal.db")
