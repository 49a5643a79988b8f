"""Runs a LangChain agent in both ways; the tests of the other frameworks have ways of their own."""

from __future__ import annotations

import asyncio

import pytest


@pytest.fixture(params=["sync", "async"])
def run(request):
    """Runs an agent in both ways: `run(agent, input)`."""

    def invoke(agent, given, config=None):
        config = config or {"configurable": {"thread_id": "1"}}
        if request.param == "sync":
            return agent.invoke(given, config)
        return asyncio.run(agent.ainvoke(given, config))

    return invoke
